"""Test cases for an agent: the suite plays its server."""

from conformance.iut import Iut
from conformance.simspark.agent.tester import connect_agent

SMOKE = "agents.create-first"


async def smoke(iut: Iut) -> None:
    """The agent creates a robot and sends its init."""
    async with connect_agent(iut):
        pass
