"""Messages as a stream brings them: cut anywhere, of every size, and none that is not defined."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any

from conformance.cases import each_of, lasting, requirement
from conformance.deltarobot import tester
from conformance.deltarobot.cuts import CUTS, inside_contents, inside_identifiers
from conformance.deltarobot.handshake import (
    answer_handshake,
    greeted,
    opened,
    shake_hands,
)
from conformance.deltarobot.messages import (
    HANDSHAKE,
    MAGIC,
    NEARLY_KNOWN,
    NULLS,
    OF_EACH_SIZE,
    OTHER_SIZES,
    UNKNOWN,
    VERSION,
    unknown,
)
from conformance.deltarobot.misreading import identifiers_turned, lengths_turned
from conformance.deltarobot.service import (
    goes_on,
    habits,
    in_many_reads,
    ordinary,
    refused,
    script,
    serves,
    taken,
)
from conformance.iut import Iut
from conformance.segmentation import byte_by_byte, split_at, whole
from conformance.session import Session
from conformance.verdicts import Inconclusive, Violation


@requirement("frame.byte-order")
async def test_identifiers_as_they_are_read(iut: Iut) -> None:
    """A peer is served whose identifiers are in little-endian, and not only one that swaps them."""
    if (await habits(iut)).serves:
        return
    if await identifiers_turned(iut):
        came = "they are understood in big-endian only"
        raise Violation("identifiers to be read in little-endian", came)
    raise Inconclusive("no peer is served in a plain session, whatever it sends")


@requirement("frame.byte-order")
async def test_lengths_in_little_endian(iut: Iut) -> None:
    """The length of a message is read with its least significant byte first."""
    async with opened(iut) as session:
        await session.send(*(m for m in await script(iut) if m["identifier"].startswith("0xf")))
        try:
            await goes_on(iut, session, "messages of variable length")
        except Violation as lost:
            if await lengths_turned(iut):
                expected = "lengths to be read with their least significant byte first"
                came = "256 bytes of contents were taken for 65536: they are read in reverse order"
                raise Violation(expected, came) from lost
            raise Violation(lost.expected, lost.came, "frame.variable-length", lost.event) from lost


@contextlib.asynccontextmanager
async def only_in_pieces(iut: Iut, later: bool = False) -> AsyncIterator[None]:
    """What fails here decides nothing where the same fails in whole messages, one by one."""
    try:
        yield
    except Violation as wrong:
        wrong.shown_in(next(reversed(iut.sessions), None))
        name = f"script fails{' in a later connection' * later}"
        if why := await iut.once(name, lambda: _fails(iut, later)):
            raise Inconclusive(f"{wrong}; so it is in whole messages: {why}") from None
        raise


async def _fails(iut: Iut, later: bool) -> str:
    """What is wrong with a session in which the script comes in whole messages; else empty."""
    if known := await tester.of(iut).falters(iut):
        return f"in the plainest session, too ({known})"
    said_to_it, plain = await script(iut), Iut(iut.testbed, "")
    plain.hasty = True
    try:
        async with tester.of(iut).later(plain) if later else plain.session() as session:
            await shake_hands(session)
            # More than once: in pieces they come again and again.
            await session.send(*said_to_it, *said_to_it)
            await tester.of(session).all_understood(session, "whole messages", 2)
            await goes_on(plain, session, "whole messages")
    except Violation as wrong:
        return str(wrong)
    return ""


@requirement("frame.segmentation")
async def test_byte_by_byte(iut: Iut) -> None:
    """A session in which every byte arrives alone is taken as if in whole messages."""
    said_to_it = await script(iut)
    async with only_in_pieces(iut), iut.session(segmentation=byte_by_byte) as session:
        await shake_hands(session)
        for value in said_to_it:
            # One by one, so that pings are answered in between: a server may insist on that.
            await session.send(value)
        await tester.of(session).all_understood(session, "messages that came byte by byte")
        await goes_on(iut, session, "messages that came byte by byte")


@requirement("frame.segmentation")
async def test_cut_messages(iut: Iut) -> None:
    """Messages that are cut at one place each, anywhere, are taken as if they came whole."""
    said_to_it = await script(iut)
    async with only_in_pieces(iut), iut.session(segmentation=inside_contents) as session:
        await _cut(iut, session, said_to_it)


@requirement("frame.segmentation")
async def test_cut_messages_of_a_later_connection(iut: Iut) -> None:
    """Messages that are cut anywhere are taken in a later connection as well."""
    said_to_it = await script(iut)
    later = tester.of(iut).later(iut, inside_contents)
    async with only_in_pieces(iut, later=True), later as session:
        await _cut(iut, session, said_to_it)


async def _cut(iut: Iut, session: Session, said_to_it: list[Any]) -> None:
    """A session in which every message comes in pieces, also those that answer the IUT's."""
    await session.send(MAGIC, segmentation=inside_identifiers)
    await answer_handshake(session, VERSION)
    await greeted(session)
    for times, cut in enumerate(CUTS, 1):
        await session.send(*said_to_it, segmentation=cut)
        where = cut.__name__.replace("_", " ")
        await tester.of(session).all_understood(session, f"messages cut {where}", times)
    await goes_on(iut, session, "messages that came in pieces")


@requirement("frame.segmentation")
async def test_everything_in_one_write(iut: Iut) -> None:
    """Handshake and all that follows may come in one write."""
    said_to_it = await script(iut)
    async with iut.session() as session:
        await shake_hands(session, *HANDSHAKE, *said_to_it, segmentation=whole)
        if not (await habits(iut)).serves and await _served_bit_by_bit(iut):
            raise Violation(
                "magic and version in one write to be taken like any others",
                "the peer is served only if they come apart",
            )
        async with only_in_pieces(iut):
            await tester.of(session).all_understood(session, "everything in one write")
            await goes_on(iut, session, "everything in one write")


async def _served_bit_by_bit(iut: Iut) -> bool:
    """Whether a peer is served that lets each message of its handshake arrive by itself."""
    async with iut.session() as session:
        await session.send(MAGIC)
        await session.watch(within=session.seconds("quiet"))
        await answer_handshake(session, VERSION)
        await session.watch(within=session.seconds("quiet"))
        return await tester.of(session).served(session)


@requirement("frame.segmentation")
async def test_a_message_and_a_half(iut: Iut) -> None:
    """A write may end anywhere inside the next message, also long after."""
    said_to_it = await script(iut)
    if OF_EACH_SIZE["variable"] not in await refused(iut):
        said_to_it.append(unknown(0xF321, "ff" * 300))
    async with only_in_pieces(iut), opened(iut) as session:
        await session.send(*said_to_it, segmentation=split_at([-303, -301, -150, -1]))
        await tester.of(session).all_understood(session, "writes that end inside a message")
        await goes_on(iut, session, "writes that end inside a message")


@requirement("frame.fixed-lengths")
async def test_every_fixed_size(iut: Iut) -> None:
    """As many bytes are taken of a message as its size identifier says, also of an unknown one.

    One upon which the connection is closed shows nothing, and is left out.
    """
    await each(iut, await _skipped(iut, "bit"), "an unknown message")


async def _skipped(iut: Iut, what: str) -> dict[str, Any]:
    """A message of an unknown type of each size of this kind that it does not refuse."""
    left_out = (await refused(iut)).closed
    sizes = {size: message for size, message in OF_EACH_SIZE.items() if what in size}
    return {size: message for size, message in sizes.items() if message not in left_out}


@requirement("frame.variable-length")
async def test_every_length(iut: Iut) -> None:
    """Of an unknown message of any length as many bytes are skipped as it says, up to 1 MiB.

    An end of transmission of some length shows it as well, where unknown ones close the connection.
    """
    sizes = (1, 5, 255, 256, 65_536, 1024 * 1024, 0) if await _skipped(iut, "variable") else ()
    messages = {f"{size} bytes": unknown(0xF321, "ff" * size) for size in sizes}
    async with in_many_reads(iut):
        await each(iut, messages, "an unknown message")


@lasting
@requirement("messages.unknown-skipped")
async def test_unknown_messages(iut: Iut) -> None:
    """Unknown messages of every size, one after another, change nothing; nor do a thousand."""
    await each(iut, UNKNOWN, "an unknown message", again=111)


@requirement("messages.unknown-skipped")
async def test_unknown_messages_of_a_later_connection(iut: Iut) -> None:
    """Unknown messages of every size change nothing in a later connection either."""
    async with tester.of(iut).later(iut) as session:
        await shake_hands(session)
        await session.send(*UNKNOWN.values())
        await goes_on(iut, session, "unknown messages in a later connection")


@requirement("messages.type-identifier")
async def test_nearly_known_types(iut: Iut) -> None:
    """A type that shares some bits with a known one, or brings bytes like one, is not that."""
    if (await refused(iut)).closed:
        raise Inconclusive("it closes the connection upon unknown ones (messages.unknown-skipped)")
    await each(iut, NEARLY_KNOWN, "a message that looks like a known one")


@requirement("messages.whole-identifier")
async def test_known_types_of_other_sizes(iut: Iut) -> None:
    """A known type with another size means nothing and is skipped by that size."""
    await each(iut, await taken(iut, OTHER_SIZES), "a known type of another size")


@requirement("messages.null-skipped")
async def test_null_messages(iut: Iut) -> None:
    """Messages of the null type, of every size, are skipped."""
    await each(iut, await taken(iut, NULLS), "a message of the null type")


async def each(iut: Iut, messages: dict[str, Any], what: str, again: int = 0) -> None:
    """Send all of them, a client being asked for a sign of life behind each, and then so often."""
    async with opened(iut) as session:
        if tester.of(session).asks:
            for name, value in messages.items():
                await session.send(value)
                await serves(iut, session, f"{what} ({name}, {value['identifier']})")
        else:
            await session.send(*messages.values())
        await session.send(*list(messages.values()) * again)
        await goes_on(iut, session, f"{what} of every size")
    if not tester.of(iut).asks:
        # Pongs in between, of whatever numbers, may bring it back into step by chance.
        async with opened(iut) as session:
            await session.stop_answering()
            await session.send(*messages.values())
            await tester.of(session).follows(iut, session, f"{what} of every size")


@each_of(
    *("frame.fixed-lengths", "frame.undefined-sizes", "frame.whole-messages"),
    *("messages.null-not-sent", "messages.own-direction", "messages.defined-only"),
)
async def test_ordinary_session(iut: Iut, statement: str) -> None:
    """All that comes in an ordinary session, to its end, keeps this rule."""
    await ordinary(iut)
