"""Facts and instances that the tests of a run share."""

import asyncio

import pytest

from conformance.configuration import Configuration
from conformance.definitions import protocols
from conformance.harness.instance import Instance
from conformance.harness.process import GRACE
from conformance.running.testbed import MIN_LINGERING, SHORT_GRACE, Testbed
from conformance.verdicts import Violation

ASKING = 6


def new_testbed() -> Testbed:
    return Testbed(Configuration(protocols.role("runtime/rpc-server"), connect="127.0.0.1:1"))


@pytest.mark.parametrize("fails", [False, True])
def test_a_fact_is_found_once_and_a_failure_is_tried_in_parallel(fails: bool) -> None:
    """Each try can wait in full for a message, so the tries overlap."""
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
        testbed = new_testbed()
        asking = (testbed.cached("this", find) for _ in range(ASKING))
        return await asyncio.gather(*asking, return_exceptions=True)

    came = asyncio.run(ask())
    if fails:
        assert all(isinstance(each, Violation) for each in came)
        assert (tried, most) == (ASKING, ASKING - 1)
    else:
        assert came == ["found"] * ASKING
        assert tried == 1


def test_tests_that_wait_for_a_fact_leave_their_places() -> None:
    async def ask() -> list[int]:
        testbed = new_testbed()
        found, idle = asyncio.Event(), []

        async def find() -> str:
            await found.wait()
            return "found"

        async with asyncio.TaskGroup() as group:
            for _ in range(ASKING):
                group.create_task(testbed.cached("this", find))
            await asyncio.sleep(0)
            idle.append(testbed.timeouts.idle)
            found.set()
        return [*idle, testbed.timeouts.idle]

    assert asyncio.run(ask()) == [ASKING - 1, 0]


@pytest.mark.parametrize(("slowdown", "last"), [(1.0, SHORT_GRACE), (2.0, GRACE)])
def test_instances_that_outlive_their_input_are_ended_sooner(slowdown: float, last: float) -> None:
    """On a busy machine each of them has the whole time: an end takes longer."""
    testbed = new_testbed()
    testbed.timeouts.slowdown = slowdown
    given: list[float] = []

    class Lasting(Instance):
        async def stop(self, grace: float = GRACE) -> bool:
            given.append(grace)
            return False

    for _ in range(MIN_LINGERING + 1):
        asyncio.run(testbed.stop(Lasting(testbed.configuration, "tcp")))
    assert given == [GRACE] * MIN_LINGERING + [last]
