"""What one test case came to: turns the end of a test into a result, and keeps its transcript."""

import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from conformance.captures import Capture, Event, write
from conformance.iut import Iut
from conformance.judge import Finding
from conformance.protocols import Requirement
from conformance.session import Session
from conformance.verdicts import Conclusion, Inconclusive, Unreachable, Verdict, Violation, violated

# What a test case may stumble over in a message that does not fit its schema, which has been found.
_STUMBLED = (AttributeError, LookupError, TypeError, ValueError)

KEPT = 4 * 1024 * 1024  # bytes of a transcript that are written at most


@dataclass
class Result:
    """One test case's result, as report.json has it.

    ``problem`` is a fault of the suite itself; ``unreached``: the IUT could not be reached for it.
    """

    id: str
    purpose: str
    requirement: str
    verdict: str = Verdict.PASS
    duration_s: float = 0.0
    detail: str = ""
    expected: str | None = None
    came: str | None = None
    transcript: str | None = None
    counterexample: str | None = None
    offending: int | None = None
    reproduce: str = ""
    findings: list[dict[str, Any]] = field(default_factory=list)
    exercised: list[str] = field(default_factory=list)
    problem: str = ""
    unreached: bool = False

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def conclude(
    result: Result, error: BaseException | None, iut: Iut, decides: Requirement, folder: Path
) -> None:
    """Fill in a result from how its test ended and from what the judge saw in its sessions."""
    decisive = iut.sessions[-1] if iut.sessions else None
    if decisive is None and iut.findings:
        decisive = iut.findings[-1][1]
    shown = next((seen for seen in iut.sessions if _on(seen, decides.id)), None)
    iut.settle()
    conclusion = next(_conclusions(error), None) if error else None
    if conclusion is None and isinstance(error, _STUMBLED) and iut.findings:
        came = iut.findings[0][0]
        conclusion = Inconclusive(
            f"this decides nothing, for what came could not be read: {came.message} "
            f"({came.requirement})"
        )
    if error is not None and conclusion is None:
        result.problem = f"{type(error).__name__}: {error}"
        result.verdict = Verdict.INCONCLUSIVE
        result.detail = "the suite failed here, not the IUT"
    elif conclusion is not None:
        decisive = conclusion.session or decisive
        _apply(result, conclusion, decides, decisive)
    elif finding := next((f for f, _ in iut.findings if f.requirement == decides.id), None):
        decisive = shown or next(s for f, s in iut.findings if f is finding)
        result.verdict = violated(decides.level)
        result.detail = result.came = finding.message
        result.offending = finding.event
    result.exercised = sorted(iut.exercised)
    seen: set[tuple[str, str]] = set()
    for finding, session in iut.findings:
        if (finding.requirement, finding.message) not in seen:
            seen.add((finding.requirement, finding.message))
            result.findings.append(
                {
                    "requirement": finding.requirement,
                    "message": finding.message,
                    "event": finding.event if session is decisive else None,
                }
            )
    if decisive is not None:
        _keep(result, decisive, decides, folder, counterexample=bool(iut.tried.failed))


def _conclusions(error: BaseException) -> Iterator[Conclusion]:
    """The conclusions within an exception: a flaky example comes wrapped in a group."""
    if isinstance(error, Conclusion):
        yield error
    elif isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _conclusions(inner)


def _on(session: Session, requirement: str) -> bool:
    return any(finding.requirement == requirement for finding in session.judge.findings)


def _apply(
    result: Result, conclusion: Conclusion, decides: Requirement, session: Session | None
) -> None:
    result.verdict = conclusion.verdict
    result.detail = str(conclusion)
    result.unreached = isinstance(conclusion, Unreachable)
    if not isinstance(conclusion, Violation):
        return
    result.expected, result.came = conclusion.expected, conclusion.came
    result.offending = conclusion.event
    about = conclusion.requirement or decides.id
    spoilt = session is not None and session.judge.spoiled and not _on(session, about)
    if spoilt and session is not None and not conclusion.explains:
        cause: Finding = session.judge.findings[0]
        result.verdict = Verdict.INCONCLUSIVE
        result.offending = cause.event
        result.detail += (
            f". This decides nothing, for the session was spoilt before: {cause.message} "
            f"({cause.requirement})"
        )
    elif about != decides.id:
        result.verdict = Verdict.INCONCLUSIVE
        result.findings.append({"requirement": about, "message": str(conclusion), "event": None})
    else:
        result.verdict = violated(decides.level)


def _keep(
    result: Result, session: Session, decides: Requirement, folder: Path, counterexample: bool
) -> None:
    name = re.sub(r"[^\w.-]+", "_", result.id)[:150]
    events, cut = _bounded(session.events)
    extra: dict[str, Any] = {"iut": session.role.name, "test": result.id}
    if session.instance.program:
        extra["program"] = session.instance.program
    if cut:
        extra["cut"] = f"{cut} events left out"
    capture = Capture(
        protocol=session.protocol.name,
        title=result.purpose,
        origin="recorded",
        requirements=(decides.id,),
        events=events,
        extra=extra,
    )
    result.transcript = f"transcripts/{name}.jsonl"
    write(folder / result.transcript, capture)
    if counterexample and result.verdict in (Verdict.FAIL, Verdict.WARN):
        result.counterexample = f"counterexamples/{name}.jsonl"
        # What a replay needs to tell whether it comes out the same.
        shown = {"expected": result.expected, "came": result.came, "offending": result.offending}
        extra = {**extra, **{key: value for key, value in shown.items() if value is not None}}
        write(
            folder / result.counterexample, replace(capture, origin="counterexample", extra=extra)
        )


def _bounded(events: list[Event]) -> tuple[tuple[Event, ...], int]:
    """The first events up to the limit, and how many were left out."""
    size = 0
    for number, event in enumerate(events):
        size += len(event.data or b"") + 100
        if size > KEPT:
            return tuple(events[:number]), len(events) - number
    return tuple(events), 0
