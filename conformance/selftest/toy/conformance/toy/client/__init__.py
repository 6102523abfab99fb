"""Test cases for a client: the suite plays the server."""

from conformance.iut import Iut

SMOKE = "ping.waits"


async def smoke(iut: Iut) -> None:
    """The client sends a Ping by itself."""
    async with iut.session() as session:
        await session.expect("Ping")
