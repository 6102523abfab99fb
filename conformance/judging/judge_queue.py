"""Judge the traffic between two peers without ever delaying it.

The relay puts traffic into a bounded queue. A judge reads the queue in a separate process or,
inside a user's own program, in a thread. If judging fails or falls behind, the traffic continues.
The judge then reports which connection was not judged, and since when.
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
from conformance.judging.captures import Event, Writer
from conformance.judging.connections import Connections
from conformance.judging.coverage import Coverage
from conformance.judging.judge import Finding
from conformance.judging.judge_process import LocalObject, ProcessGone, ProcessObject

BACKLOG = 64 * 1024 * 1024  # bytes that can wait to be judged
EVENT = 600  # bytes of memory per event besides its data, roughly measured
BATCH = 256 * 1024  # bytes judged in one call: small enough that results appear quickly
# Bytes of traffic recorded at most, so that a long session cannot fill the disk.
RECORDED = 256 * 1024 * 1024
MAX_FINDINGS = 1000  # different findings that are reported and kept, so that memory has a bound
CUT = "cut"  # the event after which a connection is not judged any more
_OVERFLOW = "unjudged"  # the event that marks a gap in a connection: the queue was full
_GATHERING = 0.005  # seconds in which events are gathered before one call of the separate process


@dataclass(frozen=True, slots=True)
class PeerMessage:
    """A peer sent a message; ``name`` is None if the bytes are not a message."""

    connection: int
    name: str | None
    value: Any


@dataclass(frozen=True, slots=True)
class PartyFinding:
    """The first finding of its kind about one party, and the number of such findings."""

    party: str
    level: str
    finding: Finding
    connection: int
    times: int = 1


@dataclass(frozen=True, slots=True)
class Unjudged:
    """A connection is not judged after ``at`` seconds; None means all connections."""

    connection: int | None
    at: float
    why: str


JudgeReport = PeerMessage | PartyFinding | Unjudged


@dataclass
class JudgedTraffic:
    """The results of all judged traffic.

    ``exercised`` maps each party to the requirements that its behaviour exercised. ``messages``
    counts the messages of each party. ``coverage`` has the points that they have shown.
    """

    findings: list[PartyFinding] = field(default_factory=list)
    unjudged: list[Unjudged] = field(default_factory=list)
    exercised: dict[str, set[str]] = field(default_factory=dict)
    messages: dict[str, int] = field(default_factory=dict)
    coverage: Coverage | None = None


class Bench:
    """The judge: takes events in order, from any number of connections."""

    def __init__(
        self,
        protocol: Protocol,
        judged: Collection[str],
        record: Path | None = None,
        reported_parties: Collection[str] = (),
        of_peer: Callable[[str, Frame], bool] | None = None,
    ) -> None:
        """Begin to judge.

        - ``record``: a capture file that has only its header; events are appended to it
        - ``reported_parties``: parties whose messages are reported as `PeerMessage`
        - ``of_peer`` returns whether a party has really sent a frame. If False, the connection uses
          another protocol, and is not judged.
        """
        self._protocol = protocol
        self._writer = Writer.append_to(record) if record else None
        self._reported_parties = frozenset(reported_parties)
        self._connections = Connections(protocol, judged, running=True, of_peer=of_peer)
        self._found: dict[tuple[str, str, str], PartyFinding] = {}
        self._messages = dict.fromkeys(protocol.parties, 0)
        self._reports: list[JudgeReport] = []
        self._open: dict[int | None, set[str | None]] = {}
        """The judged connections, each with the parties that have closed their side."""
        self._unjudged: list[Unjudged] = []
        self._recorded = 0
        self._at = 0.0
        self.results: JudgedTraffic | None = None
        """The results of all connections; None until `end` has been called."""

    def take(self, events: Sequence[Event]) -> list[JudgeReport]:
        """Judge these events; return the new results."""
        for event in events:
            self._at = event.at
            frames: Sequence[Frame] = ()
            try:
                frames = self._take(self._place(event), event)
            except Exception as error:
                # An error while judging one connection must not affect the other connections.
                self._leave(event, f"judging failed: {type(error).__name__}: {error}")
            if self._writer and self._recorded <= RECORDED:
                self._writer.add(captures.with_messages(event, frames))
        if self._writer:
            self._writer.flush()
        reports, self._reports = self._reports, []
        return reports

    def end(self, complete: bool = True) -> JudgedTraffic:
        """Return the results of all events.

        ``complete``: False if events are missing at the end because the relay was killed.
        """
        exercised = self._connections.end()
        if self._writer:
            self._writer.close()
        if not complete:
            why = "the relaying process was killed"
            self._unjudged.append(Unjudged(None, self._at, why))
        times = self._connections.times
        findings = [replace(each, times=max(1, times[key])) for key, each in self._found.items()]
        self.results = JudgedTraffic(
            findings, self._unjudged, exercised, self._messages, self._connections.coverage
        )
        return self.results

    def _take(self, index: int, event: Event) -> Sequence[Frame]:
        """Judge an event; return the frames that it completes."""
        number = event.connection
        if event.event == _OVERFLOW:
            self._leave(event, "judging fell behind")
        elif event.event == "connected":
            self._open[number] = set()
        if number not in self._open:
            return ()
        frames, found = self._connections.take(index, event)
        if event.sender is not None:
            self._messages[event.sender] += sum(frame.name is not None for frame in frames)
            if event.sender in self._reported_parties:
                self._reports += [
                    PeerMessage(number or 0, frame.name, frame.value) for frame in frames
                ]
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
        unjudged = Unjudged(event.connection, event.at, why)
        self._reports.append(unjudged)
        if len(self._unjudged) < MAX_FINDINGS:
            self._unjudged.append(unjudged)

    def _place(self, event: Event) -> int:
        """Return the index of an event in the recording; the last index if it is full."""
        self._recorded += len(event.data or b"")
        if self._writer is None:
            return 0
        return self._writer.events - (self._recorded > RECORDED)

    def _keep(self, party: str, number: int, finding: Finding) -> None:
        key = (party, finding.requirement, finding.message)
        if key not in self._found and len(self._found) < MAX_FINDINGS:
            requirement = self._protocol.requirements.get(finding.requirement)
            level = requirement.level if requirement else "must"
            self._found[key] = PartyFinding(party, level, finding, number)
            self._reports.append(self._found[key])


class JudgeQueue:
    """Pass traffic on to a judge, and report its results."""

    def __init__(
        self,
        make: Callable[[], Bench],
        report: Callable[[JudgeReport], None],
        separate: bool = True,
    ) -> None:
        """Start judging in a thread.

        ``make`` makes the judge. If ``separate`` is True, the judge runs in a separate process, so
        ``make`` must be picklable. ``report`` is called in another thread with every result.
        """
        self._report_to = report
        self._gathering = _GATHERING if separate else 0.0
        self._bench = ProcessObject(make) if separate else LocalObject(make)
        self._began = time.monotonic()
        self._waiting: queue.SimpleQueue[Event | threading.Event | None] = queue.SimpleQueue()
        # Two counters, because each is changed by only one thread.
        self._queued_bytes = self._judged_bytes = 0
        self._open: dict[int, set[str | None]] = {}
        """The connections that are still open, each with the parties that have closed their side.
        """
        self._is_lost = self._has_left = False
        self.results = JudgedTraffic()
        """The results of all traffic; complete after `end`."""
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    # Called by a mock or a relay; these methods return at once.

    def connected(self, number: int, transport: str) -> None:
        """Report that a connection has begun; ``number`` identifies the connection."""
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
        """Report bytes that a party has sent, or another event of the connection."""
        if number not in self._open or self._is_lost:
            return
        size = len(data or b"") + EVENT
        if self._queued_bytes + size - self._judged_bytes > BACKLOG:
            sender = data = None
            event, details, size = _OVERFLOW, {}, EVENT
        if event == "closed":
            self._open[number].add(sender)
        if event in (CUT, _OVERFLOW) or len(self._open[number]) == 2:
            del self._open[number]
        self._queued_bytes += size
        at = time.monotonic() - self._began
        self._waiting.put(Event(at, sender, data, event=event, details=details, connection=number))

    def settle(self) -> None:
        """Wait until all traffic so far is judged."""
        done = threading.Event()
        self._waiting.put(done)
        # If another thread calls `end` at the same time, the thread judges everything and exits.
        while not done.wait(0.1) and self._thread.is_alive():
            pass

    def end(self) -> None:
        """Judge the rest of the queue, and stop."""
        self._waiting.put(None)
        self._thread.join()

    def leave(self) -> None:
        """Pass the rest of the queue to the separate process; do not wait for results."""
        self._has_left = True
        self.end()

    # Called in the thread.

    def _run(self) -> None:
        mark: threading.Event | None = threading.Event()
        while mark:
            batch, mark = self._batch()
            if self._has_left:
                self._bench.tell("take", batch)
                continue
            for report in self._call("take", [], batch) if batch else ():
                self._keep_and_report(report)
            self._judged_bytes += sum(len(event.data or b"") + EVENT for event in batch)
            if mark:
                mark.set()
        if self._has_left:
            self._bench.tell("end")
            return
        lost = self.results.unjudged
        self.results = self._call("end", self.results)
        self.results.unjudged += [each for each in lost if each not in self.results.unjudged]
        self._bench.end()

    def _batch(self) -> tuple[list[Event], threading.Event | None]:
        """Take the next events, at most about `BATCH` bytes, and the mark that follows them.

        The mark is set after these events are judged. None means the end.
        """
        batch: list[Event] = []
        size = 0
        while isinstance(item := self._waiting.get(), Event):
            if not batch:
                time.sleep(self._gathering)
            batch.append(item)
            size += len(item.data or b"") + EVENT
            if size > BATCH or self._waiting.empty():
                return batch, threading.Event()
        return batch, item

    def _call(self, method: str, otherwise: Any, *args: Any) -> Any:
        """Return the judge's answer, or ``otherwise`` if the judge has crashed."""
        if self._is_lost:
            return otherwise
        try:
            return self._bench.call(method, *args)
        except ProcessGone as gone:
            self._is_lost = True
            at = time.monotonic() - self._began
            self._keep_and_report(Unjudged(None, at, f"judging failed: {gone}"))
            return otherwise

    def _keep_and_report(self, report: JudgeReport) -> None:
        # Results are kept in case the judge crashes before `end` returns all of them.
        if isinstance(report, PartyFinding):
            self.results.findings.append(report)
        elif isinstance(report, Unjudged):
            self.results.unjudged.append(report)
        self._report_to(report)
