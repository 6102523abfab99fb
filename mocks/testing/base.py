"""A mock as a test sees it: where it listens, what its peers have sent, what they violate."""

import asyncio
import threading
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from mocks.run import Entry

STARTUP = 30.0  # seconds that a mock may take until it listens, or its peer until it is there
PATIENCE = 10.0  # seconds that `wait` and `ask` wait, and that a mock has for its end
KEPT = 100_000  # messages and entries; of more the oldest are forgotten


class MockFailed(Exception):
    """A mock that could not be started, or does not do what it was asked for."""


@dataclass(frozen=True, slots=True)
class Message:
    """What a peer has sent: the name of the message, None where it is none, and what it says."""

    name: str | None
    value: Any
    connection: int


@dataclass(frozen=True, slots=True)
class Finding:
    """A requirement that a peer violates, whether it is a must, and how."""

    requirement: str
    level: str
    message: str
    connection: int
    path: tuple[str | int, ...] = ()


class Mock:
    """A mock that plays. What it has seen and told can be read at any time, and after its end."""

    def __init__(self, role: str, words: list[str], asks: bool) -> None:
        self.role = role
        self.status: int | None = None
        """Its exit status, once it has ended."""
        self.address = ""
        """Where it listens: HOST:PORT or unix:PATH, of its first port where it has several."""
        self.addresses: dict[str, str] = {}
        """Where it listens, by the names of its ports."""
        self.log: deque[Entry] = deque(maxlen=KEPT)
        self._words = words
        self._asks = asks
        self._received: deque[Message] = deque(maxlen=KEPT)
        self._findings: list[Finding] = []
        self._failure: str | None = None
        self._changed = threading.Condition()

    # What a test looks at

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
        """What its peers have violated by what they have sent so far."""
        self._settle()
        return list(self._findings)

    @property
    def received(self) -> list[Message]:
        """The messages that its peers have sent so far."""
        self._settle()
        return list(self._received)

    def wait(self, name: str, count: int = 1, within: float = PATIENCE) -> Message:
        """Wait until that many messages of a name have come; the last. Raises MockFailed."""

        def came() -> list[Message]:
            return [message for message in self._received if message.name == name]

        with self._changed:
            if not self._changed.wait_for(lambda: len(came()) >= count or self._over, within):
                raise MockFailed(f"{name} did not come {count} times within {within:g} s")
            if len(came()) < count:
                raise MockFailed(f"the mock has ended, and {name} did not come {count} times")
            return came()[count - 1]

    def ask(self, operation: str, **args: Any) -> Any:
        """Do what its user can do (`upper_tester=True`); the result. Raises MockFailed."""
        raise NotImplementedError

    def deviate(self, *, faults: Iterable[str] = (), variants: Iterable[str] = ()) -> None:
        """From now on it has these faults and variants and no others.

        What a fault prepares when a session begins it has from the next session on. Raises
        MockFailed where the mock is in another process.
        """
        raise MockFailed(f"{self.role} is in another process, and stays as it was started")

    # How it is played

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
        """Take what the mock tells, in whatever thread."""
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
        """Wait until one of these was told. Raises MockFailed where it has ended before."""

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

    async def __aenter__(self) -> Self:
        return await asyncio.to_thread(self.__enter__)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await asyncio.to_thread(self.__exit__, kind, error, trace)
