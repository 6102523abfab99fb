"""Faults of the simulator with the controller."""

from collections.abc import Callable
from typing import Any

from mocks.deviations import Fault, Subtle, Table, fault
from mocks.steps import Change, When, alter, first, having, only, skip, then
from mocks.vexide.faults.bases import ENABLED, RUNNING
from mocks.vexide.messages import AXES
from mocks.vexide.simulator import Simulator

RAW = When(lambda _, controller: controller[0] == "Raw")
"""If a ControllerUpdate has the state of the controller; else it names a gamepad."""
DRIVER = When(lambda sim, *_: sim.robot.competition["mode"] == "Driver")


def raw(holds: Callable[[Any], bool]) -> When:
    """If the state in a ControllerUpdate has a property."""
    return RAW & (lambda _, controller: holds(controller[1]))


def steer(change: Callable[[Any], dict[str, Any]]) -> Change:
    """Change some inputs in each state of the controller."""
    return alter("control", lambda _, to: ("Raw", {**to[1], **change(to[1])}), RAW)


def _near_middle(state: dict[str, Any]) -> dict[str, Any]:
    return {name: 0 for name, at in state.items() if name.startswith("axis") and abs(at) < 5}


def _further_buttons(state: dict[str, Any]) -> dict[str, Any]:
    pressed = [name for name, on in state.items() if name.startswith("button") and on is True]
    return dict.fromkeys(pressed[1:], False)


FAULTS = Table(Simulator)

FAULTS["controller.stored-while-disabled"] = {
    "controller-lost-disabled": Fault(
        "Drops a ControllerUpdate that comes while the robot is disabled or autonomous.",
        only("control", ENABLED & DRIVER),
    ),
    "controller-lost-autonomous": Subtle(
        "Drops a ControllerUpdate that comes while the robot is autonomous.",
        only("control", DRIVER),
    ),
}

FAULTS["controller.uuid-replaces-raw"] = {
    "uuid-lost-disabled": Subtle(
        "Drops the UUID of a gamepad that comes while the robot is disabled.",
        skip("control", ~RAW & ~ENABLED),
    ),
    "raw-survives-uuid": Fault("Keeps the Raw state when a UUID is given.", skip("control", ~RAW)),
    "raw-survives-uuid-while-running": Subtle(
        "Keeps the Raw state when a UUID is given while the program runs.",
        skip("control", ~RAW & RUNNING),
    ),
    "uuid-of-setup-lost": Subtle(
        "Drops the UUID of a gamepad that comes before the program runs.",
        skip("control", ~RAW & ~RUNNING),
    ),
}

FAULTS["controller.raw-replaces-uuid"] = {
    "controller-cleared-disabled": Subtle(
        "Forgets the state of the controller when the robot is disabled.",
        then("compete", lambda sim, _: sim.robot.control("none", None), ~ENABLED),
    ),
    "uuid-sticks": Fault(
        "Ignores Raw states after a UUID.", skip("control", RAW & having("robot.gamepad"))
    ),
    "battery-percent": Subtle(
        "Drops a Raw state whose battery level is above 100, as if it were a percentage.",
        skip("control", raw(lambda state: state["battery_level"] > 100)),
    ),
    "battery-empty-unseen": Subtle(
        "Treats a battery level of zero as missing, and drops the Raw state.",
        skip("control", raw(lambda state: not state["battery_level"])),
    ),
    "raw-lost-in-competitions": Subtle(
        "Drops a Raw state that comes while the robot is in a competition.",
        skip("control", RAW & (lambda sim, _: sim.robot.competition["is_competition"])),
    ),
    "rest-unseen": Subtle(
        "Ignores a Raw state whose first axis is at rest.",
        skip("control", raw(lambda state: not state["axis1"])),
    ),
    "sticks-exchanged": Subtle(
        "Exchanges the two axes of the left stick.",
        steer(lambda state: {"axis3": state["axis4"], "axis4": state["axis3"]}),
    ),
    "axes-clipped": Subtle(
        "Limits an axis to a maximum of 100.",
        steer(lambda state: {axis: min(state[axis], 100) for axis in AXES}),
    ),
    "dead-zone": Subtle("Treats an axis near its middle as at rest.", steer(_near_middle)),
    "one-button-at-a-time": Subtle(
        "Reports only the first of several buttons that are pressed together.",
        steer(_further_buttons),
    ),
    "one-button-unseen": Subtle(
        "Does not report to the program that the button sel is pressed.",
        steer(lambda _: {"button_sel": False}),
    ),
    "raw-of-setup-lost": Subtle(
        "Accepts a Raw state only while the program runs.", skip("control", RAW & ~RUNNING)
    ),
    "raw-taken-once": Subtle(
        "Accepts only the first Raw state of a session.", skip("control", RAW & ~first(1))
    ),
}


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
