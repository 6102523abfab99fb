"""Test cases for an agent: the suite plays its server."""

from conformance.iut import Iut
from conformance.simspark.agent.tester import established, habit

SMOKE = "agents.create-first"


async def smoke(iut: Iut) -> None:
    """It creates itself and is initialised."""
    async with established(iut):
        pass


async def basis(iut: Iut) -> str:
    """What it violates that takes other bytes for a group than those that its length counts."""
    return (await habit(iut)).misreads
