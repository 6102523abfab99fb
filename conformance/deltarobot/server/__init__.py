"""Test cases for a server: the suite plays the client."""

from conformance.deltarobot.handshake import shake_hands
from conformance.iut import Iut

SMOKE = "handshake.magic-sent"


async def smoke(iut: Iut) -> None:
    """Magic and version arrive right after the connection."""
    async with iut.session() as session:
        await shake_hands(session)
