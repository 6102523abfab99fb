"""The interface of a mock in a test: its addresses, received messages and findings."""

import asyncio
import threading
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from mocks.run import Entry

STARTUP = 30.0  # seconds until a mock must listen, or its peer must be there
PATIENCE = 10.0  # seconds that `wait` and `ask` wait, and that a mock has for its exit
KEPT = 100_000  # messages and entries; the oldest are dropped first


class MockFailed(Exception):
    """A mock could not be started, or did not do what the test asked for."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message from a peer; bytes that are not a message have no name."""

    name: str | None
    value: Any
    connection: int


@dataclass(frozen=True, slots=True)
class Finding:
    """A requirement that a peer violates, its level, and a description of the violation."""

    requirement: str
    level: str
    message: str
    connection: int
    path: tuple[str | int, ...] = ()


class Mock:
    """A mock that is playing. Its records can be read at any time, also after its end."""

    def __init__(self, role: str, words: list[str], asks: bool, judge: bool = True) -> None:
        """``judge``: the test fails at its end if it has left findings unread."""
        self.role = role
        self._judge = judge
        self._looked_at = 0  # findings that the test has seen
        self.status: int | None = None
        """The exit status, or None until the mock has ended."""
        self.address = ""
        """The address HOST:PORT or unix:PATH; if the role has several ports, of the first."""
        self.addresses: dict[str, str] = {}
        """All addresses, by the names of the ports."""
        self.log: deque[Entry] = deque(maxlen=KEPT)
        self._words = words
        self._asks = asks
        self._received: deque[Message] = deque(maxlen=KEPT)
        self._findings: list[Finding] = []
        self._failure: str | None = None
        self._changed = threading.Condition()

    # Read by a test

    @property
    def host(self) -> str:
        return self.address.rpartition(":")[0]

    @property
    def port(self) -> int:
        return int(self.address.rpartition(":")[2])

    @property
    def url(self) -> str:
        return f"http://{self.address}"

    @property
    def findings(self) -> list[Finding]:
        """The violations by peers so far.

        A test that does not look at them fails at its end.
        """
        self._settle()
        self._looked_at = len(self._findings)
        return list(self._findings)

    @property
    def received(self) -> list[Message]:
        """The messages that peers have sent so far."""
        self._settle()
        return list(self._received)

    def wait(self, name: str, count: int = 1, within: float = PATIENCE) -> Message:
        """Wait for ``count`` messages of a name; return the last. Raises MockFailed."""

        def came() -> list[Message]:
            return [message for message in self._received if message.name == name]

        with self._changed:
            if not self._changed.wait_for(lambda: len(came()) >= count or self._over, within):
                raise MockFailed(f"expected {count} {name} within {within:g} s; fewer came")
            if len(came()) < count:
                raise MockFailed(f"the mock has ended; expected {count} {name}, fewer came")
            return came()[count - 1]

    def ask(self, operation: str, **args: Any) -> Any:
        """Run an operation of the upper tester (`upper_tester=True`); return its result.

        Raises MockFailed.
        """
        raise NotImplementedError

    def deviate(self, *, faults: Iterable[str] = (), variants: Iterable[str] = ()) -> None:
        """Replace all faults and variants of the mock by these.

        A fault that acts at the beginning of a session works from the next session on. Raises
        MockFailed if the mock is in another process.
        """
        raise MockFailed(f"{self.role} is in another process and cannot change its deviations")

    # Implemented by the subclasses

    def start(self) -> None:
        raise NotImplementedError

    def end(self) -> None:
        raise NotImplementedError

    def _settle(self) -> None:
        raise NotImplementedError

    @property
    def _over(self) -> bool:
        return self.status is not None or self._failure is not None

    def _hear(self, entry: Entry) -> None:
        """Take a log entry of the mock, in any thread."""
        with self._changed:
            facts, number = entry.facts, entry.connection or 0
            if entry.event == "received":
                self._received.append(Message(facts["name"], facts["value"], number))
            elif entry.event == "finding":
                path = tuple(facts["path"])
                told = facts["requirement"], facts["level"], facts["message"]
                self._findings.append(Finding(*told, number, path))
            elif entry.event != "settled":
                if entry.event == "listening":
                    self.addresses = dict(facts.get("addresses", {"": facts["address"]}))
                    self.address = facts["address"]
                self.log.append(entry)
            self._changed.notify_all()

    def _await(self, *events: str) -> None:
        """Wait for one of these events. Raises MockFailed if the mock has ended."""

        def told() -> bool:
            return any(entry.event in events for entry in self.log)

        with self._changed:
            done = self._changed.wait_for(lambda: told() or self._over, STARTUP)
            if self._failure or not done:
                raise MockFailed(f"{self.role}: {self._failure or 'it did not start'}")

    def __enter__(self) -> Self:
        try:
            self.start()
            self._await("listening", "connected", "ready")
        except BaseException:
            self.end()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._settle()
        self.end()
        unread = self._findings[self._looked_at :]
        if self._judge and unread and kind is None:
            shown = "; ".join(f"{each.requirement}: {each.message}" for each in unread[:3])
            more = f" and {len(unread) - 3} more" if len(unread) > 3 else ""
            raise MockFailed(
                f"a peer of {self.role} violated: {shown}{more}. The test can read `findings`, "
                "or give judge=False"
            )

    async def __aenter__(self) -> Self:
        return await asyncio.to_thread(self.__enter__)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await asyncio.to_thread(self.__exit__, kind, error, trace)
