"""Faults of the sender about joysticks and buttons."""

import math
from collections.abc import Callable, Mapping
from typing import Any

from mocks.deviations import Fault, Subtle, Table
from mocks.runtime.gamepad_sender import Pad, Sender
from mocks.steps import Change, Function, alter, before, die, fail, instead, returning


def _axes(change: Callable[[float, float, float, float], tuple[float, ...]]) -> Change:
    """Read other axes of a gamepad."""
    return alter("pad", lambda _, raw: {**raw, "axes": change(*raw["axes"])})


def _together_in_circle(*axes: float) -> tuple[float, ...]:
    radius = max(math.hypot(*axes), 1.0)
    return tuple(axis / radius for axis in axes)


def _stay(usual: Function, sender: Any, x: float, y: float) -> Any:
    if (x, y) != (0.0, 0.0):
        sender.position = usual(sender, x, y)
    return vars(sender).get("position", (0.0, 0.0))


def _is_at_rest(_: Sender, pads: Mapping[str, Pad]) -> bool:
    return bool(pads) and not any(any(raw["axes"]) for raw in pads.values())


def _pulls_trigger(_: Sender, raw: Pad) -> bool:
    return bool(raw["buttons"][7])


def _press_arrow(usual: Function, sender: Sender, raw: Pad) -> dict[str, Any]:
    return {"btn": usual(sender, raw)["btn"] | (raw["axes"][0] <= -1) << 14}


def _right_square(usual: Function, sender: Sender, raw: Pad) -> dict[str, Any]:
    _, _, rx, ry = raw["axes"]
    return {**usual(sender, raw), "rx": float(rx), "ry": float(ry)}


def _later_square(usual: Function, sender: Sender, pads: Mapping[str, Pad]) -> Any:
    sent = usual(sender, pads)
    for index, raw in list(pads.items())[1:]:
        axes = map(float, raw["axes"])
        sent["gamepads"][sender.index(index)] |= zip(("lx", "ly", "rx", "ry"), axes, strict=True)
    return sent


def _turn_all(message: Any) -> Any:
    for pad in message["gamepads"].values():
        pad.update(ly=-pad["ly"], ry=-pad["ry"])
    return message


def _at_edge(_: Sender, x: float, y: float) -> tuple[float, float]:
    radius = math.hypot(x, y) or 1.0
    return x / radius, y / radius


def _keep_pressed(usual: Function, sender: Any, buttons: Any) -> Any:
    sender.pressed = usual(sender, buttons) or vars(sender).get("pressed", 0)
    return sender.pressed


FAULTS = Table(Sender)

FAULTS["gamepad.axes-numbers"] = {
    "axes-as-text": Fault("Writes axes as text.", returning("axis", lambda axis: f"{axis:.3f}")),
    "nil-at-rest": Subtle(
        "Writes nil for an axis at rest.", returning("axis", lambda axis: axis or None)
    ),
}

FAULTS["gamepad.axes-floats"] = {
    "whole-axes-as-integers": Subtle(
        "Writes axes with whole values as integers, as JavaScript does.",
        returning("axis", lambda axis: int(axis) if axis == int(axis) else axis),
    ),
}

FAULTS["gamepad.at-rest"] = {
    "drifts": Fault(
        "Adds a constant offset, as from a worn joystick.",
        alter("joystick", lambda _, x, y: (x * 0.9 + 0.02, y * 0.9)),
    ),
    "stays-where-it-was": Subtle(
        "Sends the old position of a joystick that has come to rest.", Change("joystick", _stay)
    ),
    "fails-at-rest": Subtle(
        "Fails if no joystick is moved.",
        before("gamepads", fail(ValueError, "nothing is moved"), _is_at_rest),
    ),
    "trigger-moves-a-joystick": Subtle(
        "Moves the right joystick while the right trigger is pressed.",
        alter("pad", lambda _, raw: {**raw, "axes": [*raw["axes"][:3], 1.0]}, _pulls_trigger),
    ),
    "corners-at-rest": Subtle(
        "Sends (0, 0) for positions outside the unit circle.",
        instead("joystick", lambda *_: (0.0, 0.0), lambda _, x, y: x * x + y * y > 1),
    ),
}

FAULTS["gamepad.unit-circle"] = {
    "square": Fault(
        "Sends positions without limiting them to the unit circle.",
        instead("joystick", lambda _, x, y: (x, y)),
    ),
    "right-square": Subtle(
        "Does not limit the right joystick to the unit circle.", Change("pad", _right_square)
    ),
    "second-pad-square": Subtle(
        "Does not limit joysticks to the unit circle, except those of the first gamepad.",
        Change("message", _later_square),
    ),
    "corners-only": Subtle(
        "Limits only the exact corners to the unit circle.",
        instead("joystick", lambda _, x, y: (x, y), lambda _, x, y: not abs(x) == abs(y) == 1),
    ),
}

FAULTS["gamepad.axes"] = {
    "joysticks-swapped": Fault(
        "Swaps the left and the right joystick.", _axes(lambda lx, ly, rx, ry: (rx, ry, lx, ly))
    ),
    "right-axes-swapped": Subtle(
        "Swaps the axes of the right joystick.", _axes(lambda lx, ly, rx, ry: (lx, ly, ry, rx))
    ),
    "left-upside-down": Subtle(
        "Inverts the vertical axis of the left joystick only.",
        returning("pad", lambda pad: {**pad, "ly": -pad["ly"]}),
    ),
    "up-is-down-and-up": Subtle(
        "Drops the sign of the right joystick's vertical axis.",
        returning("pad", lambda pad: {**pad, "ry": abs(pad["ry"])}),
    ),
    "upside-down-in-company": Subtle(
        "Inverts the vertical axes if there are several gamepads.",
        returning("message", _turn_all, lambda _, pads: len(pads) > 1),
    ),
    "left-below-is-right-below": Subtle(
        "Drops the sign of the horizontal axis if the vertical axis is negative.",
        alter("joystick", lambda _, x, y: (abs(x) if y < 0 else x, y)),
    ),
    "always-at-the-edge": Subtle(
        "Moves every position except the rest position to the edge of the unit circle.",
        instead("joystick", _at_edge),
    ),
}

FAULTS["gamepad.full-range"] = {
    "never-quite-right": Fault(
        "Scales positions so that corners are within the circle, but the ends are not reached.",
        instead("joystick", lambda _, x, y: (x * 0.707, y * 0.707)),
    ),
    "one-circle-for-both": Subtle(
        "Limits both joysticks of a gamepad together to one circle.", _axes(_together_in_circle)
    ),
    "left-not-quite": Subtle(
        "Does not reach -1 on any axis.", returning("axis", lambda axis: max(axis, -127 / 128))
    ),
}

FAULTS["gamepad.buttons-integer"] = {
    "buttons-as-float": Fault("Writes btn as a float.", returning("mask", float)),
    "no-buttons-as-nil": Subtle(
        "Writes nil for btn if no button is pressed.", returning("mask", lambda mask: mask or None)
    ),
}

FAULTS["gamepad.buttons"] = {
    "buttons-from-the-other-end": Fault(
        "Writes the first button to the most significant bit.",
        alter("mask", lambda _, buttons: buttons[::-1]),
    ),
    "sixteen-buttons": Subtle(
        "Has no bit for the seventeenth button.", alter("mask", lambda _, buttons: buttons[:16])
    ),
    "buttons-stick": Subtle(
        "Ignores the release of the last pressed button.", Change("mask", _keep_pressed)
    ),
    "left-is-the-left-arrow": Subtle(
        "Sets the bit of the left arrow while the left joystick is at its left end.",
        Change("btn", _press_arrow),
    ),
    "latest-button": Subtle(
        "Sends only one of several pressed buttons.",
        returning("mask", lambda mask: 1 << mask.bit_length() >> 1),
    ),
    "dies-of-many-buttons": Subtle(
        "Crashes if more than three buttons of a gamepad are pressed.",
        before("mask", die, lambda _, buttons: sum(buttons) > 3),
    ),
}
