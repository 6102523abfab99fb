"""A short soak test of mocks with many peers; benchmarks/soak.py runs for hours."""

import asyncio
import io
import json
import operator
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conformance.benchmarks import soak_peers
from conformance.benchmarks.soak import soak
from conformance.benchmarks.soak_cast import CAST, CATALOG
from conformance.benchmarks.soak_peers import Meter
from conformance.definitions import protocols
from mocks.testing import mock
from mocks.testing.in_thread import InThread

SERVERS = [
    ("vexide/simulator", ""),
    ("simspark/server", "agent"),
    ("simspark/server", "monitor"),
    ("deltarobot/server", ""),
    ("openroberta/lab", ""),
    ("runtime/rpc-server", ""),
]
VISITORS, ANSWERED = 5, 30
DEADLINE = 60.0  # seconds for all answers, at most


def test_the_cast_is_all_roles() -> None:
    roles = protocols.roles()
    assert {*CAST} <= {*roles}
    assert {role for role in roles if not role.startswith("toy/")} == {*CAST}


@pytest.mark.parametrize(("role", "channel"), SERVERS)
def test_nothing_is_left_of_its_visitors(role: str, channel: str) -> None:
    options: dict[str, Any] = {"register_hold": 0.1} if role == "openroberta/lab" else {}
    with mock(role, **options) as server:
        assert isinstance(server, InThread)
        # Reading findings waits until the judge has loaded all it needs.
        assert server.findings == []
        before = held(server)
        met = asyncio.run(visited(role, channel, server.addresses[channel]))
        assert met >= ANSWERED
        # Peers of an earlier test can still have counted before.
        assert awaited(lambda: all(map(operator.le, held(server), before)))
        assert server.findings  # the visitors replay wrong messages, too


async def visited(role: str, channel: str, address: str) -> int:
    """Return how many answers visitors get that replay captures."""
    meter = Meter()
    visits = [
        asyncio.create_task(soak_peers.visit(role, channel, address, meter, 0.01, seed))
        for seed in range(VISITORS)
    ]
    until = time.monotonic() + DEADLINE
    while meter.count < ANSWERED and time.monotonic() < until:
        done, _ = await asyncio.wait(visits, timeout=0.1)
        assert not done
    for visit in visits:
        visit.cancel()
    await asyncio.gather(*visits, return_exceptions=True)
    return meter.count


def held(server: InThread) -> tuple[int, int, int]:
    """Return the tasks and connections of a mock, and the open files of this process."""
    return (
        len(asyncio.all_tasks(server._loop)),
        len(server._run.open),
        len(os.listdir("/proc/self/fd")),
    )


def awaited(holds: Callable[[], bool]) -> bool:
    """Wait until a condition is true; return False after the deadline."""
    until = time.monotonic() + DEADLINE
    while not holds() and time.monotonic() < until:
        time.sleep(0.02)
    return holds()


def test_a_short_soak() -> None:
    out = io.StringIO()
    mocks = asyncio.run(soak(["runtime/rpc-client", "runtime/update-publisher"], 2, 1, 0.02, out))
    assert [each.role for each in mocks] == [
        "runtime/rpc-server",
        "runtime/rpc-client",
        "runtime/update-publisher",
    ]
    for line in map(json.loads, out.getvalue().splitlines()):
        assert line["rss"] > 0 and line["tasks"] > 0 and line["starts"] == 1
    for each in mocks:
        assert any(sample["answered"] for sample in each.samples)


def test_a_consumer_keeps_no_view_of_a_buffer_that_is_gone() -> None:
    maps = Path("/proc/self/maps")
    with mock("runtime/buffer-consumer", catalog=CATALOG) as consumer:
        with mock("runtime/buffer-owner", catalog=CATALOG) as owner:
            name = owner.ask("connect", type="arm", uid="77001")["buffer"]
            assert name in consumer.ask("list")
        assert name in maps.read_text("utf-8")
        assert name not in consumer.ask("list")
        assert name not in maps.read_text("utf-8")
