"""Builds the report of a run: a verdict for every requirement, and one for the whole."""

import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conformance import __version__, known_failures, stored
from conformance.causes import causes, settle
from conformance.comparison import compare
from conformance.configuration import Configuration
from conformance.exits import (
    CONFORMANT,
    INCONCLUSIVE,
    INTERRUPTED,
    NONCONFORMANT,
    SUITE_FAILED,
)
from conformance.protocols import Protocol, Requirement, Role
from conformance.selection import LEFT_OUT, Collected
from conformance.verdicts import Verdict, merge, violated

_VERDICT_OF = {CONFORMANT: "conformant", NONCONFORMANT: "nonconformant"}


@dataclass
class Run:
    """Everything that a run has come to, before it is judged as a whole.

    ``tests`` are results as in report.json; ``smoke`` is the result of the smoke session, and
    ``reached`` says whether the IUT could be started or reached at all. ``lost`` says when one that
    we have not started could not be reached any more, if that happened. ``interrupted``: somebody
    ended the run before its tests were done. ``at_a_time`` tests were under way at most; ``alone``
    says why only one was, where that was found out. ``timed_out``: it reached its ``--max-time``
    before its tests were done. Timings were multiplied by ``stretched`` at most, as the machine was
    busy. ``live``: there were no tests, but two real peers that were watched.
    """

    configuration: Configuration
    started: datetime.datetime
    strict: bool = False
    collected: Collected = field(default_factory=Collected)
    interrupted: bool = False
    reached: bool = True
    lost: str = ""
    at_a_time: int = 1
    stretched: float = 1.0
    alone: str = ""
    timed_out: bool = False
    live: bool = False
    smoke: dict[str, Any] | None = None
    tests: list[dict[str, Any]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def selected(self) -> int:
        return max(self.collected.selected, len(self.tests))

    @property
    def cut_short(self) -> bool:
        """Whether it ended before all of its tests were run."""
        return len(self.tests) < self.selected

    @property
    def selection(self) -> dict[str, Any] | None:
        """What part of the role's tests was run, as in report.json; None for all of them."""
        if self.live:
            return None
        by, of = str(self.configuration.selection), max(self.collected.available, self.selected)
        ran = self.smoke is None or (self.smoke["verdict"] == Verdict.PASS and not self.lost)
        stopped = ran and self.cut_short and not (self.interrupted or self.problems)
        if not by and not stopped and self.selected == of:
            return None
        how = [by or "what pytest was told"] if by or self.selected < of else []
        how += [f"stopped after {len(self.tests)} tests"] if stopped else []
        return {"by": ", ".join(how), "tests": self.selected, "of": of}


def build(run: Run) -> dict[str, Any]:
    """The content of report.json."""
    configuration = run.configuration
    role, protocol = configuration.role, configuration.protocol
    results = [*([run.smoke] if run.smoke else []), *run.tests]
    bound = {requirement.id: requirement for requirement in protocol.binding(role)}
    settle(results, protocol)
    findings = _findings(bound, results)
    smoke_failed = run.smoke is not None and run.smoke["verdict"] != Verdict.PASS
    requirements = [
        _requirement(requirement, results, findings, run, smoke_failed)
        for requirement in bound.values()
    ]
    stale = known_failures.apply(
        configuration.known_failures,
        run.started.date(),
        requirements,
        results,
        findings,
        lambda name: _judged(run, name),
    )
    problems = [*run.problems, *(result["problem"] for result in results if result["problem"])]
    problems += _unbound(protocol, role, results)
    code, reason = _outcome(run, requirements, stale, problems, smoke_failed)
    counts = counted(entry["verdict"] for entry in requirements)
    now = datetime.datetime.now(datetime.UTC)
    report: dict[str, Any] = {
        "suite": {"name": "conformance", "version": __version__},
        "iut": {
            "name": configuration.name or _called(configuration),
            "role": str(role),
            "command": list(configuration.command) or None,
            "address": configuration.connect or configuration.listen or None,
        },
        "verdict": word(code),
        "headline": headline(_of_what(run), counts, reason),
        "exit_code": code,
        "selection": run.selection,
        "interrupted": (
            {"after": len(run.tests), "of": run.selected} if code == INTERRUPTED else None
        ),
        "counts": {
            "requirements": counts,
            "tests": counted(result["verdict"] for result in run.tests),
        },
        "seed": configuration.seed,
        "overlap": {"tests": run.at_a_time, "why": run.alone},
        "stretched": round(run.stretched, 1),
        "started": run.started.isoformat(timespec="seconds"),
        "duration_s": round((now - run.started).total_seconds(), 3),
        "ixit": _ixit(configuration),
        "smoke": {
            "verdict": run.smoke["verdict"] if run.smoke else Verdict.NOT_EXERCISED,
            "detail": run.smoke["detail"] if run.smoke else "",
        },
        "requirements": requirements,
        "tests": [_public(result) for result in results],
        "findings": findings,
        "causes": causes(results, requirements, findings, configuration),
        "problems": problems,
        "stale": stale,
    }
    if run.live:
        report["live"] = True
    if configuration.baseline:
        _compare(report, configuration, _of_what(run))
    return report


def _compare(report: dict[str, Any], configuration: Configuration, lead: str) -> None:
    """Add what has changed since the baseline, which a conformant run may fail for."""
    path = Path(configuration.baseline)
    changes = compare(stored.load(path), report, path.name)
    report["comparison"] = changes.to_json()
    bad = changes.bad(configuration.strict)
    if bad and report["exit_code"] == CONFORMANT:
        report["exit_code"], report["verdict"] = NONCONFORMANT, word(NONCONFORMANT)
        report["headline"] = headline(lead, report["counts"]["requirements"], bad)


def word(code: int) -> str:
    """The verdict of a run that ends with an exit code."""
    return _VERDICT_OF.get(code, "inconclusive")


def headline(lead: str, counts: Mapping[str, int], reason: str) -> str:
    """A run in one line: of what it speaks if not of the whole, the counts, what else to say."""
    exercised = sum(counts[name] for name in ("pass", "fail", "warn", "known"))
    return (
        f"{lead}{exercised} of {sum(counts.values())} requirements exercised "
        f"({counts['pass']} passed, {counts['fail']} failed, {counts['warn']} warned"
        + (f", {counts['known']} known to fail" if counts["known"] else "")
        + f"); {counts['not-exercised']} not exercised, {counts['inconclusive']} inconclusive"
        + (f", {counts['not-applicable']} not applicable" if counts["not-applicable"] else "")
        + (f". {reason}" if reason else "")
    )


def tried(entry: Mapping[str, Any]) -> bool:
    """Whether a requirement is one that a run must have exercised some of to be conformant."""
    return entry["level"] == "must" and entry["verdict"] in (Verdict.PASS, Verdict.KNOWN)


def _of_what(run: Run) -> str:
    """What a headline begins with where not all tests were run to their end."""
    if run.interrupted:
        return f"interrupted after {len(run.tests)} of {run.selected} tests: "
    if run.live:
        return "what passed between two peers: "
    if selection := run.selection:
        return f"{selection['tests']} of {selection['of']} tests ({selection['by']}): "
    return ""


def _called(configuration: Configuration) -> str:
    address = configuration.connect or configuration.listen
    return address or " ".join(configuration.command)


def _ixit(configuration: Configuration) -> dict[str, Any]:
    protocol = configuration.protocol
    return {
        **{f"timing.{name}": configuration.declared(name) for name in protocol.timings},
        **{name: configuration.value(name) for name in protocol.ixit},
        **{f"programs.{name}": value for name, value in configuration.programs.items()},
        **{f"procedures.{name}": value for name, value in configuration.procedures.items()},
        **{f"hooks.{name}": value for name, value in configuration.hooks.items()},
        "examples": configuration.examples,
        "max_wait": configuration.max_wait,
        "max_time": configuration.max_time,
    }


def _public(result: Mapping[str, Any]) -> dict[str, Any]:
    internal = {"findings", "exercised", "problem", "unreached", "follows"}
    internal |= {"missing", "got", "told", "death"}
    optional = ("expected", "came")
    return {
        key: value
        for key, value in result.items()
        if key not in internal and not (key in optional and value is None)
    }


def _unbound(protocol: Protocol, role: Role, results: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What was found against requirements that do not exist, or do not bind the role under test."""
    bound = {requirement.id for requirement in protocol.binding(role)}
    said: set[str] = set()
    for result in results:
        for finding in result["findings"]:
            name = finding["requirement"]
            if name not in bound | said:
                said.add(name)
                wrong = "does not bind it" if name in protocol.requirements else "does not exist"
                yield (
                    f"{result['id']}: a finding about {role} is of {name!r}, which {wrong}: "
                    f"{finding['message']}"
                )
        for name in set(result["exercised"]) - protocol.requirements.keys() - said:
            said.add(name)
            yield f"{result['id']}: {name!r} was exercised, which does not exist"


def _findings(
    bound: Mapping[str, Requirement], results: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    found = []
    for result in results:
        for finding in result["findings"]:
            if finding["requirement"] not in bound:
                continue  # a problem of the suite, which is told as such
            level = bound[finding["requirement"]].level
            found.append(
                {
                    "requirement": finding["requirement"],
                    "level": level,
                    "verdict": Verdict.INCONCLUSIVE if finding["follows"] else violated(level),
                    "message": finding["message"],
                    "test": result["id"],
                    "transcript": finding["transcript"],
                    "event": finding["event"],
                    "reproduce": result["reproduce"],
                    "path": finding.get("path", []),
                }
            )
    return found


def _requirement(
    requirement: Requirement,
    results: Sequence[Mapping[str, Any]],
    findings: Sequence[Mapping[str, Any]],
    run: Run,
    smoke_failed: bool,
) -> dict[str, Any]:
    """The verdict of one requirement: of the tests that name it and of what the oracle saw."""
    deciding = [result for result in results if result["requirement"] == requirement.id]
    against = [entry for entry in findings if entry["requirement"] == requirement.id]
    verdicts = [Verdict(result["verdict"]) for result in deciding]
    verdicts += [Verdict(entry["verdict"]) for entry in against]
    if any(requirement.id in result["exercised"] for result in results):
        verdicts.append(Verdict.PASS)
    verdict = merge(verdicts)
    reason = ""
    if verdict in (Verdict.FAIL, Verdict.WARN):
        said = [r["detail"] for r in deciding if r["verdict"] in ("fail", "warn")]
        bad = [entry["message"] for entry in against if entry["verdict"] in ("fail", "warn")]
        reason = (said + bad)[0]
    elif verdict is not Verdict.PASS:
        said = [r["detail"] for r in deciding if r["verdict"] == verdict]
        said += [entry["message"] for entry in against if entry["verdict"] == verdict]
        reason = said[0] if said else _why_not(requirement, run, smoke_failed)
    elif left := [r["detail"] for r in deciding if r["verdict"] == Verdict.NOT_EXERCISED]:
        reason = f"{len(left)} of {len(deciding)} tests of it were not exercised: {left[0]}"
    claimed = _unsupported(requirement, run.configuration)
    if claimed and not against:
        verdict, reason = Verdict.NOT_APPLICABLE, f"declared as unsupported: {claimed}"
    entry: dict[str, Any] = {
        "id": requirement.id,
        "level": requirement.level,
        "section": requirement.section,
        "text": requirement.text,
        "origin": requirement.origin,
        "tested": requirement.tested,
        "verdict": verdict,
        "reason": reason,
        "tests": [result["id"] for result in deciding],
    }
    return {**entry, "note": requirement.note} if requirement.note else entry


def _unsupported(requirement: Requirement, configuration: Configuration) -> str:
    """Why the IUT leaves this requirement out, if its configuration claims so."""
    features = configuration.protocol.features
    for claim, reason in configuration.unsupported.items():
        if requirement.id == claim or requirement.id in features.get(claim, ()):
            return reason
    return ""


def _why_not(requirement: Requirement, run: Run, smoke_failed: bool) -> str:
    if requirement.tested == "no":
        return requirement.why
    if smoke_failed:
        return "the smoke session failed, so nothing else was tried"
    if run.interrupted:
        return "the run was interrupted before it was tried"
    if run.timed_out and requirement.id in run.collected.decided:
        return "the run reached its --max-time before it was tried"
    if run.selection and requirement.id not in run.collected.decided:
        return LEFT_OUT
    needs = f"; it needs {requirement.needs}" if requirement.needs else ""
    return f"no session of this run showed it{needs}"


def _judged(run: Run, requirement: str) -> bool:
    """Whether the run says as much of a requirement as a whole one: all of its tests were run."""
    if run.interrupted or run.cut_short:
        return False
    collected = run.collected
    whole = requirement in collected.decided and requirement not in collected.split
    return not run.selection or whole


def _outcome(
    run: Run,
    requirements: Sequence[Mapping[str, Any]],
    stale: Sequence[Mapping[str, str]],
    problems: Sequence[str],
    smoke_failed: bool,
) -> tuple[int, str]:
    """The exit code of the run, and what to say beside the counts."""
    verdicts = [entry["verdict"] for entry in requirements]
    if problems:
        return SUITE_FAILED, "the suite itself failed"
    if run.interrupted:
        return INTERRUPTED, ""
    if Verdict.FAIL in verdicts:
        return NONCONFORMANT, ""
    if run.smoke and smoke_failed:
        what = "the smoke session decided nothing" if run.reached else "the IUT was not reached"
        return INCONCLUSIVE, f"{what}: {run.smoke['detail']}"
    if run.lost:
        return INCONCLUSIVE, run.lost
    if not run.selected:
        return INCONCLUSIVE, "the selection matches no test"
    if stale:
        return NONCONFORMANT, "known failures do not hold any more"
    if run.strict and (Verdict.WARN in verdicts or Verdict.INCONCLUSIVE in verdicts):
        return NONCONFORMANT, "strict: warnings and inconclusive verdicts count"
    if run.timed_out:
        return INCONCLUSIVE, _out_of_time(run)
    if run.selection:
        wanted = set(run.collected.decided)
        shown = (Verdict.PASS, Verdict.KNOWN, Verdict.WARN)
        if not any(entry["id"] in wanted and entry["verdict"] in shown for entry in requirements):
            return INCONCLUSIVE, "no requirement of the selection was exercised"
        return CONFORMANT, ""
    if not any(tried(entry) for entry in requirements):
        return INCONCLUSIVE, "no requirement of level must was exercised"
    return CONFORMANT, ""


def _out_of_time(run: Run) -> str:
    limit = run.configuration.max_time
    return f"the run reached its --max-time of {limit:g} s after {len(run.tests)} tests"


def counted(verdicts: Iterable[str]) -> dict[str, int]:
    """How many there are of each verdict."""
    counts = dict.fromkeys(map(str, Verdict), 0)
    for verdict in verdicts:
        counts[verdict] += 1
    return counts
