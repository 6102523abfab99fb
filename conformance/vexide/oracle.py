"""The passive judge of a vexide session: what may follow what, and what values must agree.

It sees both sides, does not know which of them is under test, and has no clock: what must happen in
time is for test cases. The order of a session stands in PHASES; everything else is a small rule
under the name of the message that it is about. Rules for this module:

- A message never changes the phase except through PHASES.
- A finding is about the message at hand; what the other side did wrong only changes the phase.
- Wherever the specification leaves something open there is no rule.
"""

import base64
import binascii
import contextlib
from collections.abc import Iterator
from enum import StrEnum
from typing import Any

from conformance.judge import Finding
from conformance.vexide.dialects import dialect

SIMULATOR, FRONTEND = "simulator", "frontend"

FULL_BATTERY = 14.0  # Wh
_EVENTS_OF_EXECUTION = ("Serial", "Exited")


class Phase(StrEnum):
    """How far a session has come."""

    OPENED = "opened"
    UNASKED = "unasked"
    OFFERED = "offered"
    SETUP = "setup"
    READY = "ready"
    STARTED = "started"
    EXITED = "exited"


PHASES: dict[Phase, dict[tuple[str, str], Phase]] = {
    Phase.OPENED: {
        (FRONTEND, "Handshake"): Phase.OFFERED,
        (SIMULATOR, "Handshake"): Phase.UNASKED,
    },
    Phase.UNASKED: {(FRONTEND, "Handshake"): Phase.SETUP},
    Phase.OFFERED: {(SIMULATOR, "Handshake"): Phase.SETUP},
    Phase.SETUP: {
        (SIMULATOR, "Ready"): Phase.READY,
        (SIMULATOR, "Exited"): Phase.EXITED,
    },
    Phase.READY: {
        (FRONTEND, "StartExecution"): Phase.STARTED,
        (SIMULATOR, "Exited"): Phase.EXITED,
    },
    Phase.STARTED: {(SIMULATOR, "Exited"): Phase.EXITED},
    Phase.EXITED: {},
}

_BEFORE_HANDSHAKE = (Phase.OPENED, Phase.UNASKED, Phase.OFFERED)


class Oracle:
    """The state of one session and the rules that it obeys."""

    def __init__(self) -> None:
        self.phase = Phase.OPENED
        self.exercised: set[str] = set()
        self._offered_version: Any = None
        self._offered: list[Any] = []
        self._agreed: list[Any] = []
        self._commands_seen: set[str] = set()
        self._handshakes = {SIMULATOR: 0, FRONTEND: 0}
        self._ready = 0
        self._configured: set[tuple[str, int]] = set()
        self._signed = False
        self._touch: str | None = None

    def message(self, sender: str, name: str, value: Any) -> Iterator[Finding]:
        yield from self._order(sender, name)
        fields = value.get(name) if isinstance(value, dict) else None
        rule = _RULES.get((sender, name))
        if rule:
            # A value that does not fit its schema has been reported as such.
            with contextlib.suppress(AttributeError, KeyError, TypeError, ValueError):
                # To the end before the phase changes: a rule sees the phase that the message met.
                yield from list(rule(self, fields))
        if sender == FRONTEND:
            self._commands_seen.add(name)
        self.phase = PHASES[self.phase].get((sender, name), self.phase)

    def unknown(self, sender: str, name: str, value: Any, foreign: bool) -> Iterator[Finding]:
        yield from self._order(sender, name)
        if foreign:
            yield Finding("roles.own-messages", f"a {sender} sent {name}, which is its peer's")
        elif reading := dialect(sender, name, value):
            yield Finding("encoding.externally-tagged", reading)
        elif not self._agreed:
            what = "event" if sender == SIMULATOR else "command"
            yield Finding("roles.own-messages", f"there is no {what} {name[:64]!r}")

    def broken(self, sender: str) -> None:
        """A line that is no message changes nothing."""

    def closed(self, sender: str) -> Iterator[Finding]:
        if sender == SIMULATOR and self.phase is Phase.EXITED:
            self.exercised |= {"exit.closes-stream", "exit.nothing-after"}
        yield from ()

    def _order(self, sender: str, name: str) -> Iterator[Finding]:
        """What holds for a message of any name."""
        if sender == FRONTEND and not self._commands_seen and name != "Handshake":
            yield Finding("handshake.frontend-begins", f"the first command is {name[:64]}")
        if self.phase in _BEFORE_HANDSHAKE and name != "Handshake":
            yield Finding(
                "handshake.nothing-before", f"{name} came before the handshake was finished"
            )
        elif self.phase is Phase.SETUP:
            self.exercised |= {
                "framing.json-lines",
                "handshake.nothing-before",
                "roles.own-messages",
            }
        if sender == SIMULATOR and self.phase is Phase.EXITED:
            yield Finding("exit.nothing-after", f"{name} came after Exited")
        started = "StartExecution" in self._commands_seen
        if sender == SIMULATOR and name in _EVENTS_OF_EXECUTION and started:
            self.exercised |= {"start.begins-execution", "execution.reports-changes"}
            if not self._signed:
                yield Finding("signature.sent", f"{name} came and no VCodeSig had come before")

    # Rules, one for each message that has any

    def _offer(self, fields: Any) -> Iterator[Finding]:
        self._handshakes[FRONTEND] += 1
        if self.phase in (Phase.OPENED, Phase.UNASKED):
            self.exercised.add("handshake.frontend-begins")
            self._offered_version = fields["version"]
            self._offered = fields["extensions"]
        yield from ()

    def _answer(self, fields: Any) -> Iterator[Finding]:
        self._handshakes[SIMULATOR] += 1
        if self._handshakes[SIMULATOR] > self._handshakes[FRONTEND]:
            yield Finding("handshake.answered", "a Handshake event came that answers no Handshake")
            return
        self.exercised |= {
            "handshake.answered",
            "handshake.version-at-most-offered",
            "handshake.extensions-offered",
        }
        version, extensions = fields["version"], fields["extensions"]
        if version > self._offered_version:
            yield Finding(
                "handshake.version-at-most-offered",
                f"version {version} was answered to an offer of {self._offered_version}",
            )
        if self.phase is Phase.OFFERED:
            self._agreed = extensions
        for extension in extensions:
            if extension not in self._offered:
                yield Finding(
                    "handshake.extensions-offered", f"extension {extension!r} was not offered"
                )

    def _becomes_ready(self, fields: Any) -> Iterator[Finding]:
        self._ready += 1
        self.exercised |= {"ready.sent", "ready.once"}
        if self._ready > 1:
            yield Finding("ready.once", f"Ready came {self._ready} times")

    def _starts(self, fields: Any) -> Iterator[Finding]:
        self.exercised |= {"start.waits-for-ready", "setup.competition-mode", "start.sent"}
        if self._ready == 0:
            yield Finding("start.waits-for-ready", "StartExecution was sent before Ready came")
        if "CompetitionMode" not in self._commands_seen:
            yield Finding(
                "setup.competition-mode", "StartExecution was sent and no CompetitionMode before it"
            )

    def _serial(self, fields: Any) -> Iterator[Finding]:
        self.exercised.add("start.not-before")
        if "StartExecution" not in self._commands_seen:
            yield Finding("start.not-before", "Serial came before StartExecution was sent")

    def _exited(self, fields: Any) -> Iterator[Finding]:
        self.exercised.add("exit.exited-sent")
        yield from ()

    def _signature(self, fields: Any) -> Iterator[Finding]:
        self._signed = True
        self.exercised |= {"signature.sent", "signature.cold-header"}
        header = _decoded(fields)
        if header is not None and not (len(header) >= 16 and header.startswith(b"XVX5")):
            yield Finding(
                "signature.cold-header",
                f"the signature has {len(header)} bytes and begins {header[:4]!r}; "
                "at least 16 that begin b'XVX5' were expected",
            )

    def _battery(self, fields: Any) -> Iterator[Finding]:
        if "SetBatteryCapacity" in self._commands_seen:
            return
        capacity = fields["capacity"]
        self.exercised.add("battery.default")
        drained = "StartExecution" in self._commands_seen
        low = 0.0 if drained else FULL_BATTERY * 0.99
        if not low <= capacity <= FULL_BATTERY * 1.01:
            yield Finding(
                "battery.default",
                f"the battery has {capacity} Wh left although none was set: {FULL_BATTERY:g} Wh "
                "is where it starts",
            )

    def _configures(self, fields: Any) -> Iterator[Finding]:
        self._configured.add(_port(fields["port"]))
        yield from ()

    def _device(self, fields: Any) -> Iterator[Finding]:
        kind, status = next(iter(fields["status"].items()))
        if kind != "Motor":
            return
        self.exercised |= {"devices.only-configured", "motor.flags-zero"}
        port = _port(fields["port"])
        if port not in self._configured:
            yield Finding(
                "devices.only-configured",
                f"a motor was reported at {port[0]} port {port[1]}, where none was configured",
            )
        if status["flags"] != 0:
            yield Finding("motor.flags-zero", f"the motor's flags are {status['flags']}")

    def _draws(self, fields: Any) -> Iterator[Finding]:
        copied = fields["command"].get("CopyBuffer")
        if copied is None:
            return
        self.exercised.add("screen.pixel-buffer")
        pixels = _decoded(copied["buffer"])
        if pixels is not None and len(pixels) % 4:
            yield Finding(
                "screen.pixel-buffer",
                f"the buffer has {len(pixels)} bytes, which is no whole number of 32-bit pixels",
            )

    def _controller(self, fields: Any) -> Iterator[Finding]:
        state = fields.get("Raw")
        if state is None:
            return
        self.exercised |= {"controller.flags-zero", "controller.ranges"}
        if state["flags"] != 0:
            yield Finding("controller.flags-zero", f"the controller's flags are {state['flags']}")
        if state["battery_level"] > state["battery_capacity"]:
            yield Finding(
                "controller.ranges",
                f"battery_level {state['battery_level']} is above battery_capacity "
                f"{state['battery_capacity']}",
            )

    def _touches(self, fields: Any) -> Iterator[Finding]:
        event = fields["event"]
        self.exercised.add("touch.single")
        if self._touch in (None, "Released") and event != "Pressed":
            yield Finding("touch.single", f"a touch began with {event}, not with Pressed")
        if self._touch == "Held":
            self.exercised.add("touch.held")
            if event == "Pressed":
                yield Finding("touch.held", "Pressed came after Held within one touch")
        self._touch = event


_RULES = {
    (FRONTEND, "Handshake"): Oracle._offer,
    (SIMULATOR, "Handshake"): Oracle._answer,
    (SIMULATOR, "Ready"): Oracle._becomes_ready,
    (FRONTEND, "StartExecution"): Oracle._starts,
    (SIMULATOR, "Serial"): Oracle._serial,
    (SIMULATOR, "Exited"): Oracle._exited,
    (SIMULATOR, "VCodeSig"): Oracle._signature,
    (SIMULATOR, "Battery"): Oracle._battery,
    (FRONTEND, "ConfigureDevice"): Oracle._configures,
    (SIMULATOR, "DeviceUpdate"): Oracle._device,
    (SIMULATOR, "ScreenDraw"): Oracle._draws,
    (FRONTEND, "ControllerUpdate"): Oracle._controller,
    (FRONTEND, "Touch"): Oracle._touches,
}


def _port(port: Any) -> tuple[str, int]:
    """A port in either of its forms: tagged, or as the bare number of a Smart port."""
    if isinstance(port, dict):
        kind, number = next(iter(port.items()))
        return kind, int(number)
    return "Smart", int(port)


def _decoded(text: str) -> bytes | None:
    """The bytes of Base64 text; None where it is none, which its schema has reported."""
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
