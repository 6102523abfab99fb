"""Robots without a registration: some labs serve them, which explains other observations."""

from conformance.openroberta.lab.tester import RobotsTester
from conformance.openroberta.lab.tester.robot import Robot
from conformance.openroberta.lab.tester.timing import late_after


async def can_serve_unregistered(tester: RobotsTester) -> bool:
    """Return True if a robot that never registered can push after its token was entered."""
    other = tester.robot()
    await tester.run_operation("pair", token=other.token)
    return await is_serving(tester, other)


async def is_serving(tester: RobotsTester, robot: Robot) -> bool:
    """Return True if a push of this robot is answered with repeat."""
    push = await robot.push()
    within = late_after(tester, "push_hold")
    return await push.session.wait_for("Repeat", within=within) is not None
