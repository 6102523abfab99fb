"""Test cases for an agent: the suite plays its server."""

from conformance.iut import Iut
from conformance.simspark.agent.tester import established

SMOKE = "agents.create-first"


async def smoke(iut: Iut) -> None:
    """It creates itself and is initialised."""
    async with established(iut):
        pass
