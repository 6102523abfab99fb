"""Builds the report of a run: a verdict for every requirement, and one for the whole."""

import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from conformance import __version__, protocols
from conformance.configuration import Configuration, KnownFailure
from conformance.protocols import Protocol, Requirement, Role
from conformance.verdicts import Verdict, merge, violated

CONFORMANT, NONCONFORMANT, INCONCLUSIVE, SUITE_FAILED = 0, 1, 3, 4
USAGE = 2

_VERDICT_OF = {CONFORMANT: "conformant", NONCONFORMANT: "nonconformant"}


@dataclass
class Run:
    """Everything that a run has come to, before it is judged as a whole.

    ``tests`` are results as in report.json; ``smoke`` is the result of the smoke session, and
    ``reached`` says whether the IUT could be started or reached at all. ``lost`` says when one that
    we have not started could not be reached any more, if that happened.
    """

    configuration: Configuration
    started: datetime.datetime
    strict: bool = False
    selected: int = 0
    reached: bool = True
    lost: str = ""
    smoke: dict[str, Any] | None = None
    tests: list[dict[str, Any]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def build(run: Run) -> dict[str, Any]:
    """The content of report.json."""
    configuration = run.configuration
    role = protocols.role(configuration.role)
    protocol = protocols.load(role.protocol)
    results = [*([run.smoke] if run.smoke else []), *run.tests]
    bound = {requirement.id: requirement for requirement in protocol.binding(role)}
    findings = _findings(bound, results)
    smoke_failed = run.smoke is not None and run.smoke["verdict"] != Verdict.PASS
    requirements = [
        _requirement(requirement, results, findings, configuration, smoke_failed)
        for requirement in bound.values()
    ]
    today = run.started.date()
    stale: list[dict[str, str]] = []
    for name, known in configuration.known_failures.items():
        entry = next((entry for entry in requirements if entry["id"] == name), None)
        if why := _apply_known(entry, known, today):
            stale.append({"requirement": name, "why": why})
    problems = [*run.problems, *(result["problem"] for result in results if result["problem"])]
    problems += _unbound(protocol, role, results)
    code, reason = _outcome(run, requirements, stale, problems, smoke_failed)
    counts = _counts(entry["verdict"] for entry in requirements)
    tried = counts["inconclusive"]
    exercised = sum(counts[name] for name in ("pass", "fail", "warn", "known"))
    headline = (
        f"{exercised} of {len(requirements)} requirements exercised "
        f"({counts['pass']} passed, {counts['fail']} failed, {counts['warn']} warned"
        + (f", {counts['known']} known to fail" if counts["known"] else "")
        + f"); {counts['not-exercised']} not exercised, {tried} inconclusive"
        + (f", {counts['not-applicable']} not applicable" if counts["not-applicable"] else "")
        + (f". {reason}" if reason else "")
    )
    now = datetime.datetime.now(datetime.UTC)
    return {
        "suite": {"name": "conformance", "version": __version__},
        "iut": {
            "name": configuration.name or _called(configuration),
            "role": configuration.role,
            "command": list(configuration.command) or None,
            "address": configuration.connect or configuration.listen or None,
        },
        "verdict": _VERDICT_OF.get(code, "inconclusive"),
        "headline": headline,
        "exit_code": code,
        "counts": {
            "requirements": counts,
            "tests": _counts(result["verdict"] for result in run.tests),
        },
        "seed": configuration.seed,
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
        "problems": problems,
        "stale": stale,
    }


def _called(configuration: Configuration) -> str:
    address = configuration.connect or configuration.listen
    return address or " ".join(configuration.command)


def _ixit(configuration: Configuration) -> dict[str, Any]:
    protocol = protocols.role_protocol(configuration.role)
    return {
        **{f"timing.{name}": configuration.declared(name) for name in protocol.timings},
        **{name: configuration.value(name) for name in protocol.ixit},
        **{f"programs.{name}": value for name, value in configuration.programs.items()},
        **{f"procedures.{name}": value for name, value in configuration.procedures.items()},
        **{f"hooks.{name}": value for name, value in configuration.hooks.items()},
        "examples": configuration.examples,
        "max_wait": configuration.max_wait,
    }


def _public(result: Mapping[str, Any]) -> dict[str, Any]:
    internal = ("findings", "exercised", "problem", "unreached")
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
                    "verdict": violated(level),
                    "message": finding["message"],
                    "test": result["id"],
                    "transcript": result["transcript"],
                    "event": finding["event"],
                }
            )
    return found


def _requirement(
    requirement: Requirement,
    results: Sequence[Mapping[str, Any]],
    findings: Sequence[Mapping[str, Any]],
    configuration: Configuration,
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
        reason = (said + [entry["message"] for entry in against])[0]
    elif verdict is not Verdict.PASS:
        said = [r["detail"] for r in deciding if r["verdict"] == verdict]
        reason = said[0] if said else _why_not(requirement, smoke_failed)
    elif left := [r["detail"] for r in deciding if r["verdict"] == Verdict.NOT_EXERCISED]:
        reason = f"{len(left)} of {len(deciding)} tests of it were not exercised: {left[0]}"
    claimed = _unsupported(requirement, configuration)
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
    features = protocols.role_protocol(configuration.role).features
    for claim, reason in configuration.unsupported.items():
        if requirement.id == claim or requirement.id in features.get(claim, ()):
            return reason
    return ""


def _why_not(requirement: Requirement, smoke_failed: bool) -> str:
    if requirement.tested == "no":
        return requirement.why
    if smoke_failed:
        return "the smoke session failed, so that nothing else was tried"
    needs = f"; it needs {requirement.needs}" if requirement.needs else ""
    return f"no session of this run showed it{needs}"


def _apply_known(
    entry: dict[str, Any] | None, known: KnownFailure, today: datetime.date
) -> str | None:
    """Mark a requirement as known to fail; returns why the claim does not hold, if so."""
    if entry is None:
        return "does not bind this role"
    if known.until and datetime.date.fromisoformat(known.until) < today:
        return f"expired on {known.until}"
    if entry["verdict"] == Verdict.PASS:
        return "passes now"
    if entry["verdict"] not in (Verdict.FAIL, Verdict.WARN):
        return None
    if known.message not in entry["reason"]:
        return f"fails in another way: {entry['reason']}"
    entry["reason"] = f"{known.reason} ({entry['reason']})"
    entry["verdict"] = Verdict.KNOWN
    return None


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
    tried = (Verdict.PASS, Verdict.KNOWN)
    if not any(entry["level"] == "must" and entry["verdict"] in tried for entry in requirements):
        return INCONCLUSIVE, "no requirement of level must was exercised"
    return CONFORMANT, ""


def _counts(verdicts: Any) -> dict[str, int]:
    counts = dict.fromkeys(map(str, Verdict), 0)
    for verdict in verdicts:
        counts[verdict] += 1
    return counts
