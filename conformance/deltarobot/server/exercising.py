"""How test cases bring a server to run an exercise, and what they look for in it."""

from collections.abc import Sequence
from typing import Any

from conformance.deltarobot.floats import same
from conformance.deltarobot.life import SIGNS
from conformance.deltarobot.messages import PROGRESS
from conformance.session import Message, Session
from conformance.verdicts import Inconclusive, NotExercised, Violation

EXERCISE = ("Curve", *PROGRESS)
STATE = {"position": [1.0, -2.5, 0.125], "current": [0.0, 0.0, -1.0], "desired": [0.5, -0.5, 0.25]}
SQUARE = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.5]]


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
    if session.ended and not any(message.name in SIGNS["server"] for message in session.received):
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
