"""Magic and version: the IUT's own, and the IUT's reaction to those of its peer."""

from typing import Any

import pytest

from conformance.cases import check, each_of, explore, requirement
from conformance.deltarobot import strategies, tester
from conformance.deltarobot.codec import encode
from conformance.deltarobot.handshake import answer_handshake, await_greeting, shake_hands
from conformance.deltarobot.messages import (
    HANDSHAKE,
    MAGIC,
    NULLS,
    UNKNOWN,
    VERSION,
    end,
    unknown,
)
from conformance.deltarobot.refusal import assert_dropped, assert_refused, assert_unserved
from conformance.deltarobot.service import check_continues, check_serves, ordinary, share_session
from conformance.iut import Iut
from conformance.session import Session
from conformance.verdicts import NotExercised, Violation
from conformance.wire import Message

OPENING = b"".join(map(encode, HANDSHAKE))


def first(session: Session, name: str) -> Message:
    return next(message for message in session.received if message.name == name)


@requirement("handshake.magic-sent")
async def test_magic_sent(iut: Iut) -> None:
    """The magic arrives right after the connection."""
    await ordinary(iut)


@requirement("handshake.version-sent")
async def test_version_sent(iut: Iut) -> None:
    """The version arrives right after the connection."""
    await ordinary(iut)


@requirement("handshake.first")
async def test_nothing_before(iut: Iut) -> None:
    """The first two messages are magic and version, in either order."""
    names = [message.name for message in (await ordinary(iut)).received[:2]]
    check(
        sorted(names) == ["ProtocolMagic", "ProtocolVersion"],
        "magic and version as the first messages",
        f"received {' and '.join(names)} first",
    )


@requirement("handshake.once")
async def test_once(iut: Iut) -> None:
    """Neither magic nor version arrives again during the session."""
    for name in ("ProtocolMagic", "ProtocolVersion"):
        came = [message for message in (await ordinary(iut)).received if message.name == name]
        check(len(came) == 1, f"{name} once", f"received it {len(came)} times", came[-1].event)


@requirement("handshake.magic-value")
async def test_magic_value(iut: Iut) -> None:
    """The magic is DeltaRVr, byte by byte in reading order."""
    message = first(await ordinary(iut), "ProtocolMagic")
    magic = message.value["magic"]
    swapped = ", its bytes reversed" if magic == "rVRatleD" else ""
    check(magic == "DeltaRVr", "'DeltaRVr'", f"received {magic!r}{swapped}", message.event)


@requirement("handshake.version-value")
async def test_version_value(iut: Iut) -> None:
    """The version is 1."""
    message = first(await ordinary(iut), "ProtocolVersion")
    version = message.value["version"]
    check(version == 1, "version 1", f"received {version}", message.event)


@requirement("frame.byte-order")
async def test_version_in_little_endian(iut: Iut) -> None:
    """The version is sent with its least significant byte first."""
    await ordinary(iut)


@requirement("frame.identifier")
async def test_identifiers(iut: Iut) -> None:
    """The identifiers of magic and version are sent as 01 30 and 02 20."""
    begun = [(event.data or b"")[:2] for event in (await ordinary(iut)).iut_events]
    came = " and ".join(start.hex(" ") for start in begun[:2])
    check({b"\x01\x30", b"\x02\x20"} <= {*begun}, "01 30 and 02 20", f"received {came}")


@each_of(
    *("handshake.magic-sent", "handshake.version-sent", "handshake.magic-value"),
    *("handshake.version-value", "frame.byte-order", "frame.identifier"),
)
async def test_greeting_of_a_later_connection(iut: Iut, statement: str) -> None:
    """Magic and version arrive in a later connection as they do in the first."""
    await share_session(iut, "greeting of a later connection", _open_greeted_later)


async def _open_greeted_later(iut: Iut) -> Session:
    async with tester.of(iut).open_later(iut) as session:
        await shake_hands(session)
    return session


@requirement("handshake.unasked")
async def test_unasked(iut: Iut) -> None:
    """Magic and version arrive while the peer is silent; the peer is served later."""
    async with iut.session() as session:
        await await_greeting(session, "before the peer has sent its own", "handshake.unasked")
        await answer_handshake(session)
        await check_serves(iut, session, "a handshake that waited for the other side")


@requirement("handshake.either-order")
async def test_version_first(iut: Iut) -> None:
    """A peer that sends its version before its magic is served."""
    async with iut.session() as session:
        await answer_handshake(session, VERSION, MAGIC)
        await await_greeting(session, requirement="handshake.either-order")
        await check_continues(iut, session, "a version that came before the magic")


DIFFERENT: dict[str, Any] = {
    "known": None,
    "end": end("bye"),
    "unknown": UNKNOWN["variable"],
    "null": NULLS["32-bit"],
}
"""Messages in place of a handshake; None means the message that only the IUT's peer can send."""


@requirement("handshake.closes-different")
@pytest.mark.parametrize("kind", DIFFERENT)
async def test_different_message_first(iut: Iut, kind: str) -> None:
    """A peer that begins with a different message is not served."""
    async with iut.session() as session:
        await session.send(DIFFERENT[kind] or tester.of(session).foreign, *HANDSHAKE)
        await assert_refused(
            iut, session, f"a message of the kind '{kind}' before magic and version"
        )


@requirement("handshake.closes-different")
async def test_different_message_between(iut: Iut) -> None:
    """A peer that sends a different message between magic and version is not served."""
    async with iut.session() as session:
        await session.send(MAGIC, UNKNOWN["64-bit"], VERSION)
        await assert_refused(iut, session, "an unknown message between magic and version")


NEARLY = {
    "magic": (unknown(0x3101, OPENING[2:10].hex()), VERSION),
    "version": (MAGIC, unknown(0x2102, OPENING[12:].hex())),
}
"""Unknown types with the low byte and the contents of the messages that they replace."""


@requirement("handshake.closes-different")
@pytest.mark.parametrize("nearly", NEARLY)
async def test_nearly_known_type(iut: Iut, nearly: str) -> None:
    """A peer that sends the right contents with another type is not served."""
    async with iut.session() as session:
        await session.send(*NEARLY[nearly])
        await assert_refused(
            iut, session, f"a message of another type in the place of the {nearly}"
        )


@requirement("handshake.closes-different")
@explore(near=strategies.near_handshakes())
async def test_near_handshakes(iut: Iut, near: tuple[str, str, list[Any]]) -> None:
    """The IUT closes the connection if a handshake is wrong in any small way."""
    refusal, what, messages = near
    async with iut.session() as session:
        await session.send(*messages)
        await assert_refused(iut, session, what, refusal)


LATER = {
    "handshake.closes-different": (UNKNOWN["64-bit"], *HANDSHAKE),
    "handshake.closes-wrong-magic": ({**MAGIC, "magic": "rVRatleD"}, VERSION),
    "handshake.closes-wrong-version": (MAGIC, {**VERSION, "version": 2}),
}


@each_of(*LATER)
async def test_refused_in_a_later_connection(iut: Iut, statement: str) -> None:
    """A correct handshake in an earlier connection does not excuse a wrong one now."""
    async with tester.of(iut).open_later(iut) as session:
        await session.send(*LATER[statement])
        await assert_refused(iut, session, "a wrong handshake in a later connection")


@requirement("handshake.closes-silent")
async def test_silent_peer(iut: Iut) -> None:
    """A peer that sends nothing at all is dropped."""
    async with iut.session() as session:
        await assert_dropped(iut, session, "a peer that sends nothing")


@requirement("handshake.closes-silent")
async def test_silent_peer_of_a_later_connection(iut: Iut) -> None:
    """A peer that sends nothing at all is dropped in a later connection as well."""
    async with tester.of(iut).open_later(iut) as session:
        await assert_dropped(iut, session, "a peer that sends nothing in a later connection")


PARTS = {
    "magic": OPENING[:10],
    "magic-twice": OPENING[:10] * 2,
    "version": OPENING[10:],
    "all-but-a-byte": OPENING[:-1],
}


@requirement("handshake.closes-partial")
@pytest.mark.parametrize("part", PARTS)
async def test_partial_handshake(iut: Iut, part: str) -> None:
    """A peer that stops in the middle of its handshake is dropped."""
    async with iut.session() as session:
        await session.send_bytes(PARTS[part])
        await assert_unserved(
            iut, session, f"a handshake of {PARTS[part].hex(' ')} and nothing more"
        )


@requirement("handshake.closes-partial")
async def test_half_a_handshake_in_a_later_connection(iut: Iut) -> None:
    """Half a handshake does not complete the handshake of an earlier connection.

    The peer is dropped.
    """
    async with tester.of(iut).open_later(iut) as session:
        await session.send(VERSION)
        await assert_unserved(iut, session, "only a version in a later connection")


MAGICS = {
    "reversed": "rVRatleD",
    "lower-case": "deltarvr",
    "last-differs": "DeltaRVs",
    "eighth-bit": "DeltaRV\xf2",  # the last letter with its highest bit set
}


@requirement("handshake.closes-wrong-magic")
@pytest.mark.parametrize("magic", MAGICS)
async def test_wrong_magic(iut: Iut, magic: str) -> None:
    """A peer with another magic is not served."""
    async with iut.session() as session:
        await session.send({**MAGIC, "magic": MAGICS[magic]}, VERSION)
        await assert_refused(iut, session, f"the magic {MAGICS[magic]!r}")


@requirement("handshake.closes-wrong-version")
@pytest.mark.parametrize("version", [0, 2, 0x1_0001, 1 << 24])
async def test_wrong_version(iut: Iut, version: int) -> None:
    """A peer with another version is not served."""
    async with iut.session() as session:
        await session.send(MAGIC, {**VERSION, "version": version})
        await assert_refused(iut, session, f"the version {version}")


@requirement("handshake.patient")
async def test_late_peer(iut: Iut) -> None:
    """A peer that uses half of the declared time for its handshake is served."""
    patience = iut.configuration.declared("handshake")
    if patience is None:
        raise NotExercised(
            "the time for a handshake is unknown; declare --timing handshake=SECONDS"
        )
    async with iut.session() as session:
        await _is_still_open(session, patience / 8)
        await session.send(MAGIC)
        await _is_still_open(session, patience * 3 / 8)
        await shake_hands(session, VERSION)
        await check_serves(iut, session, f"a handshake after {session.now:.2f} s")


async def _is_still_open(session: Session, pause: float) -> None:
    if await session.until_closed(pause):
        raise Violation(
            f"a peer to have {session.seconds('handshake'):g} s for its handshake",
            f"the connection was closed after {session.now:.2f} s",
        )
