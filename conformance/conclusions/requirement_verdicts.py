"""The entries of requirements in report.json, and the findings."""

from collections.abc import Mapping, Sequence
from typing import Any

from conformance.conclusions.decisions import Fact, decide_requirement
from conformance.conclusions.outcome import Run
from conformance.definitions.protocol import Requirement
from conformance.evidence import Result
from conformance.running.selection import LEFT_OUT, SMOKE
from conformance.verdicts import VIOLATIONS, Verdict, violation_verdict


def findings_of(bound: Mapping[str, Requirement], known: Sequence[Fact]) -> list[dict[str, Any]]:
    """The facts that are not a test's conclusion about its own requirement.

    Facts against requirements that do not bind the role are problems of the suite, not findings.
    """
    found = []
    for fact in known:
        evidence, result = fact.evidence, fact.result
        if evidence.requirement not in bound:
            continue
        if not evidence.judged and evidence.requirement == result.requirement:
            continue
        level = bound[evidence.requirement].level
        found.append(
            {
                "requirement": evidence.requirement,
                "level": level,
                "verdict": violation_verdict(level) if fact.is_counted else Verdict.INCONCLUSIVE,
                "message": evidence.message,
                "test": result.id,
                "transcript": evidence.place.transcript,
                "event": evidence.place.event,
                "reproduce": result.reproduce,
                "path": [*evidence.place.path],
            }
        )
    return found


def entry_of(
    requirement: Requirement, results: Sequence[Result], known: Sequence[Fact], run: Run
) -> dict[str, Any]:
    """A requirement as in report.json, with its verdict, reason and tests."""
    showing = [result for result in results if _has_shown_anything(result, run)]
    verdict, reason = decide_requirement(requirement, showing, known)
    if verdict not in (*VIOLATIONS, Verdict.PASS):
        reason = reason or _reason_not_exercised(requirement, run)
    claimed = run.configuration.reason_to_leave_out(requirement.id)
    against = any(fact.evidence.requirement == requirement.id for fact in known)
    if claimed and not against:
        verdict, reason = Verdict.NOT_APPLICABLE, f"declared as unsupported: {claimed}"
    entry: dict[str, Any] = {
        "id": requirement.id,
        "level": requirement.level,
        "section": requirement.section,
        "text": requirement.text,
        "origin": requirement.origin,
        "tested": requirement.tested,
        "decided_by": requirement.decided_by,
        "verdict": verdict,
        "reason": reason,
        "tests": [result.id for result in results if result.requirement == requirement.id],
    }
    return {**entry, "note": requirement.note} if requirement.note else entry


def _has_shown_anything(result: Result, run: Run) -> bool:
    """False for a passed smoke session in which the IUT sent no message; else True."""
    silent = run.configuration.role.transports != ("none",) and not result.observed.received
    return not (silent and result.id == SMOKE and result.verdict is Verdict.PASS)


def _reason_not_exercised(requirement: Requirement, run: Run) -> str:
    if requirement.tested == "no":
        return requirement.why
    if run.smoke_failed:
        return "the smoke session failed, so no test ran"
    if run.interrupted:
        return "the run was interrupted before it was decided"
    if run.timed_out and requirement.id in run.collected.decided:
        return "the run reached its --max-time before it was decided"
    if run.selection and requirement.id not in run.collected.decided:
        return LEFT_OUT
    needs = f"; it needs {requirement.needs}" if requirement.needs else ""
    return f"no session of this run showed it{needs}"


def is_fully_judged(run: Run, requirement: str) -> bool:
    """True if all tests of a requirement ran, as in a run of all tests."""
    if run.interrupted or run.is_cut_short:
        return False
    collected = run.collected
    whole = requirement in collected.decided and requirement not in collected.split
    return not run.selection or whole
