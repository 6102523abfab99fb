"""Test cases for a server: the suite plays the client."""

from conformance.deltarobot.handshake import shake_hands
from conformance.deltarobot.server.exercise import plain
from conformance.deltarobot.service import habits, lengths_turned
from conformance.iut import Iut

SMOKE = "handshake.magic-sent"


async def smoke(iut: Iut) -> None:
    """Magic and version, which come right after the connection."""
    async with iut.session() as session:
        await shake_hands(session)


async def basis(iut: Iut) -> str:
    """What it violates whose plainest curve is wrong, all of its numbers, or how it reads lengths.

    One that reads them in reverse order understands an end without a reason, and none with it.
    """
    turned = (await habits(iut)).closing == "" and await lengths_turned(iut)
    return "frame.byte-order" if turned else (await plain(iut)).about
