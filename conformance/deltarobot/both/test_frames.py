"""Messages in a stream: segmentation, every size, and only defined messages."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any

from conformance.cases import each_of, lasting, requirement
from conformance.deltarobot import tester
from conformance.deltarobot.cuts import CUTS, inside_contents, inside_identifiers
from conformance.deltarobot.handshake import (
    answer_handshake,
    await_greeting,
    open_session,
    open_unshaken,
    shake_hands,
)
from conformance.deltarobot.messages import (
    HANDSHAKE,
    MAGIC,
    NEARLY_KNOWN,
    NULLS,
    OF_EACH_SIZE,
    OF_HIGH_TYPES,
    OTHER_SIZES,
    UNKNOWN,
    VERSION,
    unknown,
)
from conformance.deltarobot.reading_errors import (
    are_identifiers_reversed,
    are_lengths_reversed,
    is_handshake_in_one_write_understood,
)
from conformance.deltarobot.service import (
    blame_contents,
    check_continues,
    check_serves,
    excuse_length_limit,
    find_refused,
    habits,
    in_many_reads,
    leave_out_refused,
    ordinary,
    usable_script,
)
from conformance.iut import Iut
from conformance.segmentation import byte_by_byte, split_at, whole
from conformance.session import Session
from conformance.verdicts import Inconclusive, Violation


@requirement("frame.byte-order")
async def test_identifiers_as_they_are_read(iut: Iut) -> None:
    """The IUT serves a peer that sends its identifiers in little-endian."""
    if (await habits(iut)).shows_service:
        return
    # Asked first: the other forms are sent in one write, too.
    if await is_handshake_in_one_write_understood(iut):
        expected = "magic and version to be understood if they arrive one after the other"
        came = "the IUT serves only a peer that sends both in one write"
        raise Violation(expected, came, "frame.segmentation")
    if await are_identifiers_reversed(iut):
        came = "the IUT understands them in big-endian only"
        raise Violation("identifiers to be read in little-endian", came)
    raise Inconclusive("the IUT serves no peer in a plain session, in either byte order")


@requirement("frame.byte-order")
async def test_lengths_in_little_endian(iut: Iut) -> None:
    """The IUT reads the length of a message in little-endian."""
    async with open_session(iut) as session:
        await session.send(
            *(m for m in await usable_script(iut) if m["identifier"].startswith("0xf"))
        )
        try:
            async with blame_contents(iut):
                await check_continues(iut, session, "messages of variable length")
        except Violation as lost:
            if await are_lengths_reversed(iut):
                expected = "lengths to be read in little-endian"
                came = (
                    "the IUT took 256 bytes of contents for 65536: it reads lengths in big-endian"
                )
                raise Violation(expected, came) from lost
            lost.requirement = lost.requirement or "frame.variable-length"
            raise


def _sizes_around(size: int) -> tuple[int, int, int]:
    return size - 1, size, size + 1


@contextlib.asynccontextmanager
async def only_in_pieces(iut: Iut, later: bool = False) -> AsyncIterator[None]:
    """Raise Inconclusive instead of a Violation if the same fails with whole messages."""
    try:
        yield
    except Violation as wrong:
        wrong.shown_in(next(reversed(iut.sessions), None))
        name = f"script fails{' in a later connection' * later}"
        if why := await iut.cached(name, lambda: _find_failure(iut, later)):
            raise Inconclusive(f"{wrong}; the same fails with whole messages: {why}") from None
        raise


async def _find_failure(iut: Iut, later: bool) -> str:
    """Return the error of a session with whole messages, else empty."""
    if known := await tester.of(iut).find_plain_failure(iut):
        return f"in the plainest session, too ({known})"
    script, plain = await usable_script(iut), Iut(iut.testbed, "")
    try:
        async with tester.of(iut).open_later(plain) if later else plain.session() as session:
            await shake_hands(session)
            # Twice, because the tests with pieces also send the script repeatedly.
            await session.send(*script, *script)
            await tester.of(session).check_all_understood(session, "whole messages", 2)
            await check_continues(plain, session, "whole messages")
    except Violation as wrong:
        return str(wrong)
    return ""


@requirement("frame.segmentation")
async def test_byte_by_byte(iut: Iut) -> None:
    """A session in which every byte arrives alone works like one with whole messages."""
    script = await usable_script(iut)
    async with only_in_pieces(iut), open_unshaken(iut, segmentation=byte_by_byte) as session:
        await shake_hands(session)
        for value in script:
            # Separate sends let the suite answer pings in between; a server can insist on that.
            await session.send(value)
        await tester.of(session).check_all_understood(session, "messages that came byte by byte")
        await check_continues(iut, session, "messages that came byte by byte")


@requirement("frame.segmentation")
async def test_cut_messages(iut: Iut) -> None:
    """Messages that are each cut at any one place are understood."""
    script = await usable_script(iut)
    async with only_in_pieces(iut), open_unshaken(iut, segmentation=inside_contents) as session:
        await _play_cut(iut, session, script)


@requirement("frame.segmentation")
async def test_cut_messages_of_a_later_connection(iut: Iut) -> None:
    """Messages that are cut anywhere are understood in a later connection as well."""
    script = await usable_script(iut)
    later = tester.of(iut).open_later(iut, inside_contents)
    async with only_in_pieces(iut, later=True), later as session:
        await _play_cut(iut, session, script)


async def _play_cut(iut: Iut, session: Session, script: list[Any]) -> None:
    """Run a session in which every message is cut, also our answers to the IUT."""
    await session.send(MAGIC, segmentation=inside_identifiers)
    await answer_handshake(session, VERSION)
    await await_greeting(session)
    for times, cut in enumerate(CUTS, 1):
        await session.send(*script, segmentation=cut)
        where = cut.__name__.replace("_", " ")
        await tester.of(session).check_all_understood(session, f"messages cut {where}", times)
    await check_continues(iut, session, "messages that came in pieces")


@requirement("frame.segmentation")
async def test_everything_in_one_write(iut: Iut) -> None:
    """The handshake and all messages after it can arrive in one write."""
    script = await usable_script(iut)
    async with open_unshaken(iut) as session:
        await shake_hands(session, *HANDSHAKE, *script, segmentation=whole)
        if not (await habits(iut)).shows_service and await _is_served_bit_by_bit(iut):
            raise Violation(
                "magic and version in one write to be understood",
                "the IUT serves the peer only if they arrive separately",
            )
        async with only_in_pieces(iut):
            await tester.of(session).check_all_understood(session, "everything in one write")
            await check_continues(iut, session, "everything in one write")


async def _is_served_bit_by_bit(iut: Iut) -> bool:
    """Return True if the IUT serves a peer whose handshake messages arrive separately."""
    async with iut.session() as session:
        await session.send(MAGIC)
        await session.wait_for(within=session.seconds("quiet"))
        await answer_handshake(session, VERSION)
        await session.wait_for(within=session.seconds("quiet"))
        return await tester.of(session).has_served(session)


@requirement("frame.segmentation")
async def test_a_message_and_a_half(iut: Iut) -> None:
    """A write can end anywhere inside the next message."""
    script = await usable_script(iut)
    if OF_EACH_SIZE["variable"] not in await find_refused(iut):
        script.append(unknown(0xF321, "ff" * 300))
    async with only_in_pieces(iut), open_session(iut) as session:
        await session.send(*script, segmentation=split_at([-303, -301, -150, -1]))
        await tester.of(session).check_all_understood(session, "writes that end inside a message")
        await check_continues(iut, session, "writes that end inside a message")


@requirement("frame.fixed-lengths")
async def test_every_fixed_size(iut: Iut) -> None:
    """The IUT reads messages of each defined size completely, known and unknown messages.

    Sizes for which the IUT closes the connection are left out.
    """
    messages = await _skippable(iut, "bit")
    high = {f"{size} of a high type": OF_HIGH_TYPES[size] for size in messages}
    await assert_each_skipped(iut, {**messages, **high}, "an unknown message")


async def _skippable(iut: Iut, what: str) -> dict[str, Any]:
    """Return the unknown messages of this kind that the IUT does not refuse."""
    left_out = (await find_refused(iut)).closed
    sizes = {size: message for size, message in OF_EACH_SIZE.items() if what in size}
    return {size: message for size, message in sizes.items() if message not in left_out}


LENGTHS = (
    1,
    5,
    255,
    256,
    *_sizes_around(1 << 10),
    *_sizes_around(1 << 12),
    *_sizes_around(1 << 16),
    1 << 20,
    0,
)
"""Numbers of bytes at which the buffers and counters of programs end.

All contents are FF: an IUT that skips too few of them sees an endless message.
"""


@requirement("frame.variable-length")
async def test_every_length(iut: Iut) -> None:
    """Unknown messages of any length up to 1 MiB are skipped by their length.

    If unknown messages close the connection, an end of transmission shows how the IUT reads
    lengths.
    """
    sizes = LENGTHS if await _skippable(iut, "variable") else ()
    messages = {f"{size} bytes": unknown(0xF321, "ff" * size) for size in sizes}
    async with in_many_reads(iut), excuse_length_limit(iut):
        await assert_each_skipped(iut, messages, "an unknown message")


@lasting
@requirement("messages.unknown-skipped")
async def test_unknown_messages(iut: Iut) -> None:
    """Unknown messages of every size change nothing, not even a thousand of them."""
    await assert_each_skipped(iut, UNKNOWN, "an unknown message", again=111)


@requirement("messages.unknown-skipped")
async def test_unknown_messages_of_a_later_connection(iut: Iut) -> None:
    """Unknown messages of every size change nothing in a later connection either."""
    async with tester.of(iut).open_later(iut) as session:
        await shake_hands(session)
        await session.send(*UNKNOWN.values())
        await check_continues(iut, session, "unknown messages in a later connection")


@requirement("messages.type-identifier")
async def test_nearly_known_types(iut: Iut) -> None:
    """An unknown type that resembles a known type is not taken for the known type."""
    if (await find_refused(iut)).closed:
        raise Inconclusive("the IUT closes after unknown messages (messages.unknown-skipped)")
    await assert_each_skipped(iut, NEARLY_KNOWN, "a message that looks like a known message")


@requirement("messages.whole-identifier")
async def test_known_types_of_other_sizes(iut: Iut) -> None:
    """A known type with another size means nothing and is skipped by that size."""
    await assert_each_skipped(
        iut, await leave_out_refused(iut, OTHER_SIZES), "a known type of another size"
    )


@requirement("messages.null-skipped")
async def test_null_messages(iut: Iut) -> None:
    """Messages of the null type, of every size, are skipped."""
    await assert_each_skipped(
        iut, await leave_out_refused(iut, NULLS), "a message of the null type"
    )


async def assert_each_skipped(
    iut: Iut, messages: dict[str, Any], what: str, again: int = 0
) -> None:
    """Send all messages, and then `again` times more.

    A client is asked for a sign of service after each message.
    """
    async with blame_contents(iut), open_session(iut) as session:
        if tester.of(session).asks:
            for name, value in messages.items():
                await session.send(value)
                await check_serves(iut, session, f"{what} ({name}, {value['identifier']})")
        else:
            await session.send(*messages.values())
        await session.send(*list(messages.values()) * again)
        await check_continues(iut, session, f"{what} of every size")
    if not tester.of(iut).asks:
        # Pongs with arbitrary numbers can bring a lost reader back into step by chance.
        async with blame_contents(iut), open_session(iut) as session:
            await session.stop_answering()
            await session.send(*messages.values())
            await tester.of(session).check_follows(iut, session, f"{what} of every size")


@each_of(
    *("frame.fixed-lengths", "frame.undefined-sizes", "frame.whole-messages"),
    *("messages.null-not-sent", "messages.own-direction", "messages.defined-only"),
)
async def test_ordinary_session(iut: Iut, statement: str) -> None:
    """All messages of an ordinary session obey the requirement."""
    await ordinary(iut)
