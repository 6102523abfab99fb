"""The run of one mock: its log entries, its connections, and their observers.

A run belongs to a context, so several mocks can run in one process. A mock logs entries, as lines
of text or JSON, to standard error. The address where it listens is the first line of its standard
output, unless standard output is the wire or belongs to the upper tester.
"""

import asyncio
import json
import sys
import threading
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol

ENDED = "the mock is ended"
LONGEST = 1000  # characters of a line of text, so that a log stays readable


@dataclass(frozen=True, slots=True)
class Entry:
    """A log entry: its kind, its text, its connection if any, and further facts."""

    event: str
    text: str
    connection: int | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)


Teller = Callable[[Entry], None]


class Observer(Protocol):
    """An observer of all traffic and connections; its methods return at once."""

    def connected(self, number: int, channel: str, kind: str) -> None:
        """A connection has begun; `channel` names the port if the role has several."""
        ...

    def passed(self, number: int, channel: str, came: bool, data: bytes) -> None:
        """Bytes were received (`came`), or are being sent."""
        ...

    def ended(self, number: int, channel: str, came: bool) -> None:
        """The peer (`came`) or the mock has closed its direction of the stream."""
        ...

    def left(self, number: int) -> None:
        """Nothing more of a connection will be read."""
        ...


class Run:
    """The run of a mock; `tell` receives log entries, `announce` the address."""

    def __init__(self, tell: Teller | None = None, announce: Teller | None = None) -> None:
        self._tell = tell or Lines()
        self._announce = announce or self._tell
        self.observers: list[Observer] = []
        self.channels: tuple[str, ...] = ("",)
        """The ports of the role; the address is announced when the mock listens at all of them."""
        self.addresses: dict[str, str] = {}
        self.open: dict[int, Connection] = {}
        self.connections = 0
        self.ending = False
        self.inside = False
        """True inside another program, which owns the standard streams."""
        self.operations: Mapping[str, Any] = {}
        """The operations of the upper tester, available when `offered` is set."""
        self.offered = asyncio.Event()
        self.peer: type[Any] = object
        """The class that plays the role, made for this run only."""
        self.judging: Any = None
        """The judge of the mock's peers (`mocks.judging`), or None."""
        self._changed = asyncio.Event()

    def tell(self, event: str, text: str, connection: int | None = None, **facts: Any) -> None:
        self._tell(Entry(event, text, connection, facts))

    def listening(self, channel: str, address: str) -> None:
        """Report that the mock listens at a port.

        The address is HOST:PORT, unix:PATH or zmq:HOST:PORT.
        """
        self.addresses[channel] = address
        if all(name in self.addresses for name in self.channels):
            first = self.addresses[self.channels[0]]
            places = [f"{self.addresses[name]} {name}".rstrip() for name in self.channels]
            facts: dict[str, Any] = {"address": first}
            if len(self.channels) > 1:
                facts["addresses"] = self.addresses
            if not first.startswith("unix:"):
                _, _, port = first.rpartition(":")
                facts["port"] = int(port)
            self._announce(Entry("listening", f"listening on {', '.join(places)}", facts=facts))

    def connection(self, kind: str, where: str, channel: str = "") -> "Connection":
        """Report a new connection; `kind` is its transport, and `where` describes it."""
        self.connections += 1
        made = Connection(self, self.connections, channel)
        self.open[made.number] = made
        self._changed.set()
        self.tell("connected", where, made.number, **({"channel": channel} if channel else {}))
        for observer in self.observers:
            observer.connected(made.number, channel, kind)
        return made

    def over(self, number: int) -> None:
        self.open.pop(number, None)
        self._changed.set()

    async def once(self) -> None:
        """Wait until there has been a connection, and all connections have ended."""
        while self.open or not self.connections:
            self._changed.clear()
            await self._changed.wait()


class Connection:
    """A connection of a run; its stream reports all traffic here."""

    def __init__(self, run: Run, number: int, channel: str) -> None:
        self.number = number
        self.channel = channel
        self.write: Callable[[bytes], None] = lambda data: None
        """Sends bytes, if there is a stream."""
        self.close: Callable[[str], None] = self.closed
        """Closes the stream; the argument is the reason, for the log."""
        self._run = run
        self._by_peer = False
        self._closed = False

    def tell(self, event: str, text: str, **facts: Any) -> None:
        self._run.tell(event, text, self.number, **facts)

    def came(self, data: bytes) -> None:
        for observer in self._run.observers if not self._closed else ():
            observer.passed(self.number, self.channel, True, data)

    def went(self, data: bytes) -> None:
        for observer in self._run.observers:
            observer.passed(self.number, self.channel, False, data)

    def peer_ended(self) -> None:
        """Report that the peer has closed its direction."""
        if not (self._by_peer or self._closed):
            self._by_peer = True
            for observer in self._run.observers:
                observer.ended(self.number, self.channel, True)

    def closed(self, why: str = "") -> None:
        """Report that the mock has closed the connection."""
        if self._closed:
            return
        self._closed = True
        for observer in self._run.observers:
            observer.ended(self.number, self.channel, False)
            observer.left(self.number)
        usual = "by the peer" if self._by_peer else "by the mock"
        reason = why or (ENDED if self._run.ending and not self._by_peer else usual)
        self.tell("closed", f"closed: {reason}", reason=reason)
        self._run.over(self.number)


_WRITING = threading.Lock()


class Lines:
    """Write entries as lines of text or JSON to standard error, or to `out`."""

    def __init__(
        self, form: str = "text", out: Callable[[], Any] = lambda: sys.stderr, quiet: bool = False
    ) -> None:
        self._json = form == "json"
        self._out = out
        self._quiet = quiet

    def __call__(self, entry: Entry) -> None:
        if not self._quiet:
            line = as_json(entry) if self._json else as_text(entry)
            # The judge logs from another thread, so lines must be kept apart.
            with _WRITING:
                print(line, file=self._out(), flush=True)


def as_text(entry: Entry) -> str:
    whose = "" if entry.connection is None else f"{entry.connection}: "
    text = entry.text if len(entry.text) <= LONGEST else f"{entry.text[:LONGEST]}…"
    if not text.isprintable():
        text = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
    return whose + text


def as_json(entry: Entry) -> str:
    """Format an entry as a line of JSON: event, time, text, connection and facts."""
    told: dict[str, Any] = {"event": entry.event, "time": datetime.now(UTC).isoformat()}
    if entry.connection is not None:
        told["connection"] = entry.connection
    return json.dumps({**told, "text": entry.text, **entry.facts}, default=_plain)


def _plain(value: Any) -> Any:
    """Format a value that JSON does not support, such as bytes."""
    return value.hex() if isinstance(value, bytes) else str(value)


current: ContextVar[Run] = ContextVar("run")
"""The current run; without one, a new run logs lines of text."""


def here() -> Run:
    try:
        return current.get()
    except LookupError:
        current.set(run := Run())
        return run


def note(text: str) -> None:
    """Log a text that belongs to no single connection."""
    here().tell("note", text)
