"""Sessions with an IUT that follows a script. The event loop skips all waits."""

import asyncio
import contextlib
import selectors
from collections.abc import AsyncIterator, Coroutine
from typing import Any, TypeVar
from unittest import mock

from conformance.configuration import Configuration
from conformance.definitions import protocols
from conformance.harness.instance import Instance
from conformance.harness.links import NoWire
from conformance.iut import Iut
from conformance.running.machine import Crowding
from conformance.running.testbed import Testbed
from conformance.segmentation import Segmentation
from conformance.session import Session

T = TypeVar("T")

RESPONSE = 2.0
"""The declared time in seconds in which a scripted IUT reacts."""


class _Skipping(selectors.SelectSelector):
    """A selector that returns immediately and counts the time that it did not wait."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(timeout and min(timeout, 0.0))
        if timeout and timeout > 0 and not ready:
            self.now += timeout
        return ready


class _Clock(asyncio.SelectorEventLoop):
    """An event loop whose time is the sum of all skipped waits, so that tests are exact."""

    def __init__(self) -> None:
        self._skipping = _Skipping()
        super().__init__(self._skipping)

    def time(self) -> float:
        return self._skipping.now


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in an event loop that skips all waits; return its result."""
    with asyncio.Runner(loop_factory=_Clock) as runner:
        return runner.run(coroutine)


class Idle(Crowding):
    """A machine on which programs never wait for a processor."""

    def factor(self) -> float:
        return 1.0

    def lost(self) -> float:
        return 0.0


class Scripted(NoWire):
    """A stream that delivers data at given times, and keeps the written data.

    ``script`` contains for each write of the IUT the preceding pause in seconds, and the bytes.
    Empty bytes are the end of the stream.
    """

    def __init__(self, *script: tuple[float, bytes]) -> None:
        super().__init__(asyncio.Event().wait)
        self._script = iter(script)
        self.written: list[bytes] = []

    async def read(self) -> bytes:
        for pause, data in self._script:
            await asyncio.sleep(pause)
            return data
        return await super().read()

    async def write(self, data: bytes) -> bool:
        self.written.append(data)
        return True


def idle_testbed(**options: Any) -> Testbed:
    """Return the testbed of a simulator on an idle machine, with these settings."""
    timing = {"response": RESPONSE, "quiet": 0.5, "startup": 10.0}
    configuration = Configuration(
        protocols.role("vexide/simulator"), connect="127.0.0.1:1", timing=timing, **options
    )
    made = Testbed(configuration)
    made.timeouts.crowding = Idle()
    return made


@contextlib.asynccontextmanager
async def connected(
    iut: Iut, link: NoWire, segmentation: Segmentation | None = None
) -> AsyncIterator[Session]:
    """Connect to an IUT that has started, over this stream."""
    instance = Instance(iut.configuration, "tcp")
    instance.has_spoken = True
    with mock.patch.object(instance, "link", return_value=link):
        async with iut.connect(instance, segmentation=segmentation) as session:
            yield session
