"""Judges and records what passes between two peers, beside the traffic and never in its way.

What has passed is handed to a thread by way of a bounded queue. Where judging fails or falls
behind, the traffic goes on, and the report says from when on a connection was not judged.
"""

import contextlib
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.captures import Event, Writer
from conformance.judge import Connections, Finding
from conformance.live.sides import Side
from conformance.protocols import Protocol

BACKLOG = 64 * 1024 * 1024  # bytes that may wait to be judged
EVENT = 600  # bytes that an event takes in memory beside its data
RECORDED = 256 * 1024 * 1024  # bytes of traffic that are recorded at most
DISTURBED, STALLED = "disturbed", "stalled"  # what is told of a connection that goes on
CUT = "cut"  # what is told of a connection that the relay itself has ended
TURN = 0.00005  # seconds after which judging lets the traffic go on; Python's own are a hundredfold
MOST = 1000  # different findings kept of each party; all are counted


@dataclass(frozen=True)
class Seen:
    """A finding about one party, and how often it was made."""

    party: str
    finding: Finding
    connection: int
    times: int = 1


class Watch:
    """The judge of a conversation between two real peers, over any number of connections."""

    def __init__(
        self,
        protocol: Protocol,
        sides: list[Side],
        record: Path,
        told: Callable[[Seen], None],
        transport: str,
    ) -> None:
        """``told`` hears of each new finding, in the thread that judges."""
        self.protocol = protocol
        self.parties = tuple(dict.fromkeys(name for s in sides for name in (s.server, s.client)))
        self.roles = tuple(name for name in self.parties if name in protocol.roles)
        self.seen: dict[tuple[str, str, str], Seen] = {}
        self.exercised: dict[str, set[str]] = {}
        self.messages = dict.fromkeys(self.parties, 0)
        self.unjudged: list[str] = []
        self.connections = 0
        self._told = told
        self._transport = transport
        self._writer = Writer(
            record, protocol.name, f"{' and '.join(self.parties)}, live", {"running": True}
        )
        self._judge = Connections(protocol, protocol.roles, running=True)
        self._began = time.monotonic()
        self._waiting: queue.SimpleQueue[tuple[int, Side, Event] | None] = queue.SimpleQueue()
        # Two counts, for each is changed by one thread only.
        self._come = self._done = 0
        self._recorded = 0
        self._ended: dict[int, set[str]] = {}
        self._over: set[int] = set()
        # Each read and each write of the relay waits for so long while something is judged.
        self._turn = sys.getswitchinterval()
        sys.setswitchinterval(TURN)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    # What the relay tells; these return at once

    def connected(self, side: Side) -> int:
        """A client has connected; returns the number of the connection."""
        self.connections += 1
        self._put(self.connections, side, None, event="connected")
        return self.connections

    def passed(self, number: int, side: Side, sender: str, data: bytes) -> None:
        """Bytes of one party have been passed on."""
        self._put(number, side, sender, data)

    def closed(self, number: int, side: Side, sender: str) -> None:
        """A party has ended its direction of a connection."""
        self._put(number, side, sender, event="closed")

    def disturbed(self, number: int, side: Side, what: str, **details: Any) -> None:
        """The relay itself has disturbed a connection, which is not a fault of either peer."""
        self._put(number, side, None, event=what, **details)
        if what == CUT:
            # What a connection lacks from here on is not a fault of either peer.
            self._over.add(number)

    def end(self) -> None:
        """Judge what still waits, and stop."""
        self._waiting.put(None)
        self._thread.join()
        sys.setswitchinterval(self._turn)
        self.exercised |= self._judge.end()
        self._writer.close()

    def _put(
        self,
        number: int,
        side: Side,
        sender: str | None,
        data: bytes | None = None,
        event: str | None = None,
        **details: Any,
    ) -> None:
        if number in self._over:
            return
        at = time.monotonic() - self._began
        size = len(data or b"") + EVENT
        if self._come + size - self._done > BACKLOG:
            self._drop(number, at, "judging fell behind")
            return
        self._come += size
        if event == "connected":
            details = {"transport": self._transport}
        self._waiting.put(
            (number, side, Event(at, sender, data, event=event, details=details, connection=number))
        )

    def _drop(self, number: int, at: float, why: str) -> None:
        self._over.add(number)
        self.unjudged.append(f"connection {number} from {at:.1f} s on: {why}")

    # In the thread

    def _run(self) -> None:
        while (entry := self._waiting.get()) is not None:
            number, side, event = entry
            self._done += len(event.data or b"") + EVENT
            try:
                self._take(number, side, event)
            except Exception as error:
                # Whatever is wrong with judging must not end the traffic.
                self._drop(number, event.at, f"judging failed: {type(error).__name__}: {error}")
            if self._waiting.empty():
                self._writer.flush()

    def _take(self, number: int, side: Side, event: Event) -> None:
        index = self._record(event)
        frames, found = self._judge.take(index, event)
        if event.sender is not None:
            self.messages[event.sender] += sum(frame.name is not None for frame in frames)
            for finding in found:
                self._keep(event.sender, number, finding)
        if event.event == "closed":
            self._ended.setdefault(number, set()).add(str(event.sender))
        if event.event == CUT or self._ended.get(number) == {side.server, side.client}:
            self._ended.pop(number, None)
            self._judge.forget(number)

    def _record(self, event: Event) -> int:
        self._recorded += len(event.data or b"")
        if self._recorded > RECORDED:
            return self._writer.events - 1
        return self._writer.add(event)

    def _keep(self, role: str, number: int, finding: Finding) -> None:
        key = (role, finding.requirement, finding.message)
        if key in self.seen:
            before = self.seen[key]
            self.seen[key] = Seen(role, before.finding, before.connection, before.times + 1)
        elif len(self.seen) < MOST:
            self.seen[key] = Seen(role, finding, number)
            self._told(self.seen[key])

    def about(self, role: str) -> Iterator[Seen]:
        """What was found about one party."""
        return (seen for seen in self.seen.values() if seen.party == role)


@contextlib.contextmanager
def watching(watch: Watch) -> Iterator[Watch]:
    """Watch within the block; what still waits at its end is judged."""
    try:
        yield watch
    finally:
        watch.end()
