"""How the tester brings a server to run an exercise, and what it looks for in one."""

from collections.abc import Sequence
from typing import Any

from conformance.cases import check
from conformance.deltarobot.floats import same, turned
from conformance.deltarobot.server.tester import EXERCISE, TESTER, drained
from conformance.session import Session
from conformance.verdicts import Inconclusive, NotExercised, Violation
from conformance.wire import Message

STATE = {"position": [1.0, -2.5, 0.125], "current": [0.0, 0.0, -1.0], "desired": [0.5, -0.5, 0.25]}
SQUARE = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.5]]


async def do(session: Session, operation: str, **arguments: Any) -> None:
    """An operation of the application. Raises NotExercised, and Inconclusive where it fails."""
    (await session.instance.upper(operation, **arguments)).required(operation)


async def begin(session: Session, curve: Sequence[Sequence[float]] = SQUARE) -> Message:
    """Begin an exercise by hand; the first of its messages.

    Raises NotExercised where that is not possible, Violation of exercise.curve-first where nothing
    of it comes.
    """
    await do(session, "exercise", curve=[list(point) for point in curve])
    first = await _first(session)
    if first is not None:
        return first
    if session.ended and not any(message.name in TESTER.signs for message in session.received):
        await session.unharmed("the beginning of an exercise")
        raise Inconclusive("the server closed the connection before it served anything")
    raise Violation("the exercise to show", "no message about it came", "exercise.curve-first")


async def proceed(session: Session) -> None:
    """Give an exercise that was begun by hand a state to report, where it takes one."""
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
    within = session.left("exercise", "response")
    return await session.watch(*EXERCISE, "Oversized", within=within)


async def seen(session: Session, name: str, wanted: Sequence[Any], coordinates: str) -> None:
    """Wait until a vector has these coordinates. Raises Violation with what it has instead.

    Where none comes at all, that is one of progress.continuous.
    """
    left = session.left("exercise", "response")
    latest: Any = None
    while message := await session.watch(name, within=left):
        latest = [message.value[axis] for axis in coordinates]
        if same(wanted, latest):
            return
    if latest is None:
        raise Violation(f"{name} again and again", "none came at all", "progress.continuous")
    raise Violation(f"{name} with {list(wanted)}", f"{latest} came")


async def stopped(session: Session) -> None:
    """End the exercise, and wait until what was under way has come."""
    await do(session, "stop")
    await drained(session, session.seconds("quiet"))


async def next_curve(session: Session, first: Message) -> Message:
    """The first curve from this message on; the message where none comes.

    One that connects in the middle of an exercise may have to wait for the next.
    """
    names = ("Curve", "Oversized")
    if first.name in names:
        return first
    within = session.left("exercise", "response")
    return await session.watch(*names, within=within) or first


async def shows_curve(session: Session, points: Sequence[Sequence[float]]) -> Message:
    """The curve of an exercise with these points. Raises Violation with what came instead."""
    before = len(session.received)
    await begin(session, points)
    came = [message for message in session.received[before:] if message.name == "Curve"]
    left = session.left("exercise", "response")
    while True:
        for message in came:
            if same(points, message.value["points"]):
                return message
        following = await session.watch("Curve", within=left)
        if following is None:
            break
        came.append(following)
    if not came:
        raise Inconclusive("no curve came (exercise.curve-first)")
    latest = came[-1]
    shown = latest.value["points"]
    # Points that are lost are no matter of their numbers, and bytes in reverse are one of theirs.
    about = "exercise.curve-values" if len(shown) != len(points) else None
    if reverse := same(turned(points), shown):
        about = "frame.floats"
    raise Violation(
        f"a curve of {len(points)} points, {str(list(points))[:80]}",
        f"{'in reverse order of bytes, ' * reverse}{len(shown)} came, {str(shown)[:80]}",
        about,
        latest.event,
    )


async def comes_again(session: Session, name: str) -> None:
    """One more message of a name, which may have come among those that were passed over."""
    count = sum(message.name == name for message in session.received)
    left = session.left("exercise", "response")
    while sum(message.name == name for message in session.received) <= count:
        if not await session.watch(*EXERCISE, within=left):
            break
    came = sum(message.name == name for message in session.received)
    if came <= count and session.ended:
        raise Inconclusive(f"the server ended the session after {came} of {name}")
    check(came > count, f"{name} again and again", f"it came {came} times and then stopped")
