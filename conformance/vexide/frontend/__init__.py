"""Test cases for a frontend: the suite plays the simulator."""

from conformance.iut import Iut
from conformance.vexide.frontend.tester import expect_offer

SMOKE = "handshake.frontend-begins"


async def smoke(iut: Iut) -> None:
    """The frontend sends its Handshake without a request."""
    async with iut.session() as session:
        await expect_offer(session)
