"""Variants of the frontend: lawful behaviour that differs from the usual behaviour."""

import asyncio
import time
from collections.abc import Iterator, Mapping
from typing import Any

from conformance.codec import Frame
from conformance.vexide.codec import name_of
from mocks.deviations import variant
from mocks.streams import Stream
from mocks.upper_tester import Operation
from mocks.vexide.choices import NEUTRAL
from mocks.vexide.display import WIDTH
from mocks.vexide.frontend import Frontend
from mocks.vexide.messages import Port
from mocks.vexide.variants.either import PortsBare

_FAR = 10_000  # pixels; a drawing with a larger coordinate never ends
_A_DRAWING = 0.01  # seconds for each drawing


@variant("looks-first", of="handshake.frontend-begins", needs={"transport": "tcp"})
class LooksFirst(Frontend):
    """Checks first with a connection that it closes if a simulator listens."""

    async def connect(self, address: str) -> Stream:
        await (await super().connect(address)).closed()
        return await super().connect(address)


@variant("starts-upon-early-ready", of="handshake.nothing-before")
class StartsUponEarlyReady(Frontend):
    """Sends StartExecution after a Ready that comes instead of the simulator's Handshake."""

    def take(self, frame: Frame) -> None:
        if frame.name == "Ready" and not self.is_ready:
            self.ready(None)
        else:
            super().take(frame)

    async def user_starts(self, args: dict[str, Any]) -> Any:
        self.wanted = True
        self.start_if_wanted()


@variant("offers-few-operations", of="start.sent")
class OffersFewOperations(Frontend):
    """Starts the program by itself, and offers only the operation outcome."""

    def operations(self) -> Mapping[str, Operation]:
        return {"outcome": self.user_looks}


@variant("touch-told-at-first", of="touch.single")
class TouchToldAtFirst(Frontend):
    """Sends Released at the end of its setup, without any touch."""

    def set_up(self) -> None:
        super().set_up()
        self.send({"Touch": {"pos": {"x": 0, "y": 0}, "event": "Released"}})


@variant("touch-repeated", of="touch.single")
class TouchRepeated(Frontend):
    """Sends every Touch twice, like a pad that is polled."""

    def send(self, message: Any) -> None:
        super().send(message)
        if name_of(message) == "Touch":
            super().send(message)


@variant("passes-on-touches", of="touch.held")
class PassesOnTouches(Frontend):
    """Sends each touch operation unchanged, and no Touch by itself."""

    def press(self, point: dict[str, int]) -> None:
        self.touched = point
        self.send_touch("Pressed")

    def watch_touch(self) -> None:
        pass


@variant("held-when-declared", of="touch.single")
class HeldWhenDeclared(Frontend):
    """Sends Held exactly after the declared time by its own clock."""

    def watch_touch(self) -> None:
        self._holding = asyncio.get_running_loop().call_later(2, super().still_touching)

    def still_touching(self) -> None:
        """Ignore the user's Held: the clock decides."""


@variant("smaller-display", of="touch.point")
class SmallerDisplay(Frontend):
    """Has a display of half the size, with half the touchable coordinates."""

    def press(self, point: dict[str, int]) -> None:
        super().press({axis: at // 2 * 2 for axis, at in point.items()})


@variant("all-is-any", of="controller.told")
class AllIsAny(Frontend):
    """Sends button_all as true if any button is pressed, and its own battery values."""

    async def user_controls(self, args: dict[str, Any]) -> Any:
        if state := args.get("Raw"):
            pressed = any(value for key, value in state.items() if key.startswith("button"))
            own = {"button_all": pressed, "battery_level": 40, "battery_capacity": 60}
            args = {"Raw": {**state, **own}}
        await super().user_controls(args)


@variant("mode-told-again-and-again", of="competition.told")
class ModeToldAgainAndAgain(Frontend):
    """Sends the mode and the controller twice, each time both."""

    def send_competition(self) -> None:
        for _ in range(2):
            super().send_competition()
            if self.started:
                super().send_controller()

    def send_controller(self) -> None:
        for _ in range(2):
            super().send_controller()
            if self.started:
                super().send_competition()


@variant("gamepad-polled", of="controller.told")
class GamepadPolled(Frontend):
    """Sends the state of the controller fifty times a second, even without a change."""

    def set_up(self) -> None:
        super().set_up()
        self.world.controller = self.world.controller or NEUTRAL
        self.poll()

    def poll(self) -> None:
        if self.live:
            self.send_controller()
            asyncio.get_running_loop().call_later(0.02, self.poll)


@variant("mode-first", of="setup.configure-devices")
class ModeFirst(Frontend):
    """Sends its setup in another order, and the devices again after Ready."""

    def set_up(self) -> None:
        self.send_state()
        self.send_competition()
        self.configure_devices()

    def ready(self, content: None) -> None:
        self.configure_devices()
        super().ready(content)


@variant("starts-later", of="start.sent")
class StartsLater(Frontend):
    """Starts the program with a delay after Ready."""

    def start(self) -> None:
        self.started = True
        asyncio.get_running_loop().call_later(0.15, self.start_now)

    def start_now(self) -> None:
        if self.live:
            super().start()


@variant("unsettled-events-end", of="events.undefined-tolerated")
class UnsettledEventsEnd(Frontend):
    """Ends the session at events without a defined effect."""

    def pose(self, content: dict[str, Any]) -> None:
        self.close()

    def state(self, content: Any) -> None:
        self.close()

    def link(self, content: dict[str, Any]) -> None:
        self.close()

    def unlink(self, content: dict[str, Any]) -> None:
        self.close()


@variant("links-unanswered", of="events.undefined-tolerated")
class LinksUnanswered(Frontend):
    """Answers no VEXLink event, because it has no VEXLink server."""

    def link(self, content: dict[str, Any]) -> None:
        pass

    def unlink(self, content: dict[str, Any]) -> None:
        pass


@variant("absent-target-ends", of="encoding.optional-absent")
class AbsentTargetEnds(Frontend):
    """Ends the session at a motor status without a target position."""

    def message(self, name: str, value: Any) -> None:
        status = value[name]["status"] if name == "DeviceUpdate" else {}
        motor = status.get("Motor") if isinstance(status, dict) else None
        if isinstance(motor, dict) and "target_position" not in motor:
            self.close()
        else:
            super().message(name, value)


@variant("draws-beyond-the-display", of="robustness.unknown-fields")
class DrawsBeyondTheDisplay(Frontend):
    """Draws pixel by pixel beyond the display, which never ends for distant points."""

    drawing = False

    def draw(self, content: dict[str, Any]) -> None:
        self.drawing = self.drawing or _farthest(content["command"]) > _FAR
        super().draw(content)

    def message(self, name: str, value: Any) -> None:
        if not self.drawing:
            super().message(name, value)


@variant("draws-slowly", of="screen.drawing")
class DrawsSlowly(Frontend):
    """Needs time for each drawing, and does nothing else meanwhile."""

    def draw(self, content: dict[str, Any]) -> None:
        time.sleep(_A_DRAWING)
        super().draw(content)


@variant("draws-what-fits", of="screen.drawing")
class DrawsWhatFits(Frontend):
    """Omits every shape that is not completely on the screen."""

    def draw(self, content: dict[str, Any]) -> None:
        kind, drawn = content["command"]
        if kind == "CopyBuffer" or all(0 <= at < WIDTH for at in _numbers(drawn)):
            super().draw(content)


@variant("stride-in-bytes", of="screen.drawing")
class StrideInBytes(Frontend):
    """Reads the stride of a pixel buffer in bytes, and includes the bottom right corner."""

    def draw(self, content: dict[str, Any]) -> None:
        match content["command"]:
            case "CopyBuffer", {"bottom_right": corner, "stride": stride, **rest}:
                beyond = {axis: at + 1 for axis, at in corner.items()}
                copied = {**rest, "bottom_right": beyond, "stride": max(1, stride // 4)}
                content = {**content, "command": ("CopyBuffer", copied)}
        super().draw(content)


def _farthest(command: Any) -> int:
    """Return the largest absolute number in a drawing command."""
    return max(map(abs, _numbers(command)), default=0)


def _numbers(value: Any) -> Iterator[int]:
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        for part in value:
            yield from _numbers(part)
    elif isinstance(value, int):
        yield value


@variant("card-left-out", of="encoding.optional-absent")
class CardLeftOut(Frontend):
    """Sends a USD without root if it has no SD card."""

    def send_state(self) -> None:
        super().send_state()
        if self.world.card is None:
            self.send({"USD": {}})


@variant("devices-fixed-by-the-handshake", of="setup.starting-state")
class DevicesFixedByTheHandshake(Frontend):
    """Accepts devices from its user only until the handshake is finished."""

    async def user_configures(self, args: dict[str, Any]) -> Any:
        if self.live:
            raise ValueError("the devices have been sent")
        await super().user_configures(args)


@variant("known-devices-only", of="setup.configure-devices")
class KnownDevicesOnly(Frontend):
    """Shows no state of a device that its user has not configured."""

    def device(self, content: dict[str, Any]) -> None:
        port: Port = content["port"]
        if port in self.world.devices:
            super().device(content)


@variant("bare-without-devices", of="devices.status-open")
class BareWithoutDevices(PortsBare, Frontend):
    """Has no configured devices, and accepts a Smart port only as a bare number."""

    def configure_devices(self) -> None:
        pass

    def operations(self) -> Mapping[str, Operation]:
        return {name: one for name, one in super().operations().items() if name != "configure"}
