"""Runs test cases in parallel in one event loop, because tests mostly wait.

Each test case has instances, ports and sessions of its own. Two smoke sessions in parallel show how
many tests can start. If instances of the IUT disturb each other (a fixed port, a lock file), tests
run one by one. More tests start as long as cores are idle, because most tests only wait.
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
from conformance.running.machine import MEASURE_INTERVAL, Room, core_count, load
from conformance.running.smoke import Smoke
from conformance.running.testbed import Testbed

SEQUENTIAL_TESTS = 3  # tests; so few run one by one, because measuring the width takes longer
MAX_TESTS = 20  # tests at a time, unless there are more cores


@dataclass(frozen=True)
class Width:
    """The number of test cases that can run at a time.

    The number begins with ``tests``, and grows up to ``most`` while cores are idle. ``why`` is the
    reason if test cases run one by one.
    """

    tests: int
    why: str = ""
    most: int = 0


async def width(testbed: Testbed, tests: int, alone: Smoke) -> Width:
    """The width for a number of test cases: declared, or measured with smoke sessions.

    ``alone`` is a smoke session that ran alone. Its violations do not count against two sessions
    in parallel.
    """
    configuration = testbed.configuration
    if tests <= SEQUENTIAL_TESTS:
        return Width(1)
    if configuration.runs_already:
        return Width(1, "the IUT is started by hand")
    if configuration.has_fixed_address:
        return Width(1, "its address is fixed")
    if configuration.workers != "auto":
        return Width(int(configuration.workers))
    began, spent = time.monotonic(), _processor_time()
    with tempfile.TemporaryDirectory(prefix="conformance-smoke-") as folder:
        played = await asyncio.gather(*(smoke.play(testbed, Path(folder)) for _ in range(2)))
    first, second = played
    as_alone = all(
        each.passed or set() < each.violated_requirements <= alone.violated_requirements
        for each in played
    )
    if not as_alone or first.exclusive_names & second.exclusive_names:
        return Width(1, "two of its instances disturb each other")
    took, spent = time.monotonic() - began, _processor_time() - spent
    # On a busy machine, a part of the waiting time was waiting for a core.
    busy = max(load(), testbed.timeouts.crowding.factor())
    bearable = int(core_count() * took / max(spent, 0.01) / busy)
    return Width(max(min(bearable, MAX_TESTS), core_count()), most=max(MAX_TESTS, core_count()))


async def overlap(
    tests: Sequence[Callable[[], Coroutine[Any, Any, None]]],
    width: Width,
    stopped: Callable[[], bool],
    idle: Callable[[], int] = lambda: 0,
) -> int:
    """Run all tests, started in their order, until ``stopped`` returns True.

    Returns the largest number of tests that ran at a time. ``idle`` is the number of tests that
    only wait. Unless the width is fixed, the same number of additional tests can run.
    """
    waiting, most = deque(tests), 0
    room = Room(width.tests, max(width.tests, width.most))
    running: set[asyncio.Task[None]] = set()
    async with asyncio.TaskGroup() as group:
        while waiting and not stopped():
            allowed = room.allowed_count(min(idle(), width.most))
            while waiting and len(running) < allowed:
                running.add(group.create_task(waiting.popleft()()))
            most = max(most, len(running))
            _, running = await asyncio.wait(
                running, timeout=MEASURE_INTERVAL, return_when=asyncio.FIRST_COMPLETED
            )
    return most


def _processor_time() -> float:
    """The processor time of this process and of its exited children, in seconds."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)
