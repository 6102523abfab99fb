"""A client that connects again: each connection starts from the beginning."""

from conformance.cases import absent, each_of, requirement
from conformance.deltarobot import tester
from conformance.deltarobot.client.exercise import (
    ABOUT,
    STATE_OF,
    check_curve_of_later_connection_shown,
    check_laid_out_shown,
)
from conformance.deltarobot.client.tester import TESTER, wait_for_all_pongs
from conformance.deltarobot.codec import encode
from conformance.deltarobot.handshake import shake_hands
from conformance.deltarobot.messages import curve, ping, vector
from conformance.iut import Iut


@requirement("handshake.magic-sent")
async def test_greets_again(iut: Iut) -> None:
    """Magic and version are sent in each connection."""
    async with tester.of(iut).open_later(iut) as session:
        await shake_hands(session)


@requirement("pong.each")
async def test_answers_again(iut: Iut) -> None:
    """Pings are answered in each connection, even if an earlier connection used their numbers."""
    async with tester.of(iut).open_later(iut) as session:
        await shake_hands(session)
        numbers = [1, 1 << 63, 2]
        await session.send(*map(ping, numbers))
        await wait_for_all_pongs(session, numbers, " in a later connection")


@requirement("pong.each")
async def test_pings_of_an_earlier_connection(iut: Iut) -> None:
    """Pings of a broken connection are not answered in the next connection."""
    pings = b"".join(encode(ping(number)) for number in range(50, 70))
    async with TESTER.open_later(iut, last=pings) as session:
        await shake_hands(session)
        absent(await session.wait_for("Pong"), "no pong in a connection without a ping")


@requirement("frame.segmentation")
async def test_half_of_an_earlier_connection(iut: Iut) -> None:
    """Half a message of a broken connection is no part of the next connection."""
    async with TESTER.open_later(iut, last=encode(ping(2))[:5]) as session:
        await shake_hands(session)
        await session.send(ping(3))
        await wait_for_all_pongs(session, [3], " in a connection after a broken connection")


@requirement("exercise.curve-shown")
async def test_shows_again(iut: Iut) -> None:
    """The application sees the curve of each connection."""
    async with tester.of(iut).open_later(iut) as session:
        await shake_hands(session)
        points = [[4.0, 5.0, 6.0], [-1.0, 0.5, 0.25]]
        await session.send(curve(*points))
        await check_curve_of_later_connection_shown(iut, session, points)


@each_of(*(ABOUT[what] for what in STATE_OF))
async def test_shows_progress_again(iut: Iut, statement: str) -> None:
    """The application sees the progress of each connection."""
    async with tester.of(iut).open_later(iut) as session:
        await shake_hands(session)
        for number in (1.0, -2.5):
            vectors = {what: [number, place, -number] for place, what in enumerate(STATE_OF)}
            await session.send(curve([number, 0.0, 0.0]))
            await session.send(*(vector(STATE_OF[what], *at) for what, at in vectors.items()))
            for what, at in vectors.items():
                if ABOUT[what] == statement:
                    await check_laid_out_shown(iut, session, what, at)
