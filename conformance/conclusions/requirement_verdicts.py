"""The verdict of a requirement, from the tests that decide it and from what the judge found."""

from collections.abc import Mapping, Sequence
from typing import Any

from conformance.conclusions.outcome import Run
from conformance.definitions.protocol import Requirement
from conformance.running.selection import LEFT_OUT
from conformance.running.smoke import SMOKE
from conformance.verdicts import VIOLATIONS, Verdict, merge, violated


def findings_of(
    bound: Mapping[str, Requirement], results: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """The findings of all tests, as in report.json, those of requirements that bind the role."""
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


def decide(
    requirement: Requirement,
    results: Sequence[Mapping[str, Any]],
    findings: Sequence[Mapping[str, Any]],
    run: Run,
) -> dict[str, Any]:
    """A requirement as in report.json: its verdict, the reason for it, and the tests of it."""
    deciding = [result for result in results if result["requirement"] == requirement.id]
    against = [entry for entry in findings if entry["requirement"] == requirement.id]
    verdicts = [Verdict(result["verdict"]) for result in deciding if _shows(result, run)]
    verdicts += [Verdict(entry["verdict"]) for entry in against]
    if any(requirement.id in result["exercised"] for result in results):
        verdicts.append(Verdict.PASS)
    verdict = merge(verdicts)
    reason = ""
    if verdict in VIOLATIONS:
        said = [r["detail"] for r in deciding if r["verdict"] in ("fail", "warn")]
        bad = [entry["message"] for entry in against if entry["verdict"] in ("fail", "warn")]
        reason = (said + bad)[0]
    elif verdict is not Verdict.PASS:
        said = [r["detail"] for r in deciding if r["verdict"] == verdict]
        left = [entry for entry in against if entry["verdict"] == verdict]
        said += [entry["message"] + _because(entry, results) for entry in left]
        reason = said[0] if said else _why_not(requirement, run)
    elif left := [r["detail"] for r in deciding if r["verdict"] == Verdict.NOT_EXERCISED]:
        reason = f"{len(left)} of {len(deciding)} tests of it were not exercised: {left[0]}"
    claimed = run.configuration.leaves_out(requirement.id)
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


def _because(finding: Mapping[str, Any], results: Sequence[Mapping[str, Any]]) -> str:
    """What a finding may follow from, to be said behind it."""
    key = ("requirement", "message", "event")
    for result in results:
        for found in result["findings"] if result["id"] == finding["test"] else ():
            if found["follows"] and all(found[name] == finding[name] for name in key):
                return f" (may follow from {found['follows']})"
    return ""


def _shows(result: Mapping[str, Any], run: Run) -> bool:
    """Whether a result shows anything: a smoke session that held without a message does not."""
    silent = run.configuration.role.transports != ("none",) and not result["got"]
    return not (silent and result["id"] == SMOKE and result["verdict"] == Verdict.PASS)


def _why_not(requirement: Requirement, run: Run) -> str:
    if requirement.tested == "no":
        return requirement.why
    if run.smoke_failed:
        return "the smoke session failed, so nothing else was tried"
    if run.interrupted:
        return "the run was interrupted before it was decided"
    if run.timed_out and requirement.id in run.collected.decided:
        return "the run reached its --max-time before it was decided"
    if run.selection and requirement.id not in run.collected.decided:
        return LEFT_OUT
    needs = f"; it needs {requirement.needs}" if requirement.needs else ""
    return f"no session of this run showed it{needs}"


def judged(run: Run, requirement: str) -> bool:
    """Whether the run says as much of a requirement as a whole one: all of its tests were run."""
    if run.interrupted or run.cut_short:
        return False
    collected = run.collected
    whole = requirement in collected.decided and requirement not in collected.split
    return not run.selection or whole
