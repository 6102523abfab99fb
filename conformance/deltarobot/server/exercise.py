"""How the tester brings a server to run an exercise, and what it looks for in one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from conformance.deltarobot.floats import same, turned
from conformance.deltarobot.handshake import opened
from conformance.deltarobot.messages import CURRENT, DESIRED, POSITION, curve
from conformance.deltarobot.server.tester import EXERCISE, drained, is_served
from conformance.harness.deadlines import Left
from conformance.iut import Iut
from conformance.session import Session
from conformance.verdicts import Conclusion, Inconclusive, NotExercised, Violation
from conformance.wire import Message

STATE = {"position": [1.0, -2.5, 0.125], "current": [0.25, 0.0, -2.0], "desired": [0.5, -0.5, 0.25]}
SECOND = {"position": [-0.25, 3.0, 8.0], "current": [0.75, 0.5, 0.0], "desired": [0.0, 1.0, -0.5]}
AT_REST = {what: [0.0, 0.0, 0.0] for what in STATE}
STATES = ((STATE, SECOND, AT_REST), (SECOND, STATE))  # of two exercises, one after the other
MEANS = {"position": POSITION, "current": CURRENT, "desired": DESIRED}
ABOUT = {
    POSITION: "progress.position",
    CURRENT: "progress.current-direction",
    DESIRED: "progress.desired-direction",
}
"""By message of progress, which requirement says what that is to be."""
A_CURVE = ("Curve", "Oversized")
"""The names of one, as long as a message may be or longer."""
_BEGINNING = "the beginning of an exercise"
_PLAIN = [[0.0, 0.0, 0.0], [1.0, 2.0, -3.5]]
"""A plain curve; its last number shows whether fractions are lost."""
_VALUES, _FLOATS = "exercise.curve-values", "frame.floats"
_REVERSE = "in reverse order of bytes, "
LONG = [[number % 100, number // 100, 1] for number in range(5500)]
"""A curve of more bytes than 16 bits can count."""
SQUARE = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.5]]


async def do(session: Session, operation: str, **arguments: Any) -> None:
    """An operation of the application. Raises NotExercised, and Inconclusive where it fails."""
    (await session.instance.upper(operation, **arguments)).required(operation)


async def begin(session: Session, curve: Sequence[Sequence[float]] = SQUARE) -> Message:
    """Begin an exercise by hand; the first of its messages.

    Raises NotExercised where that is not possible, Violation of exercise.curve-first where nothing
    of it comes.
    """
    present, first = is_served(session), None
    await do(session, "exercise", curve=[list(point) for point in curve])
    began, left = session.now, session.left("exercise", "response")
    if not present:
        # Too short a time asks for it once more only.
        soon = max(session.pace(_BEGINNING, left()), session.seconds("quiet"))
        first = await _first(session, session.left(soon))
    if first is None and (present or not is_served(session)):
        first = await _first(session, left)
    if first is None and not present and is_served(session) and not session.ended:
        # It may not have had our handshake by then: what a late client is sent is open.
        await do(session, "exercise", curve=[list(point) for point in curve])
        began = session.now
        first = await _first(session, session.left("exercise", "response"))
    if first is not None:
        session.took(_BEGINNING, session.now - began)
        return first
    if session.ended and not is_served(session):
        await session.unharmed("the beginning of an exercise")
        raise Inconclusive("the server closed the connection before it served anything")
    raise Violation("the exercise to show", "no message about it came", "exercise.curve-first")


async def present(session: Session) -> None:
    """Wait, where an exercise is begun by hand, until a ping shows that it has our handshake.

    What it sends a client that comes when an exercise has begun is open.
    """
    if session.instance.upper.offers("exercise"):
        await session.watch("Ping", within=session.left("ping", "response"))


def is_curve(message: Message) -> bool:
    """Whether it is a curve, also one that announces more bytes than can be taken."""
    oversized = message.name == "Oversized" and message.value["identifier"] == curve()["identifier"]
    return message.name == "Curve" or oversized


async def proceed(session: Session) -> None:
    """Give an exercise that was begun by hand a state to report, where it takes one."""
    if session.instance.upper.offers("progress"):
        await session.instance.upper("progress", **STATE)


async def running(session: Session) -> Message:
    """The first message of an exercise, begun by hand if possible, else by the server itself."""
    if session.instance.upper.offers("exercise"):
        return await begin(session)
    first = await _first(session, session.left("exercise", "response"))
    if first is None:
        raise NotExercised(
            "the server runs no exercise by itself; give --hook exercise=COMMAND "
            f"({session.role.hooks['exercise'].description})"
        )
    return first


async def _first(session: Session, left: Left) -> Message | None:
    return await session.watch(*EXERCISE, "Oversized", within=left)


@dataclass(frozen=True)
class Plain:
    """What is wrong with the plainest exercise.

    ``about`` is what its curve violates, or all of its numbers; else empty. ``changed`` are the
    messages of progress with other numbers than were set, where the rest of it is right.
    """

    about: str = ""
    changed: frozenset[str] = frozenset()


async def plain(iut: Iut) -> Plain:
    """What is wrong with the plainest exercise, found out once in a run."""

    async def found() -> Plain:
        try:
            return await _plain(Iut(iut.testbed, ""))
        except Conclusion:
            return Plain()

    return await iut.once("plain exercise", found)


async def _plain(iut: Iut) -> Plain:
    async with opened(iut) as session:
        upper = session.instance.upper
        first = await begin(session, _PLAIN) if upper.offers("exercise") else None
        curve = await next_curve(session, first) if first else None
        if curve is None or curve.name not in A_CURVE:
            return Plain()
        if curve.name == "Oversized":
            return Plain("frame.variable-length")
        if "rest" in curve.value:
            return Plain("exercise.curve-structure")
        if len(points := curve.value["points"]) != len(_PLAIN):
            return Plain(_VALUES)
        changed = await _changed(session) if upper.offers("progress") else frozenset()
        if same(_PLAIN, points):
            return Plain("", changed)
        floats = turned(_PLAIN, points) or changed == {*MEANS.values()}
        return Plain(_FLOATS if floats else _VALUES, changed)


async def _changed(session: Session) -> frozenset[str]:
    """The messages of progress that come with other numbers than are set, to the end of a while."""
    await session.instance.upper("progress", **STATE)
    wanted = {name: STATE[what] for what, name in MEANS.items()}
    latest: dict[str, Any] = {}

    def wrong() -> frozenset[str]:
        return frozenset(name for name in latest if not same(wanted[name], latest[name]))

    left = session.left("response")
    while len(latest) < len(wanted) or wrong():
        message = await session.watch(*wanted, within=left)
        if message is None:
            break
        latest[message.name] = [message.value[axis] for axis in "xyz"]
    return wrong()


async def seen(iut: Iut, session: Session, name: str, wanted: Sequence[Any]) -> None:
    """Wait until a vector has these coordinates. Raises Violation with what it has instead.

    Where none comes any more, that is one of progress.continuous; what the plainest exercise shows,
    too, is laid to that.
    """
    latest = await _latest(session, name, wanted, session.left("exercise", "response"))
    if latest is None:
        raise Violation(f"{name} again and again", "none came at all", "progress.continuous")
    if same(wanted, latest):
        return
    await comes_again(session, name)
    known, reverse = await plain(iut), turned(wanted, latest)
    about = ABOUT[name] if name in known.changed else None
    if reverse or known.about == _FLOATS:
        about = _FLOATS
    raise Violation(f"{name} with {list(wanted)}", f"{_REVERSE * reverse}{latest} came", about)


async def _latest(session: Session, name: str, wanted: Sequence[Any], left: Left) -> Any:
    """The latest coordinates of a vector, at the time when it has those that are wanted."""
    latest: Any = None
    while message := await session.watch(name, within=left):
        latest = [message.value[axis] for axis in "xyz"]
        if same(wanted, latest):
            break
    return latest


async def stays(session: Session, name: str, wanted: Sequence[Any]) -> None:
    """Raise Violation where a vector that was set and seen comes otherwise again, unasked."""
    for _ in range(2):
        left = session.left("exercise", "response")
        message = await session.watch(name, within=left)
        came = [message.value[axis] for axis in "xyz"] if message else wanted
        if message and not same(wanted, came):
            expected = f"{name} to stay {list(wanted)}"
            raise Violation(expected, f"{came} came behind that", event=message.event)


async def stopped(session: Session) -> None:
    """End the exercise, and wait until what was under way has come."""
    await do(session, "stop")
    await drained(session, session.seconds("quiet"))


async def next_curve(session: Session, first: Message) -> Message:
    """The first curve from this message on; the message where none comes.

    One that connects in the middle of an exercise may have to wait for the next.
    """
    if first.name in A_CURVE:
        return first
    within = session.left("exercise", "response")
    return await session.watch(*A_CURVE, within=within) or first


async def shows_curve(iut: Iut, session: Session, points: Sequence[Sequence[float]]) -> None:
    """Begin an exercise with these points. Raises Violation with what came instead of its curve.

    What the plainest curve shows, too, is laid to that.
    """
    before = len(session.received)
    await begin(session, points)
    came = [message for message in session.received[before:] if message.name == "Curve"]
    left = session.left("exercise", "response")
    while True:
        if any(same(points, message.value["points"]) for message in came):
            return
        following = await session.watch("Curve", within=left)
        if following is None:
            break
        came.append(following)
    if not came:
        raise Inconclusive("no curve came (exercise.curve-first)")
    shown = came[-1].value["points"]
    reverse = turned(points, shown)
    # Points that are lost are no matter of their numbers, and bytes in reverse are one of theirs.
    own = _FLOATS if reverse else _VALUES if len(shown) != len(points) else None
    both = list(zip(points, shown, strict=False))
    wrong = next((at for at, (one, other) in enumerate(both) if not same(one, other)), len(both))
    raise Violation(
        f"a curve of {len(points)} points, from number {wrong + 1} on {_some(points[wrong:])}",
        f"{_REVERSE * reverse}{len(shown)} came, from there on {_some(shown[wrong:])}",
        (await plain(iut)).about or own,
        came[-1].event,
    )


def _some(points: Sequence[Sequence[float]]) -> str:
    return str(list(points))[:80] if points else "none"


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
    if came <= count:
        stopped = f"it came {came} times and then stopped"
        raise Violation(f"{name} again and again", stopped, "progress.continuous")
