"""Faults of the frontend in what its user does: touches, controllers, ports."""

import asyncio
from typing import Any

from conformance.vexide.codec import name_of
from mocks.deviations import fault
from mocks.vexide.faults.bases import Altering
from mocks.vexide.frontend import Frontend


@fault("second-touch", violates="touch.single")
class SecondTouch(Frontend):
    """Goes on to send Held for a second point that was touched when the first is released."""

    other: dict[str, int] | None = None

    def press(self, point: dict[str, int]) -> None:
        if self.touched is None:
            super().press(point)
        else:
            self.other = point

    def release(self) -> None:
        super().release()
        self.other, self.touched = None, self.other
        if self.touched is not None:
            self.watch_touch()

    def still_touching(self) -> None:
        if self.touched is not None:
            super().still_touching()


@fault("held-after-release", violates="touch.single", subtle=True)
class HeldAfterRelease(Frontend):
    """Sends Held once more when a touch that was held has been released."""

    held = False

    def send_touch(self, event: str) -> None:
        super().send_touch(event)
        if event == "Released" and self.held:
            super().send_touch("Held")
            super().send_touch("Released")
        self.held = event == "Held"


@fault("held-unreleased", violates="touch.single", subtle=True)
class HeldUnreleased(Frontend):
    """Sends no Released for a touch that was Held by its own clock."""

    held = False

    async def user_touches(self, args: dict[str, Any]) -> Any:
        if args["event"] != "Held":
            await super().user_touches(args)

    def send_touch(self, event: str) -> None:
        if event != "Released" or not self.held:
            super().send_touch(event)
        self.held = event == "Held"


@fault("never-held", violates="touch.held")
class NeverHeld(Frontend):
    """Goes on to send Pressed for a touch that lasts."""

    def send_touch(self, event: str) -> None:
        super().send_touch("Pressed" if event == "Held" else event)


@fault("time-of-the-touch-before", violates="touch.held", subtle=True)
class TimeOfTheTouchBefore(Frontend):
    """Counts the time until Held from an earlier touch that was over before."""

    def watch_touch(self) -> None:
        loop = asyncio.get_running_loop()
        if self._holding is None or self._holding.when() <= loop.time():
            super().watch_touch()

    def still_touching(self) -> None:
        if self.touched is not None:
            super().still_touching()

    def release(self) -> None:
        if self.touched is not None:
            self.send_touch("Released")
            self.touched = None


@fault("pressed-after-held", violates="touch.held", subtle=True)
class PressedAfterHeld(Frontend):
    """Sends Pressed once more after Held, before Released."""

    held = False

    def send_touch(self, event: str) -> None:
        if event == "Released" and self.held:
            super().send_touch("Pressed")
        self.held = event == "Held"
        super().send_touch(event)


@fault("pressed-again-while-held", violates="touch.held", subtle=True)
class PressedAgainWhileHeld(Frontend):
    """Sends Held and Pressed by turns for a touch that goes on."""

    held = False

    def send_touch(self, event: str) -> None:
        self.held = event == "Held" and not self.held
        super().send_touch("Pressed" if event == "Held" and not self.held else event)


@fault("first-touch-held-only", violates="touch.held", subtle=True)
class FirstTouchHeldOnly(Frontend):
    """Sends Held for the first touch that lasts, and for no other."""

    over = False

    def still_touching(self) -> None:
        if not self.over:
            super().still_touching()

    def release(self) -> None:
        super().release()
        self.over = True


class Steering(Altering, Frontend):
    """Alters the Raw states of the controller."""

    def alter(self, name: str, content: Any) -> None:
        if name == "ControllerUpdate" and "Raw" in content:
            self.steer(content["Raw"])

    def steer(self, state: dict[str, Any]) -> None:
        raise NotImplementedError


@fault("controller-flags", violates="controller.flags-zero")
class ControllerFlags(Steering):
    """Sends flags with each state of the controller."""

    def steer(self, state: dict[str, Any]) -> None:
        state["flags"] = 1


@fault("controller-flags-in-use", violates="controller.flags-zero", subtle=True)
class ControllerFlagsInUse(Steering):
    """Sends flags with a state in which an axis is moved or a button is pressed."""

    def steer(self, state: dict[str, Any]) -> None:
        inputs = (value for key, value in state.items() if key.startswith(("axis", "button")))
        state["flags"] = int(any(inputs))


@fault("controller-battery-over", violates="controller.ranges")
class ControllerBatteryOver(Steering):
    """Sends a battery level above the battery's capacity."""

    def steer(self, state: dict[str, Any]) -> None:
        state["battery_level"] = state["battery_capacity"] + 1


@fault("axis-128", violates="controller.ranges", subtle=True)
class Axis128(Steering):
    """Sends an axis that is moved all the way as 128."""

    def steer(self, state: dict[str, Any]) -> None:
        for axis in ("axis1", "axis2", "axis3", "axis4"):
            state[axis] += state[axis] == 127


@fault("axes-exchanged", violates="controller.told")
class AxesExchanged(Steering):
    """Tells each of the left stick's axes as the other."""

    def steer(self, state: dict[str, Any]) -> None:
        state["axis3"], state["axis4"] = state["axis4"], state["axis3"]


@fault("one-axis-clipped", violates="controller.told", subtle=True)
class OneAxisClipped(Steering):
    """Tells an axis that is moved further than 100 as moved to 100."""

    def steer(self, state: dict[str, Any]) -> None:
        state["axis2"] = max(-100, min(100, state["axis2"]))


@fault("one-button-unread", violates="controller.told", subtle=True)
class OneButtonUnread(Steering):
    """Never tells that the button sel is pressed."""

    def steer(self, state: dict[str, Any]) -> None:
        state["button_sel"] = False


@fault("first-gamepad-stays", violates="controller.told", subtle=True)
class FirstGamepadStays(Altering, Frontend):
    """Names the gamepad that was chosen first when another is."""

    first: str | None = None

    def alter(self, name: str, content: Any) -> None:
        if name == "ControllerUpdate" and "UUID" in content:
            self.first = content["UUID"] = self.first or content["UUID"]


@fault("gamepad-beside-state", violates="encoding.externally-tagged", subtle=True)
class GamepadBesideState(Altering, Frontend):
    """Names beside a state of the controller the gamepad that was chosen before."""

    gamepad: str | None = None

    def alter(self, name: str, content: Any) -> None:
        if name == "ControllerUpdate":
            self.gamepad = content.get("UUID", self.gamepad)
            if self.gamepad:
                content["UUID"] = self.gamepad


@fault("inputs-lost-disabled", violates="controller.told", subtle=True)
class InputsLostDisabled(Frontend):
    """Forgets what the user does with the controller while the robot is disabled."""

    async def user_controls(self, args: dict[str, Any]) -> Any:
        if self.world.competition["enabled"]:
            await super().user_controls(args)


@fault("autonomous-in-competitions", violates="competition.told", subtle=True)
class AutonomousInCompetitions(Altering, Frontend):
    """Tells the mode Auto of competitions only; elsewhere it is Driver."""

    def alter(self, name: str, content: Any) -> None:
        if name == "CompetitionMode" and not content["is_competition"]:
            content["mode"] = "Driver"


@fault("connected-as-competition", violates="competition.told")
class ConnectedAsCompetition(Altering, Frontend):
    """Tells whether a field control is connected as whether it is a competition."""

    def alter(self, name: str, content: Any) -> None:
        if name == "CompetitionMode":
            content["is_competition"] = content["connected"]


@fault("changes-of-enabled-only", violates="competition.told", subtle=True)
class ChangesOfEnabledOnly(Frontend):
    """Tells a change of the competition mode only if it enables or disables the robot."""

    told: bool | None = None

    def send_competition(self) -> None:
        if self.told != self.world.competition["enabled"] or not self.started:
            super().send_competition()
        self.told = self.world.competition["enabled"]


@fault("changes-of-the-first-second", violates="competition.told", subtle=True)
class ChangesOfTheFirstSecond(Frontend):
    """Tells no change of the competition mode any more a second after the program's start."""

    late = False

    def start(self) -> None:
        super().start()
        asyncio.get_running_loop().call_later(1.0, setattr, self, "late", True)

    def send_competition(self) -> None:
        if not self.late:
            super().send_competition()


@fault("point-turned", violates="touch.point")
class PointTurned(Altering, Frontend):
    """Exchanges the coordinates of a touch."""

    def alter(self, name: str, content: Any) -> None:
        if name == "Touch":
            point = content["pos"]
            point["x"], point["y"] = point["y"], point["x"]


@fault("first-240-lines", violates="touch.point", subtle=True)
class First240Lines(Altering, Frontend):
    """Has touches end at the 240th line of the display."""

    def alter(self, name: str, content: Any) -> None:
        if name == "Touch":
            content["pos"]["y"] = min(content["pos"]["y"], 239)


@fault("adi-port-8", violates="types.port-range")
class AdiPort8(Frontend):
    """Sends the input of an ADI port 8 with its setup."""

    def set_up(self) -> None:
        super().set_up()
        self.send({"AdiInput": {"port": 8, "voltage": 0.0}})


@fault("last-port-21", violates="types.port-range", subtle=True)
class LastPort21(Altering, Frontend):
    """Configures port 21 as well where a device is on port 20."""

    def send(self, message: Any) -> None:
        super().send(message)
        if name_of(message) == "ConfigureDevice":
            content = message["ConfigureDevice"]
            if content["port"] == {"Smart": 20}:
                super().send({"ConfigureDevice": {**content, "port": {"Smart": 21}}})

    def alter(self, name: str, content: Any) -> None:
        pass
