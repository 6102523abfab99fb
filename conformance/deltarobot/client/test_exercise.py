"""An exercise as the client's application shows it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from conformance.cases import check, requirement
from conformance.deltarobot.client.exercise import (
    ODD,
    STATE_OF,
    check_laid_out_shown,
    check_next_curve_shown,
    rounds,
    shown_state,
)
from conformance.deltarobot.codec import encode, frame
from conformance.deltarobot.floats import EDGES, NO_NUMBERS
from conformance.deltarobot.handshake import open_session
from conformance.deltarobot.messages import (
    DESIRED,
    HANDSHAKE,
    NEARLY_KNOWN,
    OTHER_SIZES,
    POSITION,
    PROGRESS,
    curve,
    end,
    unknown,
    vector,
)
from conformance.deltarobot.service import (
    blame_contents,
    check_serves,
    check_survives,
    find_refused,
    in_many_reads,
    leave_out_refused,
)
from conformance.iut import Iut
from conformance.segmentation import split_at
from conformance.session import Session
from conformance.verdicts import Inconclusive, Unreachable

_STORM, _WITHIN = 10, 0.5  # number of new connections, and the seconds within which they arrive

POINTS: list[list[Any]] = [[0.0, 0.0, 0.0], [1.0, 2.0, -3.0], [0.125, -2.5, 1024.0]]

_PLAIN = [1.5, -2.5, 0.75]


def many(count: int) -> list[list[float]]:
    return [[float(number), -0.5 * number, 0.25] for number in range(count)]


@contextlib.asynccontextmanager
async def open_exercise(iut: Iut) -> AsyncIterator[Session]:
    """Open a session with an exercise, without which progress need not be shown."""
    async with open_session(iut) as session:
        await session.send(curve(*POINTS))
        yield session


COUNTS = (21, 22, 85, 86, 341, 342, 5461, 5462, 10_000)
"""Numbers of points whose bytes just fit, or just do not fit, into 256, 1024, 4096 and 65536."""


@requirement("exercise.curve-shown")
async def test_curve(iut: Iut) -> None:
    """The application sees all points of a curve in their order, however many there are."""
    for points in (many(1), POINTS, POINTS[1:2] * 3, *map(many, COUNTS)):
        # Each curve has its own session: to replace an earlier curve is only a should.
        async with in_many_reads(iut), open_session(iut) as session:
            await session.send(curve(*points))
            await check_laid_out_shown(iut, session, "curve", points)


@requirement("exercise.curve-replaced")
async def test_next_curve(iut: Iut) -> None:
    """The curve of the next exercise replaces the one before, whatever its length."""
    async with open_session(iut) as session:
        for points in (POINTS, POINTS[1:2], POINTS[2:], many(20)):
            await session.send(curve(*points))
            await check_next_curve_shown(iut, session, points)
            await session.send(*(vector(name, 1.0, 0.0, 0.0) for name in PROGRESS))


@requirement("exercise.odd-curves")
async def test_odd_curves(iut: Iut) -> None:
    """The session continues after curves of no points and of ten thousand."""
    async with in_many_reads(iut), open_session(iut) as session:
        for count in (0, 10_000):
            await session.send(curve(*many(count)))
            await check_serves(iut, session, f"a curve of {count} points")


RAGGED = {
    "a byte too many": {**curve(*POINTS), "rest": "01"},
    "a byte too few": {**curve(*POINTS), "rest": "00" * 11},
    "one byte": {**curve(), "rest": "7f"},
}


@requirement("exercise.odd-curves")
@pytest.mark.parametrize("what", RAGGED)
async def test_ragged_curves(iut: Iut, what: str) -> None:
    """A curve with an incomplete point is skipped, or the connection is closed."""
    async with open_session(iut) as session:
        await session.send(RAGGED[what])
        await check_survives(iut, session, f"a curve with {what}")


AT_ONCE = 100  # vectors; more than a short queue can store


async def _check_latest_shown(iut: Iut, what: str) -> None:
    """Check that the application sees the latest vector of this kind.

    The other kinds change nothing. In the next exercise many vectors arrive at once.
    """
    others = [name for name in PROGRESS if name != STATE_OF[what]]
    # Each vector differs from the last in a single coordinate; None starts another exercise.
    moved = ([1.0, -2.5, 0.125], [1.0, -2.5, -1.0], [1.0, 0.0, -1.0], [0.0, 0.0, -1.0], [0.0] * 3)
    before: list[Any] = []
    async with open_exercise(iut) as session:
        for wanted in (*moved, None, [0.5, 0.25, -8.0]):
            if wanted is None:
                await session.send(curve(*POINTS[1:]))
                before = [vector(STATE_OF[what], float(n), 0.0, 0.0) for n in range(AT_ONCE)]
                continue
            latest = [vector(name, 9.0, 9.0, 9.0) for name in others]
            shown_state = [*before, *rounds(vector(STATE_OF[what], *wanted), *latest)]
            await session.send_bytes(b"".join(map(encode, shown_state)))
            await check_laid_out_shown(iut, session, what, wanted, len(shown_state))


@requirement("progress.position")
async def test_position(iut: Iut) -> None:
    """Message 0x4003 is the position of the actuator."""
    await _check_latest_shown(iut, "position")


@requirement("progress.current-direction")
async def test_current_direction(iut: Iut) -> None:
    """Message 0x4007 is the direction in which the patient moves the actuator."""
    await _check_latest_shown(iut, "current")


@requirement("progress.desired-direction")
async def test_desired_direction(iut: Iut) -> None:
    """Message 0x4008 is the direction in which the patient should move the actuator."""
    await _check_latest_shown(iut, "desired")


@requirement("progress.unused-value")
async def test_unused_value(iut: Iut) -> None:
    """Any value of U in position and directions is accepted, and the session continues."""
    async with open_exercise(iut) as session:
        for number, u in enumerate(ODD):
            await session.send(*(vector(name, number, 0.5, -0.5, u) for name in PROGRESS))
            await check_serves(iut, session, f"the value {u} in U")
            for what in (await shown_state(session)).keys() & STATE_OF.keys():
                await check_laid_out_shown(iut, session, what, [number, 0.5, -0.5])


@requirement("frame.floats")
async def test_floats_of_a_curve(iut: Iut) -> None:
    """Zeros, denormals and the largest numbers in a curve are seen unchanged."""
    async with open_session(iut) as session:
        await session.send(curve(*EDGES))
        await check_laid_out_shown(iut, session, "curve", EDGES)


@requirement("frame.floats")
async def test_floats_of_progress(iut: Iut) -> None:
    """Zeros, denormals and the largest numbers in position and directions are seen unchanged."""
    await _check_vectors_shown(iut, EDGES)


@requirement("frame.not-finite")
async def test_curve_of_no_numbers(iut: Iut) -> None:
    """Infinities and NaN in a curve are seen unchanged."""
    async with open_session(iut) as session:
        await session.send(curve(*NO_NUMBERS))
        await check_laid_out_shown(iut, session, "curve", NO_NUMBERS)


@requirement("frame.not-finite")
async def test_progress_of_no_numbers(iut: Iut) -> None:
    """Infinities and NaN in position and directions are seen unchanged."""
    await _check_vectors_shown(iut, NO_NUMBERS)


async def _check_vectors_shown(iut: Iut, vectors: list[list[Any]]) -> None:
    async with open_exercise(iut) as session:
        for wanted in vectors:
            for what, name in STATE_OF.items():
                # Each number changes, because a client can compare only one of them.
                await session.send(*rounds(vector(name, *_PLAIN), vector(name, *wanted)))
                await check_laid_out_shown(iut, session, what, wanted)


@requirement("frame.segmentation")
async def test_cut_exercise(iut: Iut) -> None:
    """Data that are cut inside each float are seen as they were sent."""
    async with open_session(iut) as session:
        vectors = rounds(vector(POSITION, *POINTS[1]), vector(DESIRED, *POINTS[2]))
        await session.send(curve(*POINTS), *vectors, segmentation=split_at(range(3, 150, 3)))
        await check_laid_out_shown(iut, session, "curve", POINTS)
        await check_laid_out_shown(iut, session, "position", POINTS[1])
        await check_laid_out_shown(iut, session, "desired", POINTS[2])


@requirement("messages.type-identifier")
async def test_unknown_messages_change_nothing(iut: Iut) -> None:
    """Bytes inside an unknown message that look like a curve or a position change nothing."""
    if (await find_refused(iut)).closed:
        raise Inconclusive("the IUT closes after unknown messages (messages.unknown-skipped)")
    inner = frame(0xF009, b"\0" * 12) + frame(0x4003, b"\0" * 16)
    async with blame_contents(iut), open_session(iut) as session:
        await _check_unmoved(iut, session, unknown(0xF321, inner.hex()), *NEARLY_KNOWN.values())


@requirement("messages.whole-identifier")
async def test_known_types_of_other_sizes_change_nothing(iut: Iut) -> None:
    """A known type of another size is not taken for exercise data."""
    left = await leave_out_refused(iut, OTHER_SIZES)
    async with open_session(iut) as session:
        await _check_unmoved(iut, session, *left.values())


async def _check_unmoved(iut: Iut, session: Session, *messages: Any) -> None:
    """Raise Violation unless the application's values stay the same after these messages."""
    vectors = zip(STATE_OF.values(), POINTS, strict=True)
    await session.send(curve(*POINTS), *(vector(name, *point) for name, point in vectors))
    await session.send(*messages)
    await check_serves(iut, session, "messages that only look like known messages")
    await check_laid_out_shown(iut, session, "curve", POINTS)
    for what, point in zip(STATE_OF, POINTS, strict=True):
        await check_laid_out_shown(iut, session, what, point)


@requirement("end.no-storm")
async def test_no_storm(iut: Iut) -> None:
    """A client does not reconnect in quick succession after its server ended the transmission."""
    async with iut.instance() as instance:
        farewell = (*HANDSHAKE, end("closed for today"))
        async with iut.connect(instance) as session:
            await session.send(*farewell)
            await session.finish()
            await session.until_closed()
        count, loop = 0, asyncio.get_running_loop()
        deadline = loop.time() + _WITHIN
        while count <= _STORM:
            try:
                async with asyncio.timeout_at(deadline):
                    link = await instance.link()
            except (TimeoutError, Unreachable):
                break
            count += 1
            await link.visit(b"".join(map(encode, farewell)), deadline - loop.time())
        check(
            count <= _STORM,
            f"at most {_STORM} new connections within {_WITHIN:g} s",
            f"received {count}",
        )
