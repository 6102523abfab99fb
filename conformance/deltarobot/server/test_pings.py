"""Pings: that they come, and how pongs are taken."""

import contextlib
import itertools
from collections.abc import AsyncIterator
from typing import Any

import pytest

from conformance.cases import absent, check, each_of, lasting, requirement
from conformance.deltarobot import tester
from conformance.deltarobot.codec import encode
from conformance.deltarobot.handshake import greeted, opened, shake_hands
from conformance.deltarobot.messages import (
    HANDSHAKE,
    MAGIC,
    POSITION,
    VERSION,
    end,
    pong,
)
from conformance.deltarobot.refusal import twice_as_long_as_a_silent_peer_is_kept
from conformance.deltarobot.server.exercise import begin, do, stopped
from conformance.deltarobot.server.tester import drained, following
from conformance.deltarobot.service import announced, lives_on, ordinary, serves
from conformance.harness.instance import Instance
from conformance.iut import Iut
from conformance.session import Session
from conformance.verdicts import Hindered, Inconclusive, Unreachable, Violation
from conformance.wire import Message

_STEADY = 0.05  # how far from a line, in parts of their range, random numbers do not all lie
ENOUGH = 5  # pings by which the oracle tells whether their numbers are random


async def next_ping(session: Session) -> Message:
    """The next ping. Raises Inconclusive where none comes and no interval was declared."""
    within = session.seconds("ping") + session.seconds("response")
    declared = "ping" in session.instance.configuration.timing
    message = await session.watch("Ping", within=within)
    if message is not None:
        return message
    if session.ended and announced(session):
        raise Inconclusive("the server ended the session before a ping came")
    came = f"none came within {within:g} s"
    if declared:
        expected = f"a ping within the declared {session.seconds('ping'):g} s"
        raise Violation(expected, came, "ping.sent")
    raise Inconclusive(
        f"{came}, and the specification sets no interval: declare --timing ping=SECONDS"
    )


@requirement("ping.sent")
async def test_pings_come(iut: Iut) -> None:
    """Pings come again and again while the connection is quiet."""
    async with opened(iut) as session:
        for _ in range(4):
            await next_ping(session)


@requirement("ping.sent")
@lasting
async def test_pings_of_a_long_session(iut: Iut) -> None:
    """Pings come for twice as long as a server waits for a peer that says nothing."""
    async with opened(iut) as session:

        async def look() -> None:
            await drained(session, 0)
            if session.ended:
                raise Inconclusive(f"the server ended the session after {session.now:.1f} s")
            await next_ping(session)

        await twice_as_long_as_a_silent_peer_is_kept(iut, session, look)


@requirement("ping.sent")
async def test_pings_during_an_exercise(iut: Iut) -> None:
    """Pings do not stop while an exercise goes on."""
    async with opened(iut) as session:
        await do(session, "exercise", curve=[[0, 0, 0], [1, 2, -3]])
        await session.watch("Curve", within="response")
        for _ in range(3):
            await next_ping(session)


@requirement("ping.sent")
async def test_pings_after_an_exercise(iut: Iut) -> None:
    """Pings go on when an exercise has ended, and when the next one has."""
    async with opened(iut) as session:
        for _ in range(2):
            await begin(session)
            await session.watch(POSITION, within=session.seconds("exercise"))
            await stopped(session)
            for _ in range(2):
                await next_ping(session)


@requirement("ping.random")
async def test_numbers_are_random(iut: Iut) -> None:
    """The numbers of several pings follow no plain rule."""
    iut.worth(ENOUGH * iut.configuration.seconds("ping"), "ping")
    async with opened(iut) as session:
        pings = [await next_ping(session) for _ in range(ENOUGH)]
    rate = _like_a_clock([(ping.at, ping.value["number"]) for ping in pings])
    check(rate is None, "random numbers", f"they grow by {rate} a second, like a clock")


def _like_a_clock(numbers: list[tuple[float, int]]) -> int | None:
    """By how much a second these numbers at their times grow, if they do so steadily."""
    (began, first), *_, (ended, last) = numbers
    if ended <= began or last <= first:
        return None
    rate = (last - first) / (ended - began)
    steady = all(
        abs(first + rate * (at - began) - number) <= _STEADY * (last - first)
        for at, number in numbers
    )
    return round(rate) if steady else None


@each_of("ping.random", "ping.fresh")
async def test_numbers_of_the_next_session(iut: Iut, statement: str) -> None:
    """The next client does not get one number all the time, nor those of a client before it.

    Neither does the first of a process get those of another process.
    """
    async with iut.instance() as instance:
        async with iut.connect(instance) as session:
            await shake_hands(session)
            earlier = [(await next_ping(session)).value["number"] for _ in range(2)]
            await session.close()
        async with following(iut, instance, "another", "robustness.next-client") as session:
            later = [(await next_ping(session)).value["number"] for _ in range(3)]
    if statement == "ping.fresh":
        plain = [
            ping.value["number"] for ping in (await ordinary(iut)).received if ping.name == "Ping"
        ]
        came = f"{earlier} came in both"
        check(later[:2] != earlier, "other numbers in the next session", came)
        check(plain[:2] != earlier, "other numbers than in an earlier one", came)
    else:
        check(len(set(later)) > 1, "several numbers in the next session", f"{later} came")


@requirement("handshake.before-service")
@pytest.mark.parametrize("order", [(MAGIC, VERSION), (VERSION, MAGIC)], ids=["usual", "reversed"])
async def test_waits_for_the_client(iut: Iut, order: tuple[Any, ...]) -> None:
    """As long as the client's handshake is not finished, neither ping nor exercise data comes."""
    # A server may give up a client that takes longer than it has.
    patience = iut.configuration.declared("handshake") or iut.configuration.max_wait
    async with iut.session() as session:
        upper = session.instance.upper
        if upper.offers("exercise"):
            await do(session, "exercise", curve=[[0, 0, 0]])
        for message in order:
            within = min(session.seconds("quiet"), patience / 4)
            early = await session.watch(*tester.of(session).signs, within=within)
            absent(early, "nothing before the client's magic and version")
            if message is order[0]:
                await session.send(message)
        if session.now > patience:
            raise Hindered(f"half of a client's {patience:g} s took {session.now:.1f} s")
        await shake_hands(session, order[1])
        if order[0] is VERSION and await session.until_closed(session.seconds("quiet")):
            raise Inconclusive("it takes no version before the magic (handshake.either-order)")
        await serves(iut, session, "a handshake that took its time")


@requirement("robustness.odd-pongs")
async def test_missing_pongs(iut: Iut) -> None:
    """A client that answers no ping does not affect the next one."""
    async with iut.session() as session:
        await session.send(*HANDSHAKE)
        await greeted(session)
        for _ in range(4):  # one may be counted as missing only when the next is due
            await session.watch("Ping", within=session.seconds("ping"))
        await lives_on(iut, session, "pings without a pong")


@requirement("robustness.odd-pongs")
async def test_wrong_pongs(iut: Iut) -> None:
    """A client that answers pings with wrong numbers does not affect the next one."""
    wrong = itertools.cycle((1, 1 << 32, 1 << 63))
    async with iut.session() as session:
        session.answer("Ping", lambda m: pong((m.value["number"] + next(wrong)) % 2**64))
        await session.send(*HANDSHAKE)
        await greeted(session)
        for _ in range(3):
            await session.watch("Ping", within=session.seconds("ping"))
        await lives_on(iut, session, "pongs with a wrong number")


@requirement("robustness.odd-pongs")
async def test_pongs_that_nobody_asked_for(iut: Iut) -> None:
    """A client that sends unasked pongs, or one again and again, does not affect the next one."""
    async with opened(iut) as session:
        await session.send(*map(pong, (0, 2**64 - 1, *[7] * 100)))
        await session.watch("Ping", within=session.seconds("ping"))
        await lives_on(iut, session, "pongs that nobody asked for")


@requirement("robustness.next-client")
async def test_one_client_after_another(iut: Iut) -> None:
    """Six clients are served one after another, however the one before went."""
    bye = encode(end("bye"))
    clients = {  # by what each comes after: what it leaves behind
        "its start": bye,
        "a client that said goodbye": b"",
        "a client that left without a word": b"\x05",
        "a client that left within an identifier": b"\x05\x30\x01\x02",
        "a client that left within a Pong": b"\x23\xf1\xff\xff\x00\x00ab",
        "a client that left within a long message": b"\x23\xf1\x10",
    }
    async with iut.instance() as instance:
        for before, rest in clients.items():
            async with _next(iut, instance, before) as session:
                await session.send_bytes(rest)
                if rest == bye:
                    await session.until_closed()
                await session.close()


@contextlib.asynccontextmanager
async def _next(iut: Iut, instance: Instance, before: str) -> AsyncIterator[Session]:
    """A further client, which is served, whatever the one before did."""
    try:
        async with following(iut, instance, before) as session:
            await serves(iut, session, before)
            yield session
    except Unreachable as none:
        raise Violation(f"the next client to be served after {before}", str(none)) from none


@requirement("robustness.next-client")
async def test_clients_that_break_off(iut: Iut) -> None:
    """A client is served after one that was killed, and so has reset its connection."""
    clients = {
        "its start": b"",
        "a client that reset its connection": b"\x23\xf1\xff\xff\x00\x00ab",
        "a client that reset its connection within a Pong": b"",
    }
    async with iut.instance() as instance:
        for before, rest in clients.items():
            async with _next(iut, instance, before) as session:
                await session.send_bytes(rest)
                await session.break_off()
        async with _next(iut, instance, "another that reset its connection"):
            pass
