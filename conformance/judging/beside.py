"""Judges what passes between peers, beside the traffic and never in its way.

What has passed is handed over by way of a bounded queue, to a judge in a process of its own or, in
somebody's own program, in a thread. Where judging fails or falls behind, the traffic goes on, and
it is told from when on which connection was not judged.
"""

import queue
import threading
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from conformance.codec import Frame
from conformance.definitions.protocol import Protocol
from conformance.judging import captures
from conformance.judging.apart import Apart, Gone, Here
from conformance.judging.captures import Event, Writer
from conformance.judging.connections import Connections
from conformance.judging.judge import Finding

BACKLOG = 64 * 1024 * 1024  # bytes that may wait to be judged
EVENT = 600  # bytes that an event takes in memory beside its data
BATCH = 256 * 1024  # bytes that are judged at a time
RECORDED = 256 * 1024 * 1024  # bytes of traffic that are recorded at most
MOST = 1000  # different findings that are told and kept
CUT = "cut"  # the event after which nothing more of a connection is looked at
_LATE = "unjudged"  # the event after which there are gaps in a connection
_TURN = 0.005  # seconds in which a process of its own gathers what it hands over


@dataclass(frozen=True, slots=True)
class Came:
    """A message has come from a peer; ``name`` is None where it is none."""

    connection: int
    name: str | None
    value: Any


@dataclass(frozen=True, slots=True)
class Seen:
    """A finding about one party, the first of its kind, and how often it was made."""

    party: str
    level: str
    finding: Finding
    connection: int
    times: int = 1


@dataclass(frozen=True, slots=True)
class Unjudged:
    """From some seconds on a connection, or all where it is None, is not judged any more."""

    connection: int | None
    at: float
    why: str


Told = Came | Seen | Unjudged


@dataclass
class Shown:
    """What everything that was judged has shown; by party what it was put to the test of."""

    seen: list[Seen] = field(default_factory=list)
    unjudged: list[Unjudged] = field(default_factory=list)
    exercised: dict[str, set[str]] = field(default_factory=dict)
    messages: dict[str, int] = field(default_factory=dict)


class Bench:
    """The judge: of events in their order, over any number of connections."""

    def __init__(
        self,
        protocol: Protocol,
        judged: Collection[str],
        record: Path | None = None,
        heard: Collection[str] = (),
        of_peer: Callable[[str, Frame], bool] | None = None,
    ) -> None:
        """``record`` is a capture that has its header; the messages of who is ``heard`` are told.

        ``of_peer``: whether a party has really sent a message, or else the connection is none of
        this protocol, and not judged.
        """
        self._protocol = protocol
        self._writer = Writer.behind(record) if record else None
        self._heard = frozenset(heard)
        self._connections = Connections(protocol, judged, running=True, of_peer=of_peer)
        self._seen: dict[tuple[str, str, str], Seen] = {}
        self._messages = dict.fromkeys(protocol.parties, 0)
        self._told: list[Told] = []
        self._open: dict[int | None, set[str | None]] = {}
        """The connections that are judged, and who has ended them already."""
        self._left: list[Unjudged] = []
        self._recorded = 0
        self._at = 0.0
        self.shown: Shown | None = None
        """What all have shown, once it has ended."""

    def take(self, events: Sequence[Event]) -> list[Told]:
        """Judge these events; what there is to tell of them."""
        for event in events:
            self._at = event.at
            frames: Sequence[Frame] = ()
            try:
                frames = self._take(self._place(event), event)
            except Exception as error:
                # Whatever is wrong with judging one connection, the others are judged.
                self._leave(event, f"judging failed: {type(error).__name__}: {error}")
            if self._writer and self._recorded <= RECORDED:
                self._writer.add(captures.named(event, frames))
        if self._writer:
            self._writer.flush()
        told, self._told = self._told, []
        return told

    def end(self, complete: bool = True) -> Shown:
        """What all events have shown; where they are not complete, that is one more of it."""
        exercised = self._connections.end()
        if self._writer:
            self._writer.close()
        if not complete:
            why = "whoever passed it on was killed"
            self._left.append(Unjudged(None, self._at, why))
        times = self._connections.times
        seen = [replace(one, times=max(1, times[key])) for key, one in self._seen.items()]
        self.shown = Shown(seen, self._left, exercised, self._messages)
        return self.shown

    def _take(self, index: int, event: Event) -> Sequence[Frame]:
        """Judge an event; the frames that it completes."""
        number = event.connection
        if event.event == _LATE:
            self._leave(event, "judging fell behind")
        elif event.event == "connected":
            self._open[number] = set()
        if number not in self._open:
            return ()
        frames, found = self._connections.take(index, event)
        if event.sender is not None:
            self._messages[event.sender] += sum(frame.name is not None for frame in frames)
            if event.sender in self._heard:
                self._told += [Came(number or 0, frame.name, frame.value) for frame in frames]
            for finding in found:
                self._keep(event.sender, number or 0, finding)
        if event.event == "closed":
            self._open[number].add(event.sender)
        if event.event == CUT or len(self._open[number]) == 2:
            del self._open[number]
            self._connections.forget(number)
        return frames

    def _leave(self, event: Event, why: str) -> None:
        self._open.pop(event.connection, None)
        self._connections.forget(event.connection)
        told = Unjudged(event.connection, event.at, why)
        self._told.append(told)
        if len(self._left) < MOST:
            self._left.append(told)

    def _place(self, event: Event) -> int:
        """The place of an event in the recording, where it has room, or else of the last one."""
        self._recorded += len(event.data or b"")
        if self._writer is None:
            return 0
        return self._writer.events - (self._recorded > RECORDED)

    def _keep(self, party: str, number: int, finding: Finding) -> None:
        key = (party, finding.requirement, finding.message)
        if key not in self._seen and len(self._seen) < MOST:
            requirement = self._protocol.requirements.get(finding.requirement)
            level = requirement.level if requirement else "must"
            self._seen[key] = Seen(party, level, finding, number)
            self._told.append(self._seen[key])


class Beside:
    """Hands over to a judge what passes, and tells what it says of it."""

    def __init__(
        self, make: Callable[[], Bench], hear: Callable[[Told], None], apart: bool = True
    ) -> None:
        """``make`` makes the judge in a process of its own (``apart``), so it can be pickled.

        ``hear`` hears in another thread what is told.
        """
        self._hear = hear
        self._turn = _TURN if apart else 0.0
        self._bench = Apart(make) if apart else Here(make)
        self._began = time.monotonic()
        self._waiting: queue.SimpleQueue[Event | threading.Event | None] = queue.SimpleQueue()
        # Two counts, for each is changed by one thread only.
        self._come = self._done = 0
        self._open: dict[int, set[str | None]] = {}
        """The connections of which more may come, and who has ended them already."""
        self._lost = self._left = False
        self.shown = Shown()
        """What everything has shown; whole once it has ended."""
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    # What a mock or a relay tells; these return at once

    def connected(self, number: int, transport: str) -> None:
        """A connection with a number of its own has begun."""
        self._open[number] = set()
        self.put(number, None, event="connected", transport=transport)

    def put(
        self,
        number: int,
        sender: str | None,
        data: bytes | None = None,
        event: str | None = None,
        **details: Any,
    ) -> None:
        """Bytes of a party have passed on a connection, or something else has happened there."""
        if number not in self._open or self._lost:
            return
        size = len(data or b"") + EVENT
        if self._come + size - self._done > BACKLOG:
            sender = data = None
            event, details, size = _LATE, {}, EVENT
        if event == "closed":
            self._open[number].add(sender)
        if event in (CUT, _LATE) or len(self._open[number]) == 2:
            del self._open[number]
        self._come += size
        at = time.monotonic() - self._began
        self._waiting.put(Event(at, sender, data, event=event, details=details, connection=number))

    def settle(self) -> None:
        """Wait until everything that has passed is judged."""
        done = threading.Event()
        self._waiting.put(done)
        # Whoever ends it meanwhile has judged everything, too.
        while not done.wait(0.1) and self._thread.is_alive():
            pass

    def end(self) -> None:
        """Judge what still waits, and stop."""
        self._waiting.put(None)
        self._thread.join()

    def leave(self) -> None:
        """Hand over what still waits, and leave the rest to the judge in a process of its own."""
        self._left = True
        self.end()

    # In the thread

    def _run(self) -> None:
        mark: threading.Event | None = threading.Event()
        while mark:
            batch, mark = self._batch()
            if self._left:
                self._bench.tell("take", batch)
                continue
            for told in self._call("take", [], batch) if batch else ():
                self._heard(told)
            self._done += sum(len(event.data or b"") + EVENT for event in batch)
            if mark:
                mark.set()
        if self._left:
            self._bench.tell("end")
            return
        lost = self.shown.unjudged
        self.shown = self._call("end", self.shown)
        self.shown.unjudged += [one for one in lost if one not in self.shown.unjudged]
        self._bench.end()

    def _batch(self) -> tuple[list[Event], threading.Event | None]:
        """What waits, in an amount that is soon judged, and what it goes up to: None is the end."""
        batch: list[Event] = []
        size = 0
        while isinstance(item := self._waiting.get(), Event):
            if not batch:
                time.sleep(self._turn)
            batch.append(item)
            size += len(item.data or b"") + EVENT
            if size > BATCH or self._waiting.empty():
                return batch, threading.Event()
        return batch, item

    def _call(self, method: str, otherwise: Any, *args: Any) -> Any:
        """What the judge answers, or else once it is lost."""
        if self._lost:
            return otherwise
        try:
            return self._bench.call(method, *args)
        except Gone as gone:
            self._lost = True
            at = time.monotonic() - self._began
            self._heard(Unjudged(None, at, f"judging failed: {gone}"))
            return otherwise

    def _heard(self, told: Told) -> None:
        # Kept, should the judge not live to say what all has shown.
        if isinstance(told, Seen):
            self.shown.seen.append(told)
        elif isinstance(told, Unjudged):
            self.shown.unjudged.append(told)
        self._hear(told)
