"""The exercise as the client's application shows it, and errors of the plainest exercise."""

import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from conformance.definitions.keywords import short_json
from conformance.deltarobot.client.tester import PLAIN, TESTER, plain
from conformance.deltarobot.codec import layouts
from conformance.deltarobot.floats import (
    DENORMAL,
    differs_by_byte_order,
    is_same,
    is_scaled,
    is_shown,
)
from conformance.deltarobot.handshake import open_session, shake_hands
from conformance.deltarobot.messages import (
    CURRENT,
    DESIRED,
    POSITION,
    PROGRESS,
    curve,
    vector,
)
from conformance.deltarobot.service import in_many_reads
from conformance.harness.upper_tester import Answer
from conformance.iut import Iut
from conformance.session import Session
from conformance.verdicts import Conclusion, Inconclusive, NotExercised, Violation

STATE_OF = {"position": POSITION, "current": CURRENT, "desired": DESIRED}

ABOUT = {
    "curve": "exercise.curve-shown",
    "position": "progress.position",
    "current": "progress.current-direction",
    "desired": "progress.desired-direction",
}
"""The requirement for each value of the application."""
REPLACED = "exercise.curve-replaced"
_FLOATS = "frame.floats"
_UNUSED = "progress.unused-value"

ODD = [1.0, "NaN", "Infinity", "-Infinity", "NaN:7f800001", DENORMAL, -0.0]
"""Values of U; the specification gives none of them a meaning."""

_PLAINLY: dict[str, Sequence[Any]] = {
    "curve": PLAIN,
    "position": (-1.125, -2.125, -3.125),
    "current": (-3.125, -1.125, -2.125),
    "desired": (-2.125, -3.125, -1.125),
}
"""The values of the plainest exercise. Lost signs and rounding change each of them."""
FRAME_TIME = 1 / 30  # seconds between two frames of a slow application
_FULLY_SHOWN = 4  # a message shows up to this many points in full


def rounds(*latest: Any) -> list[Any]:
    """Return these vectors, and the other kinds at rest, twice, as a server sends them.

    An application can show position and directions when all three have arrived.
    """
    given = {value["identifier"] for value in latest}
    rest = (vector(name, 0.0, 0.0, 0.0) for name in PROGRESS)
    return [*latest, *(value for value in rest if value["identifier"] not in given)] * 2


async def check_shown(
    session: Session,
    what: str,
    wanted: Sequence[Any],
    requirement: str | None = None,
    messages: int = 0,
) -> None:
    """Raise Violation unless the application shows this value in time.

    ``requirement`` is the requirement to blame; the default is the one under test. ``messages`` is
    the number of messages that have to be read before. An application can read one in each frame.
    """
    within = session.countdown("response", messages * FRAME_TIME)
    state = Answer(ok=False)
    facts: Mapping[str, Any] = {}
    right = False

    async def is_decided() -> bool:
        nonlocal state, facts, right
        state = await session.instance.upper("state")
        facts = _facts(state)
        right = what in facts and _is_right(what, wanted, facts[what])
        # Reversed bytes are a final answer as well, so waiting longer is useless.
        return right or (what in facts and differs_by_byte_order(wanted, facts[what]))

    try:
        await session.poll_until(is_decided, f"the {what} shown", within, requirement)
    except Inconclusive:
        # A client can end the stream of its upper tester together with its connection.
        if not await session.until_closed("quiet"):
            raise
        expected = f"{what} to be shown and the session to continue"
        raise Violation(expected, "the client closed the connection", requirement) from None
    if right:
        return
    if not state.ok or not isinstance(state.result, dict):
        raise Inconclusive(
            f"the operation 'state' returns no object: {state.error or state.result}"
        )
    if what not in facts:
        raise NotExercised(f"the application leaves {what} out of its state")
    seen = facts[what]
    if differs_by_byte_order(wanted, seen):
        # Reversed bytes concern the floats as such, whatever else the client reads correctly.
        came = f"the client reads its bytes in reverse order: it is {short_json(seen, 120)}"
        raise Violation(f"{what} to be {short_json(list(wanted), 40)}", came, _FLOATS)
    raise Violation(*_difference(what, wanted, seen), requirement)


def _is_right(what: str, wanted: Sequence[Any], seen: Any) -> bool:
    """Return True if the application shows this value; it can scale a direction to the length 1."""
    is_direction = what in ("current", "desired")
    return is_shown(wanted, seen) or (is_direction and is_scaled(wanted, seen))


def _difference(what: str, wanted: Sequence[Any], seen: Any) -> tuple[str, str]:
    """Return the expected and the seen value; of many points, the first that differs."""
    if len(wanted) <= _FULLY_SHOWN:
        return f"{what} to be {short_json(list(wanted), 120)}", f"it is {short_json(seen, 120)}"
    if not isinstance(seen, list):
        return f"{what} to have {len(wanted)} points", f"it is {short_json(seen, 120)}"
    pairs = enumerate(zip(wanted, seen, strict=False))
    first = next((at for at, pair in pairs if not is_same(*pair)), min(len(wanted), len(seen)))
    expected = (
        f"{what} to have {len(wanted)} points, {short_json(wanted[first : first + 1])} at {first}"
    )
    return expected, f"it has {len(seen)}, {short_json(seen[first : first + 1])} there"


async def check_laid_out_shown(
    iut: Iut, session: Session, what: str, wanted: Sequence[Any], messages: int = 0
) -> None:
    """Call `check_shown`, and blame the plainest exercise if the same value is wrong there, too.

    A client that scales directions, for example, has understood all other messages.
    """
    async with in_many_reads(iut):
        try:
            await check_shown(session, what, wanted, messages=messages)
        except Violation as wrong:
            wrong.shown_in(session)
            wrong.requirement = (await _wrong_values(iut)).get(what, wrong.requirement)
            raise


async def _wrong_values(iut: Iut) -> Mapping[str, str]:
    """Return the values that are wrong in the plainest exercise, each with its requirement.

    If all values are wrong, the requirement is frame.floats for each, unless points are lost.
    """

    async def find() -> Mapping[str, str]:
        changed = {}
        async with open_session(Iut(iut.testbed, "")) as session:
            await session.send(curve(*PLAIN))
            vectors = {what: at for what, at in _PLAINLY.items() if what in STATE_OF}
            # The first vectors are different, so that a client that keeps the first ones is
            # noticed.
            await session.send(*(vector(name, 9.0, 9.0, 9.0) for name in STATE_OF.values()))
            await session.send(*(vector(STATE_OF[what], *at) for what, at in vectors.items()))
            facts = await shown_state(session)
            for what in facts.keys() & ABOUT.keys():
                try:
                    await check_shown(session, what, _PLAINLY[what], ABOUT[what])
                except Violation as wrong:
                    changed[what] = wrong.requirement or ABOUT[what]
            seen = (await shown_state(session)).get("curve")
        lost = "curve" in changed and not (isinstance(seen, list) and len(seen) == len(PLAIN))
        if lost or changed.keys() < facts.keys() & ABOUT.keys():
            return changed
        return dict.fromkeys(changed, _FLOATS)

    return await iut.cached("changed values", find)


async def shown_state(session: Session) -> Mapping[str, Any]:
    """Return the values of the exercise that the application shows; they need not be complete."""
    if not session.instance.upper.offers("state"):
        return {}
    return _facts(await session.instance.upper("state"))


def _facts(state: Answer) -> Mapping[str, Any]:
    return state.result if state.ok and isinstance(state.result, dict) else {}


async def check_next_curve_shown(iut: Iut, session: Session, points: Sequence[Any]) -> None:
    """Raise Violation unless the application sees a curve that is not the first.

    If it sees no curve in a later connection either, exercise.curve-shown is to blame.
    """
    async with in_many_reads(iut):
        try:
            await check_shown(session, "curve", points, REPLACED)
        except Violation as wrong:
            wrong.shown_in(session)
            if "curve" in (changed := await _wrong_values(iut)):
                wrong.requirement = changed["curve"]
            elif await _is_shown_as_well(session, "curve", curve(*plain(len(points)))):
                wrong.requirement = _FLOATS
            elif await iut.cached("one curve ever", lambda: _one_curve_ever(Iut(iut.testbed, ""))):
                wrong.requirement = "exercise.curve-shown"
            raise


async def _one_curve_ever(iut: Iut) -> bool:
    try:
        async with TESTER.open_later(iut) as session:
            await shake_hands(session)
            await session.send(curve(*PLAIN))
            await check_curve_of_later_connection_shown(iut, session, PLAIN)
    except Conclusion as none:
        return isinstance(none, Violation) and none.requirement != REPLACED
    return False


async def check_curve_of_later_connection_shown(
    iut: Iut, session: Session, points: Sequence[Any]
) -> None:
    """Raise Violation unless the application sees the curve of a later connection.

    If it sees all points next to others, exercise.curve-replaced is to blame.
    """
    try:
        await check_laid_out_shown(iut, session, "curve", points)
    except Violation as wrong:
        came = (await shown_state(session)).get("curve")
        seen = came if isinstance(came, list) else []
        places = range(len(seen) - len(points) + 1)
        if any(is_same(points, seen[at : at + len(points)]) for at in places):
            wrong.requirement = REPLACED
        raise


async def check_latest_shown(iut: Iut, session: Session, sent: Sequence[Any]) -> None:
    """Raise Violation unless the application sees the last curve and the last vectors after it.

    A new curve begins a new exercise, so values of the exercise before no longer count. The curve
    is not the first of its session.
    """
    seen = await shown_state(session)
    curves = [number for number, entry in enumerate(sent) if "points" in entry]
    latest = {entry["identifier"]: entry for entry in (sent[curves[-1] :] if curves else sent)}
    await session.send(*rounds(*(entry for entry in latest.values() if "u" in entry)))
    for value in latest.values():
        if "points" in value and "curve" in seen:
            await check_next_curve_shown(iut, session, value["points"])
        elif "u" in value:
            name = layouts()[int(value["identifier"], 16)].name
            what = next(what for what, of in STATE_OF.items() if of == name)
            if what in seen:
                await _check_shown_for_any_u(session, what, value)


async def _check_shown_for_any_u(session: Session, what: str, value: Mapping[str, Any]) -> None:
    """Call `check_shown`, and blame the unused value or the numbers if they are the cause.

    The unused value is the cause if the vector is seen with U = 0; the numbers are the cause if a
    plain vector is seen.
    """
    try:
        await check_shown(session, what, [value[axis] for axis in "xyz"], ABOUT[what])
    except Violation as wrong:
        usual = vector(STATE_OF[what], *_PLAINLY[what])
        if await _is_shown_as_well(session, what, {**value, "u": 0.0}):
            wrong.requirement = _UNUSED
        elif await _is_shown_as_well(session, what, usual):
            wrong.requirement = _FLOATS
        raise


@contextlib.asynccontextmanager
async def blame_unused_value(iut: Iut) -> AsyncIterator[None]:
    """Blame the unused value if the client stops serving after odd values of U."""
    try:
        yield
    except Violation as wrong:
        wrong.session = wrong.session or (iut.sessions[-1] if iut.sessions else None)
        if await iut.cached(
            "ends upon U", lambda: _is_ended_by_unused_values(Iut(iut.testbed, ""))
        ):
            wrong.requirement = _UNUSED
        raise


async def _is_ended_by_unused_values(iut: Iut) -> bool:
    """Return True if the client serves after usual values of U only."""
    try:
        async with open_session(iut) as session:
            await session.send(curve(*PLAIN))
            for odd in ([0.0], ODD):
                vectors = [vector(name, 1.0, 0.5, -0.5, u) for u in odd for name in PROGRESS]
                await session.send(*vectors)
                if not await TESTER.has_served(session):
                    return odd is ODD
    except Conclusion:
        pass
    return False


async def _is_shown_as_well(session: Session, what: str, value: Mapping[str, Any]) -> bool:
    """Return True if the application sees this value, sent in place of the unseen one."""
    await session.send(*([value] if "points" in value else rounds(value)))
    try:
        await check_shown(session, what, value.get("points") or [value[axis] for axis in "xyz"])
    except Violation:
        return False
    return True
