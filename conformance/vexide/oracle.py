"""The passive judge of a vexide session: what may follow what, and what values must agree.

It sees both sides, does not know which of them is under test, and has no clock: what must happen in
time is for test cases. The order of a session stands in `courses`; everything else is a small rule
under the name of the message that it is about. Rules for this module:

- A message changes a state only through COURSES.
- A finding is about the message at hand; what the other side did wrong only changes the state.
- Wherever the specification leaves something open there is no rule.
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
from conformance.vexide.codec import name_of
from conformance.vexide.courses import FRONTEND, SIMULATOR, Contact, Execution, Run, Session
from conformance.vexide.dialects import dialect

COURSES = courses.COURSES

FULL_BATTERY = 14.0  # Wh
_EVENTS_OF_EXECUTION = ("Serial", "Exited")
_UNANSWERED = (Session.OFFERED, Session.HURRIED)
_LONG = 1000  # characters of a list of extensions, which a small buffer may not hold


class Oracle:
    """The state of one session and the rules that it obeys."""

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
        self._agreed: list[Any] = []
        self._handshakes = {SIMULATOR: 0, FRONTEND: 0}
        self._lines = 0
        """Of the frontend; the end of its stream counts as one."""
        self._battery_set = False
        self._configured: set[tuple[str, int]] = set()

    def message(self, sender: str, name: str, value: Any) -> Iterator[Finding]:
        met = self._session.state
        yield from self._order(sender, name)
        fields = value.get(name) if isinstance(value, dict) else None
        rule = _RULES.get((sender, name))
        if rule:
            # A value that does not fit its schema has been reported as such.
            with contextlib.suppress(AttributeError, KeyError, TypeError, ValueError):
                yield from rule(self, fields, met)

    def unknown(self, sender: str, name: str, value: Any, foreign: bool) -> Iterator[Finding]:
        yield from self._order(sender, name)
        if foreign:
            yield Finding("roles.own-messages", f"the {sender} sent {name}, which is its peer's")
        elif reading := dialect(sender, name, value):
            yield Finding("encoding.externally-tagged", reading)
        elif not self._agreed:
            what = "event" if sender == SIMULATOR else "command"
            yield Finding("roles.own-messages", f"there is no {what} {name[:64]!r}")

    def broken(self, sender: str) -> None:
        """A line that is not a message changes nothing, but its reader may end the session."""
        self._lines += sender == FRONTEND
        self._run.step(sender, courses.BROKEN)

    def closed(self, sender: str) -> Iterator[Finding]:
        if sender == SIMULATOR and self._session.state is Session.EXITED:
            self.exercised |= {"exit.closes-stream", "exit.nothing-after"}
        # It may refuse every other version, and whoever says more than its Handshake.
        due = self._session.state in _UNANSWERED and self._compatible and self._lines == 1
        if sender == SIMULATOR and due:
            what = "the stream ended, and the Handshake of version 1 was not answered"
            yield Finding("handshake.answered", what)
        self._lines += sender == FRONTEND
        if sender == SIMULATOR and self._run.state is Run.STARTED:
            what = "the stream ended after StartExecution without Exited, and nothing had shown"
            yield Finding("exit.exited-sent", what, inconclusive=True)
        yield from self._run.step(sender, courses.END)

    def _order(self, sender: str, name: str) -> Iterator[Finding]:
        """What holds for a message of any name."""
        self._lines += sender == FRONTEND
        if self._session.state is Session.SHAKEN:
            self.exercised |= {
                "framing.json-lines",
                "handshake.nothing-before",
                "roles.own-messages",
            }
        if sender == SIMULATOR and name in _EVENTS_OF_EXECUTION and self._started:
            self.exercised |= {"start.begins-execution", "execution.reports-changes"}
        for walk in self._walks:
            yield from walk.step(sender, name)

    @property
    def _started(self) -> bool:
        return self._execution.state in (Execution.STARTED, Execution.STARTED_UNSIGNED)

    # Rules, one for each message that has any

    def _offer(self, fields: Any, met: StrEnum) -> Iterator[Finding]:
        self._handshakes[FRONTEND] += 1
        if met in (Session.OPENED, Session.UNASKED):
            self.exercised.add("handshake.frontend-begins")
            self._offered_version = fields["version"]
            self._offered = fields["extensions"]
            plain = [*fields] == ["version", "extensions"] and isinstance(self._offered, list)
            # What is unknown, turned round, long or beyond ASCII is another matter than an answer
            # that is due.
            offered = "".join(map(str, self._offered)) if plain else ""
            short = plain and len(offered) < _LONG and offered.isascii()
            self._compatible = self._offered_version == 1 and short
        yield from ()

    def _answer(self, fields: Any, met: StrEnum) -> Iterator[Finding]:
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

    def _exited(self, fields: Any, met: StrEnum) -> Iterator[Finding]:
        self.exercised.add("exit.exited-sent")
        yield from ()

    def _signature(self, fields: Any, met: StrEnum) -> Iterator[Finding]:
        self.exercised |= {"signature.sent", "signature.cold-header"}
        header = _decoded(fields)
        if header is not None and not (len(header) >= 16 and header.startswith(b"XVX5")):
            yield Finding(
                "signature.cold-header",
                f"the signature has {len(header)} bytes and begins {header[:4]!r}; "
                "at least 16 that begin b'XVX5' were expected",
            )

    def _sets_battery(self, fields: Any, met: StrEnum) -> Iterator[Finding]:
        self._battery_set = True
        yield from ()

    def _battery(self, fields: Any, met: StrEnum) -> Iterator[Finding]:
        if self._battery_set:
            return
        capacity = fields["capacity"]
        self.exercised.add("battery.default")
        low = 0.0 if self._started else FULL_BATTERY * 0.99
        if not low <= capacity <= FULL_BATTERY * 1.01:
            yield Finding(
                "battery.default",
                f"the battery has {capacity} Wh left although none was set: {FULL_BATTERY:g} Wh "
                "is where it starts",
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
        if port not in self._configured:
            yield Finding(
                "devices.only-configured",
                f"a motor was reported at {port[0]} port {port[1]}, where none was configured",
            )
        if status["flags"] != 0:
            yield Finding("motor.flags-zero", f"the motor's flags are {status['flags']}")

    def _draws(self, fields: Any, met: StrEnum) -> Iterator[Finding]:
        copied = fields["command"].get("CopyBuffer")
        if copied is None:
            return
        self.exercised.add("screen.pixel-buffer")
        pixels = _decoded(copied["buffer"])
        if pixels is not None and len(pixels) % 4:
            yield Finding(
                "screen.pixel-buffer",
                f"the buffer has {len(pixels)} bytes, which is not a whole number of 32-bit pixels",
            )

    def _controller(self, fields: Any, met: StrEnum) -> Iterator[Finding]:
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
    (SIMULATOR, "Exited"): Oracle._exited,
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
    """A port in either of its forms: tagged, or as the bare number of a Smart port."""
    if isinstance(port, dict):
        kind, number = next(iter(port.items()))
        return kind, int(number)
    return "Smart", int(port)


def _decoded(text: str) -> bytes | None:
    """The bytes of Base64 text; None where it is not Base64, which its schema has reported."""
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
