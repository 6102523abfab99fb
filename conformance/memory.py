"""The memory of an IUT's process: how much it grows during a test."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable

from conformance.cases import check
from conformance.harness.process import Process
from conformance.session import Session

_GIBIBYTE = 1 << 30
_GROWING = 16 << 20  # bytes; memory that grows by at least this much is still being allocated
_PERIOD = 0.01  # seconds between two samples; a process needs longer to fill a gibibyte


@contextlib.asynccontextmanager
async def memory_growth(session: Session) -> AsyncIterator[Callable[[], int]]:
    """Yield a function that returns the growth of the peak memory in bytes.

    The growth counts from the beginning of the block, and is 0 if the memory is unknown. The memory
    is sampled, because the system forgets the memory of a process that exits.
    """
    process = session.instance.process
    before = greatest = _peak(process)

    def grown() -> int:
        nonlocal greatest
        greatest = max(greatest, _peak(process))
        return greatest - before

    async def sample() -> None:
        while True:
            grown()
            await asyncio.sleep(_PERIOD)

    sampling = asyncio.create_task(sample())
    try:
        yield grown
    finally:
        sampling.cancel()
        await asyncio.gather(sampling, return_exceptions=True)


async def final_growth(session: Session, growth: Callable[[], int]) -> int:
    """Return `growth()`, the growth of the process's memory in bytes, when it is final.

    The function waits until the memory stops growing, or has grown by 1 GiB.
    """
    deadline, latest = session.now + session.instance.configuration.max_wait, 0
    while True:
        await session.until_closed(session.seconds("quiet"))
        now = growth()
        if now >= _GIBIBYTE or now - latest < _GROWING or session.now > deadline:
            return now
        latest = now


def check_growth(taken: int) -> None:
    """Raise Violation if the process took a gibibyte of memory or more."""
    check(
        taken < _GIBIBYTE,
        "less than 1 GiB of further memory",
        f"the process took {taken >> 20} MiB more",
    )


def _peak(process: Process | None) -> int:
    return process.peak if process else 0
