"""Finds an error in how the IUT reads every message, which explains all other failures."""

from typing import Any

from conformance.deltarobot import tester
from conformance.deltarobot.codec import LENGTH_KNOWN, encode
from conformance.deltarobot.handshake import open_session
from conformance.deltarobot.messages import HANDSHAKE, unknown
from conformance.deltarobot.tester import Form
from conformance.iut import Iut

_LENGTH, _REVERSED = 0x100, 0x10000  # bytes: a length, and the same bytes in the other order
_PERIOD = 768  # bytes: a multiple of the bytes that an IUT can take for one message


async def are_identifiers_reversed(iut: Iut) -> bool:
    """Return True if the IUT reads identifiers, or all numbers, in big-endian byte order.

    The last session of the IUT is the evidence.
    """
    for form in (_reversed_identifier, _reversed_numbers):
        if await _is_understood(iut, form):
            return True
    return False


async def is_handshake_in_one_write_understood(iut: Iut) -> bool:
    """Return True if the IUT serves a peer that sends its handshake in one write."""
    return await _is_understood(iut, encode)


def _reversed_identifier(value: Any) -> bytes:
    data = encode(value)
    return data[1::-1] + data[2:]


def _reversed_numbers(value: Any) -> bytes:
    data = encode(value)
    return data[1::-1] + (data[2:] if "magic" in value else data[:1:-1])


async def _is_understood(iut: Iut, form: Form) -> bool:
    """Return True if the IUT serves a peer whose messages have this form."""
    async with iut.session() as session:
        await session.send_bytes(b"".join(map(form, HANDSHAKE)))
        return await tester.of(session).has_served_in_form(session, form)


async def are_lengths_reversed(iut: Iut) -> bool:
    """Return True if the IUT reads lengths in big-endian byte order.

    It then takes 256 bytes of contents for 65536, and understands the next message after exactly
    these bytes. An IUT that reads contents as messages also understands it after fewer bytes.
    """

    async def find() -> bool:
        fewer = await _is_in_step_after(iut, _REVERSED - _PERIOD)
        return not fewer and await _is_in_step_after(iut, _REVERSED)

    return await iut.cached("lengths turned", find)


async def _is_in_step_after(iut: Iut, size: int) -> bool:
    """Return True if the IUT is in step after so many bytes, and not after 256 bytes."""
    async with open_session(iut) as session:
        before = len(session.events)
        await session.send(unknown(0xF321, "ff" * _LENGTH))
        if await tester.of(session).is_in_step(iut, session):
            return False
        ours = (event for event in session.events[before:] if event.sender == session.peer)
        contents = sum(len(event.data or b"") for event in ours) - LENGTH_KNOWN
        await session.send_bytes(b"\xff" * (size - contents))
        return await tester.of(session).is_in_step(iut, session)


async def is_in_step(iut: Iut, *messages: Any) -> bool:
    """Return True if the IUT understands the next message after these messages.

    An IUT that ends the session because of these messages does not.
    """
    async with open_session(iut) as session:
        # Pongs with arbitrary numbers can bring a lost reader back into step by chance.
        await session.stop_answering()
        await session.send(*messages)
        if await session.until_closed("quiet"):
            return False
        return await tester.of(session).is_in_step(iut, session)
