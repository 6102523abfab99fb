"""Several clients at a time: a server need not serve them, but those that it does it serves apart.

That one is not served beside another is lawful, and so is that the later one takes its place; not
that one which reads nothing keeps others away when it has gone.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from conformance.cases import requirement
from conformance.deltarobot.codec import encode
from conformance.deltarobot.handshake import shake_hands
from conformance.deltarobot.messages import HANDSHAKE, OF_EACH_SIZE, PROGRESS
from conformance.deltarobot.server.exercise import LONG, SQUARE, do, is_curve, present
from conformance.deltarobot.server.tester import EXERCISE, NEXT, TESTER, following, is_served
from conformance.deltarobot.service import goes_on, serves, taken
from conformance.iut import Iut
from conformance.session import Session
from conformance.verdicts import NotExercised, Unreachable, Violation

_UNREAD = 4  # curves, which are more than a system keeps for who reads nothing
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


@requirement(NEXT)
async def test_after_one_that_reads_nothing(iut: Iut) -> None:
    """A client is served after one that has read nothing of several long curves, and has gone."""
    async with iut.instance() as instance:
        if not instance.upper.offers("exercise"):
            raise NotExercised("needs the operation 'exercise', to send a client long curves")
        instance.narrow = True
        deaf = await instance.link()
        await deaf.write(b"".join(map(encode, HANDSHAKE)))
        await deaf.taken()
        beginning = asyncio.gather(
            *(instance.upper("exercise", curve=LONG) for _ in range(_UNREAD)),
            return_exceptions=True,
        )
        # A server that waits for its client may do nothing else meanwhile.
        await asyncio.wait({beginning}, timeout=iut.seconds("response"))
        beginning.cancel()
        await deaf.close()
        instance.narrow = False
        after = f"one that has read nothing of {_UNREAD} long curves"
        async with following(iut, instance, after) as session:
            # That an exercise begins is not asked for: it may be that which is stuck.
            sign = await session.watch(*TESTER.signs, within=session.left("ping", "response"))
            if sign is None:
                raise Violation(f"the next client to be served after {after}", "nothing came")
