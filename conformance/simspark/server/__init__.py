"""Test cases for a server: the suite plays its monitors, trainers and agents."""

from conformance.iut import Iut
from conformance.simspark.server.tester.monitors import watch_server

SMOKE = "monitors.environment-first"


async def smoke(iut: Iut) -> None:
    """A monitor receives the environment, the game state and the scene, and then further states."""
    async with watch_server(iut, begins=False) as watch:
        await watch.wait_for_states(2)
