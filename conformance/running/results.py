"""Collects the evidence of one test when it ends, writes its transcripts, and has it decided."""

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
from conformance.judging.judge import Finding
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
from conformance.wire import LONG

ALIKE = 3  # findings of one requirement, in other sessions of a test, that get a transcript each

_STUMBLED = (AttributeError, LookupError, TypeError, ValueError)
"""The errors of a test that reads a message that does not fit its schema (which is found)."""

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
    """The result of a test that ended like this.

    Its transcripts are written below ``folder``. The test's full timeouts are recorded, so that
    no other test of the same requirement waits for the same message.
    """
    tried = tuple(iut.sessions)
    shown = next(
        (session for session in tried if _has_finding_about(session, requirement.id)), None
    )
    iut.settle()
    conclusion = _conclusion(error, iut, tried)
    decisive = tried[-1] if tried else None
    if conclusion is not None:
        decisive, tried = conclusion.session or decisive, conclusion.sessions or tried
    elif own := next(
        (each for each in iut.findings if each[0].requirement == requirement.id), None
    ):
        decisive, tried = (shown, tried) if shown else own[1:]
    elif not tried and iut.findings:
        _, decisive, tried = iut.findings[-1]
    passed = error is None and not iut.findings
    files = Transcripts(folder, test, purpose, requirement.id, iut.testbed.written, passed)
    concluded = _own_conclusion(conclusion, error, requirement.id, decisive, tried)
    written = (
        files.of(tried, decisive, concluded.place.event if concluded else None) if tried else None
    )
    evidence: list[Evidence] = []
    if concluded:
        evidence.append(_with_place(concluded, written, tried, decisive))
        _record_timeouts(iut, test, concluded)
    evidence += _finding_evidence(files, iut, tried)
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
        _observations(iut, tried),
        reproduce,
    )
    seen = (
        decisive is not None
        and result.own_evidence is not None
        and _has_finding_about(decisive, result.own_evidence.requirement)
    )
    return _with_conclusion(result, files, written, seen, drawn=bool(iut.drawn_examples.failed))


def _conclusion(error: BaseException | None, iut: Iut, tried: Sessions) -> Conclusion | None:
    """The conclusion of the test itself; None if it passed, or the suite failed."""
    if error is None:
        return None
    conclusion = next(_conclusions(error), None)
    if conclusion is None and isinstance(error, _STUMBLED) and iut.findings:
        finding, session, sessions = iut.findings[0]
        text = f"the test cannot read this message: {finding.message} ({finding.requirement})"
        return Inconclusive(text).shown_in(session, sessions)
    if conclusion is None and isinstance(error, _STUMBLED):
        return _unreadable(iut, tried)
    return conclusion


def _unreadable(iut: Iut, tried: Sessions) -> Conclusion | None:
    """The conclusion that a test cannot read what came, such as an answer that never ends."""
    known = iut.configuration.protocol.messages
    for session in tried:
        for message in session.received:
            if (iut.role.name, message.name) not in known:
                text = f"the test cannot read what came: {message.name}"
                return Inconclusive(text).shown_in(session, tried)
    return None


def _conclusions(error: BaseException) -> Iterator[Conclusion]:
    """The conclusions within an exception: a flaky example comes wrapped in a group."""
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
    unread = (
        session is not None and session.judge.spoiled and not _has_finding_about(session, about)
    )
    if session is not None and unread and not conclusion.explains:
        noise = session.judge.findings[0]
        text = f"{noise.message} ({noise.requirement}); nothing after it counts: {conclusion}"
        return Evidence(Kind.UNDECIDED, about, text, place=Place(event=noise.event))
    end = end_of(session, sessions) if session and _is_end(session, conclusion.event) else None
    missing = () if conclusion.event is not None else _missed_messages(sessions)
    if conclusion.missing:
        # No single session was to bring these messages: that one of them ended explains nothing.
        missing = (conclusion.missing,)
        end = end if end and end.died else None
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
        end=end,
    )


def _remarks(session: Session | None, violation: Violation, about: str) -> Iterator[str]:
    """Further remarks on the session for a reader."""
    if session is None:
        return
    if session.unread_bytes and violation.event is None:
        yield f"the IUT has not read {session.unread_bytes} bytes of what it was sent"
    ways = [way for way in sorted(session.multi_read_sends) if way != LONG]
    if ways and about == session.protocol.segmentation_requirement:
        yield f"it was sent {' and '.join(ways)}"


def _is_end(session: Session | None, event: int | None) -> bool:
    """True if an event is the end of its session, or there is none: then an end can explain it."""
    if event is None or session is None:
        return True
    return any(shown.event == "closed" for shown in session.events[event : event + 1])


def _missed_messages(sessions: Sessions) -> tuple[tuple[str, ...], ...]:
    """The messages that did not come in these sessions."""
    return tuple(sorted({names for session in sessions for names in session.missed}))


def end_of(session: Session, sessions: Sequence[Session] = ()) -> End | None:
    """How the IUT ended a session by itself; None if the suite did, or it goes on.

    ``sessions`` are those of the same attempt. A process that died has ended all of its sessions.
    It can have died of a message on any of its connections.
    """
    process = session.instance.process
    how = session.death or (CLOSED_STREAM if session.closed_by_iut else "")
    if not how:
        return None
    died = bool(process and process.death)
    with_it = [one for one in sessions if one.instance is session.instance] if died else []
    candidates = [
        label
        for one in with_it or [session]
        for label in (*one.sent_since_last_receive, *one.operating)
    ]
    goodbye = any(map(session.judge.has_said_goodbye, (session.role.name, session.peer)))
    lawful = goodbye and how == CLOSED_STREAM
    return End(how, session.instance.explaining_line, tuple(candidates), died, lawful)


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
            iut.testbed.timeouts.expire(test, iut.requirement_id, fact.requirement, names)


def _observations(iut: Iut, tried: Sessions) -> Observed:
    """The further facts about the sessions."""
    return Observed(
        frozenset(iut.exercised),
        frozenset(iut.received),
        frozenset(label for session in tried for label in session.sent),
    )


def _finding_evidence(files: Transcripts, iut: Iut, decisive: Sessions) -> Iterator[Evidence]:
    """Each finding of the judge once, with the transcript that shows it."""
    # The findings of the decisive sessions need no transcript of their own.
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
            if elsewhere[finding.requirement] > ALIKE:
                continue
        written = files.of(sessions)
        place = Place(written.path, written.place(sessions, session, finding.event), finding.path)
        end = end_of(session, sessions) if _is_about_end(session, finding) else None
        yield Evidence(
            Kind.END if end else Kind.VIOLATION,
            finding.requirement,
            finding.message,
            came=finding.message,
            place=place,
            judged=True,
            end=end,
        )


def _is_about_end(session: Session, finding: Finding) -> bool:
    """True if a finding is about the end of the session."""
    if finding.event is None:
        return False
    shown = session.events[finding.event : finding.event + 1]
    return any(event.event == "closed" for event in shown)


def _with_conclusion(
    result: Result, files: Transcripts, written: Transcript | None, seen: bool, *, drawn: bool
) -> Result:
    """The result once its transcript says what the test concluded.

    If the judge has ``seen`` the same, the transcript says so already.

    If examples were ``drawn``, the smallest that fails is written as a counterexample.
    """
    own = result.own_evidence
    if written is None or own is None or not own.is_against:
        return result
    shown = {"expected": own.expected, "came": own.came, "offending": own.place.event}
    extra: dict[str, Any] = {key: value for key, value in shown.items() if value is not None}
    if not (own.judged or seen or written.gaps) and own.came:
        extra["concluded"] = own.requirement
        files.conclude(written, "recorded", written.path, extra)
    if not (drawn and result.verdict in (Verdict.FAIL, Verdict.WARN)):
        return result
    path = f"counterexamples/{files.name}.jsonl"
    files.conclude(written, "counterexample", path, extra)
    return replace(result, files=Files(written.path, path))


def _has_finding_about(session: Session, requirement: str) -> bool:
    return any(finding.requirement == requirement for finding in session.judge.findings)
