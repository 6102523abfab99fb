"""The passive judge of a vexide session: order of messages and values that must agree.

The oracle sees both sides and does not know which side is the IUT. It has no clock, so test cases
check times. The order of messages is defined in `courses`. Each other rule is a small method in
`_RULES` for one message. Rules for this module:

- A message changes a state only through COURSES.
- A finding concerns the current message; earlier errors of the other side only change the state.
- No rule exists for a point that the specification leaves open.
"""

import base64
import binascii
import contextlib
from collections.abc import Iterator
from enum import StrEnum
from typing import Any

from conformance.course import Walk
from conformance.judging.judge import Finding
from conformance.vexide import courses
from conformance.vexide.codec import Escaped, name_of
from conformance.vexide.courses import FRONTEND, SIMULATOR, Contact, Execution, Run, Session
from conformance.vexide.dialects import dialect

COURSES = courses.COURSES

ONE_SIDED = frozenset({"roles.own-messages"})
"""The requirements that are judged even if the messages of only one side are known."""

FULL_BATTERY = 14.0  # Wh, the initial capacity that the specification requires
_UNANSWERED = (Session.OFFERED, Session.HURRIED)
_LONG_LIST = 200  # characters of a list of extensions that might not fit into a small buffer


class Oracle:
    """The state of one session and the rules for it."""

    def __init__(self) -> None:
        self.exercised: set[str] = set()
        self._session = Walk(courses.SESSION)
        self._execution = Walk(courses.EXECUTION)
        self._touch = Walk(courses.TOUCH)
        self._run = Walk(courses.RUN)
        others = (Walk(courses.BEGINNING), Walk(courses.READINESS), Walk(courses.MODE))
        self._walks = (self._session, *others, self._execution, self._run)
        self._offered_version: Any = None
        self._offered: list[Any] = []
        self._compatible = False
        self._escaped = False
        self._agreed: list[Any] = []
        self._handshakes = {SIMULATOR: 0, FRONTEND: 0}
        self._lines = 0
        """Number of lines from the frontend; the end of its stream counts as a line."""
        self._battery_set = False
        self._configured: set[tuple[str, int]] = set()

    def message(self, sender: str, name: str, value: Any) -> Iterator[Finding]:
        met = self._session.state
        yield from self._order(sender, name)
        self._escaped = isinstance(value, Escaped)
        fields = value.get(name) if isinstance(value, dict) else None
        rule = _RULES.get((sender, name))
        if rule:
            # If the value does not fit its schema, the schema check has already reported an error.
            with contextlib.suppress(AttributeError, KeyError, TypeError, ValueError):
                yield from rule(self, fields, met)

    def unknown(self, sender: str, name: str, value: Any, foreign: bool) -> Iterator[Finding]:
        yield from self._order(sender, name)
        if foreign:
            yield Finding("roles.own-messages", f"the {sender} sent {name}, a message of its peer")
        elif reading := dialect(sender, name, value):
            yield Finding("encoding.externally-tagged", reading)
        elif not self._agreed:
            what = "event" if sender == SIMULATOR else "command"
            yield Finding("roles.own-messages", f"the specification has no {what} {name[:64]!r}")

    def broken(self, sender: str) -> None:
        """Record a line that is not a message.

        The receiver of this line can end the session because of it.
        """
        self._lines += sender == FRONTEND
        self._run.step(sender, courses.BROKEN)

    def has_said_goodbye(self, sender: str) -> bool:
        return sender == SIMULATOR and self._session.state is Session.EXITED

    def closed(self, sender: str) -> Iterator[Finding]:
        if sender == SIMULATOR and self._session.state is Session.EXITED:
            self.exercised |= {"exit.closes-stream", "exit.nothing-after"}
        # An answer is required only for version 1, and only if nothing but the Handshake was sent.
        due = self._session.state in _UNANSWERED and self._compatible and self._lines == 1
        if sender == SIMULATOR and due:
            what = "the stream ended without an answer to the Handshake of version 1"
            yield Finding("handshake.answered", what)
        self._lines += sender == FRONTEND
        if sender == SIMULATOR and self._run.state is Run.STARTED:
            what = (
                "the stream ended after StartExecution without Exited, and the program had "
                "written nothing"
            )
            yield Finding("exit.exited-sent", what, inconclusive=True)
        yield from self._run.step(sender, courses.END)

    def _order(self, sender: str, name: str) -> Iterator[Finding]:
        """Apply the checks for a message of any name."""
        self._lines += sender == FRONTEND
        if self._session.state is Session.SHAKEN:
            self.exercised |= {
                "framing.json-lines",
                "handshake.nothing-before",
                "roles.own-messages",
            }
        if sender == SIMULATOR and name in courses.EVENTS_OF_ROBOT_CODE and self._is_started:
            self.exercised |= {"start.begins-execution", "execution.reports-changes"}
        for walk in self._walks:
            yield from walk.step(sender, name)

    @property
    def _is_started(self) -> bool:
        return self._execution.state in (Execution.STARTED, Execution.STARTED_UNSIGNED)

    # Rules, one for each message that needs a rule

    def _offer(self, fields: Any, met: StrEnum) -> Iterator[Finding]:
        self._handshakes[FRONTEND] += 1
        if met in (Session.OPENED, Session.UNASKED):
            self.exercised.add("handshake.frontend-begins")
            self._offered_version = fields["version"]
            self._offered = fields["extensions"]
            plain = [*fields] == ["version", "extensions"] and isinstance(self._offered, list)
            plain &= not self._escaped
            # An offer with unknown fields, reversed fields, escapes, long extensions or text beyond
            # ASCII is excluded here. Other requirements decide these cases.
            offered = "".join(map(str, self._offered)) if plain else ""
            short = plain and len(offered) < _LONG_LIST and offered.isascii()
            self._compatible = self._offered_version == 1 and short
        yield from ()

    def _answer(self, fields: Any, met: StrEnum) -> Iterator[Finding]:
        self._handshakes[SIMULATOR] += 1
        if met is Session.OPENED:
            # The Handshake command is possibly unknown, not missing.
            self._agreed = fields["extensions"]
        if self._handshakes[SIMULATOR] > self._handshakes[FRONTEND]:
            yield Finding(
                "handshake.answered", "a Handshake event came without a Handshake command before it"
            )
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
                f"expected a version of at most {self._offered_version}; received version "
                f"{version}",
            )
        if met in _UNANSWERED:
            self._agreed = extensions
        for extension in extensions:
            if extension not in self._offered:
                yield Finding(
                    "handshake.extensions-offered", f"extension {extension!r} was not offered"
                )

    def _becomes_ready(self, fields: Any, met: StrEnum) -> Iterator[Finding]:
        self.exercised |= {"ready.sent", "ready.once"}
        yield from ()

    def _starts(self, fields: Any, met: StrEnum) -> Iterator[Finding]:
        self.exercised |= {"start.waits-for-ready", "setup.competition-mode", "start.sent"}
        yield from ()

    def _serial(self, fields: Any, met: StrEnum) -> Iterator[Finding]:
        self.exercised.add("start.not-before")
        yield from ()

    def _check_exited(self, fields: Any, met: StrEnum) -> Iterator[Finding]:
        self.exercised.add("exit.exited-sent")
        yield from ()

    def _signature(self, fields: Any, met: StrEnum) -> Iterator[Finding]:
        self.exercised |= {"signature.sent", "signature.cold-header"}
        header = _decode(fields)
        if header is not None and not (len(header) >= 16 and header.startswith(b"XVX5")):
            yield Finding(
                "signature.cold-header",
                f"expected at least 16 bytes that begin with b'XVX5'; received {len(header)} "
                f"bytes that begin with {header[:4]!r}",
            )

    def _sets_battery(self, fields: Any, met: StrEnum) -> Iterator[Finding]:
        self._battery_set = True
        yield from ()

    def _battery(self, fields: Any, met: StrEnum) -> Iterator[Finding]:
        if self._battery_set:
            return
        capacity = fields["capacity"]
        self.exercised.add("battery.default")
        low = 0.0 if self._is_started else FULL_BATTERY * 0.99
        if not low <= capacity <= FULL_BATTERY * 1.01:
            yield Finding(
                "battery.default",
                f"expected a full battery of {FULL_BATTERY:g} Wh, because no SetBatteryCapacity "
                f"was sent; received capacity {capacity} Wh",
            )

    def _configures(self, fields: Any, met: StrEnum) -> Iterator[Finding]:
        self._configured.add(_port(fields["port"]))
        yield from ()

    def _device(self, fields: Any, met: StrEnum) -> Iterator[Finding]:
        kind, status = next(iter(fields["status"].items()))
        if kind != "Motor":
            return
        self.exercised |= {"devices.only-configured", "motor.flags-zero"}
        port = _port(fields["port"])
        if not self._is_started and status["voltage"]:
            yield Finding(
                "start.not-before",
                f"the motor at {port[0]} port {port[1]} had {status['voltage']} V before "
                "StartExecution was sent",
            )
        if port not in self._configured:
            yield Finding(
                "devices.only-configured",
                f"a DeviceUpdate of a motor came for {port[0]} port {port[1]}, but no motor is "
                "configured there",
            )
        if status["flags"] != 0:
            yield Finding(
                "motor.flags-zero", f"expected flags 0 of a motor; received {status['flags']}"
            )

    def _draws(self, fields: Any, met: StrEnum) -> Iterator[Finding]:
        copied = fields["command"].get("CopyBuffer")
        if copied is None:
            return
        self.exercised.add("screen.pixel-buffer")
        pixels = _decode(copied["buffer"])
        if pixels is not None and len(pixels) % 4:
            yield Finding(
                "screen.pixel-buffer",
                f"expected a whole number of 32-bit pixels in buffer; received {len(pixels)} bytes",
            )

    def _controller(self, fields: Any, met: StrEnum) -> Iterator[Finding]:
        state = fields.get("Raw")
        if state is None:
            return
        self.exercised |= {"controller.flags-zero", "controller.ranges"}
        if state["flags"] != 0:
            yield Finding(
                "controller.flags-zero",
                f"expected flags 0 of the controller; received {state['flags']}",
            )
        if state["battery_level"] > state["battery_capacity"]:
            yield Finding(
                "controller.ranges",
                f"battery_level {state['battery_level']} is above battery_capacity "
                f"{state['battery_capacity']}",
            )

    def _touches(self, fields: Any, met: StrEnum) -> Iterator[Finding]:
        event = name_of(fields["event"]) or ""
        self.exercised.add("touch.single")
        if self._touch.state is Contact.HELD:
            self.exercised.add("touch.held")
        yield from self._touch.step(FRONTEND, f"Touch {event}", event=event)


_RULES = {
    (FRONTEND, "Handshake"): Oracle._offer,
    (SIMULATOR, "Handshake"): Oracle._answer,
    (SIMULATOR, "Ready"): Oracle._becomes_ready,
    (FRONTEND, "StartExecution"): Oracle._starts,
    (SIMULATOR, "Serial"): Oracle._serial,
    (SIMULATOR, "Exited"): Oracle._check_exited,
    (SIMULATOR, "VCodeSig"): Oracle._signature,
    (FRONTEND, "SetBatteryCapacity"): Oracle._sets_battery,
    (SIMULATOR, "Battery"): Oracle._battery,
    (FRONTEND, "ConfigureDevice"): Oracle._configures,
    (SIMULATOR, "DeviceUpdate"): Oracle._device,
    (SIMULATOR, "ScreenDraw"): Oracle._draws,
    (FRONTEND, "ControllerUpdate"): Oracle._controller,
    (FRONTEND, "Touch"): Oracle._touches,
}


def _port(port: Any) -> tuple[str, int]:
    """Return the kind and number of a port in the tagged or bare form."""
    if isinstance(port, dict):
        kind, number = next(iter(port.items()))
        return kind, int(number)
    return "Smart", int(port)


def _decode(text: str) -> bytes | None:
    """Decode Base64 text; None if the text is not Base64, which the schema check has reported."""
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
