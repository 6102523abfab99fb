"""Collects the evidence of a test that ended, writes its transcripts, and decides it."""

import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from conformance.conclusions.decisions import decide_test
from conformance.definitions.protocol import Requirement
from conformance.evidence import End, Evidence, Files, Kind, Observed, Place, Result
from conformance.iut import Iut, Sessions
from conformance.running.transcripts import Transcript, Transcripts
from conformance.session import CLOSED_STREAM, Session
from conformance.verdicts import (
    Conclusion,
    Flooded,
    Hindered,
    Inconclusive,
    Late,
    NotExercised,
    NotRepeated,
    Unreachable,
    Verdict,
    Violation,
)
from conformance.wire import AT_LENGTH

MAX_TRANSCRIPTS = 3  # transcripts of findings of one requirement; more would show nothing new

_READING_ERRORS = (AttributeError, LookupError, TypeError, ValueError)
"""The errors of a test that reads a message that does not fit its schema."""

_KINDS: tuple[tuple[type[Conclusion], Kind], ...] = (
    (Late, Kind.LATE),
    (Flooded, Kind.FLOOD),
    (Hindered, Kind.HINDERED),
    (NotRepeated, Kind.NOT_REPEATED),
    (NotExercised, Kind.MISSING_MEANS),
    (Unreachable, Kind.UNREACHABLE),
)


def conclude(
    test: str,
    purpose: str,
    requirement: Requirement,
    error: BaseException | None,
    iut: Iut,
    folder: Path,
    *,
    seconds: float = 0.0,
    reproduce: str = "",
) -> Result:
    """The result of a test that ended, with an error or without.

    Its transcripts are written below ``folder``. Its timeouts are recorded, so that no other test
    of the same requirement waits for the same message.
    """
    sessions = tuple(iut.sessions)
    shown = next(
        (session for session in sessions if _has_finding_about(session, requirement.id)), None
    )
    iut.settle()
    conclusion = _conclusion(error, iut, sessions)
    decisive = sessions[-1] if sessions else None
    if conclusion is not None:
        decisive, sessions = conclusion.session or decisive, conclusion.sessions or sessions
    elif own := next(
        (each for each in iut.findings if each[0].requirement == requirement.id), None
    ):
        decisive, sessions = (shown, sessions) if shown else own[1:]
    elif not sessions and iut.findings:
        _, decisive, sessions = iut.findings[-1]
    passed = error is None and not iut.findings
    files = Transcripts(folder, test, purpose, requirement.id, iut.testbed.written, passed)
    concluded = _own_conclusion(conclusion, error, requirement.id, decisive, sessions)
    written = None
    if sessions:
        written = files.of(sessions, decisive, concluded.place.event if concluded else None)
    evidence: list[Evidence] = []
    if concluded:
        evidence.append(_with_place(concluded, written, sessions, decisive))
        _record_timeouts(iut, test, concluded)
    evidence += _finding_evidence(files, iut, sessions)
    presumed = iut.configuration.protocol.prerequisites(requirement.id)
    verdict, detail = decide_test(requirement, evidence, presumed)
    result = Result(
        test,
        purpose,
        requirement.id,
        verdict,
        detail or iut.remark,
        round(seconds, 4),
        tuple(evidence),
        Files(written.path if written else None),
        _observations(iut, sessions),
        reproduce,
        "" if any(each.end for each in evidence) else _crash(sessions),
    )
    is_judged = (
        decisive is not None
        and result.own_evidence is not None
        and _has_finding_about(decisive, result.own_evidence.requirement)
    )
    drawn = bool(iut.drawn_examples.failed)
    return _with_conclusion(result, files, written, is_judged, drawn=drawn)


def _conclusion(error: BaseException | None, iut: Iut, sessions: Sessions) -> Conclusion | None:
    """The conclusion of the test itself; None if it passed, or the suite failed."""
    if error is None:
        return None
    conclusion = next(_conclusions(error), None)
    if conclusion is None and isinstance(error, _READING_ERRORS) and iut.findings:
        finding, session, attempt = iut.findings[0]
        text = f"the test cannot read this message: {finding.message} ({finding.requirement})"
        return Inconclusive(text).shown_in(session, attempt)
    if conclusion is None and isinstance(error, _READING_ERRORS):
        return _unreadable(iut, sessions)
    return conclusion


def _crash(sessions: Sessions) -> str:
    """Description of the first crash of a process in these sessions, or empty."""
    processes = (session.instance.process for session in sessions)
    return next((each.crash for each in processes if each and each.crash), "")


def _unreadable(iut: Iut, sessions: Sessions) -> Conclusion | None:
    """The conclusion that a test cannot read a message without a known name, if one came."""
    known = iut.configuration.protocol.messages
    for session in sessions:
        for message in session.received:
            if (iut.role.name, message.name) not in known:
                text = f"the test cannot read this message: {message.name}"
                return Inconclusive(text).shown_in(session, sessions)
    return None


def _conclusions(error: BaseException) -> Iterator[Conclusion]:
    """The conclusions within an exception; Hypothesis raises flaky examples in a group."""
    if isinstance(error, Conclusion):
        yield error
    elif isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _conclusions(inner)


def _own_conclusion(
    conclusion: Conclusion | None,
    error: BaseException | None,
    requirement: str,
    session: Session | None,
    sessions: Sessions,
) -> Evidence | None:
    """The test's own conclusion as evidence, placed in its session."""
    if conclusion is None:
        if error is None:
            return None
        text = "".join(traceback.format_exception(error))
        return Evidence(Kind.SUITE_FAULT, requirement, text)
    if not isinstance(conclusion, Violation):
        kind = next((k for cls, k in _KINDS if isinstance(conclusion, cls)), Kind.UNDECIDED)
        amount = getattr(conclusion, "took", 0.0) or getattr(conclusion, "size", 0.0)
        return Evidence(kind, requirement, str(conclusion), amount=amount)
    about = conclusion.requirement or requirement
    spoiled = (
        session is not None and session.judge.spoiled and not _has_finding_about(session, about)
    )
    if session is not None and spoiled and not conclusion.explains:
        noise = session.judge.findings[0]
        text = f"{noise.message} ({noise.requirement}); nothing after it counts: {conclusion}"
        return Evidence(Kind.UNDECIDED, about, text, place=Place(event=noise.event))
    end = end_of(session, sessions) if session and _is_end(session, conclusion.event) else None
    missing = () if conclusion.event is not None else _missed_messages(sessions)
    if conclusion.missing:
        # Any of several sessions could show these messages, so the end of a session is no reason.
        missing = (conclusion.missing,)
        end = end if end and end.crashed else None
    kind = Kind.END if end else Kind.TIMEOUT if missing else Kind.VIOLATION
    message, came = str(conclusion), conclusion.came
    for remark in _remarks(session, conclusion, about):
        message, came = f"{message} ({remark})", f"{came} ({remark})"
    return Evidence(
        kind,
        about,
        message,
        conclusion.expected,
        came,
        Place(event=conclusion.event),
        missing,
        any(names in session.came_otherwise for session in sessions for names in missing),
        end=end,
    )


def _remarks(session: Session | None, violation: Violation, about: str) -> Iterator[str]:
    """Remarks about the session that can help to find the mistake."""
    if session is None:
        return
    if session.unread_bytes and violation.event is None:
        yield f"the IUT has not read {session.unread_bytes} bytes that the suite sent"
    ways = [way for way in sorted(session.multi_read_sends) if way != AT_LENGTH]
    if ways and about == session.protocol.segmentation_requirement:
        yield f"sent {' and '.join(ways)}"


def _is_end(session: Session | None, event: int | None) -> bool:
    """True if an event is the end of its session, or missing, so that an end can explain it."""
    return event is None or session is None or session.is_end(event)


def _missed_messages(sessions: Sessions) -> tuple[tuple[str, ...], ...]:
    """The messages that did not come in these sessions."""
    return tuple(sorted({names for session in sessions for names in session.missed}))


def end_of(session: Session, sessions: Sequence[Session] = ()) -> End | None:
    """How the IUT ended a session; None if the suite ended it, or the session is open.

    ``sessions`` are the sessions of the same attempt. If the process ended, a message on any
    connection can be the reason.
    """
    process = session.instance.process
    how = session.crash or (CLOSED_STREAM if session.closed_by_iut else "")
    if not how:
        return None
    crashed = bool(process and how == process.early_exit)
    siblings = [each for each in sessions if each.instance is session.instance] if crashed else []
    candidates = [
        label
        for each in siblings or [session]
        for label in (*each.sent_since_last_receive, *each.operating)
    ]
    goodbye = any(map(session.judge.has_said_goodbye, (session.role.name, session.peer)))
    lawful = goodbye and how == CLOSED_STREAM
    return End(how, session.instance.explaining_line, tuple(candidates), crashed, lawful)


def _with_place(
    fact: Evidence, written: Transcript | None, sessions: Sessions, session: Session | None
) -> Evidence:
    """The same fact with its place in the written transcript."""
    if written is None or session is None:
        return fact
    place = Place(written.path, written.place(sessions, session, fact.place.event))
    return replace(fact, place=place)


def _record_timeouts(iut: Iut, test: str, fact: Evidence) -> None:
    if fact.kind is Kind.TIMEOUT:
        for names in fact.missing:
            iut.testbed.timeouts.record_timeout(test, iut.requirement_id, fact.requirement, names)


def _observations(iut: Iut, sessions: Sessions) -> Observed:
    """Further facts about the sessions."""
    return Observed(
        frozenset(iut.exercised),
        frozenset(iut.received),
        frozenset(label for session in sessions for label in session.sent),
    )


def _finding_evidence(files: Transcripts, iut: Iut, decisive: Sessions) -> Iterator[Evidence]:
    """Each finding of the judge once, with the transcript that shows it."""
    # The decisive sessions come first, because they have a transcript already.
    entries = sorted(iut.findings, key=lambda entry: entry[2] != decisive)
    known: set[tuple[str, str]] = set()
    elsewhere: Counter[str] = Counter()
    for finding, session, sessions in entries:
        key = (finding.requirement, finding.message)
        if key in known:
            continue
        known.add(key)
        if sessions != decisive:
            elsewhere[finding.requirement] += 1
            if elsewhere[finding.requirement] > MAX_TRANSCRIPTS:
                continue
        written = files.of(sessions)
        place = Place(written.path, written.place(sessions, session, finding.event), finding.path)
        end = end_of(session, sessions) if session.is_end(finding.event) else None
        yield Evidence(
            Kind.END if end else Kind.VIOLATION,
            finding.requirement,
            finding.message,
            came=finding.message,
            place=place,
            judged=True,
            end=end,
        )


def _with_conclusion(
    result: Result, files: Transcripts, written: Transcript | None, is_judged: bool, *, drawn: bool
) -> Result:
    """Add the test's conclusion to its transcript, and return the result.

    ``is_judged``: the judge has found the same, so the transcript need not repeat the conclusion.
    If examples were ``drawn``, the smallest example that fails is written as a counterexample.
    """
    own = result.own_evidence
    if written is None or own is None or not own.is_against:
        return result
    shown = {"expected": own.expected, "came": own.came, "offending": own.place.event}
    extra: dict[str, Any] = {key: value for key, value in shown.items() if value is not None}
    if not (own.judged or is_judged or written.gaps) and own.came:
        extra["concluded"] = own.requirement
        files.conclude(written, "recorded", written.path, extra)
    if not (drawn and result.verdict in (Verdict.FAIL, Verdict.WARN)):
        return result
    path = f"counterexamples/{files.name}.jsonl"
    files.conclude(written, "counterexample", path, extra)
    return replace(result, files=Files(written.path, path))


def _has_finding_about(session: Session, requirement: str) -> bool:
    return any(finding.requirement == requirement for finding in session.judge.findings)
