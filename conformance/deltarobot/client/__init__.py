"""Test cases for a client: the suite plays the server."""

from conformance.deltarobot.client.exercise import misread
from conformance.deltarobot.handshake import shake_hands
from conformance.deltarobot.misreading import identifiers_turned, miscounted
from conformance.deltarobot.service import habits
from conformance.iut import Iut

SMOKE = "handshake.magic-sent"


async def smoke(iut: Iut) -> None:
    """Magic and version arrive right after the connection."""
    async with iut.session() as session:
        await shake_hands(session)


async def basis(iut: Iut) -> str:
    """Return the violated requirement if the client misreads the plainest exercise or all messages.

    An empty text means that it misreads neither.
    """
    if not (await habits(iut)).serves:
        return "frame.byte-order" if await identifiers_turned(iut) else ""
    return await misread(iut) or await miscounted(iut)
