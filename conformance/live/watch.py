"""Watches a conversation between two real peers: what it is told goes to a judge beside it."""

import contextlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from conformance import protocols
from conformance.beside import Bench, Beside, Seen, Told, Unjudged
from conformance.captures import Writer
from conformance.live.sides import Side
from conformance.protocol import Protocol

DISTURBED, STALLED = "disturbed", "stalled"  # what is told of a connection that goes on


class Watch:
    """What passes between two real peers over any number of connections, recorded and judged."""

    def __init__(
        self,
        protocol: Protocol,
        sides: list[Side],
        record: Path,
        told: Callable[[Seen], None],
        transport: str,
    ) -> None:
        """``told`` hears of each new finding, in another thread. Raises OSError."""
        self.protocol = protocol
        self.parties = tuple(dict.fromkeys(name for s in sides for name in (s.server, s.client)))
        self.roles = tuple(name for name in self.parties if name in protocol.roles)
        self.unjudged: list[str] = []
        self.connections = 0
        self._told = told
        self._transport = transport
        title = f"{' and '.join(self.parties)}, live"
        Writer(record, protocol.name, title, {"running": True}).close()
        self._beside = Beside(partial(_bench, protocol.name, record.resolve()), self._hear)

    # What the relay tells; these return at once

    def connected(self, side: Side) -> int:
        """A client has connected; returns the number of the connection."""
        self.connections += 1
        self._beside.connected(self.connections, self._transport)
        return self.connections

    def passed(self, number: int, sender: str, data: bytes) -> None:
        """Bytes of one party have been passed on."""
        self._beside.put(number, sender, data)

    def closed(self, number: int, sender: str) -> None:
        """A party has ended its direction of a connection."""
        self._beside.put(number, sender, event="closed")

    def disturbed(self, number: int, what: str, **details: Any) -> None:
        """The relay itself has disturbed a connection, which is not a fault of either peer."""
        self._beside.put(number, None, event=what, **details)

    def end(self) -> None:
        """Judge what still waits, and stop."""
        self._beside.end()

    # What came of it, once it has ended

    @property
    def exercised(self) -> dict[str, set[str]]:
        """The requirements that each party was put to the test of."""
        shown = self._beside.shown.exercised
        return {party: shown.get(party, set()) for party in self.parties}

    @property
    def messages(self) -> dict[str, int]:
        """How many messages of each party have passed."""
        shown = self._beside.shown.messages
        return {party: shown.get(party, 0) for party in self.parties}

    def about(self, role: str) -> Iterator[Seen]:
        """What was found about one party."""
        return (seen for seen in self._beside.shown.seen if seen.party == role)

    def _hear(self, told: Told) -> None:
        match told:
            case Seen():
                self._told(told)
            case Unjudged(connection, at, why):
                what = f"connection {connection}" if connection else "everything"
                self.unjudged.append(f"{what} from {at:.1f} s on: {why}")


def _bench(name: str, record: Path) -> Bench:
    protocol = protocols.load(name)
    return Bench(protocol, protocol.roles, record)


@contextlib.contextmanager
def watching(watch: Watch) -> Iterator[Watch]:
    """Watch within the block; what still waits at its end is judged."""
    try:
        yield watch
    finally:
        watch.end()
