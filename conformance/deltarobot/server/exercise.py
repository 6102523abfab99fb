"""Starts exercises of a server and checks their messages."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from conformance.deltarobot.floats import differs_by_byte_order, is_same, is_scaled
from conformance.deltarobot.handshake import open_session
from conformance.deltarobot.messages import CURRENT, DESIRED, EXERCISE, POSITION, curve
from conformance.deltarobot.server.tester import drain
from conformance.deltarobot.session_ends import has_announced_end, is_served
from conformance.harness.deadlines import Countdown
from conformance.iut import Iut
from conformance.session import Session
from conformance.verdicts import Conclusion, Hindered, Inconclusive, NotExercised, Violation
from conformance.wire import Message

STATE = {"position": [1.0, -2.5, 0.125], "current": [0.25, 0.0, -2.0], "desired": [0.5, -0.5, 0.25]}
SECOND = {"position": [-0.25, 3.0, 8.0], "current": [0.75, 0.5, 0.0], "desired": [0.0, 1.0, -0.5]}
AT_REST = {what: [0.0, 0.0, 0.0] for what in STATE}
# the states of two exercises, one after the other
STATES = ((STATE, SECOND, AT_REST), (SECOND, STATE))
MEANS = {"position": POSITION, "current": CURRENT, "desired": DESIRED}
ABOUT = {
    POSITION: "progress.position",
    CURRENT: "progress.current-direction",
    DESIRED: "progress.desired-direction",
}
"""The requirement for the contents of each progress message."""
A_CURVE = ("Curve", "Oversized")
"""Names of a curve message: within the size limit, or above it."""
_OF_EXERCISE = (*EXERCISE, "Oversized")
_PLAIN = [[0.0, 0.0, 0.0], [1.0, 2.0, -3.5]]
"""A plain curve; its last number shows if fractions are lost."""
_VALUES, _FLOATS = "exercise.curve-values", "frame.floats"
_REVERSE = "in reverse order of bytes, "
LONG_CURVE = [[number % 100, number // 100, 1] for number in range(5500)]
"""A curve whose length in bytes needs more than 16 bits."""
VAST_CURVE = [[number % 100, number // 100, 1] for number in range(45_000)]
"""A curve with more bytes than a system buffers for a client that reads slowly."""
SQUARE = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.5]]


async def run_operation(session: Session, operation: str, **arguments: Any) -> None:
    """Run an operation of the application.

    Raises NotExercised if the IUT does not offer it, Inconclusive if it fails.
    """
    (await session.operate(operation, **arguments)).require_result(operation)


async def begin(session: Session, curve: Sequence[Sequence[float]] = SQUARE) -> Message:
    """Start an exercise by its hook; return the first message of the exercise.

    Raises NotExercised if the hook is missing, and Inconclusive if the server has ended the
    transmission before. Raises Violation of exercise.curve-first if no message of the exercise
    arrives.
    """
    if has_announced_end(session):
        raise Inconclusive("the server ended the transmission before this exercise")
    await_presence, first = is_served(session), None
    await run_operation(session, "exercise", curve=[list(point) for point in curve])
    _began, left = session.now, session.countdown("exercise", "response")
    if not await_presence:
        # If this time is too short, the only effect is a second request.
        timeout = session.seconds("response")
        first = await _first(session, session.countdown(timeout))
    if first is None and (await_presence or not is_served(session)):
        first = await _first(session, left)
    if first is None and not await_presence and is_served(session) and not session.ended:
        # The server possibly had not read our handshake yet. The specification leaves open what a
        # late client receives, so the exercise starts again.
        await run_operation(session, "exercise", curve=[list(point) for point in curve])
        first = await _first(session, session.countdown("exercise", "response"))
    if first is not None:
        return first
    if session.ended and not is_served(session):
        await session.assert_alive("the beginning of an exercise")
        closed = f"the server closed the connection after {session.now:.1f} s and served nothing"
        patience = session.instance.configuration.declared("handshake")
        if patience is not None and session.now >= patience:
            raise Hindered(f"{closed}; it waits {patience:g} s for a handshake that it reads late")
        raise Inconclusive(closed)
    raise Violation(
        "the exercise to show", "received no message of the exercise", "exercise.curve-first"
    )


async def await_presence(session: Session) -> None:
    """Wait for a ping that shows that the server has read our handshake.

    The wait is only needed before an exercise by hook. The specification leaves open what a late
    client receives.
    """
    if session.instance.upper.offers("exercise"):
        await session.wait_for("Ping", within=session.countdown("ping", "response"))


def is_curve(message: Message) -> bool:
    """Return True if the message is a curve, even one above the size limit."""
    oversized = message.name == "Oversized" and message.value["identifier"] == curve()["identifier"]
    return message.name == "Curve" or oversized


def first_shown(session: Session) -> Message | None:
    """Return the session's first message of any exercise, also of one without the user."""
    return next((each for each in session.received if each.name in _OF_EXERCISE), None)


async def set_progress(session: Session) -> None:
    """Give the current exercise a state to report, if the hook progress is available."""
    if session.instance.upper.offers("progress"):
        await session.operate("progress", **STATE)


async def first_of_exercise(session: Session) -> Message:
    """Return the first message of an exercise that starts by hook, or else by itself."""
    if session.instance.upper.offers("exercise"):
        return await begin(session)
    first = await _first(session, session.countdown("exercise", "response"))
    if first is None:
        raise NotExercised(
            "the server starts no exercise by itself; give --hook exercise=COMMAND "
            f"({session.role.hooks['exercise'].description})"
        )
    return first


async def _first(session: Session, left: Countdown) -> Message | None:
    return await session.wait_for(*_OF_EXERCISE, within=left)


@dataclass(frozen=True)
class Plain:
    """The errors of the plainest exercise.

    ``about`` is the requirement that its curve or all its numbers violate, or empty. ``changed``
    contains the progress messages with wrong numbers, if everything else is correct.
    """

    about: str = ""
    changed: frozenset[str] = frozenset()


async def plain(iut: Iut) -> Plain:
    """Find the errors of the plainest exercise, once in a run."""

    async def find() -> Plain:
        try:
            return await _plain(Iut(iut.testbed, ""))
        except Conclusion:
            return Plain()

    return await iut.cached("plain exercise", find)


async def _plain(iut: Iut) -> Plain:
    async with open_session(iut) as session:
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
        changed = await _changed_names(session) if upper.offers("progress") else frozenset()
        if is_same(_PLAIN, points):
            return Plain("", changed)
        floats = differs_by_byte_order(_PLAIN, points) or changed == {*MEANS.values()}
        return Plain(_FLOATS if floats else _VALUES, changed)


async def _changed_names(session: Session) -> frozenset[str]:
    """Return the progress messages whose latest numbers are not the ones that were set."""
    await session.operate("progress", **STATE)
    wanted = {name: STATE[what] for what, name in MEANS.items()}
    latest: dict[str, Any] = {}

    def wrong() -> frozenset[str]:
        return frozenset(name for name in latest if not _is_right(name, wanted[name], latest[name]))

    left = session.countdown("response")
    while len(latest) < len(wanted) or wrong():
        message = await session.wait_for(*wanted, within=left)
        if message is None:
            break
        latest[message.name] = [message.value[axis] for axis in "xyz"]
    return wrong()


async def assert_vector(iut: Iut, session: Session, name: str, wanted: Sequence[Any]) -> None:
    """Wait until a vector has these coordinates. Raises Violation with the latest ones.

    The requirement to blame is progress.continuous if no vector arrives any more. If the plainest
    exercise fails in the same way, its requirement is to blame.
    """
    latest = await _latest(session, name, wanted, session.countdown("exercise", "response"))
    if latest is None:
        raise Violation(f"{name} repeatedly", "received none at all", "progress.continuous")
    if _is_right(name, wanted, latest):
        return
    await assert_repeated(session, name)
    known, reverse = await plain(iut), differs_by_byte_order(wanted, latest)
    about = ABOUT[name] if name in known.changed else None
    if reverse or known.about == _FLOATS:
        about = _FLOATS
    raise Violation(f"{name} with {list(wanted)}", f"received {_REVERSE * reverse}{latest}", about)


def _is_right(name: str, wanted: Sequence[Any], came: Any) -> bool:
    """Return True if a vector has these coordinates; a direction can be scaled to the length 1."""
    return is_same(wanted, came) or (name in (CURRENT, DESIRED) and is_scaled(wanted, came))


async def _latest(session: Session, name: str, wanted: Sequence[Any], left: Countdown) -> Any:
    """Read messages until a vector has the wanted coordinates; return its latest coordinates."""
    latest: Any = None
    while message := await session.wait_for(name, within=left):
        latest = [message.value[axis] for axis in "xyz"]
        if _is_right(name, wanted, latest):
            break
    return latest


async def assert_unchanged(session: Session, name: str, wanted: Sequence[Any]) -> None:
    """Raise Violation if a vector changes although no new state was set."""
    for _ in range(2):
        left = session.countdown("exercise", "response")
        message = await session.wait_for(name, within=left)
        came = [message.value[axis] for axis in "xyz"] if message else wanted
        if message and not _is_right(name, wanted, came):
            expected = f"{name} to stay {list(wanted)}"
            raise Violation(expected, f"received {came} after that", event=message.event)


async def stop_exercise(session: Session) -> None:
    """End the exercise, and read the messages that were already under way."""
    await run_operation(session, "stop")
    await drain(session, session.seconds("quiet"))


async def next_curve(session: Session, first: Message) -> Message:
    """Return the first curve from this message on, or the message itself if none arrives.

    A client that connects during an exercise can have to wait for the next exercise.
    """
    if first.name in A_CURVE:
        return first
    within = session.countdown("exercise", "response")
    return await session.wait_for(*A_CURVE, within=within) or first


async def check_curve_sent(iut: Iut, session: Session, points: Sequence[Sequence[float]]) -> None:
    """Start an exercise with these points. Raises Violation unless its curve arrives.

    If the plainest curve fails in the same way, its requirement is to blame.
    """
    before = len(session.received)
    await begin(session, points)
    came = [message for message in session.received[before:] if message.name == "Curve"]
    left = session.countdown("exercise", "response")
    while True:
        if any(is_same(points, message.value["points"]) for message in came):
            return
        following = await session.wait_for("Curve", within=left)
        if following is None:
            break
        came.append(following)
    if not came:
        raise Inconclusive("received no curve (exercise.curve-first)")
    shown = came[-1].value["points"]
    reverse = differs_by_byte_order(points, shown)
    # Lost points are no error of the number format, but reversed bytes are.
    own = _FLOATS if reverse else _VALUES if len(shown) != len(points) else None
    both = list(zip(points, shown, strict=False))
    wrong = next((at for at, (one, other) in enumerate(both) if not is_same(one, other)), len(both))
    raise Violation(
        f"a curve of {len(points)} points, "
        f"from number {wrong + 1} on {_abbreviate(points[wrong:])}",
        f"received {_REVERSE * reverse}{len(shown)} points, "
        f"from there on {_abbreviate(shown[wrong:])}",
        (await plain(iut)).about or own,
        # The curve is possibly missing in a session that has ended.
        None if session.ended else came[-1].event,
    )


def _abbreviate(points: Sequence[Sequence[float]]) -> str:
    return str(list(points))[:80] if points else "none"


async def assert_repeated(session: Session, name: str) -> None:
    """Wait for one more message of a name; earlier ones can have been read already."""
    count = sum(message.name == name for message in session.received)
    left = session.countdown("exercise", "response")
    while sum(message.name == name for message in session.received) <= count:
        if not await session.wait_for(*EXERCISE, within=left):
            break
    came = sum(message.name == name for message in session.received)
    if came <= count and session.ended:
        raise Inconclusive(f"the server ended the session after {came} of {name}")
    if came <= count:
        times = "once" if came == 1 else f"{came} times"
        received = f"received it {times} and then no more" if came else "received none"
        raise Violation(f"{name} repeatedly", received, "progress.continuous")
