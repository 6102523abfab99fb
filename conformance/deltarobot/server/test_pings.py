"""Pings: their arrival, their numbers, and the server's treatment of pongs."""

import contextlib
import itertools
from collections.abc import AsyncIterator, Sequence
from itertools import pairwise
from typing import Any

import pytest

from conformance.cases import absent, check, compared, each_of, lasting, requirement
from conformance.deltarobot import tester
from conformance.deltarobot.codec import encode
from conformance.deltarobot.handshake import (
    answer_handshake,
    await_greeting,
    open_session,
    shake_hands,
)
from conformance.deltarobot.messages import (
    HANDSHAKE,
    MAGIC,
    OF_EACH_SIZE,
    POSITION,
    UNKNOWN,
    VERSION,
    end,
    pong,
)
from conformance.deltarobot.oracle import PINGS_OF_PAIRS
from conformance.deltarobot.refusal import look_beyond_the_handshake_time
from conformance.deltarobot.server.exercise import begin, run_operation, stop_exercise
from conformance.deltarobot.server.tester import drain, open_next_client, visit
from conformance.deltarobot.service import (
    check_serves,
    check_survives,
    leave_out_refused,
    ordinary,
)
from conformance.deltarobot.session_ends import has_announced_end
from conformance.harness.instance import Instance
from conformance.iut import Iut
from conformance.many_clients import visit_often
from conformance.session import Session
from conformance.verdicts import Hindered, Inconclusive, Unreachable, Violation
from conformance.wire import Message

MIN_PINGS = 5  # pings that the oracle needs to decide if their numbers are random
_SORTED = 10  # pings; so many random numbers are never in order
_BUSY = 10  # messages of a client in the longest time between two pings
_MANY = 20  # clients; more than a server has places for
VISITS = {
    "ended-the-transmission": b"".join(map(encode, (*HANDSHAKE, end("bye")))),
    "were-refused": encode(UNKNOWN["32-bit"]),
}
"""By the end of a short visit: all bytes of the client."""
_STRAY = 10  # clients without a handshake, such as programs that search for open ports


async def next_ping(session: Session, meanwhile: Any = None) -> Message:
    """Wait for the next ping. Raises Inconclusive if none arrives and no interval is declared.

    ``meanwhile`` is a message that is sent several times while no ping arrives.
    """
    within = session.seconds("ping") + session.seconds("response")
    declared = "ping" in session.instance.configuration.timing
    left, message = session.countdown(within), None
    while message is None and left() > 0 and not session.ended:
        if meanwhile is not None:
            await session.send(meanwhile)
        each = left if meanwhile is None else session.countdown(session.seconds("ping") / _BUSY)
        message = await session.wait_for("Ping", within=each)
    if message is not None:
        return message
    if session.ended and has_announced_end(session):
        raise Inconclusive(
            f"expected a further ping; the server ended the session after {_count(session)}"
        )
    came = f"received none within {within:g} s, after {_count(session)}"
    if declared:
        expected = f"a ping within the declared {session.seconds('ping'):g} s"
        raise Violation(expected, came, "ping.sent")
    raise Inconclusive(
        f"{came}, and the specification sets no interval: declare --timing ping=SECONDS"
    )


def _count(session: Session) -> str:
    """Return how many pings this session has shown."""
    count = sum(message.name == "Ping" for message in session.received)
    return f"{count} ping{'s' * (count != 1)}"


@requirement("ping.sent")
async def test_pings_come(iut: Iut) -> None:
    """Pings arrive repeatedly while the connection is otherwise quiet."""
    many = _SORTED * iut.configuration.seconds("ping") <= iut.configuration.max_wait
    async with open_session(iut) as session:
        for _ in range(_SORTED if many else 4):
            await next_ping(session)


@requirement("ping.sent")
async def test_pings_to_a_busy_client(iut: Iut) -> None:
    """Pings arrive although the client sends other messages all the time."""
    [message] = (await leave_out_refused(iut, {"64-bit": OF_EACH_SIZE["64-bit"]})).values()

    async def play(meanwhile: Any) -> None:
        async with open_session(iut) as session:
            for _ in range(2):
                await next_ping(session, meanwhile)

    await compared(iut, play, message, None, "ping.sent")


@requirement("ping.sent")
@lasting
async def test_pings_of_a_long_session(iut: Iut) -> None:
    """Pings continue for twice the time after which a server drops a silent peer."""
    async with open_session(iut) as session:

        async def look() -> None:
            await drain(session, 0)
            if session.ended:
                ended = f"after {session.now:.1f} s and {_count(session)}"
                raise Inconclusive(f"the server ended the session {ended}")
            await next_ping(session)

        await look_beyond_the_handshake_time(iut, session, look)


@requirement("ping.sent")
async def test_pings_during_an_exercise(iut: Iut) -> None:
    """Pings continue during an exercise."""
    async with open_session(iut) as session:
        await run_operation(session, "exercise", curve=[[0, 0, 0], [1, 2, -3]])
        await session.wait_for("Curve", within="response")
        for _ in range(3):
            await next_ping(session)


@requirement("ping.sent")
async def test_pings_after_an_exercise(iut: Iut) -> None:
    """Pings continue after an exercise has ended, and after the next one."""
    async with open_session(iut) as session:
        for _ in range(2):
            await begin(session)
            await session.wait_for(POSITION, within=session.seconds("exercise"))
            await stop_exercise(session)
            for _ in range(2):
                await next_ping(session)


@requirement("ping.random")
async def test_numbers_are_random(iut: Iut) -> None:
    """The numbers of several pings follow no simple rule."""
    iut.skip_if_longer(MIN_PINGS * iut.configuration.seconds("ping"), "ping")
    async with open_session(iut) as session:
        numbers = [(await next_ping(session)).value["number"] for _ in range(MIN_PINGS)]
        while (_are_sorted(numbers) and len(numbers) < _SORTED) or (
            _is_any_repeated(numbers) and len(numbers) < PINGS_OF_PAIRS
        ):
            numbers.append((await next_ping(session)).value["number"])
    came = f"{len(numbers)} numbers are in order, as from a clock: {numbers[0]}, {numbers[1]}, …"
    check(not _are_sorted(numbers), "random numbers", came)


def _is_any_repeated(numbers: Sequence[int]) -> bool:
    """Return True if a number comes twice in a row."""
    return any(before == after for before, after in pairwise(numbers))


def _are_sorted(numbers: Sequence[int]) -> bool:
    """Return True if the numbers only grow, or only shrink."""
    return len({before < after for before, after in pairwise(numbers)}) == 1


@each_of("ping.random", "ping.fresh")
async def test_numbers_of_the_next_session(iut: Iut, statement: str) -> None:
    """The next client gets several numbers, and other numbers than an earlier client.

    The first client of a process gets other numbers than the client of another process.
    """
    async with iut.instance() as instance:
        async with iut.connect(instance) as session:
            await shake_hands(session)
            earlier = [(await next_ping(session)).value["number"] for _ in range(2)]
            await session.close()
        async with open_next_client(iut, instance, "another", "robustness.next-client") as session:
            later = [(await next_ping(session)).value["number"] for _ in range(3)]
    if statement == "ping.fresh":
        plain = [
            ping.value["number"] for ping in (await ordinary(iut)).received if ping.name == "Ping"
        ]
        came = f"received {earlier} in both"
        check(later[:2] != earlier, "other numbers in the next session", came)
        check(plain[:2] != earlier, "other numbers than in an earlier session", came)
    else:
        check(len(set(later)) > 1, "several numbers in the next session", f"received {later}")


@requirement("handshake.before-service")
@pytest.mark.parametrize("order", [(MAGIC, VERSION), (VERSION, MAGIC)], ids=["usual", "reversed"])
async def test_waits_for_the_client(iut: Iut, order: tuple[Any, ...]) -> None:
    """No pings or exercise data arrive before the client's handshake is complete."""
    # A server can give up a client that needs more than the declared time.
    patience = iut.configuration.declared("handshake") or iut.configuration.max_wait
    async with iut.session() as session:
        upper = session.instance.upper
        if upper.offers("exercise"):
            await run_operation(session, "exercise", curve=[[0, 0, 0]])
        for message in order:
            within = min(session.seconds("quiet"), patience / 4)
            early = await session.wait_for(*tester.of(session).signs, within=within)
            absent(early, "nothing before the client's magic and version")
            if message is order[0]:
                await session.send(message)
        if session.now > patience:
            raise Hindered(
                f"half of the client's {patience:g} s for its handshake took {session.now:.1f} s"
            )
        await answer_handshake(session, order[1])
        if order[0] is VERSION and await session.until_closed(session.seconds("quiet")):
            raise Inconclusive(
                "the server takes no version before its magic (handshake.either-order)"
            )
        await await_greeting(session)
        await check_serves(iut, session, "a slow handshake")


@requirement("robustness.odd-pongs")
async def test_missing_pongs(iut: Iut) -> None:
    """A client that answers no ping does not affect the next client."""
    async with iut.session() as session:
        await session.send(*HANDSHAKE)
        await await_greeting(session)
        for _ in range(4):  # the server can notice a missing pong only when it sends the next ping
            await session.wait_for("Ping", within=session.seconds("ping"))
        await check_survives(iut, session, "pings without a pong")


@requirement("robustness.odd-pongs")
async def test_wrong_pongs(iut: Iut) -> None:
    """A client that answers pings with wrong numbers does not affect the next client."""
    wrong = itertools.cycle((1, 1 << 32, 1 << 63))
    async with iut.session() as session:
        session.answer("Ping", lambda m: pong((m.value["number"] + next(wrong)) % 2**64))
        await session.send(*HANDSHAKE)
        await await_greeting(session)
        for _ in range(3):
            await session.wait_for("Ping", within=session.seconds("ping"))
        await check_survives(iut, session, "pongs with a wrong number")


@requirement("robustness.odd-pongs")
async def test_pongs_that_nobody_asked_for(iut: Iut) -> None:
    """A client that sends unrequested or repeated pongs does not affect the next client."""
    async with open_session(iut) as session:
        await session.send(*map(pong, (0, 2**64 - 1, *[7] * 100)))
        await session.wait_for("Ping", within=session.seconds("ping"))
        await check_survives(iut, session, "unrequested pongs")


@requirement("robustness.next-client")
async def test_one_client_after_another(iut: Iut) -> None:
    """Seven clients are served one after another, whatever the end of the one before."""
    bye = encode(end("bye"))
    clients = {  # by the event before each client: the bytes that the client sends last
        "its start": bye,
        "a client that sent an end of transmission": b"",
        "a client that disconnected without an end of transmission": b"\x05",
        "a client that disconnected inside an identifier": b"\x05\x30\x01\x02",
        "a client that disconnected inside a Pong": b"\x23\xf1\xff\xff\x00\x00ab",
        "a client that disconnected inside a long message": b"\x23\xf1\x10",
    }
    async with iut.instance() as instance:
        for before, rest in clients.items():
            async with _next(iut, instance, before) as session:
                await session.send_bytes(rest)
                if rest == bye:
                    await session.until_closed()
                await session.close()
        before = "a client that disconnected inside a length"
        async with _next(iut, instance, before) as session:
            # Some systems kill a program that writes twice to a client that has gone.
            for _ in range(2):
                await check_serves(iut, session, before)


@contextlib.asynccontextmanager
async def _next(iut: Iut, instance: Instance, before: str) -> AsyncIterator[Session]:
    """Open a session with a further client, which must be served."""
    try:
        async with open_next_client(iut, instance, before) as session:
            await check_serves(iut, session, before)
            yield session
    except Unreachable as none:
        raise Violation(f"the next client to be served after {before}", str(none)) from none


@requirement("robustness.next-client")
async def test_clients_that_break_off(iut: Iut) -> None:
    """A client is served after another client has reset its connection."""
    clients = {
        "its start": b"",
        "a client that reset its connection": b"\x23\xf1\xff\xff\x00\x00ab",
        "a client that reset its connection inside a message": b"",
    }
    async with iut.instance() as instance:
        for before, rest in clients.items():
            async with _next(iut, instance, before) as session:
                await session.send_bytes(rest)
                await session.break_off()
        async with _next(iut, instance, "another client that reset its connection"):
            pass


@requirement("robustness.next-client")
@lasting
async def test_many_clients_that_break_off(iut: Iut) -> None:
    """A client is served after many other clients have reset their connections."""
    async with iut.instance() as instance:
        for number in range(_MANY):
            before = f"{number} clients that reset their connections"
            async with open_next_client(iut, instance, before) as session:
                await session.break_off()
        async with _next(iut, instance, f"{_MANY} clients that reset their connections"):
            pass


@requirement("robustness.next-client")
@lasting
@pytest.mark.parametrize("they", VISITS)
async def test_very_many_clients(iut: Iut, they: str) -> None:
    """A client is served after more clients than a process can have open files."""
    async with iut.instance() as instance:
        # Only the first client is recorded: the others do the same.
        first = await visit(iut, instance)
        number = 1 + await visit_often(first, lambda: VISITS[they], iut.seconds("quiet"))
        async with _next(iut, instance, f"{number} other clients, which {they.replace('-', ' ')}"):
            pass


@requirement("robustness.next-client")
@pytest.mark.parametrize("does", ["leaves", "is-refused"])
async def test_clients_that_never_begin(iut: Iut, does: str) -> None:
    """A client is served after other clients have left at once, or were refused."""
    async with iut.instance() as instance:
        for _ in range(_STRAY):
            async with iut.connect(instance) as session:
                if does == "is-refused":
                    await session.send(UNKNOWN["32-bit"])
                    await session.until_closed(session.seconds("quiet"))
        before = f"{_STRAY} clients of which each {does.replace('-', ' ')} before its handshake"
        async with _next(iut, instance, before):
            pass
