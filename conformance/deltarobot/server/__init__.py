"""Test cases for a server: the suite plays the client."""

from conformance.deltarobot.handshake import shake_hands
from conformance.deltarobot.misreading import identifiers_turned, lengths_turned, miscounted
from conformance.deltarobot.server.exercise import plain
from conformance.deltarobot.service import habits
from conformance.iut import Iut

SMOKE = "handshake.magic-sent"


async def smoke(iut: Iut) -> None:
    """Magic and version arrive right after the connection."""
    async with iut.session() as session:
        await shake_hands(session)


async def basis(iut: Iut) -> str:
    """Return the violated requirement if the plainest curve, all numbers, or all reading is wrong.

    An empty text means that none of them is wrong. A server that reads lengths in big-endian
    understands only an end of transmission without a reason.
    """
    usual = await habits(iut)
    turned = lengths_turned if usual.serves else identifiers_turned
    if (usual.closing == "" or not usual.serves) and await turned(iut):
        return "frame.byte-order"
    return (await plain(iut)).about or await miscounted(iut)
