"""The result of one test case: made of how the test ended, with its transcript."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from conformance.definitions.keywords import shown
from conformance.definitions.protocol import Requirement
from conformance.iut import Iut, missing
from conformance.judging.judge import Finding
from conformance.running.transcripts import Transcripts
from conformance.session import RESET, Session
from conformance.verdicts import (
    VIOLATIONS,
    Conclusion,
    Flooded,
    Inconclusive,
    Late,
    Unreachable,
    Verdict,
    Violation,
    violated,
)
from conformance.wire import LONG

# The errors of a test case that reads a message that does not fit its schema (which is found).
_STUMBLED = (AttributeError, LookupError, TypeError, ValueError)

ALIKE = 3  # findings of one requirement that are reported besides those of the decisive sessions


@dataclass
class Result:
    """One test case's result, as report.json has it.

    ``problem`` is a fault of the suite itself; ``unreached``: the IUT could not be reached for it.
    ``explains``: it counts whatever bytes came (see `Violation`); ``at_end``: that the stream ended
    is all that violates it, as of a finding; ``shown``: bytes that came are.
    ``rests`` is a requirement that it presumes and that the plainest exchange violates already, as
    each finding that a test concludes has one,
    ``follows`` the violated requirement that may explain it. ``missing`` are the messages that
    did not come, where it is concluded from that; ``got`` are those that came, and ``told`` the
    kinds of what was sent. ``death`` says ``how`` the IUT died, ``after`` which message, of how
    many ``events``, what it ``said``, ``behind`` which message of its own it reset the connection,
    whether the test ``met`` it: was decided by nothing else; and where in the transcript each
    message was ``sent`` last, by its name.
    ``apart`` is that of its sessions (see `Wire`).
    ``late`` is how many seconds a message took that came later than declared, and ``flooded``
    how many bytes the IUT wrote where that was more than is followed, else 0.
    ``served`` is the greatest number of a connection with an instance upon which it said something,
    and ``unserved`` that of a later one upon which it did not, where that decides the test, else 0;
    ``at_once`` and ``crowded`` are the same of those connections only that were open at a time.
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
    explains: bool = False
    at_end: bool = False
    rests: str = ""
    follows: str = ""
    missing: list[tuple[str, ...]] = field(default_factory=list)
    got: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    death: dict[str, Any] | None = None
    apart: list[str] = field(default_factory=list)
    late: float | None = None
    flooded: int = 0
    served: int = 0
    unserved: int = 0
    at_once: int = 0
    crowded: int = 0
    exercised: list[str] = field(default_factory=list)
    shown: bool = False
    problem: str = ""
    unreached: bool = False

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def conclude(
    result: Result, error: BaseException | None, iut: Iut, decides: Requirement, folder: Path
) -> None:
    """Fill in a result from how its test ended and from what the judge saw in its sessions."""
    decisive, tried = _decide(result, error, iut, decides)
    _observe(result, iut, decides, decisive, tried)
    result.death = next(_deaths(tried, result), None)
    if result.death and result.death["met"] and result.death["after"]:
        result.detail += f" (the last that it was sent: {result.death['after']})"
    for concluded in result.findings:
        concluded["at_death"] = bool(result.death and result.death["met"])
    passed, written = result.verdict == Verdict.PASS, iut.testbed.written
    files = Transcripts(folder, result.id, result.purpose, decides.id, written, passed)
    if decisive is not None:
        _keep(result, files, decisive, tried, counterexample=bool(iut.tried.failed))
    _tell_findings(result, files, iut, tried)


def _decide(
    result: Result, error: BaseException | None, iut: Iut, decides: Requirement
) -> tuple[Session | None, tuple[Session, ...]]:
    """Reach the verdict; the session that decides it, and all of the same attempt."""
    tried = tuple(iut.sessions)
    decisive = tried[-1] if tried else None
    shown = next((seen for seen in tried if _on(seen, decides.id)), None)
    iut.settle()
    if not tried and iut.findings:
        _, decisive, tried = iut.findings[-1]
    conclusion = _conclusion(error, iut, tried)
    if conclusion is not None:
        decisive = conclusion.session or decisive
        tried = conclusion.sessions or tried
        _apply(result, conclusion, decides, decisive)
        if isinstance(conclusion, Violation | Inconclusive) and result.offending is None:
            result.missing = missing(tried)
    elif error is not None:
        result.problem = f"{type(error).__name__}: {error}"
        result.verdict = Verdict.INCONCLUSIVE
        result.detail = "the suite itself failed here, not the IUT"
    elif found := next((each for each in iut.findings if each[0].requirement == decides.id), None):
        finding, decisive, tried = found if shown is None else (found[0], shown, tried)
        result.verdict = violated(decides.level)
        result.detail = result.came = finding.message
        result.offending = finding.event
    else:
        result.detail = iut.remark
    return decisive, tried


def _conclusion(
    error: BaseException | None, iut: Iut, tried: tuple[Session, ...]
) -> Conclusion | None:
    """What the test itself concludes; None where it passed, or the suite failed."""
    if error is None:
        return None
    conclusion = next(_conclusions(error), None)
    if conclusion is None and isinstance(error, _STUMBLED) and iut.findings:
        came = iut.findings[0][0]
        conclusion = Inconclusive(
            f"{came.message} ({came.requirement}); so nothing is decided by what is behind that"
        )
    return conclusion and iut.concluded(conclusion, conclusion.sessions or tried)


def _observe(
    result: Result,
    iut: Iut,
    decides: Requirement,
    decisive: Session | None,
    tried: tuple[Session, ...],
) -> None:
    """Keep what causes are told by, besides the verdict."""
    if decisive is not None:
        result.at_end = _is_end(decisive, result.offending)
        result.shown = _is_sent(decisive, result.offending)
        if decisive.unread and result.verdict in VIOLATIONS and result.offending is None:
            _add(result, f"it has not read {decisive.unread} bytes of what it was sent")
    result.exercised, result.got = sorted(iut.exercised), sorted(iut.got)
    result.told = list(dict.fromkeys(kind for session in tried for kind in session.told))
    result.apart = sorted(set[str]().union(*(session.apart for session in tried)))
    segmentation = iut.configuration.protocol.segmentation_requirement
    if decides.id == segmentation and result.verdict in VIOLATIONS:
        _say_how(result)
    result.served, result.at_once = iut.served, iut.at_once
    if iut.role.serves and _decides_by_absence(result):
        silent = (session.number for session in tried if session.unserved)
        result.unserved = max(silent, default=0) or iut.unmet
        result.crowded = max((session.crowded for session in tried), default=0)


def _decides_by_absence(result: Result) -> bool:
    """Whether nothing that came decides it."""
    decided = result.verdict in (*VIOLATIONS, Verdict.INCONCLUSIVE)
    return decided and (result.offending is None or result.at_end)


def _say_how(result: Result) -> None:
    """Add to what came how that was sent for which it should not matter."""
    if how := [way for way in result.apart if way != LONG]:
        _add(result, f"it was sent {' and '.join(how)}")


def _add(result: Result, remark: str) -> None:
    result.detail += f" ({remark})"
    result.came = f"{result.came or ''} ({remark})"


def _deaths(sessions: tuple[Session, ...], result: Result) -> Iterator[dict[str, Any]]:
    """How an instance died that these sessions were with, and of what."""
    for session in sessions:
        if not (how := session.death):
            continue
        decided = result.verdict in (*VIOLATIONS, Verdict.INCONCLUSIVE)
        # One process has died of what was sent on any of its connections.
        died = bool(session.instance.process and session.instance.process.death)
        with_it = [one for one in sessions if one.instance is session.instance]
        yield {
            "how": how,
            "after": session.told[-1] if session.told else "",
            "unanswered": [
                kind for one in (with_it if died else [session]) for kind in one.unanswered
            ],
            "events": len(session.events),
            "said": session.instance.said,
            "behind": _behind(session) if how == RESET else "",
            "met": decided and (result.offending is None or result.at_end),
            "sent": _sent(session),
        }


def _behind(session: Session) -> str:
    """The last message that came in a session, in words."""
    last = session.received[-1:]
    return "".join(f"{message.name} {shown(message.value)}" for message in last)


def _sent(session: Session) -> dict[str, int]:
    """Where among the events of a session each message that it was sent stands last."""
    return {
        event.message: index
        for index, event in enumerate(session.events)
        if event.message and event.sender == session.peer
    }


def _keep(
    result: Result,
    files: Transcripts,
    session: Session,
    sessions: tuple[Session, ...],
    counterexample: bool,
) -> None:
    """Write the transcript of what decided the test, and what fails as a counterexample."""
    written = files.of(sessions, session, result.offending)
    result.transcript = written.path
    result.offending = written.place(sessions, session, result.offending)
    if result.death:
        sent = result.death["sent"].items()
        places = {name: written.place(sessions, session, event) for name, event in sent}
        result.death["sent"] = places
    for finding in result.findings:
        finding["transcript"], finding["event"] = written.path, result.offending
    about = next((found["requirement"] for found in result.findings), result.requirement)
    # What a replay needs to tell whether it comes out the same, and `check` tells.
    shown = {"expected": result.expected, "came": result.came, "offending": result.offending}
    told = {key: value for key, value in shown.items() if value is not None}
    decided = bool(result.findings) or result.verdict in VIOLATIONS
    seen = _on(session, about) and not written.gaps
    if decided and result.came and not seen:
        told["concluded"] = about
        files.conclude(written, "recorded", written.path, told)
    if counterexample and result.verdict in VIOLATIONS:
        result.counterexample = f"counterexamples/{files.name}.jsonl"
        files.conclude(written, "counterexample", result.counterexample, told)


def _tell_findings(
    result: Result, files: Transcripts, iut: Iut, decisive: tuple[Session, ...]
) -> None:
    """Add each finding of the judge once, with the transcript that shows it."""
    # What the decisive sessions show needs no transcript of its own.
    entries = sorted(iut.findings, key=lambda entry: entry[2] != decisive)
    told: set[tuple[str, str]] = set()
    elsewhere: Counter[str] = Counter()
    for finding, session, sessions in entries:
        if (finding.requirement, finding.message) in told:
            continue
        if sessions != decisive:
            elsewhere[finding.requirement] += 1
            if elsewhere[finding.requirement] > ALIKE:
                told.add((finding.requirement, finding.message))
                continue
        written = files.of(sessions)
        presumed = set(iut.testbed.patience.presumed(finding.requirement))
        # What it may follow from is told with it, even if another transcript shows that as well.
        bases = [each for each in session.judge.findings if each.requirement in presumed]
        for each in (*bases, finding):
            told.add((each.requirement, each.message))
            at_end = _is_end(session, each.event)
            entry = {
                "requirement": each.requirement,
                "message": each.message,
                "transcript": written.path,
                "event": written.place(sessions, session, each.event),
                "path": list(each.path),
                "concluded": False,
                "at_end": at_end,
                "at_death": at_end and bool(session.death),
                "rests": "",
            }
            if entry not in result.findings:
                result.findings.append(entry)


def _is_end(session: Session, event: int | None) -> bool:
    """Whether an event of a session is its end; the one that would have come next is none yet."""
    if event is None:
        return False
    return any(shown.event == "closed" for shown in session.events[event : event + 1])


def _is_sent(session: Session, event: int | None) -> bool:
    """Whether an event of a session is something sent, and not an operation or a look."""
    return event is not None and any(e.data is not None for e in session.events[event : event + 1])


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
    result.late = conclusion.took if isinstance(conclusion, Late) else None
    result.flooded = conclusion.size if isinstance(conclusion, Flooded) else 0
    result.detail = str(conclusion)
    result.unreached = isinstance(conclusion, Unreachable)
    if not isinstance(conclusion, Violation):
        return
    result.expected, result.came = conclusion.expected, conclusion.came
    result.offending = conclusion.event
    result.explains = conclusion.explains
    about = conclusion.requirement or decides.id
    spoilt = session is not None and session.judge.spoiled and not _on(session, about)
    if spoilt and session is not None and not conclusion.explains:
        cause: Finding = session.judge.findings[0]
        result.verdict = Verdict.INCONCLUSIVE
        result.offending = cause.event
        result.detail = (
            f"{cause.message} ({cause.requirement}); so nothing is decided by what is "
            f"behind that: {result.detail}"
        )
    elif about != decides.id:
        result.verdict = Verdict.INCONCLUSIVE
        found = {"requirement": about, "message": str(conclusion), "path": []}
        nowhere = {"transcript": None, "event": None}
        result.findings.append(
            {**found, **nowhere, "concluded": True, "at_end": False, "at_death": False, "rests": ""}
        )
    else:
        result.verdict = violated(decides.level)
