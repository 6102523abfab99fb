"""The simulator receives the user's inputs, competition modes and points unchanged."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conformance.cases import lasting, requirement
from conformance.iut import Iut
from conformance.session import Session
from conformance.verdicts import Inconclusive, NotExercised, Violation
from conformance.vexide.codec import name_of
from conformance.vexide.commands import BUTTONS, GAMEPADS, competition, raw_state
from conformance.vexide.frontend.tester import open_in_setup, operate, start_if_possible
from conformance.vexide.tester import is_close, is_path, messages_named, require_fit

AXES = {"axis1": 31, "axis2": -64, "axis3": 97, "axis4": -127}
INPUTS = (*AXES, *(f"button_{name}" for name in BUTTONS if name != "all"))
"""The fields of a Raw state that are compared. The specification does not define button_all."""

POINTS = ((37, 200), (0, 0), (479, 271), (300, 11))
NEAR = 2  # pixels of tolerance for a point, because the frontend's display can have another scale

# Each mode changes some fields, so that each field is seen to follow the user.
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
    """Each axis is sent in its own field after each change."""
    ends = (dict.fromkeys(AXES, value) for value in (64, 127, -127))
    await _check_controls(iut, AXES, *ends, {})


@requirement("controller.told")
async def test_buttons(iut: Iut) -> None:
    """Each button is sent in its own field, only while the button is pressed.

    The user's input is sent as a Raw state, even if a gamepad was chosen before.
    """
    pressed = ({name: True} for name in INPUTS if name not in AXES)
    await _check_controls(iut, *pressed, {}, gamepad=GAMEPADS[0])


@requirement("controller.told")
@pytest.mark.parametrize(
    "barred", [{"enabled": False}, {"mode": "Auto"}], ids=["disabled", "autonomous"]
)
async def test_inputs_that_cannot_be_read_yet(iut: Iut, barred: dict[str, Any]) -> None:
    """An input in a mode that bars the controller is sent before the mode ends."""
    await _check_controls(iut, {"axis1": 64}, {}, barred=barred)


def _limited_axis(reported: Any) -> Any:
    """Limit a reported axis to its range; another requirement checks the range."""
    return max(-127, min(127, reported)) if isinstance(reported, int) else reported


async def _check_controls(
    iut: Iut, *changes: dict[str, Any], barred: dict[str, Any] | None = None, gamepad: str = ""
) -> None:
    """Make each of these changes and require a Raw state with it.

    ``barred`` is a mode to set before each change. ``gamepad`` is the UUID of a gamepad to choose
    first, if the frontend supports gamepads.
    """
    async with open_in_setup(iut, starting=False) as session:
        await start_if_possible(iut, session)
        if gamepad:
            await session.operate("controller", UUID=gamepad)
        for changed in changes:
            if barred:
                await operate(session, "competition", **competition(**barred)["CompetitionMode"])
            update = raw_state(**changed)["ControllerUpdate"]
            wanted = {name: update["Raw"][name] for name in INPUTS}

            def fits(content: Any, wanted: dict[str, Any] = wanted) -> bool:
                state = content.get("Raw") if isinstance(content, dict) else None
                reported = state if isinstance(state, dict) else {}
                return all(
                    _limited_axis(reported.get(name)) == value for name, value in wanted.items()
                )

            what = ", ".join(f"{name} at {value}" for name, value in changed.items())
            expected = f"a Raw state with {what or 'nothing moved or pressed'}"
            mode_after = competition() if barred else None
            about = "ControllerUpdate"
            await _expect_command(
                session, about, fits, expected, "controller", mode_after=mode_after, **update
            )


@requirement("controller.told")
async def test_gamepads(iut: Iut) -> None:
    """The UUID of the chosen gamepad is sent unchanged, also after a second choice."""
    async with open_in_setup(iut, starting=False) as session:
        await start_if_possible(iut, session)
        first = await session.operate("controller", UUID=GAMEPADS[0])
        if not first.ok:
            raise NotExercised(f"the frontend accepts no UUID of a gamepad: {first.why}")
        for gamepad in reversed(GAMEPADS):

            def fits(content: Any, gamepad: str = gamepad) -> bool:
                reported = content.get("UUID") if isinstance(content, dict) else None
                return str(reported).lower() == gamepad

            expected = f"the UUID {gamepad}"
            await _expect_command(
                session, "ControllerUpdate", fits, expected, "controller", UUID=gamepad
            )


@requirement("competition.told")
async def test_competition_modes(iut: Iut) -> None:
    """Each change of the competition mode is sent with all fields."""
    async with open_in_setup(iut, starting=False) as session:
        await start_if_possible(iut, session)
        for mode in MODES:
            await _check_mode_told(session, mode)


@requirement("competition.told")
@lasting
async def test_competition_mode_after_a_while(iut: Iut) -> None:
    """A change of the competition mode is sent also after a while without messages."""
    async with open_in_setup(iut, starting=False) as session:
        await start_if_possible(iut, session)
        await _check_mode_told(session, MODES[0])
        if await session.until_closed():
            raise Inconclusive("the frontend ended the session itself (exit.internal-error)")
        await _check_mode_told(session, MODES[3])


async def _check_mode_told(session: Session, mode: dict[str, Any]) -> None:
    def fits(content: Any) -> bool:
        reported = content if isinstance(content, dict) else {}
        named = {**reported, "mode": name_of(reported.get("mode"))}
        return all(named.get(name) == value for name, value in mode.items())

    wanted = str(competition(**mode))
    await _expect_command(session, "CompetitionMode", fits, wanted, "competition", **mode)


@requirement("sdcard.told")
async def test_card(iut: Iut) -> None:
    """Each card that the user mounts, and its removal, is sent."""
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        cards = [Path(folder) / "first", Path(folder) / "second card, ä€😀"]
        for card in cards:
            card.mkdir()
        async with open_in_setup(iut, starting=False) as session:
            await start_if_possible(iut, session)
            for root in (str(cards[0]), None, str(cards[1]), str(cards[0]), None):

                def fits(content: Any, root: str | None = root) -> bool:
                    reported = content if isinstance(content, dict) else {"root": content}
                    sent = reported.get("root")
                    return sent is None if root is None else is_path(sent, root)

                wanted = f"the root {root}" if root else "no root"
                await _expect_command(session, "USD", fits, wanted, "sdcard", root=root)


@requirement("battery.told")
async def test_battery(iut: Iut) -> None:
    """Each energy that the user sets is sent, also of an empty battery."""
    async with open_in_setup(iut, starting=False) as session:
        await start_if_possible(iut, session)
        for capacity in (7.25, 14.0, 0.5, 0.0, 14.0):

            def fits(content: Any, capacity: float = capacity) -> bool:
                reported = content.get("capacity") if isinstance(content, dict) else None
                return is_close(reported, capacity)

            wanted = f"{capacity} Wh"
            await _expect_command(
                session, "SetBatteryCapacity", fits, wanted, "battery", capacity=capacity
            )


@requirement("adi.told")
async def test_adi_inputs(iut: Iut) -> None:
    """Each input of an ADI port is sent with its port and its voltage."""
    async with open_in_setup(iut, starting=False) as session:
        await start_if_possible(iut, session)
        for port, voltage in ((0, 2.5), (7, 5.0), (0, 0.0), (3, 0.25), (3, 4.75)):

            def fits(content: Any, port: int = port, voltage: float = voltage) -> bool:
                reported = content if isinstance(content, dict) else {}
                return reported.get("port") == port and is_close(reported.get("voltage"), voltage)

            wanted = f"{voltage} V at ADI port {port}"
            await _expect_command(
                session, "AdiInput", fits, wanted, "adi", port=port, voltage=voltage
            )


@requirement("touch.point")
@pytest.mark.parametrize("point", POINTS, ids=str)
async def test_points(iut: Iut, point: tuple[int, int]) -> None:
    """Each touch is sent with the point that the user touches."""
    async with open_in_setup(iut, starting=False) as session:
        await start_if_possible(iut, session)
        for x, y in (point, (240, 136), point):

            def fits(content: Any, x: int = x, y: int = y) -> bool:
                reported = content if isinstance(content, dict) else {}
                place = reported.get("pos")
                if name_of(reported.get("event")) == "Released" or not isinstance(place, dict):
                    return False
                away = (place.get("x"), x), (place.get("y"), y)
                return all(isinstance(at, int) and abs(at - to) <= NEAR for at, to in away)

            wanted = f"a touch at {x}, {y}"
            await _expect_command(
                session, "Touch", fits, wanted, "touch", x=x, y=y, event="Pressed"
            )
            await operate(session, "touch", x=x, y=y, event="Released")
            await session.wait_for("Touch")


async def _expect_command(
    session: Session,
    name: str,
    fits: Callable[[Any], bool],
    expected: str,
    operation: str,
    mode_after: dict[str, Any] | None = None,
    **arguments: Any,
) -> None:
    """Perform an operation of the user and require the command that reports it.

    ``mode_after`` is the competition mode that the user changes to afterwards. Raises Violation if
    no command fits.
    """
    earlier = len(messages_named(session, name))
    await operate(session, operation, **arguments)
    if mode_after:
        await operate(session, "competition", **mode_after["CompetitionMode"])
    left = session.countdown("response")
    while True:
        commands = messages_named(session, name)
        if any(fits(command.value[name]) for command in commands[earlier:]):
            return
        if await session.wait_for(name, within=left) is None:
            break
    if not commands and operation in session.instance.configuration.hooks:
        # The hook is a command of its own, which possibly does nothing.
        raise Inconclusive(f"the hook '{operation}' produced no {name}")
    if len(commands) == earlier:
        raise Violation(f"a command with {expected}", f"received no {name}")
    last = commands[-1]
    require_fit(session, last)
    raise Violation(f"a command with {expected}", f"received {last.value[name]}", event=last.event)
