"""Pongs: one for each ping, with the number of the ping."""

from typing import Any

import pytest

from conformance import generation
from conformance.cases import (
    absent,
    compared,
    explore,
    however_cut,
    lasting,
    requirement,
    send_with_pause,
)
from conformance.deltarobot import strategies
from conformance.deltarobot.client.exercise import blame_unused_value, check_latest_shown
from conformance.deltarobot.client.tester import wait_for_all_pongs
from conformance.deltarobot.codec import encode
from conformance.deltarobot.handshake import (
    await_greeting,
    open_session,
    open_unshaken,
    shake_hands,
)
from conformance.deltarobot.messages import (
    HANDSHAKE,
    POSITION,
    PROGRESS,
    begin_message,
    curve,
    ping,
    pong,
    vector,
)
from conformance.deltarobot.refusal import look_beyond_the_handshake_time
from conformance.deltarobot.service import (
    check_ignores,
    check_serves,
    find_refused,
    in_many_reads,
)
from conformance.iut import Iut
from conformance.segmentation import Segmentation, whole
from conformance.session import Session
from conformance.verdicts import Violation
from conformance.wire import Message

NUMBERS = [
    *(0, 1, 0xFF, 0x100, 2**31, 2**32 - 1, 2**32, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1),
    *(0x0123456789ABCDEF, 0xFEDCBA9876543210),
]


@requirement("pong.each")
async def test_one_ping_after_another(iut: Iut) -> None:
    """Each ping gets one pong."""
    async with open_session(iut) as session:
        for number in (17, 18, 19):
            await session.send(ping(number))
            await wait_for_all_pongs(session, [number])
        absent(await session.wait_for("Pong"), "one pong for each ping")


@requirement("pong.each")
async def test_bursts(iut: Iut) -> None:
    """Each ping of a burst in one write gets one pong.

    The bursts have two, ten and up to a thousand pings. A client that needs long for each ping gets
    fewer.
    """
    async with in_many_reads(iut), open_session(iut) as session:
        await _burst(session, 2)
        pongs = await _burst(session, 10)
        took = (pongs[-1].at - pongs[0].at) / len(pongs)
        await _burst(session, int(min(1000, iut.configuration.max_wait / 4 / max(took, 1e-6))))


async def _burst(session: Session, count: int) -> list[Message]:
    """Send this many pings in one write; return all messages received until they are answered."""
    numbers = [(0xABCDE << 44) + (count << 32) + (number << 14) for number in range(count)]
    before = len(session.received)
    await session.send(*map(ping, numbers), segmentation=whole)
    await wait_for_all_pongs(session, numbers)
    return session.received[before:]


@requirement("pong.each")
async def test_equal_pings(iut: Iut) -> None:
    """Two pings with the same number get two pongs."""
    async with open_session(iut) as session:
        await session.send(ping(5), ping(5))
        await wait_for_all_pongs(session, [5, 5])
        await session.send(ping(5))
        await wait_for_all_pongs(session, [5, 5, 5])


@requirement("pong.each")
async def test_ping_behind_the_handshake(iut: Iut) -> None:
    """A ping in the same write as the handshake is answered as well."""
    async with open_unshaken(iut) as session:
        await session.send(*HANDSHAKE, ping(99), segmentation=whole)
        await await_greeting(session)
        await wait_for_all_pongs(session, [99])


@requirement("frame.segmentation")
@lasting
@pytest.mark.parametrize("at", [1, 2, -1], ids=["identifier", "contents", "last-byte"])
async def test_pause_inside_a_ping(iut: Iut, at: int) -> None:
    """A ping whose rest comes after a pause is answered."""

    async def play(at: int) -> None:
        async with open_session(iut) as session:
            await send_with_pause(session, encode(ping(7)), at)
            await wait_for_all_pongs(session, [7], " that came with a pause inside")

    await compared(iut, play, at, 0, "pong.each")


@requirement("pong.each")
@lasting
async def test_pings_of_a_long_session(iut: Iut) -> None:
    """Pings are answered for twice the time after which a client drops a silent peer."""
    async with open_session(iut) as session:

        async def look() -> None:
            await check_serves(iut, session, f"{session.now:.1f} s of the session")

        await look_beyond_the_handshake_time(iut, session, look)


@requirement("pong.each")
async def test_pings_during_an_exercise(iut: Iut) -> None:
    """Pings between exercise data are answered during the exercise."""
    async with in_many_reads(iut), open_session(iut) as session:
        points = [(0.001 * number, 0.0, 0.0) for number in range(500)]
        progress = [vector(name, 0.1, 0.2, 0.3) for name in PROGRESS]
        for number in range(20, 40):
            await session.send(curve(*points), *progress, ping(number), *progress)
        await wait_for_all_pongs(session, list(range(20, 40)))


@requirement("pong.each")
@explore(plan=strategies.of_a_server(), cuts=generation.cuts())
async def test_any_interleaving_of_a_server(iut: Iut, plan: list[Any], cuts: list[int]) -> None:
    """Each ping is answered among any messages of a server, in any order."""
    known = await find_refused(iut)
    plan = [message for message in plan if "data" not in message or not known.is_refusing(message)]

    async def play(cut: Segmentation | None) -> None:
        async with blame_unused_value(iut), open_unshaken(iut) as session:
            await shake_hands(session)
            await session.send(curve((0.0, 0.0, 0.0)))
            await session.send(*plan, segmentation=cut)
            numbers = [value["number"] for value in plan if value["identifier"] == "0x3004"]
            await wait_for_all_pongs(session, numbers, f" among {len(plan)} messages")
            await check_serves(iut, session, f"{len(plan)} messages")
            await check_latest_shown(iut, session, plan)

    await however_cut(iut, cuts, "frame.segmentation", play)


@requirement("pong.number")
async def test_all_bits_of_the_number(iut: Iut) -> None:
    """The pong has the number of its ping, also 0 and 2^64 - 1."""
    async with open_session(iut) as session:
        for place, number in enumerate(NUMBERS):
            await session.send(ping(number))
            answer = await session.expect("Pong", to=f"with {number:#x}", requirement="pong.each")
            came = answer.value["number"]
            if came != number:
                # A second pong to an earlier ping can arrive, followed by the pong to this ping.
                own = await session.wait_for("Pong") if came in NUMBERS[:place] else None
                about = "pong.each" if own and own.value["number"] == number else None
                expected = f"a pong with {number:#x}"
                raise Violation(expected, f"received {came:#x}", about, answer.event)
        await session.send(*map(ping, NUMBERS), segmentation=whole)
        try:
            await wait_for_all_pongs(session, NUMBERS * 2)
        except Violation as none:
            wrong = any(found.requirement == "pong.number" for found in session.judge.findings)
            none.requirement = none.requirement or (None if wrong else "pong.each")
            raise


@requirement("pong.prompt")
async def test_prompt(iut: Iut) -> None:
    """At least one pong out of five arrives within one second."""
    async with open_session(iut) as session:
        took = []
        for number in range(300, 305):
            asked = session.now
            await session.send(ping(number))
            answer = await session.expect("Pong", within=5, requirement="pong.each")
            took.append(answer.at - asked)
            if took[-1] <= 1:
                return
        raise Violation("a pong within 1 s", f"the quickest of five took {min(took):.1f} s")


@requirement("robustness.foreign-messages")
async def test_foreign_messages(iut: Iut) -> None:
    """Messages that only a client can send are ignored if a server sends them."""
    async with open_session(iut) as session:
        await session.send(pong(1), vector(POSITION, 0.0, 0.0, 0.0), pong(1), pong(2**64 - 1))
        await check_ignores(iut, session, "pongs from a server")


@requirement("frame.variable-length")
@pytest.mark.parametrize("length", [2**31, 2**32 - 1], ids=hex)
async def test_ping_inside_gigabytes(iut: Iut, length: int) -> None:
    """A ping inside the contents of a message of gigabytes is not answered."""
    async with open_session(iut) as session:
        await session.send_bytes(begin_message(0xF321, length, encode(ping(0x51))))
        inside = await session.wait_for("Pong", within="response")
        absent(inside, f"no pong to a ping inside a message of {length} bytes")
