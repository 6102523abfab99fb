"""The beginning of a session: magic and version of both sides."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any

from conformance.deltarobot.messages import HANDSHAKE, pong
from conformance.iut import Iut
from conformance.segmentation import Segmentation, whole
from conformance.session import Message, Session
from conformance.verdicts import Violation

_SENT = {"ProtocolMagic": "handshake.magic-sent", "ProtocolVersion": "handshake.version-sent"}


@contextlib.asynccontextmanager
async def opened(iut: Iut, *, segmentation: Segmentation = whole) -> AsyncIterator[Session]:
    """A session in which both sides have sent their handshake; pings are answered from now on."""
    async with iut.session(segmentation=segmentation) as session:
        await shake_hands(session)
        yield session


async def shake_hands(session: Session, *handshake: Any) -> None:
    """The handshake of both sides; ours is the usual one if none is given."""
    await answer_handshake(session, *handshake)
    await greeted(session)


async def answer_handshake(session: Session, *handshake: Any) -> None:
    """Our handshake, or what is left of it, without waiting for the IUT's."""
    if session.role.name == "server":
        session.answer("Ping", lambda message: pong(message.value["number"]))
    await session.send(*(handshake or HANDSHAKE))


async def greeted(
    session: Session, to: str = "right after the connection", requirement: str = ""
) -> list[Message]:
    """The IUT's magic and version, in the order in which they come.

    Raises Violation of the statement that explains best why one of them does not, or of
    ``requirement`` where nothing explains it.
    """
    found: list[Message] = []
    missing = dict(_SENT)
    while missing:
        try:
            message = await session.expect(*missing, "Unknown", to=to)
        except Violation as none:
            # What has begun to come is only seen once the stream ends.
            await session.finish()
            await session.until_closed()
            about = requirement or next(iter(missing.values()))
            if explained := _explained(said(session)):
                about, reason = explained
                raise Violation(none.expected, reason, about, explains=True) from none
            raise Violation(none.expected, none.came, about) from none
        if missing.pop(message.name, None):
            found.append(message)
    return found


def said(session: Session) -> bytes:
    """All bytes of the IUT that could be cut into messages, and those that are none."""
    return b"".join(event.data or b"" for event in session.theirs)


def _explained(data: bytes) -> tuple[str, str] | None:
    """What is wrong with an opening in which magic or version is missing, where that is plain."""
    if data[:2] in (b"\x30\x01", b"\x20\x02"):
        return "frame.identifier", f"{data[:2].hex(' ')} is an identifier in big-endian"
    if data[:2] in (b"\x13\x00", b"\x22\x00"):
        return "frame.identifier", f"{data[:2].hex(' ')} has the size identifier in the low bits"
    if data.startswith(b"DeltaRVr"):
        return "frame.identifier", "the magic came without an identifier"
    if data.startswith(b"\x02\x20\0\0\x01\0\0\0"):
        return "frame.fixed-lengths", "the version has two bytes of padding before its contents"
    rest = data.removeprefix(b"\x01\x30DeltaRVr")
    if rest.startswith(b"\x02\x20") and len(rest) < 6:
        return "frame.fixed-lengths", f"the version has only {len(rest) - 2} bytes of contents"
    return None
