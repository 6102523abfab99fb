"""The tester of a server: answers its pings, and brings it to run an exercise if it can."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from typing import Any, ClassVar

from conformance.deltarobot.codec import encode
from conformance.deltarobot.floats import same
from conformance.deltarobot.handshake import shake_hands
from conformance.deltarobot.messages import HANDSHAKE, PROGRESS, UNKNOWN, pong
from conformance.deltarobot.service import closes_upon, habits, serves
from conformance.deltarobot.tester import Form, Tester
from conformance.harness.instance import Instance
from conformance.iut import Iut
from conformance.session import LAST_WORDS, Message, Session
from conformance.verdicts import Inconclusive, NotExercised, Unreachable, Violation

EXERCISE = ("Curve", *PROGRESS)
STATE = {"position": [1.0, -2.5, 0.125], "current": [0.0, 0.0, -1.0], "desired": [0.5, -0.5, 0.25]}
SQUARE = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.5]]

_AGAIN = 0.02  # seconds until a server that turned us away is tried again


class ServerTester(Tester):
    """Plays the client."""

    signs = ("Ping", *EXERCISE)
    unseen = "no ping and no exercise data come"
    silent = "sends nothing any more"
    foreign: ClassVar = pong(1)
    script: ClassVar = [*UNKNOWN.values(), *reversed(UNKNOWN.values())]
    asks = False

    def attend(self, session: Session) -> None:
        session.answer("Ping", lambda message: pong(message.value["number"]))

    async def served(self, session: Session) -> bool:
        """Whether a ping or exercise data come, by themselves or because an exercise begins."""
        within = session.seconds("ping") + session.seconds("response")
        upper = session.instance.upper
        if "ping" not in session.instance.configuration.timing and upper.offers("exercise"):
            within = session.seconds("quiet")
        await drained(session, 0)
        if await session.watch(*self.signs, within=within):
            return True
        if session.ended or not upper.offers("exercise"):
            return False
        await upper("exercise", curve=[[0, 0, 0], [1, 2, -3]])
        within = session.seconds("exercise") + session.seconds("response")
        return await session.watch(*self.signs, within=within) is not None

    async def served_in_form(self, session: Session, form: Form) -> bool:
        closed = await session.until_closed(session.seconds("response"))
        return not closed and session.size > len(b"".join(map(encode, HANDSHAKE)))

    async def show_more(self, session: Session) -> None:
        upper = session.instance.upper
        if upper.offers("exercise"):
            await upper("exercise", curve=[[0, 0, 0], [1, 2, -3]])
            await session.watch(*PROGRESS, within=session.seconds("exercise"))
        for _ in range(3):
            await session.watch("Ping", within=session.seconds("ping"))

    async def occupy(self, session: Session) -> None:
        upper = session.instance.upper
        if upper.offers("exercise"):
            await upper("exercise", curve=[[0, 0, 0], [1, 2, -3]])
            await session.watch("CurrentActuatorPosition", within=session.seconds("exercise"))

    async def follows(self, iut: Iut, session: Session, after: str) -> None:
        """A server shows it only by ending the session upon an end of transmission."""
        closing = (await habits(iut)).closing
        if closing is None or await closes_upon(session, closing):
            return
        expected = f"an end of transmission to be understood after {after}"
        if await session.until_closed(2 * session.seconds("response")):
            raise Inconclusive(f"expected {expected}; it was, after {session.now:.1f} s")
        came = "the server did not close the connection, as it does without that"
        raise Violation(expected, came)

    async def lives(self, session: Session) -> bool:
        """Whether it still listens.

        A dying server's port may still accept for a moment: its next client then sees that it is
        dead.
        """
        with contextlib.suppress(TimeoutError, Unreachable):
            async with asyncio.timeout(LAST_WORDS):
                await (await session.instance.link()).close()
                return True
        return False

    async def next_is_served(self, iut: Iut, session: Session, after: str) -> None:
        await session.close()
        try:
            async with following(iut, session.instance, after) as another:
                await serves(iut, another, f"{after} in an earlier connection")
        except (Violation, Unreachable):
            await session.unharmed(after)
            raise


TESTER = ServerTester()


async def drained(session: Session, seconds: float) -> None:
    """Pass over all that has come, and that comes within a while."""
    deadline = session.now + seconds
    while await session.watch(within=deadline - session.now):
        pass


@contextlib.asynccontextmanager
async def following(
    iut: Iut, instance: Instance, after: str, requirement: str | None = None
) -> AsyncIterator[Session]:
    """A session with a server that has had another client just before.

    One that serves a single client at a time may turn away the next one until it has noticed that
    the last one is gone; that is tried again for a while.
    ``requirement`` is what it violates by serving none, if not the one that the test decides.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + iut.configuration.seconds("response")
    while True:
        async with iut.connect(instance) as session:
            try:
                await shake_hands(session)
            except Violation as none:
                if session.received:
                    raise
                if not session.ended or loop.time() > deadline:
                    expected = f"the next client to be served after {after}"
                    raise Violation(expected, none.came, requirement) from none
            else:
                yield session
                return
        await asyncio.sleep(_AGAIN)


# The exercise


async def do(session: Session, operation: str, **arguments: Any) -> None:
    """An operation of the application. Raises NotExercised, and Inconclusive where it fails."""
    answered = await session.instance.upper(operation, **arguments)
    if not answered.ok:
        raise Inconclusive(f"the operation '{operation}' failed: {answered.error}")


async def begin(session: Session, curve: Sequence[Sequence[float]] = SQUARE) -> Message:
    """Begin an exercise by hand; the first of its messages.

    Raises NotExercised where that is not possible, Violation of exercise.curve-first where nothing
    of it comes.
    """
    await do(session, "exercise", curve=[list(point) for point in curve])
    first = await _first(session)
    if first is not None:
        return first
    if session.ended and not any(
        message.name in ServerTester.signs for message in session.received
    ):
        await session.unharmed("the beginning of an exercise")
        raise Inconclusive("the server closed the connection before it served anything")
    raise Violation("the exercise to show", "nothing of it came", "exercise.curve-first")


async def proceed(session: Session) -> None:
    """Give an exercise that was begun by hand a state to tell of, where it takes one."""
    if session.instance.upper.offers("progress"):
        await session.instance.upper("progress", **STATE)


async def running(session: Session) -> Message:
    """The first message of an exercise, begun by hand if possible, else by the server itself."""
    if session.instance.upper.offers("exercise"):
        return await begin(session)
    first = await _first(session)
    if first is None:
        raise NotExercised(
            "the server runs no exercise by itself; give --hook exercise=COMMAND "
            f"({session.role.hooks['exercise'].description})"
        )
    return first


async def _first(session: Session) -> Message | None:
    within = session.seconds("exercise") + session.seconds("response")
    return await session.watch(*EXERCISE, "Oversized", within=within)


async def seen(session: Session, name: str, wanted: Sequence[Any], coordinates: str) -> None:
    """Wait until a vector has these coordinates. Raises Violation with what it has instead."""
    deadline = session.now + session.seconds("exercise") + session.seconds("response")
    latest: Any = None
    while message := await session.watch(name, within=deadline - session.now):
        latest = [message.value[axis] for axis in coordinates]
        if same(wanted, latest):
            return
    raise Violation(
        f"{name} with {list(wanted)}", f"{latest} came" if latest else "none came at all"
    )
