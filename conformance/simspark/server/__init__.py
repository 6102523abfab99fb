"""Test cases for a server: the suite plays its monitors, trainers and agents."""

from conformance.iut import Iut
from conformance.simspark.server.tester.monitors import watching

SMOKE = "monitors.environment-first"


async def smoke(iut: Iut) -> None:
    """A monitor receives the environment, the game state and the scene, and then further states."""
    async with watching(iut, begins=False) as watch:
        await watch.some(2)
