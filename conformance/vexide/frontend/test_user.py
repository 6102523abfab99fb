"""Actions of the user with the touch screen and the controller."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from conformance.cases import check, lasting, requirement
from conformance.iut import Iut
from conformance.session import Session
from conformance.verdicts import Inconclusive, NotExercised, Violation
from conformance.vexide.codec import name_of
from conformance.vexide.commands import raw_state
from conformance.vexide.frontend.tester import open_in_setup, operate, start_if_possible
from conformance.vexide.tester import messages_named

_SECOND_TOUCH, _TOO_EARLY = 0.8, 0.35
"""Fractions of the time after which a touch is Held.

_SECOND_TOUCH is the time between the beginnings of two touches. A Held before _TOO_EARLY is too
early.
"""

FULL = dict.fromkeys(("axis1", "axis2", "axis3", "axis4"), 127)
STATES = {
    "rest": raw_state(),
    "forward": raw_state(**FULL),
    "backward": raw_state(**dict.fromkeys(FULL, -127)),
    "button": raw_state(button_a=True),
    "empty-battery": raw_state(battery_level=0),
    "small-battery": raw_state(battery_level=1, battery_capacity=1),
}


@requirement("controller.ranges")
@pytest.mark.parametrize("state", STATES)
async def test_controller_ranges(iut: Iut, state: str) -> None:
    """Each value of the controller's state is within its range."""
    await _control(iut, state)


@requirement("controller.flags-zero")
@pytest.mark.parametrize("state", ["rest", "forward", "button"])
async def test_controller_flags(iut: Iut, state: str) -> None:
    """The flags of the controller's state are 0."""
    await _control(iut, state)


async def _control(iut: Iut, state: str) -> None:
    """Make the frontend send the controller's state, which the oracle judges."""
    async with open_in_setup(iut, starting=False) as session:
        offered = session.instance.upper.offers("controller")
        for running in (False, True):
            if running:
                await start_if_possible(iut, session)
            if offered:
                await operate(session, "controller", **STATES[state]["ControllerUpdate"])
            await session.wait_for("ControllerUpdate")
        if offered and not messages_named(session, "ControllerUpdate"):
            await session.wait_for("ControllerUpdate", within="response")
        if "controller.ranges" not in session.judge.exercised:
            if offered:
                raise Inconclusive("the operation 'controller' produced no Raw state")
            raise NotExercised(
                "the frontend sends no controller state by itself; give --hook controller=COMMAND"
            )


@requirement("touch.single")
async def test_touch_and_release(iut: Iut) -> None:
    """Each of two touches begins with Pressed and ends with Released."""
    async with open_in_setup(iut, starting=False) as session:
        await start_if_possible(iut, session)
        for x, y in ((10, 10), (470, 260)):
            await _touch(session, x, y, "Pressed")
            await _touch(session, x, y, "Released")
        await _judge_touches(session, touches=2)


@requirement("touch.single")
async def test_long_touch_and_release(iut: Iut) -> None:
    """A long touch ends with Released, and no further Touch follows."""
    async with open_in_setup(iut, starting=False) as session:
        await start_if_possible(iut, session)
        await _touch(session, 20, 20, "Pressed")
        await _hold(session, 20, 20)
        await _touch(session, 20, 20, "Released")
        await _judge_touches(session, touches=1)


@requirement("touch.single")
@lasting
async def test_short_touch_after_a_long_one(iut: Iut) -> None:
    """After a short touch, no Held comes for a touch that is over."""
    async with _open_after_held(iut) as (session, took):
        await _touch(session, 240, 136, "Pressed")
        await _touch(session, 240, 136, "Released")
        left = session.countdown(took)
        while await session.wait_for("Touch", within=left):
            pass
        await _judge_touches(session, touches=2)


@requirement("touch.single")
async def test_second_finger(iut: Iut) -> None:
    """A second finger during a touch does not start a second touch."""
    async with open_in_setup(iut, starting=False) as session:
        await start_if_possible(iut, session)
        await _touch(session, 10, 10, "Pressed")
        # The frontend chooses which touch counts and when the other touch ends. The operation can
        # even refuse the second touch.
        for x, y, event in ((400, 200, "Pressed"), (10, 10, "Released")):
            await session.operate("touch", x=x, y=y, event=event)
            await session.wait_for("Touch")
        # No Held is sent for the second finger: a frontend that only passes on operations would
        # fail.
        await session.wait_for("Touch", within="response")
        await session.operate("touch", x=400, y=200, event="Released")
        await session.wait_for("Touch")
        _require_touches(session)


@requirement("touch.held")
async def test_held(iut: Iut) -> None:
    """A long touch becomes Held after some time, and no Pressed follows."""
    async with open_in_setup(iut, starting=False) as session:
        await start_if_possible(iut, session)
        pressed = session.now
        await _touch(session, 240, 136, "Pressed")
        held, seconds = await _hold(session, 240, 136)
        if held:
            # Wait as long as the touch has lasted, so that another Pressed has time to come.
            deadline = session.now + min(session.now - pressed, session.seconds("response"))
            await operate(session, "touch", x=240, y=136, event="Held")
            while await session.wait_for("Touch", within=deadline - session.now):
                pass
        await operate(session, "touch", x=240, y=136, event="Released")
        await session.wait_for("Touch")
        came = ", ".join(_touches(session)) or "no Touch"
        if not held and session.instance.configuration.declared("held") is None:
            raise Inconclusive(
                f"received {came} within {seconds:g} s of a long touch and no Held; the time of "
                "Held is not known: declare [timing] held"
            )
        check(held, f"Held within {seconds:g} s of a long touch", f"received {came}")


@requirement("touch.held")
@lasting
async def test_time_of_each_touch(iut: Iut) -> None:
    """The time until Held starts again with each touch."""
    async with _open_after_held(iut) as (session, took):
        await asyncio.sleep(took)  # wait until no timer of the first touch is left
        await _touch(session, 240, 136, "Pressed")
        pressed = session.now
        await operate(session, "touch", x=240, y=136, event="Released")
        await asyncio.sleep(max(0.0, _SECOND_TOUCH * took - session.now + pressed))
        again = await _wait_until_held(session)
        if session.closed_by_iut:
            raise Inconclusive("the frontend ended the session itself (exit.internal-error)")
        await operate(session, "touch", x=240, y=136, event="Released")
        came = "none" if again is None else f"Held after {again:.2f} s"
        check(
            again is not None and again > _TOO_EARLY * took,
            f"Held after about {took:.2f} s, as for the first touch",
            f"received {came} after a shorter touch",
        )


async def _hold(session: Session, x: int, y: int) -> tuple[bool, float]:
    """Continue the touch until Held comes.

    Returns if Held came, and the timeout in seconds.
    """
    await operate(session, "touch", x=x, y=y, event="Held")
    seconds = _longest_time_until_held(session)
    deadline = session.now + seconds
    while "Held" not in _touches(session):
        if await session.wait_for("Touch", within=deadline - session.now) is None:
            return False, seconds
    return True, seconds


def _longest_time_until_held(session: Session) -> float:
    declared = session.instance.configuration.declared("held")
    return session.seconds("response") + (declared or 0)


@contextlib.asynccontextmanager
async def _open_after_held(iut: Iut) -> AsyncIterator[tuple[Session, float]]:
    """Yield a session after a released touch, and the seconds until Held came in this touch.

    Raises NotExercised if no Held comes.
    """
    async with open_in_setup(iut, starting=False) as session:
        await start_if_possible(iut, session)
        took = await _wait_until_held(session)
        if took is None:
            raise NotExercised("the frontend sends no Held by itself")
        await _touch(session, 240, 136, "Released")
        await _require_release(session)
        yield session, took


async def _wait_until_held(session: Session) -> float | None:
    """Touch the display; return the seconds until Held comes, or None."""
    began, within = session.now, _longest_time_until_held(session)
    await operate(session, "touch", x=240, y=136, event="Pressed")
    while message := await session.wait_for("Touch", within=began + within - session.now):
        if name_of(message.value["Touch"]["event"]) == "Held":
            return message.at - began
    return None


async def _touch(session: Session, x: int, y: int, event: str) -> None:
    """Perform an operation of the user and wait shortly for a Touch command."""
    await operate(session, "touch", x=x, y=y, event=event)
    await session.wait_for("Touch", within=session.seconds("quiet"))


def _touches(session: Session) -> list[str]:
    return [
        str(name_of(message.value["Touch"]["event"]))
        for message in messages_named(session, "Touch")
    ]


def _require_touches(session: Session) -> None:
    if not _touches(session):
        raise Inconclusive("the operation 'touch' produced no Touch")


async def _judge_touches(session: Session, touches: int) -> None:
    """Compare the Touch commands with the user's touches, which the oracle does not know."""
    _require_touches(session)
    await _require_release(session)
    events, expect_offer, open_ = _touches(session), 0, False
    for event in events:
        expect_offer += event != "Released" and not open_
        open_ = event != "Released"
    came = f"received {', '.join(events)}"
    check(touches == expect_offer, f"{touches} touches, each ended by Released", came)


async def _require_release(session: Session) -> None:
    if _touches(session)[-1] != "Released":
        await session.wait_for("Touch", within="response")
    events = _touches(session)
    if events[-1] != "Released":
        came = f"received {', '.join(events)}"
        raise Violation("Released at the end of a touch", came, "touch.single")
