"""Test cases for a client: the suite plays the server."""

from conformance.iut import Iut

SMOKE = "ping.waits"


async def smoke(iut: Iut) -> None:
    """A Ping comes, unasked."""
    async with iut.session() as session:
        await session.expect("Ping")
