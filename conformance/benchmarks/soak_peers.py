"""The peers of a soak test: visitors that replay captures, and users.

A visitor connects, sends the writes of a capture, reads the answers, and closes or resets the
connection. The captures include violations. A user runs one operation after another.
"""

import asyncio
import contextlib
import itertools
import random
import socket
import struct
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any

from conformance.benchmarks.soak_cast import Does
from conformance.definitions import locations, protocols
from mocks import capture_playback
from mocks.script import Steps

ANSWER = 0.3  # seconds that a peer waits for an answer
RESET = struct.pack("ii", 1, 0)  # a linger time of 0: closing the socket is then a reset

Ask = Callable[..., Awaitable[Any]]
"""Runs an operation of a user, and returns its result."""


class Meter:
    """Counts answers and their latencies since the last reading."""

    def __init__(self) -> None:
        self._took: list[float] = []
        self.count = 0

    def answered(self, took: float) -> None:
        self.count += 1
        self._took.append(took)

    def read(self) -> tuple[int, float]:
        """Return the number of answers and the latency of the fastest tenth; reset both.

        The latency is in seconds.
        """
        found = self.count, sorted(self._took)[self.count // 10] if self._took else 0.0
        self._took, self.count = [], 0
        return found


def scripts(role: str, channel: str = "") -> list[Steps]:
    """Return the steps of a role's peer at a port, for each capture."""
    known = protocols.role(role)
    peer = f"{known.protocol}/{channel or known.peer}"
    folder = locations.folder("captures", known.protocol)
    found: list[Steps] = []
    for path in sorted(Path(folder or ".").glob("*.jsonl")):
        with contextlib.suppress(ValueError):
            found += [
                steps
                for script in capture_playback.scripts(path, peer)
                for steps in script.values()
            ]
    return found


async def visit(
    role: str, channel: str, address: str, meter: Meter, pause: float, seed: int = 1
) -> None:
    """Connect for ever, and replay another capture each time."""
    chosen = random.Random(seed)
    sessions = scripts(role, channel)
    while True:
        chosen.shuffle(sessions)
        for steps in sessions:
            with contextlib.suppress(OSError):
                await _session(steps, address, meter, chosen.random() < 0.3)
            await asyncio.sleep(pause * chosen.uniform(0.5, 1.5))


async def _session(steps: Steps, address: str, meter: Meter, reset: bool) -> None:
    host, _, port = address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    loop = asyncio.get_running_loop()
    began, answered = loop.time(), False

    async def hear() -> None:
        nonlocal answered
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(ANSWER):
                if await reader.read(1 << 20) and not answered:
                    answered = True
                    meter.answered(loop.time() - began)

    try:
        for step in steps:
            if "when" in step:
                await hear()
            elif "hex" in step:
                writer.write(bytes.fromhex(step["hex"]))
                await writer.drain()
        await hear()
        if reset:
            made = writer.get_extra_info("socket")
            made.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    finally:
        writer.transport.abort() if reset else writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


async def throw(role: str, address: str, pause: float) -> None:
    """Send the datagrams of all captures, for ever."""
    host, _, port = address.rpartition(":")
    data = [
        bytes.fromhex(step["hex"]) for steps in scripts(role) for step in steps if "hex" in step
    ]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sending:
        for each in itertools.cycle(data):
            sending.sendto(each, (host, int(port)))
            await asyncio.sleep(pause)


class Sink(asyncio.Protocol, asyncio.DatagramProtocol):
    """The receiver of a publisher; counts messages, and the seconds between them."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._latest: float | None = None

    def data_received(self, data: bytes) -> None:
        now = asyncio.get_running_loop().time()
        if self._latest is not None:
            self._meter.answered(now - self._latest)
        self._latest = now

    def datagram_received(self, data: bytes, addr: object) -> None:
        self.data_received(data)


async def use(operations: Iterable[Does], ask: Ask, meter: Meter, pause: float) -> None:
    """Run one operation after another, for ever. A failed operation counts as answered."""
    loop = asyncio.get_running_loop()
    for name, args in itertools.cycle(operations):
        began = loop.time()
        await ask(name, args)
        meter.answered(loop.time() - began)
        await asyncio.sleep(pause)
