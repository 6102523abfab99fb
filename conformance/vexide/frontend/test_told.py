"""What the user does comes to the simulator as it is: inputs, competition modes, points."""

from collections.abc import Callable
from typing import Any

import pytest

from conformance.cases import lasting, requirement
from conformance.iut import Iut
from conformance.session import Session
from conformance.verdicts import Inconclusive, NotExercised, Violation
from conformance.vexide.codec import name_of
from conformance.vexide.commands import BUTTONS, GAMEPADS, competition, raw
from conformance.vexide.frontend.tester import in_setup, start_if_possible, user
from conformance.vexide.tester import received, require_fit

AXES = {"axis1": 31, "axis2": -64, "axis3": 97, "axis4": -127}
INPUTS = (*AXES, *(f"button_{name}" for name in BUTTONS if name != "all"))
"""What is compared of a Raw state. What button_all tells is not in the text."""

POINTS = ((37, 200), (0, 0), (479, 271), (300, 11))
NEAR = (
    2  # pixels that a point may be away from the one that was touched, on another display's scale
)

# One change after another, so that each field is seen to be the user's.
MODES = (
    {"enabled": True, "connected": True, "mode": "Driver", "is_competition": False},
    {"enabled": False, "connected": True, "mode": "Driver", "is_competition": False},
    {"enabled": False, "connected": True, "mode": "Driver", "is_competition": True},
    {"enabled": False, "connected": True, "mode": "Auto", "is_competition": True},
    {"enabled": True, "connected": True, "mode": "Auto", "is_competition": True},
    {"enabled": True, "connected": True, "mode": "Auto", "is_competition": False},
    {"enabled": True, "connected": False, "mode": "Driver", "is_competition": False},
)


@requirement("controller.told")
async def test_axes(iut: Iut) -> None:
    """Each axis comes in its own field, again whenever it changes, up to both ends."""
    ends = (dict.fromkeys(AXES, value) for value in (64, 127, -127))
    await _controls(iut, AXES, *ends, {})


@requirement("controller.told")
async def test_buttons(iut: Iut) -> None:
    """Each button comes in its own field, while it is pressed and no longer.

    What the user does counts for what it is, also where a gamepad was chosen before.
    """
    pressed = ({name: True} for name in INPUTS if name not in AXES)
    await _controls(iut, *pressed, {}, gamepad=GAMEPADS[0])


@requirement("controller.told")
@pytest.mark.parametrize(
    "barred", [{"enabled": False}, {"mode": "Auto"}], ids=["disabled", "autonomous"]
)
async def test_inputs_that_cannot_be_read_yet(iut: Iut, barred: dict[str, Any]) -> None:
    """A state that comes where the program may not read it has been told by the time it may."""
    await _controls(iut, {"axis1": 64}, {}, barred=barred)


def _within(told: Any) -> Any:
    """What is told of an axis, as far as it may go: further is a matter of its range."""
    return max(-127, min(127, told)) if isinstance(told, int) else told


async def _controls(
    iut: Iut, *changes: dict[str, Any], barred: dict[str, Any] | None = None, gamepad: str = ""
) -> None:
    """Each of these changes is told; ``barred`` is the mode in which they come, if not in any.

    A ``gamepad`` is chosen before, where the frontend lets its user do that.
    """
    async with in_setup(iut, starting=False) as session:
        await start_if_possible(iut, session)
        if gamepad:
            await session.instance.upper("controller", UUID=gamepad)
        for changed in changes:
            if barred:
                await user(session, "competition", **competition(**barred)["CompetitionMode"])
            update = raw(**changed)["ControllerUpdate"]
            wanted = {name: update["Raw"][name] for name in INPUTS}

            def fits(content: Any, wanted: dict[str, Any] = wanted) -> bool:
                state = content.get("Raw") if isinstance(content, dict) else None
                told = state if isinstance(state, dict) else {}
                return all(_within(told.get(name)) == value for name, value in wanted.items())

            what = ", ".join(f"{name} at {value}" for name, value in changed.items())
            told = f"a Raw state with {what or 'nothing moved or pressed'}"
            behind = competition() if barred else None
            about = "ControllerUpdate"
            await _told(session, about, fits, told, "controller", behind=behind, **update)


@requirement("controller.told")
async def test_gamepads(iut: Iut) -> None:
    """The UUID of the gamepad that the user has chosen comes as it is, and so does another."""
    async with in_setup(iut, starting=False) as session:
        await start_if_possible(iut, session)
        first = await session.instance.upper("controller", UUID=GAMEPADS[0])
        if not first.ok:
            raise NotExercised(f"the frontend takes no UUID of a gamepad: {first.why}")
        for gamepad in reversed(GAMEPADS):

            def fits(content: Any, gamepad: str = gamepad) -> bool:
                told = content.get("UUID") if isinstance(content, dict) else None
                return str(told).lower() == gamepad

            told = f"the UUID {gamepad}"
            await _told(session, "ControllerUpdate", fits, told, "controller", UUID=gamepad)


@requirement("competition.told")
async def test_competition_modes(iut: Iut) -> None:
    """Each change of the competition mode comes with all of its fields, while the program runs."""
    async with in_setup(iut, starting=False) as session:
        await start_if_possible(iut, session)
        for mode in MODES:
            await _tells_mode(session, mode)


@requirement("competition.told")
@lasting
async def test_competition_mode_after_a_while(iut: Iut) -> None:
    """A change of the competition mode comes also where nothing has happened for a while."""
    async with in_setup(iut, starting=False) as session:
        await start_if_possible(iut, session)
        await _tells_mode(session, MODES[0])
        if await session.until_closed():
            raise Inconclusive("the frontend has ended the session itself (exit.internal-error)")
        await _tells_mode(session, MODES[3])


async def _tells_mode(session: Session, mode: dict[str, Any]) -> None:
    def fits(content: Any) -> bool:
        told = content if isinstance(content, dict) else {}
        named = {**told, "mode": name_of(told.get("mode"))}
        return all(named.get(name) == value for name, value in mode.items())

    wanted = str(competition(**mode))
    await _told(session, "CompetitionMode", fits, wanted, "competition", **mode)


@requirement("touch.point")
@pytest.mark.parametrize("point", POINTS, ids=str)
async def test_points(iut: Iut, point: tuple[int, int]) -> None:
    """A touch comes with the point of the display that is touched, and so does the next."""
    async with in_setup(iut, starting=False) as session:
        await start_if_possible(iut, session)
        for x, y in (point, (240, 136), point):

            def fits(content: Any, x: int = x, y: int = y) -> bool:
                told = content if isinstance(content, dict) else {}
                place = told.get("pos")
                if name_of(told.get("event")) == "Released" or not isinstance(place, dict):
                    return False
                away = (place.get("x"), x), (place.get("y"), y)
                return all(isinstance(at, int) and abs(at - to) <= NEAR for at, to in away)

            wanted = f"a touch at {x}, {y}"
            await _told(session, "Touch", fits, wanted, "touch", x=x, y=y, event="Pressed")
            await user(session, "touch", x=x, y=y, event="Released")
            await session.watch("Touch")


async def _told(
    session: Session,
    name: str,
    fits: Callable[[Any], bool],
    expected: str,
    operation: str,
    behind: dict[str, Any] | None = None,
    **arguments: Any,
) -> None:
    """What the user does, and the command that is to tell it. Raises Violation where none does.

    ``behind`` is the competition mode that the user changes to after that.
    """
    earlier = len(received(session, name))
    await user(session, operation, **arguments)
    if behind:
        await user(session, "competition", **behind["CompetitionMode"])
    left = session.left("response")
    while True:
        commands = received(session, name)
        if any(fits(command.value[name]) for command in commands[earlier:]):
            return
        if await session.watch(name, within=left) is None:
            break
    if not commands:
        raise Inconclusive(f"the operation '{operation}' brought no {name}")
    if len(commands) == earlier:
        raise Violation(f"{expected} to be told", f"no {name} came")
    last = commands[-1]
    require_fit(session, last)
    raise Violation(f"{expected} to be told", f"{last.value[name]} came", event=last.event)
