"""What is left of the time in which something is awaited, and what comes of it by then."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

AGAIN = 0.25  # seconds between two looks at how long to wait

T = TypeVar("T")

Left = Callable[[], float]
"""The seconds that are left of a time in which something is awaited, asked again and again."""


def counting(within: float | Left) -> Left:
    """Counts down a window from now on, to which nothing is added unless it counts down already."""
    if callable(within):
        return within
    until = time.monotonic() + within
    return lambda: until - time.monotonic()


async def in_time(awaited: Awaitable[T], left: Left) -> T:
    """What comes of something. Raises TimeoutError, and gives it up, once no time is left."""
    running = asyncio.ensure_future(awaited)
    try:
        while not running.done():
            if (seconds := left()) <= 0:
                raise TimeoutError
            await asyncio.wait({running}, timeout=min(seconds, AGAIN))
        return running.result()
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
