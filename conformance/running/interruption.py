"""Ends a run at SIGINT or SIGTERM so that its report is still written and no process is left.

A KeyboardInterrupt can be lost if it is raised at an arbitrary place. A coroutine can take it for a
result, or leave a process behind. While an event loop runs, a callback of the loop raises it,
between two steps of its tasks.
"""

import asyncio
import contextlib
import signal
import time
from collections.abc import Coroutine, Iterator
from types import FrameType
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_ECHO = 2.0  # seconds in which further signals are the first one again, passed on by a wrapper


@contextlib.contextmanager
def orderly() -> Iterator[None]:
    """Within the block both signals end the run, once. Only for the main thread."""
    first: float | None = None

    def end(number: int, frame: FrameType | None) -> None:
        nonlocal first
        now = time.monotonic()
        if first is not None and now < first + _ECHO:
            return
        first = now
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            raise KeyboardInterrupt from None
        loop.call_soon_threadsafe(_interrupt)

    before = {number: signal.signal(number, end) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def run(work: Coroutine[Any, Any, None]) -> bool:
    """Run to its end what either signal may end; returns whether none has. Within `orderly`."""
    try:
        asyncio.run(work)
    except KeyboardInterrupt:
        return False
    return True


def _interrupt() -> None:
    raise KeyboardInterrupt


@contextlib.contextmanager
def ignored() -> Iterator[None]:
    """Within the block, which is to be short, both signals do nothing. Only for the main thread."""
    before = {number: signal.signal(number, signal.SIG_IGN) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
