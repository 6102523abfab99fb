"""Several clients at once: a server can refuse them, but must not mix them up.

A server can refuse a second client, and a later client can replace an earlier one. A client that
reads nothing must not keep others away after it has disconnected.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from conformance.cases import check, lasting, requirement
from conformance.deltarobot.codec import encode
from conformance.deltarobot.floats import is_same
from conformance.deltarobot.handshake import await_greeting, shake_hands
from conformance.deltarobot.messages import EXERCISE, HANDSHAKE, OF_EACH_SIZE, PROGRESS, pong
from conformance.deltarobot.server.exercise import (
    A_CURVE,
    LONG_CURVE,
    SQUARE,
    STATE,
    assert_repeated,
    await_presence,
    begin,
    first_shown,
    is_curve,
    run_operation,
    set_progress,
)
from conformance.deltarobot.server.tester import NEXT, TESTER, end_session, open_next_client, visit
from conformance.deltarobot.service import check_continues, check_serves, leave_out_refused
from conformance.deltarobot.session_ends import (
    describe_own_end,
    end_time,
    excuse_end,
    is_ended_by_itself,
    is_served,
)
from conformance.iut import Iut
from conformance.session import Session
from conformance.verdicts import Inconclusive, NotExercised, Unreachable, Violation

_BEYOND = 1.5  # times the time for a handshake, after which no timer of a handshake is left
_INSIDE_MAGIC = len(encode(HANDSHAKE[0])) - 4
_UNREAD = 15  # curves; more bytes than a system buffers for a client that reads nothing
_EARLIER = [[7.5, -3.0, 5.25], [7.0, -3.5, 5.0]]
"""A curve that no server has by itself."""
_WITHOUT_CLIENT: Mapping[str, Mapping[str, Any]] = {
    "exercise": {"curve": SQUARE},
    "progress": STATE,
    "stop": {},
}
"""By operation: the arguments of what happens while there is no client."""
_ALONE = "the server serves one client at a time, which is allowed"


@contextlib.asynccontextmanager
async def _open_two(iut: Iut) -> AsyncIterator[tuple[Session, Session]]:
    """Open two sessions with one server. Raises NotExercised if it serves one client at a time."""
    if iut.facts.get(_ALONE):
        raise NotExercised(_ALONE)
    async with (
        iut.instance() as instance,
        iut.connect(instance) as first,
        contextlib.AsyncExitStack() as stack,
    ):
        await shake_hands(first)
        try:
            other = open_next_client(iut, instance, "another client that is still connected")
            second = await stack.enter_async_context(other)
        except (Violation, Unreachable):
            iut.facts[_ALONE] = True
            raise NotExercised(_ALONE) from None
        for session in (first, second):
            await await_presence(session)
        if first.ended or second.ended:
            raise NotExercised(_ALONE)
        yield first, second


@requirement("exercise.curve-first")
async def test_curve_for_each_client(iut: Iut) -> None:
    """An exercise that is shown to two clients begins with its curve for both."""
    async with _open_two(iut) as both:
        for session in both:
            if await session.wait_for(*PROGRESS) is not None:
                raise NotExercised("the server sends progress without an exercise, too")
        await run_operation(both[0], "exercise", curve=SQUARE)
        for which, session in zip(("first", "second"), both, strict=True):
            came = await session.wait_for(
                *EXERCISE, "Oversized", within=session.countdown("exercise", "response")
            )
            if came is None:
                raise NotExercised(_ALONE)
            came = first_shown(session) or came
            if not is_curve(came):
                expected = f"Curve first to the {which} of two clients"
                wrong = Violation(expected, f"received {came.name} first", event=came.event)
                raise wrong.shown_in(session)


@requirement("progress.continuous")
async def test_progress_for_each_client(iut: Iut) -> None:
    """Progress arrives at each of two clients that have the curve of an exercise."""
    async with _open_two(iut) as both:
        await run_operation(both[0], "exercise", curve=SQUARE)
        for session in both:
            within = session.countdown("exercise", "response")
            if await session.wait_for(*A_CURVE, within=within) is None:
                raise NotExercised(_ALONE)
        await set_progress(both[0])
        for which, session in zip(("first", "second"), both, strict=True):
            for name in (*PROGRESS, *PROGRESS):
                try:
                    await assert_repeated(session, name)
                except Violation as wrong:
                    expected = f"{wrong.expected} to the {which} of two clients"
                    raise Violation(expected, wrong.came).shown_in(session) from None


@requirement("exercise.curve-values")
async def test_curve_for_a_late_client(iut: Iut) -> None:
    """A client that connects during an exercise gets no curve of an earlier exercise."""
    async with iut.instance() as instance:
        async with iut.connect(instance) as session:
            await shake_hands(session)
            for points in (_EARLIER, SQUARE):
                await begin(session, points)
            await end_session(session)
        async with open_next_client(iut, instance, "another", NEXT) as late:
            came = await late.wait_for("Curve", within=late.countdown("exercise"))
            if came is None:
                raise NotExercised("a client that connects during an exercise gets no curve")
            check(
                not is_same(_EARLIER, came.value["points"]),
                "the curve of the current exercise, or none",
                "received the curve of the exercise before",
                came.event,
            )


@requirement("handshake.patient")
@lasting
async def test_overlapping_handshakes(iut: Iut) -> None:
    """Two clients that were connected before their handshakes are served beyond their time."""
    patience = iut.configuration.declared("handshake")
    if patience is None:
        raise NotExercised("needs a declared time; declare --timing handshake=SECONDS")
    iut.skip_if_longer(_BEYOND * patience, "handshake")
    if iut.facts.get(_ALONE):
        raise NotExercised(_ALONE)
    async with (
        iut.instance() as instance,
        iut.connect(instance) as first,
        iut.connect(instance) as second,
    ):
        both = (first, second)
        with contextlib.suppress(Violation):
            for session in both:
                await shake_hands(session)
                await await_presence(session)
        if first.ended or second.ended or not all(map(is_served, both)):
            raise NotExercised("nothing shows that the server serves two clients at a time")
        for session in both:
            if not await session.until_closed(_BEYOND * patience - session.now):
                continue
            if await is_ended_by_itself(iut, session):
                raise Inconclusive(describe_own_end(session))
            expected = "the session to continue after the time for its handshake is over"
            came = f"the server ended the session after {end_time(session):.2f} s"
            raise Violation(expected, came).shown_in(session)


@requirement("frame.segmentation")
async def test_halves_of_two_clients(iut: Iut) -> None:
    """Bytes of another client between two halves of a message do not matter."""
    [message] = (await leave_out_refused(iut, {"64-bit": OF_EACH_SIZE["64-bit"]})).values()
    whole = encode(message)
    half = len(whole) // 2
    async with _open_two(iut) as (first, second):
        if not all(map(is_served, (first, second))):
            raise NotExercised("nothing shows that the server serves two clients at a time")
        await first.send_bytes(whole[:half])
        await second.send_bytes(whole)
        await first.send_bytes(whole[half:])
        after = "a message of the second client between two halves of a message of the first"
        try:
            for session in (first, second):
                await check_serves(iut, session, after)
            await check_continues(iut, second, after)
            if await first.until_closed(first.seconds("quiet")):
                expected = (
                    "one client's session to continue after another client's session has ended"
                )
                raise Violation(expected, "the server closed the connection", "end.received")
            await check_continues(iut, session := first, after)
        except Violation as wrong:
            wrong.shown_in(session)
            raise


@requirement("frame.segmentation")
async def test_handshake_of_another_client(iut: Iut) -> None:
    """A whole handshake of another client between two halves of a magic does not matter."""
    if iut.facts.get(_ALONE):
        raise NotExercised(_ALONE)
    handshake = b"".join(map(encode, HANDSHAKE))
    # A handshake that is not cut shows if the server serves two clients that begin together.
    for cut in (0, _INSIDE_MAGIC):
        async with (
            iut.instance() as instance,
            iut.connect(instance) as first,
            iut.connect(instance) as second,
            excuse_end(iut, first),
            excuse_end(iut, second),
        ):
            for session, part in (
                (first, handshake[:cut]),
                (second, handshake),
                (first, handshake[cut:]),
            ):
                if part:
                    await session.send_bytes(part)
                    await session.wait_until_taken()
            after = "a handshake of the second client between two halves of a magic of the first"
            try:
                for session in (first, second):
                    TESTER.attend(session, since=0)
                    await await_greeting(session, after, requirement="frame.segmentation")
                    await check_serves(iut, session, after)
            except Violation as wrong:
                if not cut:
                    raise NotExercised(_ALONE) from None
                wrong.shown_in(session)
                raise


@requirement("robustness.odd-pongs")
async def test_odd_pongs_of_another_client(iut: Iut) -> None:
    """A client that sends pongs without a ping does not affect another client."""
    async with _open_two(iut) as (first, second):
        if not all(map(is_served, (first, second))):
            raise NotExercised("nothing shows that the server serves two clients at a time")
        await first.send(pong(1), pong(1 << 63))
        after = "pongs of another client that no ping had asked for"
        await first.until_closed(first.seconds("quiet"))
        await check_serves(iut, second, after)
        await check_continues(iut, second, after)


@requirement(NEXT)
async def test_exercise_without_a_client(iut: Iut) -> None:
    """A client is served after an exercise that began and ended without a client."""
    async with iut.instance() as instance:
        if not instance.upper.offers("exercise"):
            raise NotExercised("needs the operation 'exercise', to begin one without a client")
        async with iut.connect(instance) as session:
            await shake_hands(session)
            await end_session(session)
            for name, arguments in _WITHOUT_CLIENT.items():
                if instance.upper.offers(name):
                    await session.operate(name, **arguments)
        after = "an exercise without a client"
        async with open_next_client(iut, instance, after) as session:
            await check_serves(iut, session, after)


@requirement(NEXT)
@pytest.mark.parametrize("finishes", [False, True], ids=["closes", "half-closes"])
async def test_after_one_that_reads_nothing(iut: Iut, finishes: bool) -> None:
    """A client is served after another client disconnected without reading several long curves.

    A server that reads the end of the stream while it writes can be killed by SIGPIPE.
    """
    async with iut.instance() as instance:
        if not instance.upper.offers("exercise"):
            raise NotExercised("needs the operation 'exercise', to send a client long curves")
        # The transcript of this session shows the violation, because the next client has none.
        await visit(iut, instance)
        instance.narrow = True
        deaf = await instance.link()
        await deaf.write(b"".join(map(encode, HANDSHAKE)))
        await deaf.wait_until_taken()
        beginning = asyncio.gather(
            *(instance.upper("exercise", curve=LONG_CURVE) for _ in range(_UNREAD)),
            return_exceptions=True,
        )
        # A server that waits for this client can block all other clients.
        await asyncio.wait({beginning}, timeout=iut.seconds("response"))
        beginning.cancel()
        if finishes:
            deaf.finish()
            await asyncio.sleep(iut.seconds("quiet"))
        await deaf.close()
        instance.narrow = False
        after = f"a client that has read nothing of {_UNREAD} long curves"
        async with open_next_client(iut, instance, after) as session:
            # The suite does not start an exercise here: the exercise operation can be blocked.
            sign = await session.wait_for(
                *TESTER.signs, within=session.countdown("ping", "response")
            )
            if sign is None:
                raise Violation(f"the next client to be served after {after}", "received nothing")
