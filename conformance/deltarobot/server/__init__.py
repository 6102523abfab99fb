"""Test cases for a server: the suite plays the client."""

from conformance.deltarobot.handshake import opened, shake_hands
from conformance.deltarobot.server.exercise import begin
from conformance.iut import Iut

SMOKE = "handshake.magic-sent"


async def smoke(iut: Iut) -> None:
    """Magic and version, which come right after the connection."""
    async with iut.session() as session:
        await shake_hands(session)


async def basis(iut: Iut) -> str:
    """What it violates whose curve has a length behind which nothing can be read."""
    async with opened(iut) as session:
        if session.instance.upper.offers("exercise"):
            oversized = (await begin(session)).name == "Oversized"
            return "frame.variable-length" if oversized else ""
    return ""
