"""Finds an error in how the IUT reads every message, which explains all other failures."""

from typing import Any

from conformance.deltarobot import tester
from conformance.deltarobot.codec import SAID, encode
from conformance.deltarobot.handshake import open_session
from conformance.deltarobot.messages import HANDSHAKE, unknown
from conformance.deltarobot.tester import Form
from conformance.iut import Iut


async def identifiers_turned(iut: Iut) -> bool:
    """Return True if the IUT reads identifiers, or all numbers, in big-endian byte order.

    The last session of the IUT is the evidence.
    """
    for form in (_turned_identifier, _turned_numbers):
        if await _understands(iut, form):
            return True
    return False


def _turned_identifier(value: Any) -> bytes:
    data = encode(value)
    return data[1::-1] + data[2:]


def _turned_numbers(value: Any) -> bytes:
    data = encode(value)
    return data[1::-1] + (data[2:] if "magic" in value else data[:1:-1])


async def _understands(iut: Iut, form: Form) -> bool:
    """Return True if the IUT serves a peer whose messages have this form."""
    async with iut.session() as session:
        await session.send_bytes(b"".join(map(form, HANDSHAKE)))
        return await tester.of(session).served_in_form(session, form)


async def lengths_turned(iut: Iut) -> bool:
    """Return True if the IUT reads lengths in big-endian byte order.

    It then takes 256 bytes of contents for 65536, and understands nothing before these have
    arrived.
    """

    async def found() -> bool:
        length, turned = 0x100, 0x10000
        async with open_session(iut) as session:
            before = len(session.events)
            await session.send(unknown(0xF321, "ff" * length))
            if await tester.of(session).in_step(iut, session):
                return False
            ours = (event for event in session.events[before:] if event.sender == session.peer)
            contents = sum(len(event.data or b"") for event in ours) - SAID
            await session.send_bytes(b"\xff" * (turned - contents))
            return await tester.of(session).in_step(iut, session)

    return await iut.cached("lengths turned", found)


async def in_step(iut: Iut, *messages: Any) -> bool:
    """Return True if the IUT understands the next message after these messages."""
    async with open_session(iut) as session:
        await session.send(*messages)
        return await tester.of(session).in_step(iut, session)
