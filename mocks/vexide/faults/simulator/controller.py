"""Faults of the simulator with the controller."""

from typing import Any

from mocks.deviations import fault
from mocks.vexide.simulator import Simulator


@fault("controller-lost-disabled", violates="controller.stored-while-disabled")
class ControllerLostDisabled(Simulator):
    """Drops a ControllerUpdate that comes while the robot is disabled or autonomous."""

    def control(self, content: tuple[str, Any]) -> None:
        mode = self.robot.competition
        if mode["enabled"] and mode["mode"] == "Driver":
            super().control(content)


@fault(
    "controller-lost-autonomous",
    violates="controller.stored-while-disabled",
    subtle=True,
)
class ControllerLostAutonomous(Simulator):
    """Drops a ControllerUpdate that comes while the robot is autonomous."""

    def control(self, content: tuple[str, Any]) -> None:
        if self.robot.competition["mode"] == "Driver":
            super().control(content)


@fault("uuid-lost-disabled", violates="controller.uuid-replaces-raw", subtle=True)
class UuidLostDisabled(Simulator):
    """Drops the UUID of a gamepad that comes while the robot is disabled."""

    def control(self, content: tuple[str, Any]) -> None:
        if self.robot.competition["enabled"] or content[0] != "UUID":
            super().control(content)


@fault("controller-cleared-disabled", violates="controller.raw-replaces-uuid", subtle=True)
class ControllerClearedDisabled(Simulator):
    """Forgets the state of the controller when the robot is disabled."""

    def compete(self, content: dict[str, Any]) -> None:
        super().compete(content)
        if not content["enabled"]:
            self.robot.control("none", None)


@fault("uuid-sticks", violates="controller.raw-replaces-uuid")
class UuidSticks(Simulator):
    """Ignores Raw states after a UUID."""

    def control(self, content: tuple[str, Any]) -> None:
        if content[0] == "UUID" or self.robot.gamepad is None:
            super().control(content)


@fault("battery-percent", violates="controller.raw-replaces-uuid", subtle=True)
class BatteryPercent(Simulator):
    """Drops a Raw state whose battery level is above 100, as if it were a percentage."""

    def control(self, content: tuple[str, Any]) -> None:
        kind, state = content
        if kind == "UUID" or state["battery_level"] <= 100:
            super().control(content)


@fault("battery-empty-unseen", violates="controller.raw-replaces-uuid", subtle=True)
class BatteryEmptyUnseen(Simulator):
    """Treats a battery level of zero as missing, and drops the Raw state."""

    def control(self, content: tuple[str, Any]) -> None:
        kind, state = content
        if kind == "UUID" or state["battery_level"]:
            super().control(content)


@fault("raw-lost-in-competitions", violates="controller.raw-replaces-uuid", subtle=True)
class RawLostInCompetitions(Simulator):
    """Drops a Raw state that comes while the robot is in a competition."""

    def control(self, content: tuple[str, Any]) -> None:
        if content[0] == "UUID" or not self.robot.competition["is_competition"]:
            super().control(content)


@fault("rest-unseen", violates="controller.raw-replaces-uuid", subtle=True)
class RestUnseen(Simulator):
    """Ignores a Raw state whose first axis is at rest."""

    def control(self, content: tuple[str, Any]) -> None:
        kind, state = content
        if kind == "UUID" or state["axis1"]:
            super().control(content)


@fault("sticks-exchanged", violates="controller.raw-replaces-uuid", subtle=True)
class SticksExchanged(Simulator):
    """Exchanges the two axes of the left stick."""

    def control(self, content: tuple[str, Any]) -> None:
        kind, state = content
        if kind == "Raw":
            state = {**state, "axis3": state["axis4"], "axis4": state["axis3"]}
        super().control((kind, state))


@fault("axes-clipped", violates="controller.raw-replaces-uuid", subtle=True)
class AxesClipped(Simulator):
    """Limits an axis to a maximum of 100."""

    def control(self, content: tuple[str, Any]) -> None:
        kind, state = content
        if kind == "Raw":
            axes = ("axis1", "axis2", "axis3", "axis4")
            state = {**state, **{axis: min(state[axis], 100) for axis in axes}}
        super().control((kind, state))


@fault("dead-zone", violates="controller.raw-replaces-uuid", subtle=True)
class DeadZone(Simulator):
    """Treats an axis near its middle as at rest."""

    def control(self, content: tuple[str, Any]) -> None:
        kind, state = content
        if kind == "Raw":
            axes = {n: v for n, v in state.items() if n.startswith("axis") and abs(v) < 5}
            state = {**state, **dict.fromkeys(axes, 0)}
        super().control((kind, state))


@fault("one-button-at-a-time", violates="controller.raw-replaces-uuid", subtle=True)
class OneButtonAtATime(Simulator):
    """Reports only the first of several buttons that are pressed together."""

    def control(self, content: tuple[str, Any]) -> None:
        kind, state = content
        if kind == "Raw":
            pressed = [n for n, v in state.items() if n.startswith("button") and v is True]
            state = {**state, **dict.fromkeys(pressed[1:], False)}
        super().control((kind, state))


@fault("one-button-unseen", violates="controller.raw-replaces-uuid", subtle=True)
class OneButtonUnseen(Simulator):
    """Does not report to the program that the button sel is pressed."""

    def control(self, content: tuple[str, Any]) -> None:
        kind, state = content
        super().control((kind, state if kind == "UUID" else {**state, "button_sel": False}))


@fault("raw-of-setup-lost", violates="controller.raw-replaces-uuid", subtle=True)
class RawOfSetupLost(Simulator):
    """Accepts a Raw state only while the program runs."""

    def control(self, content: tuple[str, Any]) -> None:
        if content[0] == "UUID" or self.started:
            super().control(content)


@fault("first-raw-sticks", violates="controller.raw-replaces-uuid", subtle=True)
class FirstRawSticks(Simulator):
    """Accepts the first Raw state after a UUID, but no later state."""

    named = False
    taken = False

    def control(self, content: tuple[str, Any]) -> None:
        if content[0] == "UUID":
            self.named, self.taken = True, False
        elif self.named and self.taken:
            return
        else:
            self.taken = True
        super().control(content)


@fault("raw-taken-once", violates="controller.raw-replaces-uuid", subtle=True)
class RawTakenOnce(Simulator):
    """Accepts only the first Raw state of a session."""

    taken = False

    def control(self, content: tuple[str, Any]) -> None:
        if content[0] == "UUID" or not self.taken:
            super().control(content)
        self.taken = self.taken or content[0] == "Raw"


@fault("raw-survives-uuid", violates="controller.uuid-replaces-raw")
class RawSurvivesUuid(Simulator):
    """Keeps the Raw state when a UUID is given."""

    def control(self, content: tuple[str, Any]) -> None:
        if content[0] == "Raw":
            super().control(content)


@fault(
    "raw-survives-uuid-while-running",
    violates="controller.uuid-replaces-raw",
    subtle=True,
)
class RawSurvivesUuidWhileRunning(Simulator):
    """Keeps the Raw state when a UUID is given while the program runs."""

    def control(self, content: tuple[str, Any]) -> None:
        if content[0] == "Raw" or not self.started:
            super().control(content)


@fault("uuid-of-setup-lost", violates="controller.uuid-replaces-raw", subtle=True)
class UuidOfSetupLost(Simulator):
    """Drops the UUID of a gamepad that comes before the program runs."""

    def control(self, content: tuple[str, Any]) -> None:
        if content[0] == "Raw" or self.started:
            super().control(content)


@fault("controller-read-as-pair", violates="encoding.externally-tagged", subtle=True)
class ControllerReadAsPair(Simulator):
    """Reads a ControllerUpdate only as a pair of controllers, and closes at other values."""

    def message(self, name: str, value: Any) -> None:
        if name != "ControllerUpdate":
            super().message(name, value)
        elif isinstance(value[name], list):
            super().message(name, {name: value[name][0]})
        else:
            self.close()
