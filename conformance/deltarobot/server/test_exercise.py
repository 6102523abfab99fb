"""An exercise: its curve at the beginning, then its progress again and again."""

from collections import defaultdict
from collections.abc import Sequence

from conformance.cases import absent, check, explore, lasting, requirement
from conformance.deltarobot import strategies, tester
from conformance.deltarobot.codec import OVERSIZED, TRUNCATED, encode
from conformance.deltarobot.diagnosis import in_fours, meant
from conformance.deltarobot.floats import EDGES, same
from conformance.deltarobot.handshake import opened, shake_hands
from conformance.deltarobot.messages import (
    POSITION,
    PROGRESS,
    curve,
    ping,
    vector,
)
from conformance.deltarobot.server.exercise import (
    A_CURVE,
    LONG,
    MEANS,
    SQUARE,
    STATE,
    STATES,
    begin,
    comes_again,
    do,
    is_curve,
    next_curve,
    present,
    proceed,
    running,
    seen,
    shows_curve,
    stays,
    stopped,
)
from conformance.deltarobot.server.tester import drained
from conformance.deltarobot.service import passes_over
from conformance.iut import Iut
from conformance.session import Session
from conformance.verdicts import Inconclusive, NotExercised, Violation
from conformance.wire import Message

_LOOK = 2.0  # seconds of an exercise that are looked at
_SHORT = 18  # bytes of the longest message of an exercise that is no curve


@requirement("exercise.curve-first")
async def test_curve_first(iut: Iut) -> None:
    """The first message of an exercise is its curve."""
    async with opened(iut) as session:
        await present(session)
        by_hand = session.instance.upper.offers("exercise")
        # A server that always sends progress shows the beginning by the curve alone.
        earlier = by_hand and await session.watch(*PROGRESS) is not None
        first = await running(session)
        if not is_curve(first) and (earlier or not by_hand):
            why = "the exercise may have begun before the connection; give --hook exercise=COMMAND"
            if by_hand:
                why = "progress comes without an exercise, too"
            raise Inconclusive(f"{first.name} came first: {why}")
        check(is_curve(first), "Curve first", f"{first.name} came first", first.event)


@requirement("exercise.curve-first")
async def test_curve_of_the_next_exercise(iut: Iut) -> None:
    """The next exercise begins with its curve, too, whether or not the one before was ended.

    So it does where that is the curve of the one before.
    """
    async with opened(iut) as session:
        await begin(session)
        await stopped(session)
        # A server that always sends progress shows the beginning by the curve alone.
        quiet = await session.watch(*PROGRESS) is None
        first = await begin(session, [*SQUARE, [2.0, 2.0, 2.0]])
        came = f"{first.name} came first"
        check(is_curve(first) or not quiet, "Curve first", came, first.event)
        await next_curve(session, first)
        await proceed(session)
        await session.watch(POSITION, within=session.seconds("exercise"))
        within = session.left("exercise", "response")
        for which in ("third", "fourth"):
            await do(session, "exercise", curve=SQUARE[:2])
            following = await session.watch("Curve", within=within)
            check(following is not None, f"the curve of a {which} exercise", "none came")


@requirement("exercise.curve-first")
async def test_curve_of_a_later_connection(iut: Iut) -> None:
    """An exercise of a later client begins with its curve, too."""
    async with tester.of(iut).later(iut) as session:
        await shake_hands(session)
        await present(session)
        quiet = await session.watch(*PROGRESS) is None
        first = await begin(session)
        came = f"{first.name} came first"
        check(is_curve(first) or not quiet, "Curve first", came, first.event)
        name = (await next_curve(session, first)).name
        check(name == "Curve", "the curve of the exercise", "none came")


@requirement("exercise.curve-structure")
async def test_structure_of_a_curve(iut: Iut) -> None:
    """A curve has contents of whole points; so has that of the next exercise."""
    async with opened(iut) as session:
        await next_curve(session, await running(session))
        if session.instance.upper.offers("exercise"):
            await next_curve(session, await begin(session, SQUARE[1:]))
        else:
            # Its own exercises may follow one another.
            for _ in range(2):
                await session.watch("Curve", within=session.seconds("exercise"))
        curves = [message for message in session.received if message.name == "Curve"]
        if not curves:
            raise Inconclusive("no curve came (exercise.curve-first)")
        for message in curves:
            fours = in_fours(_words(encode(message.value)[6:]))
            check(not fours, "points of three numbers", "each fourth is the same", message.event)


def _words(contents: bytes) -> list[bytes]:
    """The floats that these contents are made of."""
    return [contents[at : at + 4] for at in range(0, len(contents) - 3, 4)]


@requirement("exercise.curve-values")
async def test_points_of_a_curve(iut: Iut) -> None:
    """All points of the curve come in their order, however many there are."""
    async with opened(iut) as session:
        for count in (1, 2, 85, 1000):
            await shows_curve(iut, session, _plain(count))
        await shows_curve(iut, session, [SQUARE[1]] * 3)


@requirement("exercise.curve-values")
@explore(points=strategies.points())
async def test_any_curve(iut: Iut, points: list[list[float]]) -> None:
    """Any curve of finite numbers comes as it is."""
    async with opened(iut) as session:
        try:
            await shows_curve(iut, session, points)
        except Violation as wrong:
            if not wrong.requirement:
                # It is about these numbers where as many others come as they are.
                await shows_curve(iut, session, _plain(len(points)))
                wrong.requirement = "frame.floats"
            raise


def _plain(count: int) -> list[list[float]]:
    """A curve of so many points, all of them different, and plain numbers."""
    return [[float(number), -0.5 * number, 0.25] for number in range(count)]


@requirement("frame.floats")
async def test_floats_of_a_curve(iut: Iut) -> None:
    """Zeros, denormals and the largest numbers, of either sign, come as they are."""
    async with opened(iut) as session:
        await shows_curve(iut, session, EDGES)


@requirement("frame.floats")
async def test_floats_of_progress(iut: Iut) -> None:
    """Zeros, denormals and the largest numbers in position and directions come as they are."""
    async with opened(iut) as session:
        await begin(session)
        first, second, third = EDGES
        await do(session, "progress", position=first, current=second, desired=third)
        for name, wanted in zip(PROGRESS, EDGES, strict=True):
            await seen(iut, session, name, wanted)


@requirement("frame.floats")
async def test_floats_of_its_own_exercise(iut: Iut) -> None:
    """The floats of an exercise of the server's own do not only make sense in another encoding."""
    async with opened(iut) as session:
        await running(session)
        await drained(session, min(_LOOK, session.seconds("exercise")))
        told: dict[str, list[bytes]] = defaultdict(list)
        for message in session.received:
            if message.name in PROGRESS:
                for axis, word in zip("XYZ", _words(encode(message.value)[2:]), strict=False):
                    told[f"{axis} of {message.name}"].append(word)
            elif message.name == "Curve":
                told[f"curve {message.event}"] += _words(encode(message.value)[6:])
    for what, words in told.items():
        instead = meant(words)
        check(instead is None, f"{what} to be numbers of single precision", f"{instead} came")
    raise NotExercised("an exercise of its own; give --hook exercise=COMMAND and progress=COMMAND")


@requirement("frame.variable-length")
async def test_length_of_a_curve(iut: Iut) -> None:
    """The length of a curve is that of its contents in bytes, which the next message follows."""
    async with opened(iut) as session:
        first = await next_curve(session, await running(session))
        if first.name == "Oversized":
            length = first.value["length"]
            swapped = int.from_bytes(length.to_bytes(4, "little"), "big")
            raise Violation(
                "the length of the curve",
                f"{length} came, which would be {swapped} in the other byte order",
                event=first.event,
                explains=True,
            )
        if first.name != "Curve":
            raise Inconclusive("no curve came (exercise.curve-first)")
        within = session.left("ping", "exercise")
        if not await session.watch("Ping", *PROGRESS, within=within):
            sent = len(encode(first.value)) - 6
            if session.instance.upper.offers("exercise") and sent != 12 * len(SQUARE):
                raise Violation(
                    f"a length of {12 * len(SQUARE)} bytes for {len(SQUARE)} points",
                    f"{sent} came",
                    event=first.event,
                    explains=True,
                )
            raise Violation(
                "messages behind the curve",
                "what came behind it cannot be read",
                event=first.event,
                explains=session.judge.spoiled,
            )


@requirement("frame.variable-length")
async def test_length_of_a_long_curve(iut: Iut) -> None:
    """The length of a curve of more than 65535 bytes is sent with all its bits."""
    async with opened(iut) as session:
        first = await begin(session, LONG)
        if first.name == "Oversized" or _cut_short(first):
            oversized = first.value.get("length")
            raise Violation(
                f"a length of {12 * len(LONG)} bytes for {len(LONG)} points",
                f"{oversized or 12 * len(LONG) % 2**16} came",
                event=first.event,
                explains=True,
            )


@requirement("frame.variable-length")
async def test_contents_for_a_slow_client(iut: Iut) -> None:
    """All contents of a long curve follow its length, though few bytes are taken at a time."""
    async with iut.instance() as instance:
        instance.narrow = True
        async with iut.connect(instance) as session:
            await shake_hands(session)
            await present(session)
            before = _unread(session)
            await do(session, "exercise", curve=LONG)
            within = session.left("exercise", "response")
            came = await session.watch(*A_CURVE, within=within)
            behind = _unread(session) - before
            # It may leave a curve out, or end the session, where the client is slow.
            begun = came is None and behind > _SHORT
            if session.ended or not (begun or (came and not _is(came, LONG))):
                return
    async with opened(iut) as plain:
        first = await begin(plain, LONG)
        if not _is(first, LONG):
            raise Inconclusive("a long curve does not come in a plain session, either")
    what = f"{12 * len(LONG)} bytes behind the length of a curve, whose client takes few at a time"
    told = f"{behind} bytes came" if begun else "others came"
    raise Violation(what, told).shown_in(session)


def _unread(session: Session) -> int:
    """How many bytes have come of a message that is not whole yet, unless one was too long."""
    whole = [message for message in session.received if message.name not in (OVERSIZED, TRUNCATED)]
    return session.size - sum(len(encode(message.value)) for message in whole)


def _is(message: Message, points: Sequence[Sequence[float]]) -> bool:
    return message.name == "Curve" and same(points, message.value["points"])


def _cut_short(message: Message) -> bool:
    """Whether the length of the long curve has come in 16 bits."""
    length = len(encode(message.value)) - 6 if message.name == "Curve" else None
    return length == 12 * len(LONG) % 2**16


@requirement("exercise.curve-values")
async def test_points_of_a_long_curve(iut: Iut) -> None:
    """All points come of a curve that has more bytes than 16 bits can count."""
    async with opened(iut) as session:
        await shows_curve(iut, session, LONG)


@lasting
@requirement("progress.continuous")
async def test_progress_goes_on(iut: Iut) -> None:
    """Position, current and desired direction come again and again, each of them, to its end."""
    async with opened(iut) as session:
        await running(session)
        await proceed(session)
        for _ in range(4):
            for name in PROGRESS:
                await comes_again(session, name)
        if session.instance.upper.offers("exercise"):
            # One of its own may be over by then.
            await drained(session, _LOOK)
        for name in PROGRESS:
            await comes_again(session, name)


@requirement("progress.continuous")
async def test_progress_of_the_next_exercise(iut: Iut) -> None:
    """Position and directions come again and again in the second exercise of a session, too."""
    async with opened(iut) as session:
        for _ in range(2):
            await begin(session)
            await proceed(session)
            for name in (*PROGRESS, *PROGRESS):
                await comes_again(session, name)
            await stopped(session)


@requirement("progress.continuous")
async def test_progress_of_a_later_connection(iut: Iut) -> None:
    """Progress comes in a later connection as well, also of an exercise of the server's own."""
    async with tester.of(iut).later(iut) as session:
        await shake_hands(session)
        await running(session)
        await proceed(session)
        for name in (*PROGRESS, *PROGRESS):
            await comes_again(session, name)


async def _told(iut: Iut, what: str) -> None:
    """What the application sets comes in the message that is for it, and so do changes.

    So it does in the next exercise, in which nothing comes of the one before.
    """
    async with opened(iut) as session:
        for states in STATES:
            await begin(session)
            for state in states:
                await do(session, "progress", **state)
                await seen(iut, session, MEANS[what], state[what])
        await stays(session, MEANS[what], STATE[what])


@requirement("progress.position")
async def test_position(iut: Iut) -> None:
    """The position of the actuator comes as 0x4003."""
    await _told(iut, "position")


@requirement("progress.current-direction")
async def test_current_direction(iut: Iut) -> None:
    """The direction in which the patient moves it comes as 0x4007."""
    await _told(iut, "current")


@requirement("progress.desired-direction")
async def test_desired_direction(iut: Iut) -> None:
    """The direction in which the patient should move it comes as 0x4008."""
    await _told(iut, "desired")


@requirement("progress.ends")
async def test_nothing_after_the_exercise(iut: Iut) -> None:
    """After its end, once what was under way has come, nothing about its progress comes.

    Nor does it after the end of the next.
    """
    async with opened(iut) as session:
        for _ in range(2):
            await begin(session)
            await proceed(session)
            await session.watch(POSITION, within=session.seconds("exercise"))
            await stopped(session)
            absent(await session.watch(*PROGRESS), "no progress after the end of the exercise")
        late = await session.watch(*PROGRESS, within=min(_LOOK, session.seconds("exercise")))
        absent(late, "no progress after the end of the exercise")


FOREIGN = (
    ping(0xF0E1_6E00_F0E1_6E00),
    curve((9.0, 9.0, 9.0), (1.0, 2.0, -3.0)),
    *(vector(name, 9.0, -2.5, 9.125, 9.5) for name in PROGRESS),
)


@requirement("robustness.foreign-messages")
async def test_foreign_messages(iut: Iut) -> None:
    """Messages that only a server may send are ignored from a client, and not passed on."""
    async with opened(iut) as session:
        if session.instance.upper.offers("exercise"):
            await begin(session)
        await session.send(*FOREIGN)
        await passes_over(iut, session, "a ping and exercise data from a client")
        passed = [message for message in session.received if message.value in FOREIGN]
        absent(passed[0] if passed else None, "a client's messages not to come back to it")
