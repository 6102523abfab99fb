"""Writes the transcripts of a test: the events of its sessions in order of time."""

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

# A transcript keeps its beginning, the events around marked ones, and its end. Other events are
# left out, so that a reader can open the file and a long run does not fill the disk.
USUAL_SIZE = 1024 * 1024  # bytes of the beginning that are kept
PASSED_SIZE = USUAL_SIZE // 8  # bytes of the beginning if the test passed: few readers open it
FLOOD_SIZE = USUAL_SIZE // 64  # bytes of the beginning of a flood: more would show nothing new
MAX_SIZE = 4 * USUAL_SIZE  # bytes up to which the beginning grows to include marked events
RUN_SIZE = 8 * USUAL_SIZE  # bytes of all transcripts of a run, after which each is kept short
NEIGHBORS = 30  # events that are kept on either side of a marked event after the beginning
NEIGHBORS_SIZE = USUAL_SIZE // 16  # bytes of these events
MAX_MARKED = 3  # marked events after the beginning that are kept
_LINE = 100  # bytes of the file that an event needs without its data
_DECODED = 3  # factor by which the decoded message increases the size of an event

Sessions = tuple[Session, ...]


@dataclass(frozen=True)
class Transcript:
    """A written transcript.

    ``places`` maps a session's number and an event's index to the event's index in the file.
    Events that were left out are missing.
    """

    path: str
    capture: Capture
    places: dict[tuple[int, int], int]

    @property
    def gaps(self) -> bool:
        """True if events were left out."""
        return bool(self.capture.gaps)

    def place(self, sessions: Sessions, session: Session, event: int | None) -> int | None:
        """The index in the file of an event of a session; None if it was left out."""
        if event is None or session not in sessions:
            return None
        return self.places.get((sessions.index(session), event))


@dataclass
class Written:
    """The total size of a run's transcripts, in bytes, and the first error."""

    bytes: int = 0
    unwritten: str = ""
    """The first transcript that could not be written, and why; empty if all were written."""


@dataclass
class Transcripts:
    """The transcripts of one test. Each group of sessions is written once."""

    folder: Path
    test: str
    purpose: str
    requirement: str
    run: Written
    passed: bool = False
    _written: dict[Sessions, Transcript] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The test id, turned into the name of a file."""
        return re.sub(r"[^\w.-]+", "_", self.test)[:150]

    def of(
        self, sessions: Sessions, session: Session | None = None, event: int | None = None
    ) -> Transcript:
        """Return the transcript of these sessions, which is written at the first call.

        ``session`` and ``event`` are the place that decides the test. This event and the events of
        the judge's findings are marked.
        """
        if sessions not in self._written:
            number = len(self._written) + 1
            name = self.name if number == 1 else f"{self.name}-{number}"
            self._written[sessions] = self._write(
                sessions, f"transcripts/{name}.jsonl", session, event
            )
        return self._written[sessions]

    def conclude(
        self, written: Transcript, origin: str, path: str, conclusion: dict[str, Any]
    ) -> None:
        """Write a transcript again with the conclusion of its test."""
        extra = {**written.capture.extra, **conclusion}
        self._save(path, replace(written.capture, origin=origin, extra=extra))

    def _save(self, path: str, capture: Capture) -> None:
        """Write a file. A full disk changes no verdict; the run reports it at its end."""
        try:
            write(self.folder / path, capture)
            self.run.bytes += (self.folder / path).stat().st_size
        except OSError as error:
            why = f"{path}: {error.strerror or error}"
            self.run.unwritten = self.run.unwritten or why

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
        short = any(session.is_flooded for session in sessions) or self.run.bytes > RUN_SIZE
        usual = FLOOD_SIZE if short else PASSED_SIZE if self.passed else USUAL_SIZE
        selected = _select_events(events, marked, usual, USUAL_SIZE if short else MAX_SIZE)
        written, indexes = _insert_gaps(events, selected)
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
            events=tuple(written),
            extra=extra,
        )
        self._save(path, capture)
        file_places = {key: indexes[place] for key, place in places.items() if place in indexes}
        return Transcript(path, capture, file_places)


def _marked_events(finding: Finding, session: Session) -> Iterator[int | None]:
    """The event of a finding and, if it was found later, the event that revealed it."""
    yield finding.event
    if finding.earlier and finding.event is not None:
        later = range(finding.event + 1, len(session.events))
        yield next((at for at in later if session.events[at].sender == session.role.name), None)


def _merge_events(sessions: Sessions) -> tuple[list[Event], dict[tuple[int, int], int]]:
    """The events of all sessions in the order of time, and the index of each event.

    If there are several sessions, each event has the number of its connection. If there are
    several instances, the event ``connected`` has the number of the instance.
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
            # The maximum keeps the order within a connection.
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
    """The indexes of the events to keep: the beginning, events around marked ones, and the end.

    The beginning has the ``usual`` number of bytes. It grows up to ``most`` bytes to include marked
    events.
    """
    sizes = [_size(event) for event in events]
    totals = list(accumulate(sizes))
    last = max((mark for mark in marked if totals[mark] <= most), default=-1)
    length = max(bisect_right(totals, usual), last + 1)
    selected = set(range(length))
    later = list(dict.fromkeys(mark for mark in marked if mark >= length and sizes[mark] <= most))
    for place in (*later[:MAX_MARKED], len(events) - 1):
        if length < len(events):
            selected |= _events_around(place, sizes, most)
    return sorted(selected)


def _events_around(place: int, sizes: Sequence[int], most: int) -> set[int]:
    """An event of at most ``most`` bytes, and its neighbors up to `NEIGHBORS_SIZE` bytes."""
    selected = {place} if sizes[place] <= most else set()
    for side in (range(place - 1, -1, -1), range(place + 1, len(sizes))):
        room = NEIGHBORS_SIZE // 2
        for index in side[:NEIGHBORS]:
            room -= sizes[index]
            if room < 0:
                break
            selected.add(index)
    return selected


def _size(event: Event) -> int:
    """The approximate number of bytes of an event in the file."""
    factor = _DECODED if event.message or event.messages else 1
    # The arguments and the result of an operation can be as long as a message.
    details = len(str(event.details)) if event.details else 0
    return factor * len(event.data or b"") + details + _LINE


def _insert_gaps(
    events: Sequence[Event], selected: Sequence[int]
) -> tuple[list[Event], dict[int, int]]:
    """The selected events and the new index of each; an event `LEFT_OUT` replaces each gap."""
    written: list[Event] = []
    indexes: dict[int, int] = {}
    for before, place in pairwise([-1, *selected, len(events)]):
        if gap := events[before + 1 : place]:
            size = sum(len(event.data or b"") for event in gap)
            details: dict[str, Any] = {"events": len(gap), "bytes": size}
            if connections := {event.connection for event in gap if event.connection}:
                details["connections"] = sorted(connections)
            written.append(Event(gap[0].at, None, event=LEFT_OUT, details=details))
        if place < len(events):
            indexes[place] = len(written)
            event = events[place]
            written.append(replace(event, value=unpack(event.value)))
    return written, indexes
