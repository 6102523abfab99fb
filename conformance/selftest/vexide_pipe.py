"""A stream in memory between a vexide mock and a test."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

from conformance.vexide.codec import Decoder, encode
from mocks import deviations
from mocks.streams import Stream
from mocks.vexide.choices import NEUTRAL

DEADLINE = 20.0  # seconds that anything in these tests can take
HELLO = {"Handshake": {"version": 1, "extensions": []}}
SIGNATURE = {"VCodeSig": "WFZYNQIAAAAAAAAAAAAAAAAAAAAAAAAA"}
MOTOR = {"Motor": {"physical_gearset": "Green", "moment_of_inertia": 0.01}}
OFF = {"enabled": False, "connected": True, "mode": "Driver", "is_competition": True}
ON = {**OFF, "enabled": True}


class Pipe(Stream):
    """A stream in memory between the mock and the test."""

    def __init__(self) -> None:
        self.kind = "stdio"
        self.to_mock: asyncio.Queue[bytes] = asyncio.Queue()
        self.from_mock: asyncio.Queue[Any] = asyncio.Queue()
        self._decoder = Decoder()
        self._open = True

    async def read(self) -> bytes:
        return await self.to_mock.get() if self._open else b""

    def write(self, data: bytes) -> None:
        if self._open:
            for frame in self._decoder.feed(data):
                self.from_mock.put_nowait(frame.value if frame.name else frame)

    @property
    def congested(self) -> bool:
        return False

    async def drain(self) -> None:
        pass

    def close(self, why: str = "") -> None:
        if self._open:
            self._open = False
            self.to_mock.put_nowait(b"")
            self.from_mock.put_nowait(None)

    async def closed(self) -> None:
        self.close()

    # The test's end

    def say(self, *messages: Any) -> None:
        self.to_mock.put_nowait(b"".join(map(encode, messages)))

    async def hear(self) -> Any:
        """Return the next message of the mock, or None after the end of the stream."""
        return await asyncio.wait_for(self.from_mock.get(), DEADLINE)

    async def hear_until(self, wanted: Callable[[Any], bool]) -> list[Any]:
        heard = [await self.hear()]
        while not wanted(heard[-1]):
            assert heard[-1] is not None, f"the stream ended after {heard}"
            heard.append(await self.hear())
        return heard


async def ended(playing: "asyncio.Task[None]") -> None:
    """End a mock, and raise the error with which it failed, if any."""
    playing.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await playing


def peers(role: str) -> list[type[Any]]:
    return [deviations.deviating(role, [name]) for name in deviations.faults(role)]


async def listen(pipe: Pipe, name: str) -> None:
    """Read until a message, until the stream's end, or until no message comes for 0.1 s."""
    with contextlib.suppress(TimeoutError):
        while (message := await asyncio.wait_for(pipe.from_mock.get(), 0.1)) is not None:
            if message == name:
                return


def raw(**state: Any) -> dict[str, Any]:
    return {"Raw": {**NEUTRAL, **state}}
