"""The causes of a run's failures: ends of sessions, wrong content, and missing messages.

Each cause has evidence:

- an end of sessions with the smallest session (see `running.reduction`)
- wrong content with its event
- a missing message with a wait that timed out
"""

import math
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from conformance.conclusions.decisions import Culprit, Fact, TrialResult
from conformance.configuration import Configuration
from conformance.evidence import CONNECTION_STEPS, End, Kind, Place, Result
from conformance.harness.crash_output import quote
from conformance.running.selection import SMOKE
from conformance.verdicts import VIOLATIONS, Verdict, violation_verdict

END, CONTENT, MISSING = "end", "content", "missing"
"""The kinds of causes. `Kind.LATE` and `Kind.FLOOD` are further kinds, without a violation."""

_OF_THE_IUT = (
    *("--connect", "--listen", "--fault", "--variant", "--mutant", "--transport", "--protocols"),
    *("--config", "--hook", "--timing", "--set", "--max-wait"),
)
"""The options of a run that a replay against the same IUT needs as well."""

_ORDER = (Verdict.FAIL, Verdict.WARN, Verdict.INCONCLUSIVE)


@dataclass
class _Group:
    """Facts with one cause."""

    kind: str
    facts: list[Fact] = field(default_factory=list)
    culprit: Culprit | None = None

    @property
    def requirements(self) -> list[str]:
        return list(dict.fromkeys(fact.evidence.requirement for fact in self.facts))

    @property
    def end(self) -> End | None:
        return next((fact.evidence.end for fact in self.facts if fact.evidence.end), None)


def causes(
    known: Sequence[Fact],
    results: Sequence[Result],
    requirements: Sequence[Mapping[str, Any]],
    culprits: Sequence[Culprit],
    configuration: Configuration,
) -> list[dict[str, Any]]:
    """The causes as in report.json, failures first.

    ``requirements`` are the entries of the report; only violated requirements have a cause.
    """
    bad = {entry["id"]: entry for entry in requirements if entry["verdict"] in VIOLATIONS}
    counting = [fact for fact in known if fact.is_counted and fact.evidence.requirement in bad]
    groups = [*_end_groups(counting, culprits), *_content_groups(counting)]
    content = {name for group in groups for name in group.requirements}
    groups += [
        group
        for group in _missing_groups(counting, groups)
        if not content.issuperset(group.requirements)
    ]
    place = {name: index for index, name in enumerate(bad)}
    protocol = configuration.protocol
    levels = {name: violation_verdict(entry["level"]) for name, entry in bad.items()}

    def rank(name: str) -> tuple[int, int, int]:
        before = len(place.keys() & {*protocol.prerequisites(name)})
        return _ORDER.index(levels[name]), before, place[name]

    def order(group: _Group) -> tuple[Any, ...]:
        first = min(group.requirements, key=rank)
        # Long messages arrive in pieces, too, so segmentation comes before their requirements.
        is_whole = protocol.segmentation_requirement not in group.requirements
        return rank(first)[0], group.kind != END, is_whole, *rank(first)[1:]

    found = []
    for group in sorted(groups, key=order):
        names = sorted(group.requirements, key=rank)
        found.append(_cause(group, names, levels[names[0]], results, configuration))
    floods = [*_undecided_cause(Kind.FLOOD, results, configuration)]
    late = [*_undecided_cause(Kind.LATE, results, configuration)]
    before, after = (floods, []) if _has_only_floods(results) else ([], floods)
    return [*before, *found, *after, *late]


def _end_groups(counting: Sequence[Fact], culprits: Sequence[Culprit]) -> Iterator[_Group]:
    """Make a group of the facts of each culprit that experiments have shown."""
    for culprit in culprits:
        facts = [fact for fact in counting if culprit.label and _was_ended_by(fact, culprit)]
        if facts:
            yield _Group(END, facts, culprit)


def _was_ended_by(fact: Fact, culprit: Culprit) -> bool:
    end = fact.evidence.end
    return (
        fact.evidence.kind is Kind.END
        and end is not None
        and end.way == culprit.way
        and fact.result.id in culprit.tests
    )


def _content_groups(counting: Sequence[Fact]) -> Iterator[_Group]:
    """Make a group of each requirement that a message or an operation's result violates."""
    groups: dict[str, _Group] = {}
    for fact in counting:
        if fact.evidence.kind is Kind.VIOLATION:
            name = fact.evidence.requirement
            groups.setdefault(name, _Group(CONTENT)).facts.append(fact)
    yield from groups.values()


def _missing_groups(counting: Sequence[Fact], before: Sequence[_Group]) -> Iterator[_Group]:
    """Group the other facts by the missing messages and the end of the session.

    If other messages of the awaited names came, their content is wrong, and the facts are grouped
    by requirement.
    """
    taken = {id(fact) for group in before for fact in group.facts}
    groups: dict[Any, _Group] = {}
    for fact in counting:
        if id(fact) in taken:
            continue
        end, about = fact.evidence.end, fact.evidence
        wrong = about.requirement if about.otherwise else None
        key = (about.missing, end.way if end else None, wrong)
        groups.setdefault(key, _Group(END if end and end.crashed else MISSING)).facts.append(fact)
    # Groups of the same requirements are one mistake.
    joined: dict[Any, _Group] = {}
    for group in groups.values():
        joined.setdefault(frozenset(group.requirements), _Group(group.kind)).facts += group.facts
    yield from joined.values()


def _cause(
    group: _Group,
    names: Sequence[str],
    verdict: Verdict,
    results: Sequence[Result],
    configuration: Configuration,
) -> dict[str, Any]:
    best = min(group.facts, key=lambda fact: _example_rank(fact, names[0]))
    culprit, end = group.culprit, group.end
    what = best.evidence.message
    if culprit:
        when = "when it was sent"
        if culprit.label in configuration.role.hooks:
            when = "during the operation"
        elif culprit.label in CONNECTION_STEPS:
            when = "after"
        what = f"the IUT {culprit.way[0]} {when} {culprit.label}"
    elif len(names) > 1 and best.evidence.missing:
        what = f"{' or '.join(best.evidence.missing[0])} is missing: {what}"
    tests = list(dict.fromkeys(fact.result.id for fact in group.facts))
    trials = culprit.trials if culprit else ()
    return {
        "kind": group.kind,
        "requirement": names[0],
        "requirements": [*names],
        "verdict": verdict,
        "what": what,
        "said": quote(end.said) if end and end.crashed and end.said else "",
        "tests": tests,
        "consequences": [
            {"requirement": each.requirement, "test": each.test, "reproduce": each.reproduce}
            for each in trials
            if each.shown is TrialResult.CONSEQUENCE
        ],
        "undecided": [
            {"requirement": each.requirement, "test": each.test, "detail": each.detail}
            for each in trials
            if each.shown is TrialResult.UNDECIDED
        ],
        "culprit": _culprit(culprit, end),
        **_example_of(best, culprit, configuration),
    }


def _example_rank(fact: Fact, name: str) -> tuple[bool, ...]:
    """Sort facts: first those of the requirement's own test, with an example or an event."""
    evidence, result = fact.evidence, fact.result
    return (
        evidence.requirement != name,
        # The smoke session is repeated by the whole run only.
        result.id == SMOKE,
        result.requirement != name,
        not result.files.counterexample,
        evidence.place.event is None,
    )


def _culprit(culprit: Culprit | None, end: End | None) -> dict[str, Any] | None:
    """The message that ended the session: shown by experiments, or candidates."""
    if culprit:
        return {
            "message": culprit.label,
            "value": culprit.value,
            "shown": True,
            "candidates": [],
            "capture": culprit.capture,
            "replays": culprit.replays,
        }
    if end and end.crashed:
        candidates = list(dict.fromkeys(reversed(end.candidates)))
        nothing = {"message": "", "value": "", "capture": None, "replays": 0}
        return {**nothing, "shown": False, "candidates": candidates}
    return None


def _example_of(
    best: Fact, culprit: Culprit | None, configuration: Configuration
) -> dict[str, Any]:
    """The place that shows a cause, and the commands that reproduce it."""
    place, result = best.evidence.place, best.result
    counterexample = result.files.counterexample
    if culprit and culprit.capture:
        place, counterexample = Place(culprit.capture, culprit.event), culprit.capture
    return {
        "transcript": place.transcript or result.files.transcript,
        "event": place.event,
        "counterexample": counterexample,
        "reproduce": result.reproduce,
        "replay": replay(counterexample, configuration) if counterexample else "",
    }


def _has_only_floods(results: Iterable[Result]) -> bool:
    """True if the IUT flooded a session in which nothing else is wrong."""
    flooded = [r for r in results if any(e.kind is Kind.FLOOD for e in r.evidence)]
    return bool(flooded) and not all(r.findings for r in flooded)


def _undecided_cause(
    kind: Kind, results: Sequence[Result], configuration: Configuration
) -> Iterator[dict[str, Any]]:
    """The cause for a flood or for late answers, because of which tests were not decided."""
    met = [(fact, result) for result in results for fact in result.evidence if fact.kind is kind]
    if not met:
        return
    worst, result = max(met, key=lambda pair: pair[0].amount)
    what = worst.message
    if kind is Kind.LATE:
        more = f"--timing response={math.ceil(2 * worst.amount)}"
        what = f"answers came late, after up to {worst.amount:.1f} s; {more} gives more time"
    yield {
        "kind": str(kind),
        "requirement": None,
        "requirements": [],
        "verdict": Verdict.INCONCLUSIVE,
        "what": what,
        "said": "",
        "tests": [each.id for _, each in met],
        "consequences": [],
        "undecided": [
            {"requirement": each.requirement, "test": each.id, "detail": fact.message}
            for fact, each in met
        ],
        "culprit": None,
        **_example_of(Fact(worst, result), None, configuration),
    }


def replay(path: str, configuration: Configuration) -> str:
    """The command that plays a capture in the report's folder against the same IUT."""
    before, _, _ = configuration.invocation.partition(" -- ")
    words_of_run = shlex.split(before)
    words = ["conformance", "replay", f"{configuration.report}/{path}"]
    words += ["--mock"] if "--mock" in words_of_run else []
    for option, value in pairwise(words_of_run):
        words += [option, value] if option in _OF_THE_IUT else []
    command = () if "--mock" in words_of_run else configuration.command
    return shlex.join(words) + (f" -- {shlex.join(command)}" if command else "")
