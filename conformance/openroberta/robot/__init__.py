"""Test cases for a robot: the suite plays its lab."""

from conformance.iut import Iut
from conformance.openroberta.oracle import MOST_HELD
from conformance.openroberta.robot.tester import playing
from conformance.verdicts import Violation

SMOKE = "register.first"
_HASTY = "push.one-at-a-time"


async def smoke(iut: Iut) -> None:
    """A registration, by which the robot begins; and a push once it was answered."""
    async with playing(iut) as tester:
        await tester.link()


async def basis(iut: Iut) -> str:
    """What it violates who does not register, push, and run a program, all answered plainly."""
    async with playing(iut) as tester:
        try:
            await tester.run(await tester.repeats(await tester.link(), MOST_HELD + 1))
        except Violation as violation:
            return violation.requirement or ""
        # What does not wait for answers is behind them in all that it does.
        found = [each for session in iut.sessions for each in session.judge.findings]
        return _HASTY if any(each.requirement == _HASTY for each in found) else ""
