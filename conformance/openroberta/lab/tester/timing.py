"""Limits for answers of a lab, from its declared times: early, late, and missing."""

from conformance.openroberta.lab.tester import RobotsTester
from conformance.openroberta.lab.tester.exchange import EARLIEST, LATEST
from conformance.openroberta.lab.tester.robot import Robot
from conformance.running.timeouts import GRACE

_FLOOR = 0.25  # seconds that any answer can be late on a busy machine


def earliest_answer(tester: RobotsTester, timing: str) -> float:
    """Return the seconds before which an answer is early.

    Raises NotExercised if this is longer than --max-wait.
    """
    seconds = EARLIEST[timing] * tester.seconds(timing)
    tester.iut.skip_if_longer(seconds, timing)
    return seconds


def latest_answers(tester: RobotsTester, timing: str) -> tuple[float, float]:
    """Return the seconds after which an answer is late, and after which it is missing.

    Raises NotExercised if this is longer than --max-wait.
    """
    high = LATEST[timing] * tester.seconds(timing)
    tester.iut.skip_if_longer(high, timing)
    return high + _FLOOR, high + (1 + GRACE) * tester.seconds("response")


async def open_after_repeat(tester: RobotsTester) -> Robot:
    """Return a linked robot whose push was just answered at the end of its hold.

    A lab can have one timer for all pushes, so its first hold can be short. The next is not.
    """
    robot = await tester.open_linked()
    _, latest = latest_answers(tester, "push_hold")
    await (await robot.push()).time_until("Repeat", 0, latest)
    return robot


def late_after(tester: RobotsTester, timing: str) -> float:
    """Return the seconds after which an answer that depends on this timing only is late."""
    return max(latest_answers(tester, timing)[0], tester.seconds("quiet"))
