"""Tests of robots that disconnect and return, as the lab's user sees them."""

import asyncio

from conformance.cases import check, lasting, requirement
from conformance.iut import Iut
from conformance.openroberta.lab.tester import GONE, RobotsTester, playing
from conformance.openroberta.lab.tester.robot import Robot
from conformance.openroberta.lab.tester.timing import latest_answers
from conformance.verdicts import Inconclusive, Violation


async def push_until_answered(tester: RobotsTester, robot: Robot) -> None:
    """Push, and wait for the answer."""
    _, latest = latest_answers(tester, "push_hold")
    exchange = await robot.push()
    await exchange.time_until("Repeat", 0, latest)


async def assert_goes_offline(tester: RobotsTester, robot: Robot) -> None:
    """Send nothing until the user sees the robot as offline. Raises Violation if it never is."""
    tester.iut.skip_if_longer(2 * tester.seconds("offline"), "offline")
    latest = tester.iut.countdown("offline", "offline", "response")
    seen = await tester.wait_for_state(robot, "state", GONE, latest)
    if seen not in GONE:
        expected = f"a robot to be offline {tester.seconds('offline'):g} s after its last answer"
        raise Violation(expected, f"it is {seen} much later", "offline.noticed")


@requirement("offline.noticed")
async def test_offline(iut: Iut) -> None:
    """A robot that does not push again after an answer becomes offline."""
    async with playing(iut) as tester:
        robot = await tester.open_linked()
        await push_until_answered(tester, robot)
        await assert_goes_offline(tester, robot)


@requirement("offline.noticed")
async def test_one_of_three_offline(iut: Iut) -> None:
    """The second of three robots becomes offline while the others go on pushing."""
    async with playing(iut) as tester:
        robots = [await tester.open_linked() for _ in range(3)]
        leaves = robots.pop(1)
        await push_until_answered(tester, leaves)
        pushing = [asyncio.create_task(pushes(tester, stays)) for stays in robots]
        try:
            await assert_goes_offline(tester, leaves)
        finally:
            for task in pushing:
                task.cancel()


async def pushes(tester: RobotsTester, robot: Robot) -> None:
    """Push until the task is cancelled."""
    while True:
        await push_until_answered(tester, robot)


@requirement("offline.not-early")
@lasting
async def test_not_early(iut: Iut) -> None:
    """A robot is not offline during its pushes, nor shortly after an answer."""
    async with playing(iut) as tester:
        tester.iut.skip_if_longer(3 * tester.seconds("push_hold"), "push_hold")
        # "After several seconds": published labs wait for one second, so half a second is too
        # early.
        early = min(tester.seconds("offline") / 4, 0.5)
        robot = await tester.open_linked()
        decided = False
        for number in range(3):
            exchange = await robot.push()
            seen = await tester.wait_for_state(
                robot, "state", GONE, tester.seconds("push_hold") * 0.6
            )
            check(
                seen == "waiting", f"the robot of push {number + 1} to be waiting", f"it is {seen}"
            )
            _, latest = latest_answers(tester, "push_hold")
            answered_at = exchange.asked + await exchange.time_until("Repeat", 0, latest)
            seen = await tester.wait_for_state(robot, "state", GONE, early)
            took = exchange.session.now - answered_at
            # An offline state that is read late shows nothing about the time shortly after the
            # answer.
            if seen == "waiting" or took < 1.5 * early:
                decided = True
                expected = f"a robot to be waiting {early:.1f} s after an answer"
                check(seen == "waiting", expected, f"it is {seen}")
        if not decided:
            raise Inconclusive(
                "expected the state shortly after an answer; the operation 'state' reported "
                f"{seen} after {took:.1f} s"
            )


@requirement("offline.returns")
async def test_returns(iut: Iut) -> None:
    """A robot that was offline is back after its next push, and receives programs."""
    async with playing(iut) as tester:
        robot = await tester.open_linked()
        await push_until_answered(tester, robot)
        await assert_goes_offline(tester, robot)
        push = await robot.push()
        seen = await tester.wait_for_state(robot, "state", "waiting", "response")
        check(seen == "waiting", "a robot that pushes again to be waiting", f"it is {seen}")
        if await tester.offers("run"):
            await robot.run_and_receive("run", "Download", "offline.returns", push)
