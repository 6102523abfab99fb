"""Messages as a stream brings them: cut anywhere, of every size, and none that is not defined."""

from typing import Any

import pytest

from conformance.cases import requirement
from conformance.deltarobot.codec import encode
from conformance.deltarobot.forms import CUTS
from conformance.deltarobot.misfit import misfit
from conformance.deltarobot.parts import (
    HANDSHAKE,
    NULLS,
    OTHER_SIZES,
    PROGRESS,
    UNKNOWN,
    all_answered,
    curve,
    goes_on,
    opened,
    ping,
    said,
    serves,
    shake_hands,
    unknown,
    vector,
)
from conformance.iut import Iut
from conformance.segmentation import Segmentation, split_at
from conformance.session import Session
from conformance.verdicts import Violation

NUMBERS = (0x0123456789ABCDEF, 0, 2**64 - 1)


def script(session: Session) -> list[Any]:
    """What the IUT's peer may say, of every size, with what is unknown in between."""
    if session.role.name == "server":
        return [*UNKNOWN.values(), *reversed(UNKNOWN.values())]
    vectors = [vector(name, 1.0, -2.5, 0.125, 7.0) for name in PROGRESS]
    asked = map(ping, NUMBERS)
    return [
        *(next(asked), UNKNOWN["64-bit"], curve((0.0, 0.0, 0.0), (1.0, 2.0, -3.0))),
        *(UNKNOWN["variable"], *vectors, next(asked), UNKNOWN["8-bit"], UNKNOWN["128-bit"]),
        *(UNKNOWN["variable-empty"], UNKNOWN["16-bit"], UNKNOWN["32-bit"], next(asked)),
    ]


async def understood(iut: Iut, session: Session, after: str) -> None:
    """Raise Violation unless all of the script was: each ping answered, and the session goes on."""
    if session.role.name == "client":
        await all_answered(session, list(NUMBERS), f" in {after}")
    await goes_on(iut, session, after)


@requirement("frame.segmentation")
@pytest.mark.parametrize("cut", CUTS, ids=lambda cut: cut.__name__)
async def test_cut_sessions(iut: Iut, cut: Segmentation) -> None:
    """A session that arrives in pieces, or all at once, is taken as if in whole messages."""
    async with iut.session(segmentation=cut) as session:
        await shake_hands(session)
        await session.send(*script(session))
        await understood(iut, session, "messages that came in pieces")


@requirement("frame.segmentation")
async def test_everything_in_one_write(iut: Iut) -> None:
    """Handshake and all that follows may come in one write."""
    async with iut.session() as session:
        await shake_hands(session, *HANDSHAKE, *script(session))
        await understood(iut, session, "everything in one write")


@requirement("frame.segmentation")
async def test_a_message_and_a_half(iut: Iut) -> None:
    """A write may end anywhere inside the next message, also long after."""
    async with opened(iut) as session:
        last = encode(unknown(0xF321, "ff" * 300))
        data = b"".join(map(encode, script(session))) + last
        await session.send_bytes(data, segmentation=split_at([-303, -301, -150, -1]))
        await understood(iut, session, "writes that end inside a message")


@requirement("frame.fixed-lengths")
async def test_every_fixed_size(iut: Iut) -> None:
    """Of an unknown message as many bytes are skipped as its size identifier says."""
    sizes = ("8-bit", "16-bit", "32-bit", "64-bit", "128-bit")
    async with opened(iut) as session:
        await each(iut, session, {size: UNKNOWN[size] for size in sizes}, "an unknown message")


@requirement("frame.fixed-lengths")
async def test_own_messages_fit(iut: Iut) -> None:
    """All that comes itself has contents of the length that its identifier says."""
    async with opened(iut) as session:
        for _ in range(3):
            if not session.ended:
                await show_more(session)
        await session.finish()
        await session.until_closed()
        if wrong := misfit(said(session)):
            raise Violation("contents of the length that the identifier says", wrong, explains=True)


async def show_more(session: Session) -> None:
    """Let the IUT send some of what its role sends."""
    if session.role.name == "client":
        await session.send(ping(0x1111_2222_3333_4444 + len(session.events)))
        await session.watch("Pong", within=session.seconds("response"))
        return
    upper = session.instance.upper
    if upper.offers("exercise"):
        await upper("exercise", curve=[[0, 0, 0], [1, 2, -3]])
    await session.watch("Ping", *PROGRESS, within=session.seconds("ping"))
    await session.watch(*PROGRESS)


@requirement("frame.variable-length")
async def test_every_length(iut: Iut) -> None:
    """Of an unknown message of any length as many bytes are skipped as it says, up to 1 MiB."""
    sizes = (1, 5, 255, 256, 65_536, 1024 * 1024, 0)
    async with opened(iut) as session:
        messages = {f"{size} bytes": unknown(0xF321, "ff" * size) for size in sizes}
        await each(iut, session, messages, "an unknown message")


@requirement("messages.unknown-skipped")
async def test_unknown_messages(iut: Iut) -> None:
    """Unknown messages of every size, one after another, change nothing."""
    async with opened(iut) as session:
        await each(iut, session, UNKNOWN, "an unknown message")


@requirement("messages.unknown-skipped")
async def test_many_unknown_messages(iut: Iut) -> None:
    """Nor do a thousand of them."""
    async with opened(iut) as session:
        await session.send(*list(UNKNOWN.values()) * 111)
        await goes_on(iut, session, "a thousand unknown messages")


@requirement("messages.whole-identifier")
async def test_known_types_of_other_sizes(iut: Iut) -> None:
    """A known type with another size means nothing and is skipped by that size."""
    async with opened(iut) as session:
        await each(iut, session, OTHER_SIZES, "a known type of another size")


@requirement("messages.null-skipped")
async def test_null_messages(iut: Iut) -> None:
    """Messages of the null type, of every size, are skipped."""
    async with opened(iut) as session:
        await each(iut, session, NULLS, "a message of the null type")


async def each(iut: Iut, session: Session, messages: dict[str, Any], what: str) -> None:
    """Send all of them and look whether the session goes on; a client shows it after each one."""
    if session.role.name == "client":
        for name, value in messages.items():
            await session.send(value)
            await serves(iut, session, f"{what} ({name}, {value['identifier']})")
    else:
        await session.send(*messages.values())
    await goes_on(iut, session, f"{what} of every size")


def _of_a_session(*statements: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(
        "statement",
        [pytest.param(name, marks=requirement(name)) for name in statements],
    )


@_of_a_session(
    "frame.undefined-sizes",
    "frame.whole-messages",
    "messages.null-not-sent",
    "messages.own-direction",
    "messages.defined-only",
)
async def test_ordinary_session(iut: Iut, statement: str) -> None:
    """All that comes in an ordinary session, to its end, keeps this rule."""
    async with opened(iut) as session:
        for _ in range(2):
            if not session.ended:
                await show_more(session)
        await session.send({"identifier": "0xf006", "reason": "bye"})
        await session.finish()
        await session.until_closed()
