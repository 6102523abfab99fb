"""Watches a conversation between two real peers: what it is told goes to a judge beside it."""

import contextlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from conformance.definitions import protocols
from conformance.judging.beside import Bench, Beside, Seen, Shown, Told
from conformance.judging.captures import Writer, ending
from conformance.live.session import Session
from conformance.live.sides import Side

DISTURBED, STALLED = "disturbed", "stalled"  # what is told of a connection that goes on


class Watch:
    """What passes between two real peers over any number of connections, recorded and judged."""

    def __init__(self, session: Session, told: Callable[[Seen], None], transport: str) -> None:
        """``told`` hears of each new finding, in another thread. Raises OSError."""
        self.protocol = protocols.load(session.protocol)
        self.connections = 0
        self._told = told
        self._transport = transport
        title = f"{' and '.join(session.parties)}, live"
        Writer(session.record, session.protocol, title, {"running": True}).close()
        self._beside = Beside(partial(_Bench, session), self._hear)

    # What the relay tells; these return at once

    def connected(self, side: Side) -> int:
        """A client has connected; returns the number of the connection."""
        self.connections += 1
        self._beside.connected(self.connections, self._transport)
        return self.connections

    def passed(self, number: int, sender: str, data: bytes) -> None:
        """Bytes of one party have been passed on."""
        self._beside.put(number, sender, data)

    def closed(self, number: int, sender: str, reset: bool) -> None:
        """A party has ended its direction of a connection, or has reset it."""
        self._beside.put(number, sender, event="closed", **ending(reset))

    def disturbed(self, number: int, what: str, **details: Any) -> None:
        """The relay itself has disturbed a connection, which is not a fault of either peer."""
        self._beside.put(number, None, event=what, **details)

    def end(self) -> None:
        """Judge what still waits, and stop."""
        self._beside.end()

    def leave(self) -> None:
        """Leave the rest to the judge, who writes the reports as well; nothing waits for it."""
        self._beside.leave()

    @property
    def shown(self) -> Shown:
        """What came of it, once it has ended."""
        return self._beside.shown

    def _hear(self, told: Told) -> None:
        if isinstance(told, Seen):
            self._told(told)


class _Bench(Bench):
    """The judge, who also writes the reports where whoever relayed was killed, or has left."""

    def __init__(self, session: Session) -> None:
        protocol = protocols.load(session.protocol)
        super().__init__(protocol, protocol.roles, session.record)
        self._session = session

    def abandoned(self) -> None:
        # What a report needs takes longer to import than a judge.
        from conformance.live.report import conclude

        conclude(self._session, self.shown or self.end(complete=False))


@contextlib.contextmanager
def watching(watch: Watch) -> Iterator[Watch]:
    """Watch within the block; what still waits at its end is judged."""
    try:
        yield watch
    finally:
        watch.end()
