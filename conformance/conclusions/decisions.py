"""Decides the verdicts of tests and of requirements from evidence.

All functions are pure. Several verdicts are merged into the worst one.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from conformance.definitions.protocol import Protocol, Requirement
from conformance.evidence import Evidence, Kind, Result, failed_prerequisite
from conformance.verdicts import Verdict, merge, violation_verdict

_WITHOUT_VERDICT = {
    Kind.MISSING_MEANS: Verdict.NOT_EXERCISED,
    Kind.UNREACHABLE: Verdict.INCONCLUSIVE,
}


def decide_test(
    requirement: Requirement, evidence: Sequence[Evidence], presumed: Collection[str]
) -> tuple[Verdict, str]:
    """The verdict of a test of this requirement, and the reason.

    ``presumed`` are the requirement's prerequisites, direct and indirect.
    """
    concluded = next((each for each in evidence if not each.judged), None)
    if concluded is None:
        found = next(
            (e for e in evidence if e.requirement == requirement.id and e.is_against), None
        )
        return (
            (violation_verdict(requirement.level), found.message) if found else (Verdict.PASS, "")
        )
    if concluded.kind is Kind.SUITE_FAULT:
        return Verdict.INCONCLUSIVE, "the suite itself failed here, not the IUT"
    if not concluded.is_against:
        verdict = _WITHOUT_VERDICT.get(concluded.kind, Verdict.INCONCLUSIVE)
        return verdict, concluded.message
    if concluded.requirement != requirement.id:
        return Verdict.INCONCLUSIVE, concluded.message
    if before := failed_prerequisite(concluded, evidence, presumed):
        return Verdict.INCONCLUSIVE, (
            f"the session violated its prerequisite {before.requirement} before "
            f"({before.message}); then: {concluded.message}"
        )
    return violation_verdict(requirement.level), concluded.message


class TrialResult(StrEnum):
    """The result of an experiment about a requirement that an end violated."""

    STANDS = "stands"
    """The requirement that the end violates."""
    CONSEQUENCE = "consequence"
    """Its test passes if the culprit is left out."""
    INDEPENDENT = "independent"
    """Its test fails without the culprit, with other evidence."""
    UNDECIDED = "undecided"
    """Its test decides nothing without the culprit."""


@dataclass(frozen=True)
class Trial:
    """The test of one requirement, run again without the culprit.

    ``reproduce`` is the command of that run; ``evidence`` is an independent violation in it.
    """

    requirement: str
    test: str
    shown: TrialResult
    detail: str = ""
    reproduce: str = ""
    evidence: Evidence | None = None


@dataclass(frozen=True)
class Culprit:
    """The message that ends sessions, as experiments have shown.

    - ``way``: how the sessions end (`End.way`)
    - ``label`` and ``value``: the message and its content in words; empty if not reproduced
    - ``capture`` and ``event``: the file with the smallest session, and the culprit's place in it
    - ``replays``: the number of replays that the reduction took
    - ``tests``: the ids of the tests whose sessions ended in this way
    - ``trials``: the results of the masked runs
    """

    way: tuple[str, str]
    label: str = ""
    value: str = ""
    capture: str | None = None
    event: int | None = None
    replays: int = 0
    tests: tuple[str, ...] = ()
    trials: tuple[Trial, ...] = ()

    def trial(self, requirement: str) -> Trial | None:
        """The trial of a requirement, if there is one."""
        return next((each for each in self.trials if each.requirement == requirement), None)


Absence = tuple[tuple[str, ...], tuple[str, str] | None]
"""The names of messages that did not come, and the way in which the session ended, if it did."""


@dataclass(frozen=True)
class Fact:
    """Evidence against a requirement, and the test that found it.

    ``explained`` is empty if the fact counts. Otherwise it completes "not decided: …".
    """

    evidence: Evidence
    result: Result
    explained: str = ""

    @property
    def is_counted(self) -> bool:
        """True if the fact violates its requirement."""
        return not self.explained


def facts(results: Sequence[Result], culprits: Sequence[Culprit], protocol: Protocol) -> list[Fact]:
    """All evidence against requirements in a run, each decided once.

    A fact does not count for one of three reasons:

    - its own session violated a prerequisite before
    - a prerequisite failed because of the same missing message, with evidence of its own
    - an experiment showed that it is a consequence of a culprit, or could not decide
    """
    against = [(each, result) for result in results for each in result.evidence if each.is_against]
    missing = _missing_by_requirement(against, protocol)
    return [_fact(each, result, missing, culprits, protocol) for each, result in against]


def _fact(
    fact: Evidence,
    result: Result,
    missing: Mapping[str, set[Absence]],
    culprits: Sequence[Culprit],
    protocol: Protocol,
) -> Fact:
    for culprit in culprits:
        trial = culprit.trial(fact.requirement) if _was_ended_by(fact, result, culprit) else None
        if trial:
            if trial.shown is TrialResult.CONSEQUENCE:
                return Fact(fact, result, f"its test passes if {culprit.label} is left out")
            if trial.shown is TrialResult.UNDECIDED:
                why = f"{culprit.label} ends the session, and its test needs {culprit.label}"
                return Fact(fact, result, why)
            return Fact(trial.evidence or fact, result)
    return Fact(fact, result, _explanation(fact, result, missing, protocol))


def _was_ended_by(fact: Evidence, result: Result, culprit: Culprit) -> bool:
    way = fact.end.way if fact.end else None
    return fact.kind is Kind.END and culprit.way == way and result.id in culprit.tests


def _explanation(
    fact: Evidence,
    result: Result,
    missing: Mapping[str, set[Absence]],
    protocol: Protocol,
) -> str:
    """Why a fact does not count because of a prerequisite; empty if it counts."""
    presumed = protocol.prerequisites(fact.requirement)
    if before := failed_prerequisite(fact, result.evidence, presumed):
        return f"the session violated its prerequisite {before.requirement} before"
    for name in presumed:
        if same := _absences(fact) & missing.get(name, set()):
            names = " or ".join(next(iter(same))[0])
            return f"{names} did not come for its prerequisite {name} either"
    return ""


def _absences(fact: Evidence) -> set[Absence]:
    """The messages that did not come, each with the way in which the session ended."""
    if fact.kind not in (Kind.TIMEOUT, Kind.END):
        return set()
    return {(names, fact.end.way if fact.end else None) for names in fact.missing}


def _missing_by_requirement(
    against: Sequence[tuple[Evidence, Result]], protocol: Protocol
) -> dict[str, set[Absence]]:
    """The missing messages that violated each requirement, by requirement."""
    found: dict[str, set[Absence]] = {}
    for fact, result in against:
        presumed = protocol.prerequisites(fact.requirement)
        if not failed_prerequisite(fact, result.evidence, presumed):
            found.setdefault(fact.requirement, set()).update(_absences(fact))
    return found


def decide_requirement(
    requirement: Requirement, results: Sequence[Result], known: Sequence[Fact]
) -> tuple[Verdict, str]:
    """The verdict of a requirement and the reason, from results and facts.

    ``results`` are all results that show something. The reason can be empty.
    """
    facts_about = [fact for fact in known if fact.evidence.requirement == requirement.id]
    counting = [fact for fact in facts_about if fact.is_counted]
    if counting:
        own = [fact for fact in counting if fact.result.requirement == requirement.id]
        return violation_verdict(requirement.level), (own or counting)[0].evidence.message
    if facts_about:
        first = facts_about[0]
        return Verdict.INCONCLUSIVE, f"{first.evidence.message} (not decided: {first.explained})"
    deciding = [result for result in results if result.requirement == requirement.id]
    exercised = any(requirement.id in result.observed.exercised for result in results)
    verdict = merge([*(r.verdict for r in deciding), *([Verdict.PASS] if exercised else [])])
    return verdict, next(_reasons(deciding, verdict), "")


def _reasons(deciding: Sequence[Result], verdict: Verdict) -> Iterator[str]:
    if verdict is Verdict.PASS:
        left = [r.detail for r in deciding if r.verdict is Verdict.NOT_EXERCISED]
        if left:
            yield f"{len(left)} of {len(deciding)} tests of it were not exercised: {left[0]}"
        return
    yield from (result.detail for result in deciding if result.verdict is verdict)
