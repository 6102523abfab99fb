"""What the user does with touch screen and controller."""

import asyncio

import pytest

from conformance.cases import check, lasting, requirement
from conformance.iut import Iut
from conformance.session import Session
from conformance.verdicts import Inconclusive, NotExercised, Violation
from conformance.vexide.codec import name_of
from conformance.vexide.commands import raw
from conformance.vexide.frontend.tester import in_setup, start_if_possible, user
from conformance.vexide.tester import received

_LATER, _SOON = 0.8, 0.35
"""Of the time after which a touch is Held: when the next one begins, and what is too soon then."""

FULL = dict.fromkeys(("axis1", "axis2", "axis3", "axis4"), 127)
STATES = {
    "rest": raw(),
    "forward": raw(**FULL),
    "backward": raw(**dict.fromkeys(FULL, -127)),
    "button": raw(button_a=True),
    "empty-battery": raw(battery_level=0),
    "small-battery": raw(battery_level=1, battery_capacity=1),
}


@requirement("controller.ranges")
@pytest.mark.parametrize("state", STATES)
async def test_controller_ranges(iut: Iut, state: str) -> None:
    """Each value of the controller's state is within its range, whatever the user does."""
    await _control(iut, state)


@requirement("controller.flags-zero")
@pytest.mark.parametrize("state", ["rest", "forward", "button"])
async def test_controller_flags(iut: Iut, state: str) -> None:
    """The flags of the controller's state are 0, whatever the user does."""
    await _control(iut, state)


async def _control(iut: Iut, state: str) -> None:
    """Make the frontend send the controller's state; the oracle judges it."""
    async with in_setup(iut, starting=False) as session:
        offered = session.instance.upper.offers("controller")
        for running in (False, True):
            if running:
                await start_if_possible(iut, session)
            if offered:
                await user(session, "controller", **STATES[state]["ControllerUpdate"])
            await session.watch("ControllerUpdate")
        if offered and not received(session, "ControllerUpdate"):
            await session.watch("ControllerUpdate", within="response")
        if "controller.ranges" not in session.judge.exercised:
            if offered:
                raise Inconclusive("the operation 'controller' brought no Raw state")
            raise NotExercised(
                "the frontend sends no controller state by itself; give --hook controller=COMMAND"
            )


@requirement("touch.single")
async def test_touch_and_release(iut: Iut) -> None:
    """A touch is Pressed first and Released last, the second touch like the first."""
    async with in_setup(iut, starting=False) as session:
        await start_if_possible(iut, session)
        for x, y in ((10, 10), (470, 260)):
            await _touch(session, x, y, "Pressed")
            await _touch(session, x, y, "Released")
        await _judge_touches(session, touches=2)


@requirement("touch.single")
async def test_long_touch_and_release(iut: Iut) -> None:
    """A touch that has been held is Released as well, and nothing follows until the next one."""
    async with in_setup(iut, starting=False) as session:
        await start_if_possible(iut, session)
        await _touch(session, 20, 20, "Pressed")
        await _holds(session, 20, 20)
        await _touch(session, 20, 20, "Released")
        await _judge_touches(session, touches=1)


@requirement("touch.single")
async def test_second_finger(iut: Iut) -> None:
    """A second point that is touched meanwhile does not make a second touch beside the first."""
    async with in_setup(iut, starting=False) as session:
        await start_if_possible(iut, session)
        await _touch(session, 10, 10, "Pressed")
        # Which of the two touches counts is the frontend's choice, and so is the end of the other
        # one when it ends; the operation may even refuse the second.
        for x, y, event in ((400, 200, "Pressed"), (10, 10, "Released")):
            await session.instance.upper("touch", x=x, y=y, event=event)
            await session.watch("Touch")
        # That the second is still there is not said: who only passes on what it is told would err.
        await session.watch("Touch", within="response")
        await session.instance.upper("touch", x=400, y=200, event="Released")
        await session.watch("Touch")
        _require_touches(session)


@requirement("touch.held")
async def test_held(iut: Iut) -> None:
    """A touch that lasts is Held from some time on, and as long as it lasts no longer Pressed."""
    async with in_setup(iut, starting=False) as session:
        await start_if_possible(iut, session)
        pressed = session.now
        await _touch(session, 240, 136, "Pressed")
        held, seconds = await _holds(session, 240, 136)
        if held:
            # What has gone on for that long may be told again as often within as long.
            deadline = session.now + min(session.now - pressed, session.seconds("response"))
            await user(session, "touch", x=240, y=136, event="Held")
            while await session.watch("Touch", within=deadline - session.now):
                pass
        await user(session, "touch", x=240, y=136, event="Released")
        await session.watch("Touch")
        came = ", ".join(_touches(session)) or "no Touch"
        if not held and session.instance.configuration.declared("held") is None:
            raise Inconclusive(
                f"{came} came within {seconds:g} s of a touch that lasts, and no Held; when it is "
                "to come is not known: declare [timing] held"
            )
        check(held, f"Held within {seconds:g} s of a touch that lasts", f"{came} came")


@requirement("touch.held")
@lasting
async def test_time_of_each_touch(iut: Iut) -> None:
    """A touch is Held after a time of its own, as the first was: no sooner, and also if later."""
    async with in_setup(iut, starting=False) as session:
        await start_if_possible(iut, session)
        declared = session.instance.configuration.declared("held")
        within = session.seconds("response") + (declared or 0)
        took = await _until_held(session, within)
        if took is None:
            raise NotExercised("the frontend sends no Held by itself")
        await _touch(session, 240, 136, "Released")
        await _require_release(session)
        await asyncio.sleep(took)  # nothing of the first one is left
        await _touch(session, 240, 136, "Pressed")
        pressed = session.now
        await user(session, "touch", x=240, y=136, event="Released")
        await asyncio.sleep(max(0.0, _LATER * took - session.now + pressed))
        again = await _until_held(session, within)
        if session.deserted:
            raise Inconclusive("the frontend has ended the session itself (exit.internal-error)")
        await user(session, "touch", x=240, y=136, event="Released")
        came = "none" if again is None else f"it after {again:.2f} s"
        check(
            again is not None and again > _SOON * took,
            f"Held after {took:.2f} s, as at first",
            f"{came} came, behind a shorter touch",
        )


async def _holds(session: Session, x: int, y: int) -> tuple[bool, float]:
    """Go on touching until Held comes: whether it does, and within how many seconds it was to."""
    await user(session, "touch", x=x, y=y, event="Held")
    declared = session.instance.configuration.declared("held")
    seconds = session.seconds("response") + (declared or 0)
    deadline = session.now + seconds
    while "Held" not in _touches(session):
        if await session.watch("Touch", within=deadline - session.now) is None:
            return False, seconds
    return True, seconds


async def _until_held(session: Session, within: float) -> float | None:
    """Touch the display; the seconds until Held comes, or None."""
    began = session.now
    await user(session, "touch", x=240, y=136, event="Pressed")
    while message := await session.watch("Touch", within=began + within - session.now):
        if name_of(message.value["Touch"]["event"]) == "Held":
            return message.at - began
    return None


async def _touch(session: Session, x: int, y: int, event: str) -> None:
    """What the user does, and what the frontend sends of it if that comes soon."""
    await user(session, "touch", x=x, y=y, event=event)
    await session.watch("Touch", within=session.seconds("quiet"))


def _touches(session: Session) -> list[str]:
    return [str(name_of(message.value["Touch"]["event"])) for message in received(session, "Touch")]


def _require_touches(session: Session) -> None:
    if not _touches(session):
        raise Inconclusive("the operation 'touch' brought no Touch")


async def _judge_touches(session: Session, touches: int) -> None:
    """What the oracle cannot see, which does not know what the user did."""
    _require_touches(session)
    await _require_release(session)
    events, begun, open_ = _touches(session), 0, False
    for event in events:
        begun += event != "Released" and not open_
        open_ = event != "Released"
    came = f"{', '.join(events)} came"
    check(touches == begun, f"{touches} touches, each ended by Released", came)


async def _require_release(session: Session) -> None:
    if _touches(session)[-1] != "Released":
        await session.watch("Touch", within="response")
    events = _touches(session)
    if events[-1] != "Released":
        came = f"{', '.join(events)} came"
        raise Violation("Released at the end of a touch", came, "touch.single")
