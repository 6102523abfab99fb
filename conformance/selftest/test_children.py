"""Programs that are started while all tasks are being cancelled, as after an interrupt."""

import asyncio
import sys
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from conformance.configuration import Configuration
from conformance.definitions import protocols
from conformance.harness.process import Process
from conformance.harness.upper import UpperTester

BESIDE = [sys.executable, "-c", "import sys; sys.stdin.read()"]


async def _process() -> None:
    started = await Process.start(BESIDE, env={}, cwd="", standard=True)
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
