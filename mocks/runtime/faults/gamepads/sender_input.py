"""Faults of the sender about joysticks and buttons."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from mocks.deviations import fault
from mocks.runtime.faults.dying import die
from mocks.runtime.gamepad_sender import Pad, Sender


@fault("axes-as-text", violates="gamepad.axes-numbers")
class AxesAsText(Sender):
    """Writes axes as text."""

    def axis(self, value: float) -> Any:
        return f"{value:.3f}"


@fault("nil-at-rest", violates="gamepad.axes-numbers", subtle=True)
class NilAtRest(Sender):
    """Writes nil for an axis at rest."""

    def axis(self, value: float) -> Any:
        return value or None


@fault("whole-axes-as-integers", violates="gamepad.axes-floats", subtle=True)
class WholeAxesAsIntegers(Sender):
    """Writes axes with whole values as integers, as JavaScript does."""

    def axis(self, value: float) -> Any:
        return int(value) if value == int(value) else value


@fault("drifts", violates="gamepad.at-rest")
class Drifts(Sender):
    """Adds a constant offset, as from a worn joystick."""

    def joystick(self, x: float, y: float) -> tuple[float, float]:
        return super().joystick(x * 0.9 + 0.02, y * 0.9)


@fault("stays-where-it-was", violates="gamepad.at-rest", subtle=True)
class StaysWhereItWas(Sender):
    """Sends the old position of a joystick that has come to rest."""

    latest = (0.0, 0.0)

    def joystick(self, x: float, y: float) -> tuple[float, float]:
        if (x, y) != (0.0, 0.0):
            self.latest = super().joystick(x, y)
        return self.latest


@fault("fails-at-rest", violates="gamepad.at-rest", subtle=True)
class FailsAtRest(Sender):
    """Fails if no joystick is moved."""

    def gamepads(self, pads: Mapping[str, Pad]) -> None:
        if pads and not any(any(raw["axes"]) for raw in pads.values()):
            raise ValueError("nothing is moved")
        super().gamepads(pads)


@fault("square", violates="gamepad.unit-circle")
class Square(Sender):
    """Sends positions without limiting them to the unit circle."""

    def joystick(self, x: float, y: float) -> tuple[float, float]:
        return x, y


@fault("corners-at-rest", violates="gamepad.at-rest", subtle=True)
class CornersAtRest(Sender):
    """Sends (0, 0) for positions outside the unit circle."""

    def joystick(self, x: float, y: float) -> tuple[float, float]:
        return (x, y) if x * x + y * y <= 1 else (0.0, 0.0)


@fault("right-square", violates="gamepad.unit-circle", subtle=True)
class RightSquare(Sender):
    """Does not limit the right joystick to the unit circle."""

    def pad(self, raw: Pad) -> dict[str, Any]:
        _, _, rx, ry = raw["axes"]
        return {**super().pad(raw), "rx": float(rx), "ry": float(ry)}


@fault("second-pad-square", violates="gamepad.unit-circle", subtle=True)
class SecondPadSquare(Sender):
    """Does not limit joysticks to the unit circle, except those of the first gamepad."""

    def message(self, pads: Mapping[str, Pad]) -> Any:
        sent = super().message(pads)
        for index, raw in list(pads.items())[1:]:
            axes = map(float, raw["axes"])
            sent["gamepads"][self.index(index)] |= zip(("lx", "ly", "rx", "ry"), axes, strict=True)
        return sent


@fault("corners-only", violates="gamepad.unit-circle", subtle=True)
class CornersOnly(Sender):
    """Limits only the exact corners to the unit circle."""

    def joystick(self, x: float, y: float) -> tuple[float, float]:
        return super().joystick(x, y) if abs(x) == abs(y) == 1 else (x, y)


@fault("joysticks-swapped", violates="gamepad.axes")
class JoysticksSwapped(Sender):
    """Swaps the left and the right joystick."""

    def pad(self, raw: Pad) -> dict[str, Any]:
        lx, ly, rx, ry = raw["axes"]
        return super().pad({**raw, "axes": [rx, ry, lx, ly]})


@fault("right-axes-swapped", violates="gamepad.axes", subtle=True)
class RightAxesSwapped(Sender):
    """Swaps the axes of the right joystick."""

    def pad(self, raw: Pad) -> dict[str, Any]:
        lx, ly, rx, ry = raw["axes"]
        return super().pad({**raw, "axes": [lx, ly, ry, rx]})


@fault("never-quite-right", violates="gamepad.full-range")
class NeverQuiteRight(Sender):
    """Scales positions so that corners are within the circle, but the ends are not reached."""

    def joystick(self, x: float, y: float) -> tuple[float, float]:
        return x * 0.707, y * 0.707


@fault("one-circle-for-both", violates="gamepad.full-range", subtle=True)
class OneCircleForBoth(Sender):
    """Limits both joysticks of a gamepad together to one circle."""

    def pad(self, raw: Pad) -> dict[str, Any]:
        radius = max(math.hypot(*raw["axes"]), 1.0)
        return super().pad({**raw, "axes": [axis / radius for axis in raw["axes"]]})


@fault("left-upside-down", violates="gamepad.axes", subtle=True)
class LeftUpsideDown(Sender):
    """Inverts the vertical axis of the left joystick only."""

    def pad(self, raw: Pad) -> dict[str, Any]:
        pad = super().pad(raw)
        return {**pad, "ly": -pad["ly"]}


@fault("up-is-down-and-up", violates="gamepad.axes", subtle=True)
class UpIsDownAndUp(Sender):
    """Drops the sign of the right joystick's vertical axis."""

    def pad(self, raw: Pad) -> dict[str, Any]:
        return {**super().pad(raw), "ry": abs(super().pad(raw)["ry"])}


@fault("upside-down-in-company", violates="gamepad.axes", subtle=True)
class UpsideDownInCompany(Sender):
    """Inverts the vertical axes if there are several gamepads."""

    def message(self, pads: Mapping[str, Pad]) -> Any:
        sent = super().message(pads)
        if len(pads) > 1:
            for pad in sent["gamepads"].values():
                pad.update(ly=-pad["ly"], ry=-pad["ry"])
        return sent


@fault("left-below-is-right-below", violates="gamepad.axes", subtle=True)
class LeftBelowIsRightBelow(Sender):
    """Drops the sign of the horizontal axis if the vertical axis is negative."""

    def joystick(self, x: float, y: float) -> tuple[float, float]:
        return super().joystick(abs(x) if y < 0 else x, y)


@fault("always-at-the-edge", violates="gamepad.axes", subtle=True)
class AlwaysAtTheEdge(Sender):
    """Moves every position except the rest position to the edge of the unit circle."""

    def joystick(self, x: float, y: float) -> tuple[float, float]:
        radius = math.hypot(x, y) or 1.0
        return x / radius, y / radius


@fault("buttons-as-float", violates="gamepad.buttons-integer")
class ButtonsAsFloat(Sender):
    """Writes btn as a float."""

    def mask(self, buttons: Sequence[bool]) -> Any:
        return float(super().mask(buttons))


@fault("no-buttons-as-nil", violates="gamepad.buttons-integer", subtle=True)
class NoButtonsAsNil(Sender):
    """Writes nil for btn if no button is pressed."""

    def mask(self, buttons: Sequence[bool]) -> Any:
        return super().mask(buttons) or None


@fault("buttons-from-the-other-end", violates="gamepad.buttons")
class ButtonsFromTheOtherEnd(Sender):
    """Writes the first button to the most significant bit."""

    def mask(self, buttons: Sequence[bool]) -> Any:
        return super().mask(list(reversed(buttons)))


@fault("sixteen-buttons", violates="gamepad.buttons", subtle=True)
class SixteenButtons(Sender):
    """Has no bit for the seventeenth button."""

    def mask(self, buttons: Sequence[bool]) -> Any:
        return super().mask(buttons[:16])


@fault("buttons-stick", violates="gamepad.buttons", subtle=True)
class ButtonsStick(Sender):
    """Ignores the release of the last pressed button."""

    latest = 0

    def mask(self, buttons: Sequence[bool]) -> Any:
        self.latest = super().mask(buttons) or self.latest
        return self.latest


@fault("latest-button", violates="gamepad.buttons", subtle=True)
class LatestButton(Sender):
    """Sends only one of several pressed buttons."""

    def mask(self, buttons: Sequence[bool]) -> Any:
        return 1 << super().mask(buttons).bit_length() >> 1


@fault("left-not-quite", violates="gamepad.full-range", subtle=True)
class LeftNotQuite(Sender):
    """Does not reach -1 on any axis."""

    def axis(self, value: float) -> Any:
        return super().axis(max(value, -127 / 128))


@fault("dies-of-many-buttons", violates="gamepad.buttons", subtle=True)
class DiesOfManyButtons(Sender):
    """Crashes if more than three buttons of a gamepad are pressed."""

    def mask(self, buttons: Sequence[bool]) -> Any:
        if sum(buttons) > 3:
            die()
        return super().mask(buttons)
