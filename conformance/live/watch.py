"""Watch a session between two real peers; a judge runs in a separate process."""

import contextlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from conformance.definitions import protocols
from conformance.judging.captures import Writer, end_details
from conformance.judging.judge_queue import (
    Bench,
    JudgedTraffic,
    JudgeQueue,
    JudgeReport,
    PartyFinding,
)
from conformance.live.session import Session
from conformance.live.sides import Side

DISTURBED, STALLED = "disturbed", "stalled"  # events of a connection that goes on


class Watch:
    """Record and judge the bytes between two real peers, over any number of connections."""

    def __init__(
        self, session: Session, report: Callable[[PartyFinding], None], transport: str
    ) -> None:
        """``report`` is called with each new finding, in another thread. Raises OSError."""
        self.protocol = protocols.load(session.protocol)
        self.connections = 0
        self._report = report
        self._transport = transport
        title = f"{' and '.join(session.parties)}, live"
        Writer(session.record, session.protocol, title, {"running": True}).close()
        self._queue = JudgeQueue(partial(_Bench, session), self._report_to)

    # Events from the relay; these methods return immediately.

    def connected(self, side: Side) -> int:
        """Handle a new client; return the number of its connection."""
        self.connections += 1
        self._queue.connected(self.connections, self._transport)
        return self.connections

    def passed(self, number: int, sender: str, data: bytes) -> None:
        """Handle bytes of a party that were relayed."""
        self._queue.put(number, sender, data)

    def closed(self, number: int, sender: str, reset: bool) -> None:
        """Handle the end or reset of a party's direction of a connection."""
        self._queue.put(number, sender, event="closed", **end_details(reset))

    def disturbed(self, number: int, what: str, **details: Any) -> None:
        """Handle a disturbance by the relay itself, which is not a fault of either peer."""
        self._queue.put(number, None, event=what, **details)

    def end(self) -> None:
        """Judge the remaining bytes, and stop."""
        self._queue.end()

    def leave(self) -> None:
        """Let the judge process the rest and write the reports, without waiting for it."""
        self._queue.leave()

    @property
    def results(self) -> JudgedTraffic:
        """Result of the session, after its end."""
        return self._queue.results

    def _report_to(self, report: JudgeReport) -> None:
        if isinstance(report, PartyFinding):
            self._report(report)


class _Bench(Bench):
    """The judge; it also writes the reports if the relay was killed or has left."""

    def __init__(self, session: Session) -> None:
        protocol = protocols.load(session.protocol)
        super().__init__(protocol, protocol.roles, session.record)
        self._session = session

    def abandoned(self) -> None:
        # The report's imports take longer than those of the judge.
        from conformance.live.report import conclude

        conclude(self._session, self.results or self.end(complete=False))


@contextlib.contextmanager
def watch_session(watch: Watch) -> Iterator[Watch]:
    """Watch within the block; the remaining bytes are judged at its end."""
    try:
        yield watch
    finally:
        watch.end()
