"""Faults of the frontend with its user's actions: touches, controllers, ports."""

import asyncio
from typing import Any

from mocks.deviations import Fault, Subtle, Table, fault
from mocks.steps import (
    Change,
    When,
    alter,
    before,
    call,
    die,
    first,
    having,
    later,
    note,
    noted,
    only,
    send,
    skip,
    then,
)
from mocks.vexide.faults.bases import RUNNING, edit, fields, member, named
from mocks.vexide.frontend import Frontend
from mocks.vexide.messages import AXES


def steer(**changes: Any) -> Change:
    """Send states of the controller with other inputs."""
    return fields("ControllerUpdate", "Raw", **changes)


def _exchange_left_axes(_: Frontend, controller: dict[str, Any]) -> None:
    if state := controller.get("Raw"):
        state.update(axis3=state["axis4"], axis4=state["axis3"])


def _flag_inputs(_: Frontend, controller: dict[str, Any]) -> None:
    if state := controller.get("Raw"):
        inputs = (value for key, value in state.items() if key.startswith(("axis", "button")))
        state["flags"] = int(any(inputs))


def _overcharge(_: Frontend, controller: dict[str, Any]) -> None:
    if state := controller.get("Raw"):
        state["battery_level"] = state["battery_capacity"] + 1


def _keep_first_gamepad(frontend: Any, controller: dict[str, Any]) -> None:
    if "UUID" in controller:
        frontend.first = getattr(frontend, "first", controller["UUID"])
        controller["UUID"] = frontend.first


def _add_gamepad(frontend: Any, controller: dict[str, Any]) -> None:
    frontend.gamepad = controller.get("UUID", getattr(frontend, "gamepad", None))
    if frontend.gamepad:
        controller["UUID"] = frontend.gamepad


def _configure_21(frontend: Frontend, message: Any) -> None:
    content = message["ConfigureDevice"]
    if content["port"] == {"Smart": 20}:
        frontend.send({"ConfigureDevice": {**content, "port": {"Smart": 21}}})


HELD = When(lambda _, event: event == "Held")
AFTER_HELD = When(lambda _, event: event == "Released") & noted("held")
NOTE_HELD = then("send_touch", note("held", HELD))
"""Note whether the touch that was sent last is held."""

FAULTS = Table(Frontend)

FAULTS["touch.single"] = {
    "held-unreleased": Subtle(
        "Sends no Released for a touch that became Held by its own clock.",
        skip("send_touch", AFTER_HELD),
        NOTE_HELD,
        skip("user_touches", lambda _, touch: touch["event"] == "Held"),
    ),
}

FAULTS["touch.held"] = {
    "never-held": Fault(
        "Continues to send Pressed for a long touch.",
        alter("send_touch", lambda *_: "Pressed", HELD),
    ),
    "pressed-after-held": Subtle(
        "Sends Pressed once more after Held, before Released.",
        NOTE_HELD,
        before("send_touch", call("send_touch", "Pressed"), AFTER_HELD),
    ),
    "pressed-again-while-held": Subtle(
        "Sends Held and Pressed alternately during a long touch.",
        NOTE_HELD,
        alter("send_touch", lambda *_: "Pressed", HELD & noted("held")),
    ),
    "first-touch-held-only": Subtle(
        "Sends Held only for the first long touch.",
        skip("still_touching", noted("over")),
        then("release", note("over")),
    ),
}

FAULTS["controller.flags-zero"] = {
    "controller-flags": Fault("Sends flags with each state of the controller.", steer(flags=1)),
    "controller-flags-in-use": Subtle(
        "Sends flags while an axis is moved or a button is pressed.",
        edit("ControllerUpdate", _flag_inputs),
    ),
}

FAULTS["controller.ranges"] = {
    "controller-battery-over": Fault(
        "Sends a battery level above the battery's capacity.",
        edit("ControllerUpdate", _overcharge),
    ),
    "axis-128": Subtle(
        "Sends 128 for an axis at its end position.",
        steer(**dict.fromkeys(AXES, lambda at: at + (at == 127))),
    ),
}

FAULTS["controller.told"] = {
    "axes-exchanged": Fault(
        "Exchanges the two axes of the left stick.",
        edit("ControllerUpdate", _exchange_left_axes),
    ),
    "one-axis-clipped": Subtle(
        "Limits an axis to the range -100 to 100.",
        steer(axis2=lambda at: max(-100, min(100, at))),
    ),
    "one-button-unread": Subtle(
        "Never reports that the button sel is pressed.", steer(button_sel=False)
    ),
    "first-gamepad-stays": Subtle(
        "Reports the first gamepad after the user has chosen another gamepad.",
        edit("ControllerUpdate", _keep_first_gamepad),
    ),
    "inputs-lost-disabled": Subtle(
        "Ignores inputs at the controller while the robot is disabled.",
        only("user_controls", lambda it, _: it.world.competition["enabled"]),
    ),
    "dies-of-a-button": Subtle(
        "Crashes when the user presses the button sel.",
        before("send", die, lambda _, sent: member(sent, "ControllerUpdate", "Raw", "button_sel")),
    ),
}

FAULTS["encoding.externally-tagged"] = {
    "gamepad-beside-state": Subtle(
        "Adds the gamepad that was chosen before to a state of the controller.",
        edit("ControllerUpdate", _add_gamepad),
    ),
}

FAULTS["competition.told"] = {
    "autonomous-in-competitions": Subtle(
        "Reports the mode Auto only in competitions; else it reports Driver.",
        fields("CompetitionMode", mode="Driver", when=lambda _, mode: not mode["is_competition"]),
    ),
    "connected-as-competition": Fault(
        "Copies connected, a field of the competition mode, to is_competition.",
        edit("CompetitionMode", lambda _, mode: mode.update(is_competition=mode["connected"])),
    ),
    "changes-of-the-first-second": Subtle(
        "Reports no change of the competition mode more than a second after the start.",
        skip("send_competition", noted("late")),
        then("start", later(1.0, note("late"))),
    ),
}

FAULTS["touch.point"] = {
    "point-turned": Fault(
        "Exchanges the coordinates of a touch.",
        fields("Touch", pos=lambda at: {"x": at["y"], "y": at["x"]}),
    ),
    "first-240-lines": Subtle(
        "Limits touches to the first 240 lines of the display.",
        fields("Touch", "pos", y=lambda y: min(y, 239)),
    ),
}

FAULTS["types.port-range"] = {
    "adi-port-8": Fault(
        "Sends an input of ADI port 8, which does not exist, during setup.",
        then("set_up", send({"AdiInput": {"port": 8, "voltage": 0.0}})),
    ),
    "last-port-21": Subtle(
        "Also configures port 21 if a device is on port 20.",
        then("send", _configure_21, named("ConfigureDevice")),
    ),
}

FAULTS["setup.starting-state"] = {
    "card-after-start": Subtle(
        "Sends the card and the battery only after StartExecution.",
        only("send_card", RUNNING),
        only("send_battery", RUNNING),
        then("start", "send_card", lambda frontend: frontend.world.card is not None),
        then("start", "send_battery", lambda frontend: frontend.world.battery is not None),
    ),
}

FAULTS["sdcard.told"] = {
    "card-not-sent": Fault(
        "Sends no USD for a card that the user mounts during a session.",
        skip("send_card", having("handshaken")),
    ),
    "removed-card-stays": Subtle(
        "Sends no USD if the user removes the card.",
        skip("send_card", lambda frontend: frontend.world.card is None),
    ),
    "card-name-only": Subtle(
        "Sends only the name of the card's directory, without its path.",
        fields("USD", root=lambda root: root and root.rpartition("/")[2]),
    ),
}

FAULTS["battery.told"] = {
    "battery-in-percent": Fault(
        "Sends the energy of the battery in percent.",
        fields("SetBatteryCapacity", capacity=lambda energy: energy * (100 / 14)),
    ),
    "battery-once": Subtle(
        "Sends the energy of the battery once in a session.", only("send_battery", first(1))
    ),
}

FAULTS["adi.told"] = {
    "adi-in-millivolts": Fault(
        "Sends the input of an ADI port in millivolts.",
        fields("AdiInput", voltage=lambda volts: volts * 1000),
    ),
    "adi-ports-from-one": Subtle(
        "Counts the ADI ports from one, except the last port.",
        fields("AdiInput", port=lambda port: min(port + 1, 7)),
    ),
}


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


@fault("held-after-a-short-touch", violates="touch.single", subtle=True)
class HeldAfterAShortTouch(Frontend):
    """Does not stop the timer of Held when a touch ends."""

    at: dict[str, int] | None = None

    def send_touch(self, event: str) -> None:
        self.at = self.touched or self.at
        self.send({"Touch": {"pos": self.at, "event": event}})

    def release(self) -> None:
        if self.touched is not None:
            self.send_touch("Released")
            self.touched = None


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


@fault("changes-of-enabled-only", violates="competition.told", subtle=True)
class ChangesOfEnabledOnly(Frontend):
    """Reports a change of the competition mode only if it enables or disables the robot."""

    told: bool | None = None

    def send_competition(self) -> None:
        if self.told != self.world.competition["enabled"] or not self.started:
            super().send_competition()
        self.told = self.world.competition["enabled"]
