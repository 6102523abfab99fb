"""Test cases for an agent: the suite plays its server."""

from conformance.iut import Iut
from conformance.simspark.agent.tester import established, habit

SMOKE = "agents.create-first"


async def smoke(iut: Iut) -> None:
    """The agent creates a robot and sends its init."""
    async with established(iut):
        pass


async def basis(iut: Iut) -> str:
    """Return the requirement that an agent violates by misreading the stream, or empty."""
    return (await habit(iut)).misreads
