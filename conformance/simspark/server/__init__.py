"""Test cases for a server: the suite plays its monitors, trainers and agents."""

from conformance.iut import Iut
from conformance.simspark.stage import watching

SMOKE = "monitors.environment-first"


async def smoke(iut: Iut) -> None:
    """A monitor is told the environment, the game state and the scene, and then goes on hearing."""
    async with watching(iut) as watch:
        await watch.some(2)
