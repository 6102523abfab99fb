"""Timeouts that can change while a wait is in progress."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

RECHECK_INTERVAL = 0.25  # seconds between two checks of the remaining time, which can change

T = TypeVar("T")

Countdown = Callable[[], float]
"""Returns the remaining seconds of a timeout. Callers ask again, because the value can change."""


def countdown_from(within: float | Countdown) -> Countdown:
    """Return a countdown from now. A running countdown is returned unchanged."""
    if callable(within):
        return within
    until = time.monotonic() + within
    return lambda: until - time.monotonic()


async def in_time(awaited: Awaitable[T], left: Countdown) -> T:
    """Return the result of an awaitable.

    When no time is left, the awaitable is cancelled, and TimeoutError is raised.
    """
    running = asyncio.ensure_future(awaited)
    try:
        while not running.done():
            if (seconds := left()) <= 0:
                raise TimeoutError
            await asyncio.wait({running}, timeout=min(seconds, RECHECK_INTERVAL))
        return running.result()
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
