"""The tester of a client: sends pings, and reads the state of its application."""

import asyncio
import contextlib
import itertools
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any, ClassVar

from conformance.deltarobot.codec import Decoder, encode
from conformance.deltarobot.handshake import open_session, shake_hands
from conformance.deltarobot.messages import (
    HANDSHAKE,
    OF_EACH_SIZE,
    PROGRESS,
    curve,
    end,
    ping,
    vector,
)
from conformance.deltarobot.session_ends import excuse_end
from conformance.deltarobot.tester import Form, Tester
from conformance.iut import Iut
from conformance.segmentation import Segmentation
from conformance.session import Session
from conformance.verdicts import Conclusion, Inconclusive, NotExercised, Unreachable, Violation

NUMBERS = (0x0012_3456_781A_3C5E, 0x1A2B_3C4D, 0x7F6D_4B29)
"""The numbers of the script's pings.

A client that loses bits of large numbers answers with a wrong number. All bytes are ASCII letters
without line ends, so a client that sends bytes as text answers correctly.
"""
PING_COUNT = 24  # consecutive pings; enough to meet a client that occasionally loses one


def plain(count: int) -> list[list[float]]:
    """Return this many different points with plain numbers."""
    return [[-float(number), -0.5 * number, -3.125] for number in range(count)]


PLAIN = plain(11)
"""The points of the plainest curve.

The length of the curve, read as a signed byte, is negative.
"""

_MANY = 3  # pongs for each ping: an IUT that sends more does not answer pings

_STAYS_AWAY = "the client connects only once"

_numbers = itertools.count()


def _script() -> list[Any]:
    vectors = [vector(name, 1.0, -2.5, 0.125) for name in PROGRESS]
    asked, strange = map(ping, NUMBERS), OF_EACH_SIZE
    return [
        *(next(asked), strange["64-bit"], curve((0.0, 0.0, 0.0), (1.0, 2.0, -3.0))),
        *(strange["variable"], *vectors, next(asked), strange["8-bit"], strange["128-bit"]),
        *(strange["variable-empty"], strange["16-bit"], strange["32-bit"], next(asked)),
    ]


class ClientTester(Tester):
    """Plays the server."""

    signs = ("Pong",)
    unseen = "the client answers no ping"
    silent = "answers no ping"
    foreign: ClassVar = ping(1)
    script: ClassVar = _script()
    asks = True

    async def imitate(self, plain: Session, session: Session) -> None:
        for _ in range(session.sent.count("Ping")):
            if plain.ended:
                break
            await plain.send(ping(fresh_number()))

    async def settle(self, session: Session) -> None:
        # Unread bytes would turn the client's close into a reset.
        await self.has_served(session)

    async def prompt(self, session: Session) -> None:
        await session.send(ping(fresh_number()))

    async def has_served(self, session: Session) -> bool:
        number = fresh_number()
        await session.send(ping(number))
        left = session.countdown("response", "response")
        while message := await session.wait_for("Pong", within=left, requirement="pong.each"):
            if message.value["number"] == number:
                return True
            if _has_all_pongs(session):
                break
        return False

    async def has_served_in_form(self, session: Session, form: Form) -> bool:
        number = fresh_number()
        await session.send_bytes(form(ping(number)))
        await session.until_closed()
        sent = b"".join(event.data or b"" for event in session.iut_events)
        return any(number.to_bytes(8, order) in sent for order in ("little", "big"))

    async def show_more(self, session: Session) -> None:
        vectors = [vector(name, 1.0, -2.5, 0.125) for name in PROGRESS]
        await session.send(curve((0.0, 0.0, 0.0), (1.0, 2.0, -3.0)), *vectors)
        for _ in range(3):
            if session.ended or not await self.has_served(session):
                break

    async def is_in_step(self, iut: Iut, session: Session) -> bool:
        return await self.has_served(session)

    async def find_plain_failure(self, iut: Iut) -> str | None:
        """Return pong.each if the client loses pings even in a plain session, else None."""
        return await iut.cached("loses pings", lambda: self._is_losing_pings(Iut(iut.testbed, "")))

    async def _is_losing_pings(self, iut: Iut) -> str | None:
        try:
            async with open_session(iut) as session:
                for _ in range(PING_COUNT):
                    if not await self.has_served(session):
                        return None if session.ended else "pong.each"
        except Conclusion:
            return None
        return None

    async def occupy(self, session: Session) -> None:
        await session.send(curve((0.0, 0.0, 0.0)), ping(1))
        await session.wait_for("Pong", within="response")

    async def ask(self, session: Session) -> None:
        await session.send(ping(2), ping(3))

    async def check_all_understood(self, session: Session, after: str, times: int = 1) -> None:
        await wait_for_all_pongs(session, list(NUMBERS) * times, f" in {after}")

    @contextlib.asynccontextmanager
    async def open_later(
        self, iut: Iut, segmentation: Segmentation | None = None, last: bytes = b""
    ) -> AsyncIterator[Session]:
        """Open a later session. ``last``: the bytes with which the first session breaks off.

        Without ``last`` the first session ends with an end of transmission.
        """
        async with self._open_later(iut, segmentation, last) as session:
            try:
                async with excuse_end(iut, session):
                    yield session
            except Violation as wrong:
                wrong.shown_in(session)
                # If the client answers nothing in a later connection, that failure explains all
                # others, except answers with wrong numbers.
                if wrong.requirement != "pong.number" and not await iut.cached(
                    "serves later", lambda: self._can_serve_later(iut)
                ):
                    wrong.requirement = "pong.each"
                raise

    async def _can_serve_later(self, iut: Iut) -> bool:
        """Return True if the client answers a ping in a later connection as well.

        The answer is also True if there is no later connection.
        """
        try:
            async with self._open_later(Iut(iut.testbed, "")) as session:
                await shake_hands(session)
                return await self.has_served(session)
        except Conclusion:
            return True

    @contextlib.asynccontextmanager
    async def _open_later(
        self, iut: Iut, segmentation: Segmentation | None = None, last: bytes = b""
    ) -> AsyncIterator[Session]:
        if iut.facts.get(_STAYS_AWAY):
            raise NotExercised(_STAYS_AWAY)
        async with contextlib.AsyncExitStack() as stack:
            instance = await stack.enter_async_context(iut.instance())
            async with iut.connect(instance) as session:
                await session.send(*HANDSHAKE)
                await session.send(curve((0.0, 0.0, 0.0)), ping(1))
                await session.wait_for("Pong", within="response")
                await session.send_bytes(last or encode(end("back soon")))
                await session.finish()
                await session.until_closed()
            try:
                async with asyncio.timeout(2 * iut.configuration.seconds("response")):
                    again = iut.connect(instance, segmentation=segmentation)
                    session = await stack.enter_async_context(again)
            except (TimeoutError, Unreachable):
                iut.facts[_STAYS_AWAY] = not last
                raise NotExercised(_STAYS_AWAY) from None
            yield session

    async def is_alive(self, session: Session) -> bool:
        by_line = session.instance.configuration.upper_tester == "stdio"
        if by_line and "state" in session.role.hooks:
            with contextlib.suppress(Inconclusive):
                return (await session.instance.upper("state")).ok
        return False


TESTER = ClientTester()


def fresh_number() -> int:
    """Return a number that no other ping has; its bytes are ASCII letters."""
    count = next(_numbers)
    return sum((0x30 + (count >> 6 * place) % 0x40) << 8 * place for place in range(4))


def _has_all_pongs(session: Session) -> bool:
    """Return True if every sent ping has its pong; equal pings need a pong each."""
    came = Counter(each.value["number"] for each in session.received if each.name == "Pong")
    # Decoding takes long, so that the numbers are compared only if there are enough pongs.
    return came.total() >= session.sent.count("Ping") and not sent_pings(session) - came


def _has_too_many_pongs(session: Session) -> bool:
    """Return True if there are so many pongs that more of them would show nothing."""
    came = sum(each.name == "Pong" for each in session.received)
    return came > _MANY * session.sent.count("Ping")


def sent_pings(session: Session) -> Counter[int]:
    """Return how often each number was sent in a ping."""
    ours = (event.data or b"" for event in session.events if event.sender == session.peer)
    frames = Decoder().feed(b"".join(ours))
    return Counter(frame.value["number"] for frame in frames if frame.name == "Ping")


async def wait_for_all_pongs(session: Session, numbers: list[int], after: str = "") -> None:
    """Wait until each of these pings has its pong, as long as any pongs arrive.

    Raises Violation, which names the pings without a pong.
    """
    missing = Counter(numbers)
    looked_at = 0
    while True:
        # A read can bring many pongs; the next wait returns each of them.
        if new := session.received[looked_at:]:
            looked_at += len(new)
            missing -= Counter(each.value["number"] for each in new if each.name == "Pong")
            if not missing:
                return
            if _has_all_pongs(session) or _has_too_many_pongs(session):
                break
        if not await session.wait_for("Pong", within=session.countdown("response", "response")):
            break
    sent = sent_pings(session)
    came = Counter(each.value["number"] for each in session.received if each.name == "Pong")
    # A ping that was answered with another number was answered.
    wrong = came.total() >= sent.total() and bool(came - sent)
    text = ", ".join(f"{number:#x}" for number in list(missing)[:4])
    raise Violation(
        f"a pong for each of {len(numbers)} pings{after}",
        f"received none for {missing.total()} of them: {text}",
        "pong.number" if wrong else None,
    )
