"""Exercises of a server: first the curve, then repeated progress messages."""

from collections import defaultdict
from collections.abc import Sequence

from conformance.cases import absent, check, each_of, explore, lasting, requirement
from conformance.deltarobot import strategies, tester
from conformance.deltarobot.codec import OVERSIZED, TRUNCATED, UNKNOWN, encode
from conformance.deltarobot.diagnosis import guess_number_format, has_fourth_numbers
from conformance.deltarobot.floats import EDGES
from conformance.deltarobot.handshake import open_session, shake_hands
from conformance.deltarobot.messages import (
    POSITION,
    PROGRESS,
    curve,
    ping,
    vector,
)
from conformance.deltarobot.server.exercise import (
    A_CURVE,
    ABOUT,
    LONG_CURVE,
    MEANS,
    SQUARE,
    STATE,
    STATES,
    VAST_CURVE,
    assert_repeated,
    assert_unchanged,
    assert_vector,
    await_presence,
    begin,
    check_curve_sent,
    first_of_exercise,
    first_shown,
    is_curve,
    next_curve,
    run_operation,
    set_progress,
    stop_exercise,
)
from conformance.deltarobot.server.tester import drain
from conformance.deltarobot.service import check_ignores
from conformance.iut import Iut
from conformance.session import Session
from conformance.verdicts import Inconclusive, NotExercised, Violation
from conformance.wire import Message

_READ_TIME = 2.0  # seconds of an exercise that the suite reads
_MAX_OTHER = 18  # bytes of the longest exercise message other than a curve


@requirement("exercise.curve-first")
async def test_curve_first(iut: Iut) -> None:
    """The first message of an exercise is its curve."""
    async with open_session(iut) as session:
        await await_presence(session)
        by_hand = session.instance.upper.offers("exercise")
        # If a server always sends progress, only the curve shows the beginning of an exercise.
        earlier = by_hand and await session.wait_for(*PROGRESS) is not None
        first = await first_of_exercise(session)
        # An exercise that the server runs by itself begins with its curve, too.
        first = first_shown(session) or first
        if not is_curve(first) and (earlier or not by_hand):
            why = "the exercise possibly began before the connection; give --hook exercise=COMMAND"
            if by_hand:
                why = "the server sends progress without an exercise, too"
            raise Inconclusive(f"received {first.name} first: {why}")
        check(is_curve(first), "Curve first", f"received {first.name} first", first.event)


@requirement("exercise.curve-first")
async def test_curve_of_the_next_exercise(iut: Iut) -> None:
    """Each further exercise begins with its curve, whether or not the last one was ended.

    An exercise with an unchanged curve begins with the curve as well.
    """
    async with open_session(iut) as session:
        await begin(session)
        await stop_exercise(session)
        # If a server always sends progress, only the curve shows the beginning of an exercise.
        quiet = await session.wait_for(*PROGRESS) is None
        first = await begin(session, [*SQUARE, [2.0, 2.0, 2.0]])
        came = f"received {first.name} first"
        check(is_curve(first) or not quiet, "Curve first", came, first.event)
        await next_curve(session, first)
        await set_progress(session)
        await session.wait_for(POSITION, within=session.seconds("exercise"))
        within = session.countdown("exercise", "response")
        for which in ("third", "fourth"):
            await run_operation(session, "exercise", curve=SQUARE[:2])
            following = await session.wait_for("Curve", within=within)
            check(following is not None, f"the curve of a {which} exercise", "received none")


@requirement("exercise.curve-first")
async def test_curve_of_a_later_connection(iut: Iut) -> None:
    """An exercise of a later client begins with its curve, too."""
    async with tester.of(iut).open_later(iut) as session:
        await shake_hands(session)
        await await_presence(session)
        quiet = await session.wait_for(*PROGRESS) is None
        first = await begin(session)
        shown = first_shown(session) or first
        came = f"received {shown.name} first"
        check(is_curve(shown) or not quiet, "Curve first", came, shown.event)
        name = (await next_curve(session, first)).name
        check(name == "Curve", "the curve of the exercise", "received none")


@requirement("exercise.curve-structure")
async def test_structure_of_a_curve(iut: Iut) -> None:
    """The contents of a curve are whole points, in the next exercise as well."""
    async with open_session(iut) as session:
        await next_curve(session, await first_of_exercise(session))
        if session.instance.upper.offers("exercise"):
            await next_curve(session, await begin(session, SQUARE[1:]))
        else:
            # The server's own exercises can follow each other.
            for _ in range(2):
                await session.wait_for("Curve", within=session.seconds("exercise"))
        curves = [message for message in session.received if message.name == "Curve"]
        if not curves:
            raise Inconclusive("received no curve (exercise.curve-first)")
        for message in curves:
            fours = has_fourth_numbers(_words(encode(message.value)[6:]))
            check(not fours, "points of three numbers", "each fourth is the same", message.event)


def _words(contents: bytes) -> list[bytes]:
    """Split these contents into 4-byte floats."""
    return [contents[at : at + 4] for at in range(0, len(contents) - 3, 4)]


COUNTS = (1, 2, 21, 22, 85, 86, 341, 342, 1000, 5461, 5462)
"""Numbers of points, also those whose bytes just (do not) fit into 256, 1024, 4096 and 65536."""


@requirement("exercise.curve-values")
async def test_points_of_a_curve(iut: Iut) -> None:
    """All points of the curve arrive in their order, however many there are."""
    async with open_session(iut) as session:
        for count in COUNTS:
            await check_curve_sent(iut, session, _plain(count))
        await check_curve_sent(iut, session, [SQUARE[1]] * 3)


@requirement("exercise.curve-values")
@explore(points=strategies.points())
async def test_any_curve(iut: Iut, points: list[list[float]]) -> None:
    """Any curve of finite numbers arrives unchanged."""
    async with open_session(iut) as session:
        try:
            await check_curve_sent(iut, session, points)
        except Violation as wrong:
            if not wrong.requirement:
                # If a plain curve of the same size arrives unchanged, these numbers are the cause.
                await check_curve_sent(iut, session, _plain(len(points)))
                wrong.requirement = "frame.floats"
            raise


def _plain(count: int) -> list[list[float]]:
    """Return a curve of this many different points with plain numbers."""
    return [[float(number), -0.5 * number, 0.25] for number in range(count)]


@requirement("frame.floats")
async def test_floats_of_a_curve(iut: Iut) -> None:
    """Zeros, denormals and the largest numbers of either sign arrive unchanged in a curve."""
    async with open_session(iut) as session:
        await check_curve_sent(iut, session, EDGES)


@requirement("frame.floats")
async def test_floats_of_progress(iut: Iut) -> None:
    """Zeros, denormals and the largest numbers arrive unchanged in position and directions."""
    async with open_session(iut) as session:
        await begin(session)
        # Each of the three messages gets each of the three points.
        for turn in range(len(EDGES)):
            points = [*EDGES[turn:], *EDGES[:turn]]
            await run_operation(session, "progress", **dict(zip(MEANS, points, strict=True)))
            for name, wanted in zip(MEANS.values(), points, strict=True):
                await assert_vector(iut, session, name, wanted)


@requirement("frame.floats")
async def test_floats_of_its_own_exercise(iut: Iut) -> None:
    """The floats of the server's own exercise are not plausible only in another encoding."""
    async with open_session(iut) as session:
        await first_of_exercise(session)
        await drain(session, min(_READ_TIME, session.seconds("exercise")))
        words_of: dict[str, list[bytes]] = defaultdict(list)
        for message in session.received:
            if message.name in PROGRESS:
                for axis, word in zip("XYZ", _words(encode(message.value)[2:]), strict=False):
                    words_of[f"{axis} of {message.name}"].append(word)
            elif message.name == "Curve":
                words_of[f"curve {message.event}"] += _words(encode(message.value)[6:])
    for what, words in words_of.items():
        instead = guess_number_format(words)
        check(instead is None, f"{what} in single precision", f"received {instead}")
    raise NotExercised(
        "needs an exercise with known numbers; give --hook exercise=COMMAND and progress=COMMAND"
    )


@requirement("frame.variable-length")
async def test_length_of_a_curve(iut: Iut) -> None:
    """The length of a curve counts its contents in bytes."""
    async with open_session(iut) as session:
        first = await next_curve(session, await first_of_exercise(session))
        if first.name == "Oversized":
            length = first.value["length"]
            swapped = int.from_bytes(length.to_bytes(4, "little"), "big")
            raise Violation(
                "the length of the curve",
                f"received {length}, which would be {swapped} in the other byte order",
                event=first.event,
                explains=True,
            )
        if first.name != "Curve":
            raise Inconclusive("received no curve (exercise.curve-first)")
        await set_progress(session)
        within = session.countdown("ping", "exercise")
        if not await session.wait_for("Ping", *PROGRESS, within=within):
            sent = len(encode(first.value)) - 6
            if session.instance.upper.offers("exercise") and sent != 12 * len(SQUARE):
                raise Violation(
                    f"a length of {12 * len(SQUARE)} bytes for {len(SQUARE)} points",
                    f"received {sent}",
                    event=first.event,
                    explains=True,
                )
            names = {message.name for message in session.received}
            unreadable = session.judge.spoiled or names & {UNKNOWN, OVERSIZED, TRUNCATED}
            if not (unreadable or session.take_unended()):
                raise Inconclusive("received nothing after the curve that shows its length")
            raise Violation(
                "readable messages after the curve",
                "the bytes after the curve cannot be read",
                event=first.event,
                explains=session.judge.spoiled,
            )


@requirement("frame.variable-length")
async def test_length_of_a_long_curve(iut: Iut) -> None:
    """The length of a curve above 65535 bytes is sent with all its bits."""
    async with open_session(iut) as session:
        first = await begin(session, LONG_CURVE)
        if first.name == "Oversized" or _is_cut_short(first):
            oversized = first.value.get("length")
            raise Violation(
                f"a length of {12 * len(LONG_CURVE)} bytes for {len(LONG_CURVE)} points",
                f"received {oversized or 12 * len(LONG_CURVE) % 2**16}",
                event=first.event,
                explains=True,
            )


@requirement("frame.variable-length")
async def test_contents_for_a_slow_client(iut: Iut) -> None:
    """All contents of a long curve follow its length, even if the client reads slowly."""
    async with iut.instance() as instance:
        instance.narrow = True
        async with iut.connect(instance) as session:
            await shake_hands(session)
            await await_presence(session)
            before = _unread_size(session)
            await run_operation(session, "exercise", curve=VAST_CURVE)
            within = session.countdown("exercise", "response")
            came = await session.wait_for(*A_CURVE, within=within)
            begun_bytes = _unread_size(session) - before
            # A server can omit a curve, or end the session, if its client is slow.
            begun = came is None and begun_bytes > _MAX_OTHER
            if session.ended or not (begun or (came and not _has_points(came, VAST_CURVE))):
                return
    async with open_session(iut) as plain:
        first = await begin(plain, VAST_CURVE)
        if not _has_points(first, VAST_CURVE):
            raise Inconclusive("a long curve does not arrive in a plain session either")
    what = f"{12 * len(VAST_CURVE)} bytes after the length of a curve, sent to a slow client"
    came_instead = f"received {begun_bytes} bytes" if begun else "received other contents"
    raise Violation(what, came_instead).shown_in(session)


def _unread_size(session: Session) -> int:
    """Return how many bytes of an incomplete message have arrived."""
    whole = [message for message in session.received if message.name not in (OVERSIZED, TRUNCATED)]
    return session.size - sum(len(session.events[message.event].data or b"") for message in whole)


def _has_points(message: Message, points: Sequence[Sequence[float]]) -> bool:
    """Return True if a curve has these points, which single precision represents exactly."""
    return message.name == "Curve" and bool(message.value["points"] == points)


def _is_cut_short(message: Message) -> bool:
    """Return True if the length of the long curve was reduced to 16 bits."""
    length = len(encode(message.value)) - 6 if message.name == "Curve" else None
    return length == 12 * len(LONG_CURVE) % 2**16


@requirement("exercise.curve-values")
async def test_points_of_a_long_curve(iut: Iut) -> None:
    """All points arrive of a curve whose length needs more than 16 bits."""
    async with open_session(iut) as session:
        await check_curve_sent(iut, session, LONG_CURVE)


@lasting
@requirement("progress.continuous")
async def test_progress_goes_on(iut: Iut) -> None:
    """Position, current and desired direction arrive repeatedly until the exercise ends."""
    async with open_session(iut) as session:
        await first_of_exercise(session)
        await set_progress(session)
        for _ in range(4):
            for name in PROGRESS:
                await assert_repeated(session, name)
        if session.instance.upper.offers("exercise"):
            # The server's own exercise can be over at this time, so only exercises by hook are
            # checked.
            await drain(session, _READ_TIME)
        for name in PROGRESS:
            await assert_repeated(session, name)


@requirement("progress.continuous")
async def test_progress_of_the_next_exercise(iut: Iut) -> None:
    """Position and directions arrive repeatedly in the second exercise of a session, too."""
    async with open_session(iut) as session:
        for _ in range(2):
            await begin(session)
            await set_progress(session)
            for name in (*PROGRESS, *PROGRESS):
                await assert_repeated(session, name)
            await stop_exercise(session)


@requirement("progress.continuous")
async def test_progress_of_a_later_connection(iut: Iut) -> None:
    """Progress arrives in a later connection as well, also for the server's own exercise."""
    async with tester.of(iut).open_later(iut) as session:
        await shake_hands(session)
        await first_of_exercise(session)
        await set_progress(session)
        for name in (*PROGRESS, *PROGRESS):
            await assert_repeated(session, name)


async def _check_reported(iut: Iut, what: str) -> None:
    """Check that values and changes of the application arrive in the right message.

    The next exercise shows its own values, and none of the exercise before.
    """
    async with open_session(iut) as session:
        for states in STATES:
            await begin(session)
            for state in states:
                await run_operation(session, "progress", **state)
                await assert_vector(iut, session, MEANS[what], state[what])
        await assert_unchanged(session, MEANS[what], STATE[what])


@requirement("progress.position")
async def test_position(iut: Iut) -> None:
    """The position of the actuator arrives as 0x4003."""
    await _check_reported(iut, "position")


@requirement("progress.current-direction")
async def test_current_direction(iut: Iut) -> None:
    """The direction in which the patient moves the actuator arrives as 0x4007."""
    await _check_reported(iut, "current")


@requirement("progress.desired-direction")
async def test_desired_direction(iut: Iut) -> None:
    """The direction in which the patient should move the actuator arrives as 0x4008."""
    await _check_reported(iut, "desired")


@each_of("exercise.curve-values", *ABOUT.values())
async def test_values_of_a_later_connection(iut: Iut, statement: str) -> None:
    """A later client receives the values of the application, too."""
    async with tester.of(iut).open_later(iut) as session:
        await shake_hands(session)
        await await_presence(session)
        if statement not in ABOUT.values():
            await check_curve_sent(iut, session, SQUARE[::-1])
            return
        await begin(session)
        for state in STATES[0]:
            await run_operation(session, "progress", **state)
            for what, name in MEANS.items():
                if ABOUT[name] == statement:
                    await assert_vector(iut, session, name, state[what])


@requirement("progress.ends")
async def test_nothing_after_the_exercise(iut: Iut) -> None:
    """No progress arrives after an exercise has ended and messages under way have arrived.

    The same is checked after an exercise that began during another exercise.
    """
    async with open_session(iut) as session:
        for exercises in (1, 2):
            for _ in range(exercises):
                await begin(session)
                await set_progress(session)
                await session.wait_for(POSITION, within=session.seconds("exercise"))
            count = len(session.received)
            await stop_exercise(session)
            late = await session.wait_for(*PROGRESS)
            if any(is_curve(message) for message in session.received[count:]):
                raise Inconclusive("the server begins another exercise by itself")
            absent(late, "no progress after the end of the exercise")
        late = await session.wait_for(
            *PROGRESS, within=min(_READ_TIME, session.seconds("exercise"))
        )
        absent(late, "no progress after the end of the exercise")


FOREIGN = (
    ping(0xF0E1_6E00_F0E1_6E00),
    curve((9.0, 9.0, 9.0), (1.0, 2.0, -3.0)),
    *(vector(name, 9.0, -2.5, 9.125, 9.5) for name in PROGRESS),
)


@requirement("robustness.foreign-messages")
async def test_foreign_messages(iut: Iut) -> None:
    """A client's messages that only a server can send are ignored, and not sent back."""
    async with open_session(iut) as session:
        if session.instance.upper.offers("exercise"):
            await begin(session)
        await session.send(*FOREIGN)
        await check_ignores(iut, session, "a ping and exercise data from a client")
        passed = [message for message in session.received if message.value in FOREIGN]
        absent(passed[0] if passed else None, "no message of a client to be sent back to it")
