"""Runs test cases in parallel in one event loop: most of a run is waiting for the IUT.

Each test case has instances, ports and sessions of its own. Two smoke sessions in parallel show how
many can run at first. An IUT whose instances disturb each other (a fixed port, a lock file) is
tested one by one. More tests start as long as cores are idle, because most tests only wait.
"""

import asyncio
import resource
import tempfile
import time
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.running import smoke
from conformance.running.machine import LOOK, Room, core_count, load
from conformance.running.smoke import Smoke
from conformance.running.testbed import Testbed

FEW = 3  # test cases or fewer are run one by one, without finding out how many can overlap
MOST = 20  # test cases at a time by default, unless there are more cores


@dataclass(frozen=True)
class Width:
    """How many test cases may be under way at a time, and why not more where it is one.

    At first ``tests``, and up to ``most`` while the machine has cores left.
    """

    tests: int
    why: str = ""
    most: int = 0


async def width(testbed: Testbed, tests: int, alone: Smoke) -> Width:
    """The width for a number of test cases: as declared, or as the IUT and this machine allow.

    ``alone`` is a smoke session that ran alone. A violation that it shows as well says nothing
    about two instances.
    """
    configuration = testbed.configuration
    if tests <= FEW:
        return Width(1)
    if not configuration.command:
        return Width(1, "the IUT is started by hand")
    if configuration.has_fixed_address:
        return Width(1, "its address is fixed")
    if configuration.workers != "auto":
        return Width(int(configuration.workers))
    began, spent = time.monotonic(), _processor_time()
    with tempfile.TemporaryDirectory(prefix="conformance-smoke-") as folder:
        held = await asyncio.gather(*(smoke.play(testbed, Path(folder)) for _ in range(2)))
    first, second = held
    as_alone = all(
        one.passed or set() < one.violated_requirements <= alone.violated_requirements
        for one in held
    )
    if not as_alone or first.taken & second.taken:
        return Width(1, "two of its instances disturb each other")
    took, spent = time.monotonic() - began, _processor_time() - spent
    # On a busy machine, what looks like waiting for the IUT is waiting for a core.
    busy = max(load(), testbed.timeouts.crowding.factor())
    bears = int(core_count() * took / max(spent, 0.01) / busy)
    return Width(max(min(bears, MOST), core_count()), most=max(MOST, core_count()))


async def overlap(
    tests: Sequence[Callable[[], Coroutine[Any, Any, None]]],
    width: Width,
    stopped: Callable[[], bool],
    idle: Callable[[], int] = lambda: 0,
) -> int:
    """Run all tests, started in their order, until there is reason to stop.

    Unless the width is fixed, those that are ``idle`` leave their places to others, up to as many
    again. Returns how many were under way at most.
    """
    waiting, most = deque(tests), 0
    room = Room(width.tests, max(width.tests, width.most))
    running: set[asyncio.Task[None]] = set()
    async with asyncio.TaskGroup() as group:
        while waiting and not stopped():
            allowed = room.allowed(min(idle(), width.most))
            while waiting and len(running) < allowed:
                running.add(group.create_task(waiting.popleft()()))
            most = max(most, len(running))
            _, running = await asyncio.wait(
                running, timeout=LOOK, return_when=asyncio.FIRST_COMPLETED
            )
    return most


def _processor_time() -> float:
    """Seconds of processor time of this process and of those of its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)
