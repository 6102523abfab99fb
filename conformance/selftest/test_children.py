"""Programs that are started while all tasks are being cancelled, as after an interrupt."""

import asyncio
import contextlib
import os
import sys
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance.configuration import Configuration
from conformance.definitions import protocols
from conformance.harness.process import Process
from conformance.harness.upper_tester import UpperTester

WAITING_PROGRAM = [sys.executable, "-c", "import sys; sys.stdin.read()"]


async def _process() -> None:
    started = await Process.start(WAITING_PROGRAM, env={}, cwd="", standard=True)
    await started.end()


async def _hook() -> None:
    role = protocols.role("openroberta/lab")
    configuration = Configuration(role, connect="127.0.0.1:1", hooks={"pair": "sleep 60"})
    await UpperTester(role, configuration, {}, None)("pair", token="ABCDEFGH")


@pytest.mark.parametrize("start", [_process, _hook])
@pytest.mark.parametrize("steps", range(4))
def test_a_start_that_is_interrupted_ends(
    start: Callable[[], Coroutine[Any, Any, None]], steps: int
) -> None:
    async def run() -> None:
        starting = asyncio.create_task(start())
        for _ in range(1 + steps):
            await asyncio.sleep(0)
        assert not starting.done()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(run())


@pytest.mark.asyncio
@pytest.mark.parametrize("turns", range(8))
async def test_a_start_that_is_cancelled_leaves_no_process(turns: int) -> None:
    """Turns of the event loop pass before the start is cancelled."""
    mark = f"cancelled after {turns} turns in {os.getpid()}"
    words = [sys.executable, "-c", "import time; time.sleep(60)", mark]
    starting = asyncio.create_task(Process.start(words, env={}, cwd="", standard=True))
    for _ in range(turns):
        await asyncio.sleep(0)
    starting.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await (await starting).end()
    assert await gone(mark)


async def gone(mark: str) -> bool:
    """Return True as soon as no process has this word in its command line."""
    for _ in range(200):
        if not any(mark.encode() in words for words in command_lines()):
            return True
        await asyncio.sleep(0.01)
    return False


def command_lines() -> Iterator[bytes]:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            yield path.read_bytes()
