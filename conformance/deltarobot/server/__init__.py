"""Test cases for a server: the suite plays the client."""

from conformance.deltarobot.handshake import shake_hands
from conformance.deltarobot.misreading import identifiers_turned, lengths_turned, miscounted
from conformance.deltarobot.server.exercise import plain
from conformance.deltarobot.service import habits
from conformance.iut import Iut

SMOKE = "handshake.magic-sent"


async def smoke(iut: Iut) -> None:
    """Magic and version, which come right after the connection."""
    async with iut.session() as session:
        await shake_hands(session)


async def basis(iut: Iut) -> str:
    """What it violates whose plainest curve is wrong, all of its numbers, or how it reads messages.

    One that reads lengths in reverse order understands an end without a reason, and none with it.
    """
    usual = await habits(iut)
    turned = lengths_turned if usual.serves else identifiers_turned
    if (usual.closing == "" or not usual.serves) and await turned(iut):
        return "frame.byte-order"
    return (await plain(iut)).about or await miscounted(iut)
