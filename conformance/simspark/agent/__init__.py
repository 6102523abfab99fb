"""Test cases for an agent: the suite plays its server."""

from conformance.iut import Iut
from conformance.simspark.agent.tester import established, habit

SMOKE = "agents.create-first"


async def smoke(iut: Iut) -> None:
    """It creates itself and is initialised."""
    async with established(iut):
        pass


async def basis(iut: Iut) -> str:
    """What it violates that takes a group of perceptors once the next has come."""
    return "frame.segmentation" if (await habit(iut)).late else ""
