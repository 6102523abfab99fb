"""Writes what crossed the wire in a test: all connections of its sessions, in the order of time."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

from conformance.judging.captures import LEFT_OUT, Capture, Event, write
from conformance.judging.judge import Finding
from conformance.judging.packed_values import unpack
from conformance.session import Session

KEPT = 1024 * 1024  # bytes of a transcript's beginning, about, and more up to a marked event
PASSED = KEPT // 8  # the same of a test that has passed
FLOOD = KEPT // 64
MOST = 4 * KEPT  # bytes that are written at most, and KEPT where each is kept short
AROUND = 30  # events that are kept on either side of a marked one behind that, and before the end
ROOM = KEPT // 16  # bytes of them, beside the marked one
MARKED = 3  # events that are marked behind that of which the surroundings are kept
FULL = 8 * KEPT  # bytes of all transcripts of a run, from which on each is kept short
_LINE = 100  # bytes that an event takes beside its data
_DECODED = 3  # times its data that an event takes with its message

Sessions = tuple[Session, ...]


@dataclass(frozen=True)
class Transcript:
    """A written file; ``places`` maps a session's number and its event to the file's event.

    Events that were left out (`LEFT_OUT`) are missing there.
    """

    path: str
    capture: Capture
    places: dict[tuple[int, int], int]

    @property
    def gaps(self) -> bool:
        """True if events were left out."""
        return bool(self.capture.gaps)

    def place(self, sessions: Sessions, session: Session, event: int | None) -> int | None:
        """The index in the file of an event of a session; None where it was left out."""
        if event is None or session not in sessions:
            return None
        return self.places.get((sessions.index(session), event))


@dataclass
class Written:
    """How many bytes the transcripts of a run take."""

    bytes: int = 0
    lost: str = ""
    """The first transcript that could not be written, and why; empty if all were written."""


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

    def of(
        self, sessions: Sessions, session: Session | None = None, event: int | None = None
    ) -> Transcript:
        """The transcript of these sessions, which is written if it was not yet.

        The event of one of them that decides the test is kept, as are those that the judge names.
        """
        if sessions not in self._written:
            number = len(self._written) + 1
            name = self.name if number == 1 else f"{self.name}-{number}"
            self._written[sessions] = self._write(
                sessions, f"transcripts/{name}.jsonl", session, event
            )
        return self._written[sessions]

    def conclude(self, written: Transcript, origin: str, path: str, told: dict[str, Any]) -> None:
        """Write a transcript again, with what a test has concluded from it."""
        extra = {**written.capture.extra, **told}
        self._save(path, replace(written.capture, origin=origin, extra=extra))

    def _save(self, path: str, capture: Capture) -> None:
        """Write a file. A full disk changes no verdict; the run reports it at its end."""
        try:
            write(self.folder / path, capture)
            self.run.bytes += (self.folder / path).stat().st_size
        except OSError as error:
            self.run.lost = self.run.lost or f"{path}: {error.strerror or error}"

    def _write(
        self, sessions: Sessions, path: str, decisive: Session | None, event: int | None
    ) -> Transcript:
        events, places = _merge_events(sessions)
        shown = [(decisive, event)]
        for each in sessions:
            shown += [
                (each, at)
                for finding in each.judge.findings
                for at in _marked_events(finding, each)
            ]
        marked = [
            places[sessions.index(each), at]
            for each, at in shown
            if each in sessions and at is not None and (sessions.index(each), at) in places
        ]
        # More of a flood, or where every test brings as much, would show nothing new.
        short = any(session.is_flooded for session in sessions) or self.run.bytes > FULL
        usual = FLOOD if short else PASSED if self.passed else KEPT
        kept = _select_events(events, marked, usual, KEPT if short else MOST)
        told, numbers = _insert_gaps(events, kept)
        session = sessions[-1]
        extra: dict[str, Any] = {"iut": session.role.name, "test": self.test}
        if session.instance.program:
            extra["program"] = session.instance.program
        if not session.instance.configuration.command:
            extra["running"] = True
        capture = Capture(
            protocol=session.protocol.name,
            title=self.purpose,
            origin="recorded",
            requirements=(self.requirement,),
            events=tuple(told),
            extra=extra,
        )
        self._save(path, capture)
        where = {key: numbers[place] for key, place in places.items() if place in numbers}
        return Transcript(path, capture, where)


def _marked_events(finding: Finding, session: Session) -> Iterator[int | None]:
    """The event of a finding, and the one by which it was found, if that came behind it."""
    yield finding.event
    if finding.earlier and finding.event is not None:
        behind = range(finding.event + 1, len(session.events))
        yield next((at for at in behind if session.events[at].sender == session.role.name), None)


def _merge_events(sessions: Sessions) -> tuple[list[Event], dict[tuple[int, int], int]]:
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


def _select_events(
    events: Sequence[Event], marked: Sequence[int], usual: int, most: int
) -> list[int]:
    """The events that are kept: the beginning, the surroundings of marked ones, and the end.

    The beginning takes the ``usual`` number of bytes, and up to ``most`` if it has a marked event.
    """
    sizes = [_size(event) for event in events]
    totals = list(accumulate(sizes))
    last = max((mark for mark in marked if totals[mark] <= most), default=-1)
    begun = max(bisect_right(totals, usual), last + 1)
    kept = set(range(begun))
    beyond = list(dict.fromkeys(mark for mark in marked if mark >= begun and sizes[mark] <= most))
    for place in (*beyond[:MARKED], len(events) - 1):
        if begun < len(events):
            kept |= _events_around(place, sizes, most)
    return sorted(kept)


def _events_around(place: int, sizes: Sequence[int], most: int) -> set[int]:
    """An event, unless it is a huge one, and those on either side for which there is room."""
    kept = {place} if sizes[place] <= most else set()
    for side in (range(place - 1, -1, -1), range(place + 1, len(sizes))):
        room = ROOM // 2
        for index in side[:AROUND]:
            room -= sizes[index]
            if room < 0:
                break
            kept.add(index)
    return kept


def _size(event: Event) -> int:
    """About how many bytes of the file an event takes."""
    times = _DECODED if event.message or event.messages else 1
    # The arguments and the result of an operation can be as long as a message.
    beside = len(str(event.details)) if event.details else 0
    return times * len(event.data or b"") + beside + _LINE


def _insert_gaps(
    events: Sequence[Event], kept: Sequence[int]
) -> tuple[list[Event], dict[int, int]]:
    """The events that are kept, and the new index of each.

    A single event takes the place of each gap.
    """
    told: list[Event] = []
    numbers: dict[int, int] = {}
    for before, place in pairwise([-1, *kept, len(events)]):
        if gone := events[before + 1 : place]:
            size = sum(len(event.data or b"") for event in gone)
            details: dict[str, Any] = {"events": len(gone), "bytes": size}
            if of := {event.connection for event in gone if event.connection}:
                details["connections"] = sorted(of)
            told.append(Event(gone[0].at, None, event=LEFT_OUT, details=details))
        if place < len(events):
            numbers[place] = len(told)
            event = events[place]
            told.append(replace(event, value=unpack(event.value)))
    return told, numbers
