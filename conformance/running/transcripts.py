"""Writes what crossed the wire in a test: all connections of its sessions, in the order of time."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from conformance.judging.captures import Capture, Event, write
from conformance.session import Session

KEPT = 1024 * 1024  # bytes of a transcript's file, about, and more up to the last marked event
PASSED = KEPT // 8  # the same of a test that has passed
FLOOD = KEPT // 64
MOST = 4 * KEPT  # bytes that are written at most, and KEPT where each is kept short
FULL = 8 * KEPT  # bytes of all transcripts of a run, from which on each is kept short
_LINE = 100  # bytes that an event takes beside its data
_DECODED = 3  # times its data that an event takes with its message

Sessions = tuple[Session, ...]


@dataclass(frozen=True)
class Transcript:
    """One written file; ``places`` maps a session, by its number, and its event to the file's."""

    path: str
    capture: Capture
    places: dict[tuple[int, int], int]

    def place(self, sessions: Sessions, session: Session, event: int | None) -> int | None:
        """The index in the file of an event of a session; None where it was left out."""
        if event is None or session not in sessions:
            return None
        place = self.places.get((sessions.index(session), event))
        return place if place is not None and place < len(self.capture.events) else None


@dataclass
class Written:
    """How many bytes the transcripts of a run take."""

    bytes: int = 0


@dataclass
class Transcripts:
    """The files of one test; each group of sessions that is asked for is written once."""

    folder: Path
    test: str
    purpose: str
    requirement: str
    run: Written
    passed: bool = False
    _written: dict[Sessions, Transcript] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of the test as that of a file."""
        return re.sub(r"[^\w.-]+", "_", self.test)[:150]

    def of(self, sessions: Sessions) -> Transcript:
        """The transcript of these sessions, which is written if it was not yet."""
        if sessions not in self._written:
            number = len(self._written) + 1
            name = self.name if number == 1 else f"{self.name}-{number}"
            self._written[sessions] = self._write(sessions, f"transcripts/{name}.jsonl")
        return self._written[sessions]

    def conclude(self, written: Transcript, origin: str, path: str, told: dict[str, Any]) -> None:
        """Write a transcript again, with what a test has concluded from it."""
        extra = {**written.capture.extra, **told}
        write(self.folder / path, replace(written.capture, origin=origin, extra=extra))

    def _write(self, sessions: Sessions, path: str) -> Transcript:
        events, places = _merged(sessions)
        marked = [
            places[number, finding.event]
            for number, session in enumerate(sessions)
            for finding in session.judge.findings
            if finding.event is not None
        ]
        # More of a flood, or where every test brings as much, would show nothing new.
        short = any(session.flooded for session in sessions) or self.run.bytes > FULL
        usual = FLOOD if short else PASSED if self.passed else KEPT
        kept = _bounded(events, max(marked, default=0), usual, KEPT if short else MOST)
        session = sessions[-1]
        extra: dict[str, Any] = {"iut": session.role.name, "test": self.test}
        if session.instance.program:
            extra["program"] = session.instance.program
        if not session.instance.configuration.command:
            extra["running"] = True
        if kept < len(events):
            extra["cut"] = f"{len(events) - kept} events left out"
        capture = Capture(
            protocol=session.protocol.name,
            title=self.purpose,
            origin="recorded",
            requirements=(self.requirement,),
            events=tuple(events[:kept]),
            extra=extra,
        )
        write(self.folder / path, capture)
        self.run.bytes += (self.folder / path).stat().st_size
        return Transcript(path, capture, places)


def _merged(sessions: Sessions) -> tuple[list[Event], dict[tuple[int, int], int]]:
    """The events of all sessions in the order of time, and the index of each.

    A connection has its number, and says with which instance of the IUT it was, where there are
    several.
    """
    if len(sessions) == 1:
        return list(sessions[0].events), {(0, n): n for n in range(len(sessions[0].events))}
    began = min(session.began for session in sessions)
    instances: list[Any] = []
    for session in sessions:
        if session.instance not in instances:
            instances.append(session.instance)
    entries: list[tuple[float, int, int, Event]] = []
    for number, session in enumerate(sessions):
        at = 0.0
        for index, event in enumerate(session.events):
            # Never before its predecessor: the order within a connection is kept.
            at = max(at, session.began - began + event.at)
            details = event.details
            if event.event == "connected" and len(instances) > 1:
                details = {**details, "instance": instances.index(session.instance) + 1}
            moved = replace(event, at=at, details=details, connection=number + 1)
            entries.append((at, number, index, moved))
    entries.sort(key=lambda entry: entry[:3])
    places = {(number, index): place for place, (_, number, index, _) in enumerate(entries)}
    return [event for *_, event in entries], places


def _bounded(events: Sequence[Event], marked: int, usual: int, most: int) -> int:
    """How many of the events are kept."""
    size = 0
    for number, event in enumerate(events):
        times = _DECODED if event.message or event.messages else 1
        size += times * len(event.data or b"") + _LINE
        if size > most or (size > usual and number > marked):
            return number
    return len(events)
