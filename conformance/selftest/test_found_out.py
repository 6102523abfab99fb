"""What tests find out about an IUT once in a run, where that fails."""

import asyncio

import pytest

from conformance.configuration import Configuration
from conformance.definitions import protocols
from conformance.running.testbed import Testbed
from conformance.verdicts import Violation

ASKING = 6


@pytest.mark.parametrize("fails", [False, True])
def test_what_fails_once_is_tried_side_by_side(fails: bool) -> None:
    """Each try may wait in full for what never comes: in a row they would take the run's time."""
    under_way = tried = most = 0

    async def find() -> str:
        nonlocal under_way, tried, most
        under_way, tried = under_way + 1, tried + 1
        most = max(most, under_way)
        await asyncio.sleep(0.01)
        under_way -= 1
        if fails:
            raise Violation("it to be seen", "nothing came")
        return "found"

    async def ask() -> list[object]:
        testbed = Testbed(
            Configuration(protocols.role("runtime/rpc-server"), connect="127.0.0.1:1")
        )
        asking = (testbed.cached("this", find) for _ in range(ASKING))
        return await asyncio.gather(*asking, return_exceptions=True)

    came = asyncio.run(ask())
    if fails:
        assert all(isinstance(each, Violation) for each in came)
        assert (tried, most) == (ASKING, ASKING - 1)
    else:
        assert came == ["found"] * ASKING
        assert tried == 1


def test_those_that_wait_for_what_another_finds_out_leave_their_places() -> None:
    async def ask() -> list[int]:
        testbed = Testbed(
            Configuration(protocols.role("runtime/rpc-server"), connect="127.0.0.1:1")
        )
        found, idle = asyncio.Event(), []

        async def find() -> str:
            await found.wait()
            return "found"

        async with asyncio.TaskGroup() as group:
            for _ in range(ASKING):
                group.create_task(testbed.cached("this", find))
            await asyncio.sleep(0)
            idle.append(testbed.patience.idle)
            found.set()
        return [*idle, testbed.patience.idle]

    assert asyncio.run(ask()) == [ASKING - 1, 0]
