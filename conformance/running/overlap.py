"""Runs test cases side by side in one event loop: most of a run is waiting for the IUT.

Each test case has instances, ports and sessions of its own, so that they need not know of one
another. How many may be under way at a time is found out with two smoke sessions side by side: an
IUT whose instances disturb each other (a fixed port, a lock file) is tested one by one.
"""

import asyncio
import resource
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from conformance.running import smoke
from conformance.running.machine import cores, load
from conformance.running.testbed import Testbed

FEW = 3  # test cases or fewer are run one by one, without finding out how many can overlap
MOST = 8  # test cases at a time by default


@dataclass(frozen=True)
class Width:
    """How many test cases may be under way at a time, and why not more where it is one."""

    tests: int
    why: str = ""


async def width(testbed: Testbed, tests: int) -> Width:
    """The width for that many test cases: as declared, or what the IUT and this machine bear."""
    configuration = testbed.configuration
    if tests <= FEW:
        return Width(1)
    if not configuration.command:
        return Width(1, "the IUT is started by hand")
    if configuration.fixed:
        return Width(1, "its address is fixed")
    if configuration.workers != "auto":
        return Width(int(configuration.workers))
    began, spent = time.monotonic(), _processor_time()
    with tempfile.TemporaryDirectory(prefix="conformance-smoke-") as folder:
        held = await asyncio.gather(*(smoke.hold(testbed, Path(folder)) for _ in range(2)))
    first, second = held
    if not (first.held and second.held) or first.taken & second.taken:
        return Width(1, "two of its instances disturb each other")
    took, spent = time.monotonic() - began, _processor_time() - spent
    # On a busy machine, what looks like waiting for the IUT is waiting for a core.
    bears = int(cores() * took / max(spent, 0.01) / load())
    return Width(max(min(bears, MOST), cores()))


async def overlap(
    tests: Sequence[Callable[[], Awaitable[None]]], limit: int, stopped: Callable[[], bool]
) -> None:
    """Run all tests, started in their order, ``limit`` at a time, until there is reason to stop."""
    waiting = iter(tests)

    async def work() -> None:
        for test in waiting:
            if stopped():
                return
            await test()

    async with asyncio.TaskGroup() as group:
        for _ in range(limit):
            group.create_task(work())


def _processor_time() -> float:
    """Seconds of processor time of this process and of those of its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)
