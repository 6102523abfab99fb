"""Ends a run at a signal, but still writes its report and leaves no process.

The signals are SIGINT, SIGTERM and SIGHUP. An ignored SIGHUP stays ignored, as under nohup.

A KeyboardInterrupt can be lost if it is raised at an arbitrary place. A coroutine can handle it
like a result, or leave a process behind. While an event loop runs, a callback of the loop raises
it, between two steps of the loop's tasks.
"""

import asyncio
import contextlib
import signal
import time
from collections.abc import Coroutine, Iterator
from types import FrameType
from typing import Any

_ECHO = 2.0  # seconds in which a second signal is a copy of the first, sent on by a wrapper


def signals() -> tuple[signal.Signals, ...]:
    """The signals that end a command."""
    hangup = signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN
    return (signal.SIGINT, signal.SIGTERM, *((signal.SIGHUP,) if hangup else ()))


@contextlib.contextmanager
def stop_at_signal() -> Iterator[None]:
    """Within the block, the first signal ends the run. Only for the main thread."""
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

    before = {number: signal.signal(number, end) for number in signals()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def run(work: Coroutine[Any, Any, None]) -> bool:
    """Run a coroutine within `stop_at_signal`. Return False if a signal ended it."""
    try:
        asyncio.run(work)
    except KeyboardInterrupt:
        return False
    return True


def _interrupt() -> None:
    raise KeyboardInterrupt


@contextlib.contextmanager
def ignore_signals() -> Iterator[None]:
    """Within the block, which must be short, ignore the signals. Only for the main thread."""
    before = {number: signal.signal(number, signal.SIG_IGN) for number in signals()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
