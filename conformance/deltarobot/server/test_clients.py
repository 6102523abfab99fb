"""Several clients at a time: a server need not serve them, but those that it does it serves apart.

That one is not served beside another is lawful, and so is that the later one takes its place.
"""

import contextlib
from collections.abc import AsyncIterator

from conformance.cases import requirement
from conformance.deltarobot.codec import encode
from conformance.deltarobot.handshake import shake_hands
from conformance.deltarobot.messages import OF_EACH_SIZE, PROGRESS
from conformance.deltarobot.server.exercise import SQUARE, do, is_curve, present
from conformance.deltarobot.server.tester import EXERCISE, following, is_served
from conformance.deltarobot.service import goes_on, serves, taken
from conformance.iut import Iut
from conformance.session import Session
from conformance.verdicts import NotExercised, Unreachable, Violation

_ALONE = "the server serves one client at a time, as it may"


@contextlib.asynccontextmanager
async def _two(iut: Iut) -> AsyncIterator[tuple[Session, Session]]:
    """Two clients of one server. Raises NotExercised where it serves one at a time."""
    if iut.memory.get(_ALONE):
        raise NotExercised(_ALONE)
    async with (
        iut.instance() as instance,
        iut.connect(instance) as first,
        contextlib.AsyncExitStack() as stack,
    ):
        await shake_hands(first)
        try:
            other = following(iut, instance, "another that is still there")
            second = await stack.enter_async_context(other)
        except (Violation, Unreachable):
            iut.memory[_ALONE] = True
            raise NotExercised(_ALONE) from None
        for session in (first, second):
            await present(session)
        if first.ended or second.ended:
            raise NotExercised(_ALONE)
        yield first, second


@requirement("exercise.curve-first")
async def test_curve_for_each_client(iut: Iut) -> None:
    """To whichever client an exercise is shown, its curve comes first."""
    async with _two(iut) as both:
        for session in both:
            if await session.watch(*PROGRESS) is not None:
                raise NotExercised("progress comes without an exercise, too")
        await do(both[0], "exercise", curve=SQUARE)
        for which, session in zip(("first", "second"), both, strict=True):
            came = await session.watch(
                *EXERCISE, "Oversized", within=session.left("exercise", "response")
            )
            if came is None:
                raise NotExercised(_ALONE)
            if not is_curve(came):
                expected = f"Curve first to the {which} of two clients"
                wrong = Violation(expected, f"{came.name} came first", event=came.event)
                raise wrong.shown_in(session)


@requirement("frame.segmentation")
async def test_halves_of_two_clients(iut: Iut) -> None:
    """What another client says between two halves of a message is no part of it."""
    [message] = (await taken(iut, {"64-bit": OF_EACH_SIZE["64-bit"]})).values()
    whole = encode(message)
    half = len(whole) // 2
    async with _two(iut) as (first, second):
        if not all(map(is_served, (first, second))):
            raise NotExercised("nothing shows that the server serves two clients at a time")
        await first.send_bytes(whole[:half])
        await second.send_bytes(whole)
        await first.send_bytes(whole[half:])
        after = "a whole message of the second client between two halves of one of the first"
        try:
            for session in (first, second):
                await serves(iut, session, after)
            await goes_on(iut, second, after)
            if first.ended:
                expected = "one client's session to go on when that of another has ended"
                raise Violation(expected, "the server closed the connection", "end.received")
            await goes_on(iut, session := first, after)
        except Violation as wrong:
            wrong.shown_in(session)
            raise
