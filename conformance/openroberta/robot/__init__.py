"""Test cases for a robot: the suite plays its lab."""

from conformance.iut import Iut
from conformance.openroberta.robot.tester import playing

SMOKE = "register.first"


async def smoke(iut: Iut) -> None:
    """A registration, by which the robot begins; and a push once it was answered."""
    async with playing(iut) as tester:
        await tester.link()
