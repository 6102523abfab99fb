"""Robots that go and come back, as the lab's user sees them."""

import asyncio

from conformance.cases import check, in_one_loop, requirement
from conformance.iut import Iut
from conformance.openroberta.lab.stage import Robot, Stage, staged
from conformance.openroberta.lab.timing import at_most

pytestmark = in_one_loop


async def answered(stage: Stage, robot: Robot) -> None:
    """Push, and wait for the answer."""
    _, latest = at_most(stage, "push_hold")
    held = await robot.push()
    await held.between("Repeat", 0, latest)


async def goes(stage: Stage, robot: Robot) -> None:
    """Stay away until the robot is seen as offline. Raises Violation where it never is."""
    stage.worth(2 * stage.seconds("offline"), "offline")
    latest = 2 * stage.seconds("offline") + stage.seconds("response")
    seen = await stage.becomes(robot, "state", "offline", latest)
    check(
        seen == "offline",
        f"a robot to be offline {stage.seconds('offline'):g} s after its last answer",
        f"it is {seen} after {latest:.1f} s",
    )


@requirement("offline.noticed")
async def test_offline(iut: Iut) -> None:
    """A robot whose push was answered and that pushes no more is seen as offline."""
    async with staged(iut) as stage:
        robot = await stage.linked()
        await answered(stage, robot)
        await goes(stage, robot)


@requirement("offline.noticed")
async def test_one_of_three_offline(iut: Iut) -> None:
    """So is one of three robots, although others go on, from before it and after it."""
    async with staged(iut) as stage:
        robots = [await stage.linked() for _ in range(3)]
        leaves = robots.pop(1)
        await answered(stage, leaves)
        pushing = [asyncio.create_task(pushes(stage, stays)) for stays in robots]
        try:
            await goes(stage, leaves)
        finally:
            for task in pushing:
                task.cancel()


async def pushes(stage: Stage, robot: Robot) -> None:
    """Push, again and again."""
    while True:
        await answered(stage, robot)


@requirement("offline.not-early")
async def test_not_early(iut: Iut) -> None:
    """It is not so while its pushes are held, nor just after one was answered."""
    async with staged(iut) as stage:
        stage.worth(3 * stage.seconds("push_hold"), "push_hold")
        robot = await stage.linked()
        for number in range(3):
            held = await robot.push()
            seen = await stage.becomes(robot, "state", "offline", stage.seconds("push_hold") * 0.6)
            check(
                seen == "waiting", f"the robot of push {number + 1} to be waiting", f"it is {seen}"
            )
            _, latest = at_most(stage, "push_hold")
            answered_at = held.asked + await held.between("Repeat", 0, latest)
            seen = (await stage.state(robot))["state"]
            if held.session.now - answered_at < stage.seconds("offline") / 2:
                expected = "a robot to be waiting just after an answer"
                check(seen == "waiting", expected, f"it is {seen}")


@requirement("offline.returns")
async def test_returns(iut: Iut) -> None:
    """A robot that was offline is back with its next push, and programs reach it."""
    async with staged(iut) as stage:
        robot = await stage.linked()
        await answered(stage, robot)
        await goes(stage, robot)
        await robot.push()
        seen = await stage.becomes(robot, "state", "waiting", stage.seconds("response"))
        check(seen == "waiting", "a robot that pushes again to be waiting", f"it is {seen}")
        if stage.offers("run"):
            await robot.told("run", "Download", "offline.returns")
