"""Variants of the frontend: lawful behaviour that differs from the usual behaviour."""

import asyncio
import time
from collections.abc import Iterator, Mapping
from typing import Any

from mocks.deviations import Table, Variant, variant
from mocks.steps import (
    When,
    alter,
    before,
    delay,
    fail,
    having,
    instead,
    look,
    note,
    noted,
    only,
    put,
    repeat,
    returning,
    send,
    skip,
    then,
)
from mocks.vexide.choices import NEUTRAL
from mocks.vexide.display import WIDTH
from mocks.vexide.faults.bases import member, named
from mocks.vexide.frontend import Frontend
from mocks.vexide.variants.either import PORTS_BARE

LIVE = having("live")
FAR = 10_000  # pixels; a drawing with a larger coordinate never ends
A_DRAWING = 0.01  # seconds for each drawing
RELEASED = {"Touch": {"pos": {"x": 0, "y": 0}, "event": "Released"}}
COPIES = When(lambda _, content: content["command"][0] == "CopyBuffer")


def _pass_on(frontend: Frontend, point: dict[str, int]) -> None:
    frontend.touched = point
    frontend.send_touch("Pressed")


def _with_own_values(_: Frontend, args: dict[str, Any]) -> dict[str, Any]:
    state = args["Raw"]
    pressed = any(value for key, value in state.items() if key.startswith("button"))
    own = {"button_all": pressed, "battery_level": 40, "battery_capacity": 60}
    return {"Raw": {**state, **own}}


def _drain(frontend: Frontend, args: dict[str, Any]) -> None:
    """Send a little less energy than before, as long as the user sets no other energy."""
    left = frontend.world.battery

    def drain() -> None:
        nonlocal left
        if frontend.live and left and frontend.world.battery == left:
            frontend.world.battery = left = max(left - 0.001, 0.0)
            frontend.send_battery()
            asyncio.get_running_loop().call_later(0.1, drain)

    asyncio.get_running_loop().call_later(0.1, drain)


def _converted(_: Frontend, message: Any) -> Any:
    volts = 5 / 4095 * round(message["AdiInput"]["voltage"] / 5 * 4095)
    return {"AdiInput": {**message["AdiInput"], "voltage": volts}}


def _poll(frontend: Frontend) -> None:
    """Send the state of the controller now, and fifty times a second from now on."""
    if frontend.live:
        frontend.world.controller = frontend.world.controller or NEUTRAL
        frontend.send_controller()
        asyncio.get_running_loop().call_later(0.02, _poll, frontend)


def _set_up_in_other_order(frontend: Frontend) -> None:
    frontend.send_state()
    frontend.send_competition()
    frontend.configure_devices()


def _is_without_target(_: Frontend, name: str, value: Any) -> bool:
    motor = member(value, "DeviceUpdate", "status", "Motor")
    return isinstance(motor, dict) and "target_position" not in motor


def _is_far(_: Frontend, content: dict[str, Any]) -> bool:
    return max(map(abs, _numbers(content["command"])), default=0) > FAR


def _fits(_: Frontend, content: dict[str, Any]) -> bool:
    return all(0 <= at < WIDTH for at in _numbers(content["command"]))


def _numbers(value: Any) -> Iterator[int]:
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        for part in value:
            yield from _numbers(part)
    elif isinstance(value, int):
        yield value


def _with_stride_in_bytes(_: Frontend, content: dict[str, Any]) -> dict[str, Any]:
    kind, copied = content["command"]
    corner = {axis: at + 1 for axis, at in copied["bottom_right"].items()}
    stride = max(1, copied["stride"] // 4)
    return {**content, "command": (kind, {**copied, "bottom_right": corner, "stride": stride})}


def _is_too_short(_: Frontend, content: dict[str, Any]) -> bool:
    """Return True if a buffer has no pixel for the bottom right corner, which is included."""
    _, copied = content["command"]
    (left, top), (right, bottom) = (
        (copied[corner]["x"], copied[corner]["y"]) for corner in ("top_left", "bottom_right")
    )
    return bool(len(copied["buffer"]) < 4 * ((bottom - top) * copied["stride"] + right - left + 1))


def _is_too_large(_: Frontend, content: Any) -> bool:
    return any(abs(value) > 3.4e38 for value in _floats(content))


def _floats(value: Any) -> Iterator[float]:
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        for part in value:
            yield from _floats(part)
    elif isinstance(value, float):
        yield value


def _with_six_digits(_: Frontend, value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _with_six_digits(_, entry) for key, entry in value.items()}
    return float(f"{value:g}") if isinstance(value, float) else value


def _with_slash(_: Frontend, message: Any) -> Any:
    root = message["USD"]["root"]
    return {"USD": {"root": root and f"{root}/"}}


VARIANTS = Table(Frontend)

VARIANTS["sdcard.told"] = {
    "card-with-slash": Variant(
        "Writes a slash at the end of the card's path.", alter("send", _with_slash, named("USD"))
    ),
}

VARIANTS["encoding.externally-tagged"] = {
    "six-digits": Variant("Writes numbers with six digits.", alter("send", _with_six_digits)),
    "narrow-floats": Variant(
        "Ends the session at a number above the range of a float of 32 bits.",
        instead("handle", "close", lambda peer, _, content: _is_too_large(peer, content)),
    ),
}

VARIANTS["handshake.frontend-begins"] = {
    "looks-first": Variant(
        "Checks first with a connection that it closes if a simulator listens.",
        before("connect", look),
        needs={"transport": "tcp"},
    ),
}

VARIANTS["handshake.nothing-before"] = {
    "starts-upon-early-ready": Variant(
        "Sends StartExecution after a Ready that comes instead of the simulator's Handshake.",
        instead(
            "take",
            lambda frontend, _: frontend.ready(None),
            When(lambda _, frame: frame.name == "Ready") & ~having("is_ready"),
        ),
        then("user_starts", "start_if_wanted"),
    ),
}

VARIANTS["start.sent"] = {
    "offers-few-operations": Variant(
        "Starts the program by itself, and offers only the operation outcome.",
        instead("operations", lambda frontend: {"outcome": frontend.user_looks}),
    ),
    "starts-later": Variant(
        "Starts the program with a delay after Ready.",
        only("start", LIVE),
        delay("start", 0.15),
        before("start", put("started", True)),
    ),
}

VARIANTS["touch.single"] = {
    "touch-told-at-first": Variant(
        "Sends Released at the end of its setup, without any touch.",
        then("set_up", send(RELEASED)),
    ),
    "touch-repeated": Variant(
        "Sends every Touch twice, like a pad that is polled.", repeat("send", named("Touch"))
    ),
}

VARIANTS["touch.held"] = {
    "passes-on-touches": Variant(
        "Sends each touch operation unchanged, and no Touch by itself.",
        instead("press", _pass_on),
        skip("watch_touch"),
    ),
}

VARIANTS["touch.point"] = {
    "smaller-display": Variant(
        "Has a display of half the size, with half the touchable coordinates.",
        alter("press", lambda _, point: {axis: at // 2 * 2 for axis, at in point.items()}),
    ),
}

VARIANTS["battery.told"] = {
    "battery-drains": Variant(
        "Sends the energy that a set battery has left, ten times a second.",
        then("user_charges", _drain),
    ),
}

VARIANTS["adi.told"] = {
    "adi-of-a-converter": Variant(
        "Sends the voltages of a converter of 12 bits for 5 V.",
        alter("send", _converted, named("AdiInput")),
    ),
}

VARIANTS["controller.told"] = {
    "all-is-any": Variant(
        "Sends button_all as true if any button is pressed, and its own battery values.",
        alter("user_controls", _with_own_values, lambda _, args: args.get("Raw")),
    ),
    "gamepad-polled": Variant(
        "Sends the state of the controller fifty times a second, even without a change.",
        then("set_up", _poll),
    ),
}

VARIANTS["setup.configure-devices"] = {
    "mode-first": Variant(
        "Sends its setup in another order, and the devices again after Ready.",
        instead("set_up", _set_up_in_other_order),
        before("ready", "configure_devices"),
    ),
    "known-devices-only": Variant(
        "Shows no state of a device that its user has not configured.",
        only("device", lambda frontend, told: told["port"] in frontend.world.devices),
    ),
}

VARIANTS["events.undefined-tolerated"] = {
    "unsettled-events-end": Variant(
        "Ends the session at events without a defined effect.",
        instead("pose", "close"),
        instead("state", "close"),
        instead("link", "close"),
        instead("unlink", "close"),
    ),
    "links-unanswered": Variant(
        "Answers no VEXLink event, because it has no VEXLink server.",
        skip("link"),
        skip("unlink"),
    ),
}

VARIANTS["encoding.optional-absent"] = {
    "absent-target-ends": Variant(
        "Ends the session at a motor status without a target position.",
        instead("message", "close", _is_without_target),
    ),
    "card-left-out": Variant(
        "Sends a USD without root if it has no SD card.",
        then("send_state", send({"USD": {}}), ~having("world.card")),
    ),
}

VARIANTS["robustness.unknown-fields"] = {
    "draws-beyond-the-display": Variant(
        "Draws pixel by pixel beyond the display, which never ends for distant points.",
        skip("message", noted("drawing")),
        before("draw", note("drawing"), _is_far),
    ),
}

VARIANTS["screen.drawing"] = {
    "draws-slowly": Variant(
        "Needs time for each drawing, and does nothing else meanwhile.",
        before("draw", lambda *_: time.sleep(A_DRAWING)),
    ),
    "draws-what-fits": Variant(
        "Omits every shape that is not completely on the screen.",
        only("draw", COPIES | _fits),
    ),
    "corner-included": Variant(
        "Includes the bottom right corner, and ends the session if the buffer is too short.",
        instead("draw", "close", COPIES & _is_too_short),
    ),
    "stride-in-bytes": Variant(
        "Reads the stride of a pixel buffer in bytes, and includes the bottom right corner.",
        alter("draw", _with_stride_in_bytes, COPIES),
    ),
}

VARIANTS["setup.starting-state"] = {
    "devices-fixed-by-the-handshake": Variant(
        "Accepts devices from its user only until the handshake is finished.",
        before("user_configures", fail(ValueError, "the devices have been sent"), LIVE),
    ),
}

VARIANTS["devices.status-open"] = {
    "bare-without-devices": Variant(
        "Has no configured devices, and accepts a Smart port only as a bare number.",
        *PORTS_BARE,
        skip("configure_devices"),
        returning(
            "operations",
            lambda offered: {name: one for name, one in offered.items() if name != "configure"},
        ),
    ),
}


@variant("held-when-declared", of="touch.single")
class HeldWhenDeclared(Frontend):
    """Sends Held exactly after the declared time by its own clock."""

    def watch_touch(self) -> None:
        self._holding = asyncio.get_running_loop().call_later(2, super().still_touching)

    def still_touching(self) -> None:
        """Ignore the user's Held: the clock decides."""


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
