"""The testers of deltarobot count growing memory, and pings that have their pongs."""

import asyncio
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from conformance.deltarobot.client import tester
from conformance.deltarobot.codec import encode
from conformance.deltarobot.messages import ping
from conformance.memory import final_growth, memory_growth
from conformance.selftest.driving import Place


class Session:
    """A session whose process has the next of these memory sizes at each measurement."""

    peer = "server"

    def __init__(self, *memory: int) -> None:
        self.now = 0.0
        process = SimpleNamespace(peak=0)
        self.instance = SimpleNamespace(
            process=process, configuration=SimpleNamespace(max_wait=30.0)
        )
        self._memory = list(memory)

    def seconds(self, timing: str) -> float:
        return 0.2

    async def until_closed(self, within: float) -> bool:
        self.now += within
        self.instance.process.peak = self._memory.pop(0)
        return False


@pytest.mark.parametrize(
    ("memory", "grown"),
    [
        ([3 << 30, 3 << 30], 0),
        ([(3 << 30) + (64 << 20)] * 2, 64 << 20),
    ],
)
def test_memory_that_was_there_before_is_no_growth(memory: list[int], grown: int) -> None:
    session: Any = Session(*memory)
    session.instance.process.peak = 3 << 30

    async def grow() -> int:
        async with memory_growth(session) as growth:
            return await final_growth(session, growth)

    assert asyncio.run(grow()) == grown


def test_memory_of_a_process_that_exits_is_not_forgotten() -> None:
    process = SimpleNamespace(peak=1 << 20)
    session: Any = SimpleNamespace(instance=SimpleNamespace(process=process))

    async def grow_and_exit() -> int:
        async with memory_growth(session) as growth:
            process.peak = 2 << 30
            await asyncio.sleep(0.05)
            process.peak = 0
            return growth()

    assert asyncio.run(grow_and_exit()) == (2 << 30) - (1 << 20)


def talk(pings: list[int], pongs: list[int]) -> Any:
    """Return a session in which these pings and pongs were sent."""
    sent = b"".join(encode(ping(number)) for number in pings)
    return SimpleNamespace(
        peer="server",
        sent=["Ping"] * len(pings),
        events=[SimpleNamespace(sender="server", data=sent)],
        received=[SimpleNamespace(name="Pong", value={"number": number}) for number in pongs],
    )


@pytest.mark.parametrize(
    ("pings", "pongs", "none_left"),
    [
        ([5, 5], [5, 5], True),
        ([5, 5], [5], False),
        ([1, 2], [1, 1], False),
        ([1, 2], [1, 1, 2], True),
        ([], [], True),
    ],
)
def test_each_ping_needs_a_pong(pings: list[int], pongs: list[int], none_left: bool) -> None:
    assert tester._has_all_pongs(talk(pings, pongs)) is none_left


def test_a_curve_without_later_messages_has_no_wrong_length(place: Place, tmp_path: Path) -> None:
    """A server can send progress only after the first state, and pings seldom."""
    command = [sys.executable, "-m", "mocks", "deltarobot/server", "--listen", "127.0.0.1:{port}"]
    command += ["--upper-tester", "--ping", "60", "--variant", "given-states-only"]
    config = tmp_path / "seldom.toml"
    config.write_text(
        '[iut]\nrole = "deltarobot/server"\nupper_tester = "stdio"\n'
        f"command = {json.dumps(command)}\n",
        encoding="utf-8",
    )
    done = place.run("--config", str(config), "-k", "length_of_a_curve")
    assert done.tests["exercise::length_of_a_curve"] == "pass", done.out + done.err
