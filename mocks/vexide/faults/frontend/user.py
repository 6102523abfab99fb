"""Faults of the frontend with its user's actions: touches, controllers, ports."""

import asyncio
import os
import signal
from typing import Any

from conformance.vexide.codec import name_of
from mocks.deviations import fault
from mocks.vexide.faults.bases import Altering
from mocks.vexide.frontend import Frontend


@fault("second-touch", violates="touch.single")
class SecondTouch(Frontend):
    """Sends Held for a second touched point after the first point is released."""

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
    """Sends Held once more after a held touch was released."""

    held = False

    def send_touch(self, event: str) -> None:
        super().send_touch(event)
        if event == "Released" and self.held:
            super().send_touch("Held")
            super().send_touch("Released")
        self.held = event == "Held"


@fault("held-unreleased", violates="touch.single", subtle=True)
class HeldUnreleased(Frontend):
    """Sends no Released for a touch that became Held by its own clock."""

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
    """Continues to send Pressed for a long touch."""

    def send_touch(self, event: str) -> None:
        super().send_touch("Pressed" if event == "Held" else event)


@fault("time-of-the-touch-before", violates="touch.held", subtle=True)
class TimeOfTheTouchBefore(Frontend):
    """Counts the time until Held from an earlier touch that has already ended."""

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
    """Sends Held and Pressed alternately during a long touch."""

    held = False

    def send_touch(self, event: str) -> None:
        self.held = event == "Held" and not self.held
        super().send_touch("Pressed" if event == "Held" and not self.held else event)


@fault("first-touch-held-only", violates="touch.held", subtle=True)
class FirstTouchHeldOnly(Frontend):
    """Sends Held only for the first long touch."""

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
    """Sends flags while an axis is moved or a button is pressed."""

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
    """Sends 128 for an axis at its end position."""

    def steer(self, state: dict[str, Any]) -> None:
        for axis in ("axis1", "axis2", "axis3", "axis4"):
            state[axis] += state[axis] == 127


@fault("axes-exchanged", violates="controller.told")
class AxesExchanged(Steering):
    """Exchanges the two axes of the left stick."""

    def steer(self, state: dict[str, Any]) -> None:
        state["axis3"], state["axis4"] = state["axis4"], state["axis3"]


@fault("one-axis-clipped", violates="controller.told", subtle=True)
class OneAxisClipped(Steering):
    """Limits an axis to the range -100 to 100."""

    def steer(self, state: dict[str, Any]) -> None:
        state["axis2"] = max(-100, min(100, state["axis2"]))


@fault("one-button-unread", violates="controller.told", subtle=True)
class OneButtonUnread(Steering):
    """Never reports that the button sel is pressed."""

    def steer(self, state: dict[str, Any]) -> None:
        state["button_sel"] = False


@fault("first-gamepad-stays", violates="controller.told", subtle=True)
class FirstGamepadStays(Altering, Frontend):
    """Reports the first gamepad after the user has chosen another gamepad."""

    first: str | None = None

    def alter(self, name: str, content: Any) -> None:
        if name == "ControllerUpdate" and "UUID" in content:
            self.first = content["UUID"] = self.first or content["UUID"]


@fault("gamepad-beside-state", violates="encoding.externally-tagged", subtle=True)
class GamepadBesideState(Altering, Frontend):
    """Adds the gamepad that was chosen before to a state of the controller."""

    gamepad: str | None = None

    def alter(self, name: str, content: Any) -> None:
        if name == "ControllerUpdate":
            self.gamepad = content.get("UUID", self.gamepad)
            if self.gamepad:
                content["UUID"] = self.gamepad


@fault("inputs-lost-disabled", violates="controller.told", subtle=True)
class InputsLostDisabled(Frontend):
    """Ignores inputs at the controller while the robot is disabled."""

    async def user_controls(self, args: dict[str, Any]) -> Any:
        if self.world.competition["enabled"]:
            await super().user_controls(args)


@fault("autonomous-in-competitions", violates="competition.told", subtle=True)
class AutonomousInCompetitions(Altering, Frontend):
    """Reports the mode Auto only in competitions; else it reports Driver."""

    def alter(self, name: str, content: Any) -> None:
        if name == "CompetitionMode" and not content["is_competition"]:
            content["mode"] = "Driver"


@fault("connected-as-competition", violates="competition.told")
class ConnectedAsCompetition(Altering, Frontend):
    """Copies connected, a field of the competition mode, to is_competition."""

    def alter(self, name: str, content: Any) -> None:
        if name == "CompetitionMode":
            content["is_competition"] = content["connected"]


@fault("changes-of-enabled-only", violates="competition.told", subtle=True)
class ChangesOfEnabledOnly(Frontend):
    """Reports a change of the competition mode only if it enables or disables the robot."""

    told: bool | None = None

    def send_competition(self) -> None:
        if self.told != self.world.competition["enabled"] or not self.started:
            super().send_competition()
        self.told = self.world.competition["enabled"]


@fault("changes-of-the-first-second", violates="competition.told", subtle=True)
class ChangesOfTheFirstSecond(Frontend):
    """Reports no change of the competition mode more than a second after the start."""

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
    """Limits touches to the first 240 lines of the display."""

    def alter(self, name: str, content: Any) -> None:
        if name == "Touch":
            content["pos"]["y"] = min(content["pos"]["y"], 239)


@fault("adi-port-8", violates="types.port-range")
class AdiPort8(Frontend):
    """Sends an input of ADI port 8, which does not exist, during setup."""

    def set_up(self) -> None:
        super().set_up()
        self.send({"AdiInput": {"port": 8, "voltage": 0.0}})


@fault("last-port-21", violates="types.port-range", subtle=True)
class LastPort21(Altering, Frontend):
    """Also configures port 21 if a device is on port 20."""

    def send(self, message: Any) -> None:
        super().send(message)
        if name_of(message) == "ConfigureDevice":
            content = message["ConfigureDevice"]
            if content["port"] == {"Smart": 20}:
                super().send({"ConfigureDevice": {**content, "port": {"Smart": 21}}})

    def alter(self, name: str, content: Any) -> None:
        pass


@fault("card-not-sent", violates="sdcard.told")
class CardNotSent(Frontend):
    """Sends no USD for a card that the user mounts during a session."""

    def send_card(self) -> None:
        if not self.handshaken:
            super().send_card()


@fault("removed-card-stays", violates="sdcard.told", subtle=True)
class RemovedCardStays(Frontend):
    """Sends no USD if the user removes the card."""

    def send_card(self) -> None:
        if self.world.card is not None:
            super().send_card()


@fault("card-name-only", violates="sdcard.told", subtle=True)
class CardNameOnly(Altering, Frontend):
    """Sends only the name of the card's directory, without its path."""

    def alter(self, name: str, content: Any) -> None:
        if name == "USD" and content["root"]:
            content["root"] = content["root"].rpartition("/")[2]


@fault("card-after-start", violates="setup.starting-state", subtle=True)
class CardAfterStart(Frontend):
    """Sends the card and the battery only after StartExecution."""

    def send_card(self) -> None:
        if self.started:
            super().send_card()

    def send_battery(self) -> None:
        if self.started:
            super().send_battery()

    def start(self) -> None:
        super().start()
        if self.world.card is not None:
            self.send_card()
        if self.world.battery is not None:
            self.send_battery()


@fault("battery-in-percent", violates="battery.told")
class BatteryInPercent(Altering, Frontend):
    """Sends the energy of the battery in percent."""

    def alter(self, name: str, content: Any) -> None:
        if name == "SetBatteryCapacity":
            content["capacity"] *= 100 / 14


@fault("battery-once", violates="battery.told", subtle=True)
class BatteryOnce(Frontend):
    """Sends the energy of the battery once in a session."""

    charged = False

    def send_battery(self) -> None:
        if not self.charged:
            super().send_battery()
        self.charged = True


@fault("adi-in-millivolts", violates="adi.told")
class AdiInMillivolts(Altering, Frontend):
    """Sends the input of an ADI port in millivolts."""

    def alter(self, name: str, content: Any) -> None:
        if name == "AdiInput":
            content["voltage"] *= 1000


@fault("adi-ports-from-one", violates="adi.told", subtle=True)
class AdiPortsFromOne(Altering, Frontend):
    """Counts the ADI ports from one, except the last port."""

    def alter(self, name: str, content: Any) -> None:
        if name == "AdiInput" and content["port"] < 7:
            content["port"] += 1


@fault("dies-of-a-button", violates="controller.told", subtle=True)
class DiesOfAButton(Steering):
    """Crashes when the user presses the button sel."""

    def steer(self, state: dict[str, Any]) -> None:
        if state["button_sel"]:
            os.kill(os.getpid(), signal.SIGKILL)
