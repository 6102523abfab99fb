"""Test cases for a server: the suite plays the client."""

from conformance.iut import Iut

SMOKE = "pong.answers"


async def smoke(iut: Iut) -> None:
    """The server answers one Ping."""
    async with iut.session() as session:
        await session.send({"kind": 1, "number": 7})
        await session.expect("Pong")
