"""How test cases look at what a client's application knows of the exercise."""

import asyncio
from collections.abc import Sequence
from typing import Any

from conformance.deltarobot.codec import layouts
from conformance.deltarobot.floats import same
from conformance.deltarobot.messages import CURRENT, DESIRED, POSITION
from conformance.session import Session
from conformance.verdicts import Inconclusive, Violation

STATE_OF = {"position": POSITION, "current": CURRENT, "desired": DESIRED}

_POLL = 0.02  # seconds between two looks


ABOUT = {
    "curve": "exercise.curve-shown",
    "position": "progress.position",
    "current": "progress.current-direction",
    "desired": "progress.desired-direction",
}
"""By what the application sees, which requirement says what that is to be."""


async def sees(
    session: Session, what: str, wanted: Sequence[Any], requirement: str | None = None
) -> None:
    """Raise Violation unless the application comes to see this, in time.

    ``requirement`` is what it violates otherwise, if not the one that the test decides.
    """
    deadline = session.now + session.seconds("response")
    while True:
        state = await session.instance.upper("state")
        told = state.result if state.ok and isinstance(state.result, dict) else {}
        if what in told and same(wanted, told[what]):
            return
        if session.now > deadline:
            break
        await asyncio.sleep(_POLL)
    if what not in told:
        raise Inconclusive(f"the operation 'state' does not tell {what}: {state}"[:300])
    seen = told[what]
    expected = f"{what} to be {str(list(wanted))[:120]}"
    raise Violation(expected, f"it is {str(seen)[:120]}", requirement)


async def sees_the_latest(session: Session, told: Sequence[Any]) -> None:
    """Raise Violation unless the application sees the last curve, and the last vectors behind it.

    With a new curve a new exercise begins, of which nothing is known yet.
    """
    curves = [number for number, entry in enumerate(told) if "points" in entry]
    latest = told[curves[-1] :] if curves else told
    for value in {entry["identifier"]: entry for entry in latest}.values():
        if "points" in value:
            await sees(session, "curve", value["points"], ABOUT["curve"])
        elif "u" in value:
            name = layouts()[int(value["identifier"], 16)].name
            what = next(what for what, of in STATE_OF.items() if of == name)
            await sees(session, what, [value[axis] for axis in "xyz"], ABOUT[what])
