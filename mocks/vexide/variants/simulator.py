"""Variants of the simulator: lawful behaviour that differs from the usual behaviour."""

import asyncio
import base64
import ctypes
import math
from collections import deque
from collections.abc import Callable
from typing import Any

from conformance.vexide.codec import encode, name_of
from mocks.deviations import Table, Variant, variant
from mocks.steps import alter, before, call, delay, having, instead, returning, send, skip, then
from mocks.streams import Stream
from mocks.vexide.faults.bases import RUNNING, edit, fields, member, named
from mocks.vexide.messages import Port, port_form
from mocks.vexide.robot import Motor, Robot, rectangle
from mocks.vexide.simulator import Settings, Simulator

ENDED = having("ended")
LOAD_TIME = 2.2  # s, above the time of a response and its grace period in the mock's settings
PICTURE = {
    "ScreenDraw": {
        "command": {"Fill": {"shape": rectangle(100, 50, 380, 220)}},
        "color": {"r": 0, "g": 90, "b": 200},
        "background": {"r": 0, "g": 0, "b": 0},
    }
}
NEWS = ~named("Handshake", "Log")


def _of_size(count: int) -> Callable[[str], str]:
    """Return a function that cuts or fills up a code signature to this number of bytes."""
    return lambda text: base64.b64encode(
        base64.b64decode(text).ljust(count, b"\0")[:count]
    ).decode()


def _send_serial_in_pieces(simulator: Simulator, message: Any) -> None:
    fields = message["Serial"]
    data = base64.b64decode(fields["data"])
    for piece in (*(data[n : n + 1] for n in range(len(data))), b""):
        text = base64.b64encode(piece).decode()
        simulator.write(encode({"Serial": {**fields, "data": text}}))


def _is_rootless(_: Simulator, name: str, value: Any) -> bool:
    content = member(value, "USD")
    return isinstance(content, dict) and "root" not in content


def _in_single_precision(simulator: Simulator, value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _in_single_precision(simulator, entry) for key, entry in value.items()}
    if isinstance(value, float):
        narrow = ctypes.c_float(value).value
        return narrow if math.isfinite(narrow) else None
    return value


class Tidy(Robot):
    """A robot whose files are removed after they are read."""

    def read_file(self, name: str) -> bytes:
        data = super().read_file(name)
        self._path(name).unlink()
        return data


class Paused(Robot):
    """A robot for which no time passes while it is disabled."""

    def step(self, seconds: float) -> None:
        super().step(seconds if self.competition["enabled"] else 0.0)


class Sluggish(Robot):
    """A robot whose motors stop slowly."""

    def configure(self, port: Port, gearset: str, inertia: float) -> None:
        super().configure(port, gearset, inertia)
        self.motors[port] = WeakMotor(gearset, self.motors[port].inertia)


class WeakMotor(Motor):
    """A motor that loses 4 % of its velocity in each step while it is held."""

    def step(self, seconds: float, supply: float) -> None:
        before = self.velocity
        super().step(seconds, supply)
        if self.brake_mode == "Hold" and self.voltage == 0.0 and self.target is None:
            self.velocity = before * 0.96 if before > 0.005 else before


class Unruly(Robot):
    """A robot whose motors do not depend on the competition mode."""

    def step(self, seconds: float) -> None:
        mode = self.competition
        self.competition = {**mode, "enabled": True}
        super().step(seconds)
        self.competition = mode


VARIANTS = Table(Simulator)

VARIANTS["handshake.closes-incompatible"] = {
    "closes-on-later-version": Variant(
        "Closes if a version above its own is offered, as an unsupported version.",
        instead(
            "handle_handshake",
            lambda simulator, content, strange: simulator.incompatible(content),
            lambda _, content, strange: content["version"] > 1,
        ),
    ),
    "waits-for-another-version": Variant(
        "Neither answers nor closes if a version above its own is offered.",
        skip("handle_handshake", lambda _, content, strange: content["version"] > 1),
    ),
}

VARIANTS["ready.sent"] = {
    "ready-at-once": Variant(
        "Sends Ready with the handshake, before its code signature.",
        before("send_signature", "become_ready"),
        skip("load"),
    ),
    "loads-slowly": Variant(
        "Needs a longer time to load its program than to answer.", delay("become_ready", LOAD_TIME)
    ),
}

VARIANTS["start.ignored-before-ready"] = {
    "closes-on-early-start": Variant(
        "Closes at a StartExecution before Ready.", instead("early_start", "close")
    ),
    "draws-while-loading": Variant(
        "Draws a picture of its own before its program runs.", then("answer", send(PICTURE))
    ),
}

VARIANTS["ready.once"] = {
    "ready-repeated": Variant(
        "Sends Ready again after each setup command that follows Ready.",
        then("handle", send("Ready"), having("ready") & ~RUNNING & ~ENDED),
    ),
}

VARIANTS["log.any-time"] = {
    "logs-everything": Variant(
        "Sends a Log before and after every other event, including the last event.",
        before("send", call("log", "Trace", "an event comes"), NEWS),
        then("send", call("log", "Trace", "an event has come"), NEWS),
    ),
}

VARIANTS["signature.cold-header"] = {
    "short-cold-header": Variant(
        "Sends a code signature of 12 bytes.", returning("signature", _of_size(12))
    ),
}

VARIANTS["signature.sent"] = {
    "signature-of-a-section": Variant(
        "Sends a whole section of the program, which begins with the header, as code signature.",
        returning("signature", _of_size(4120)),
    ),
}

VARIANTS["serial.bytes-exact"] = {
    "serial-in-pieces": Variant(
        "Sends each byte of serial data in its own event, then an empty event.",
        instead("send", _send_serial_in_pieces, named("Serial")),
    ),
}

VARIANTS["encoding.externally-tagged"] = {
    "single-precision": Variant(
        "Sends floats of 32 bits, and null for what they cannot hold.",
        alter("send", _in_single_precision),
    ),
}

VARIANTS["encoding.optional-null"] = {
    "target-null": Variant(
        "Sends null for a missing target position.",
        fields("DeviceUpdate", "status", "Motor", target_position=lambda target: target or None),
    ),
}

VARIANTS["encoding.optional-absent"] = {
    "target-absent": Variant(
        "Omits the target position.",
        edit("DeviceUpdate", lambda _, told: told["status"]["Motor"].pop("target_position")),
    ),
    "absent-root-closes": Variant(
        "Closes at a USD without root.", instead("message", "close", _is_rootless)
    ),
}

VARIANTS["sdcard.mounted"] = {
    "files-removed-again": Variant(
        "Runs a program that removes its file from the SD card after reading it.",
        instead("build", lambda _: Tidy()),
    ),
}

VARIANTS["commands.undefined-tolerated"] = {
    "unsettled-commands-close": Variant(
        "Closes at AdiInput and VEXLink commands, which it does not use.",
        instead("adi_input", "close"),
        instead("link_opened", "close"),
        instead("link_closed", "close"),
    ),
}

VARIANTS["types.stride-nonzero"] = {
    "negative-stride": Variant(
        "Counts the rows of a pixel buffer from the bottom, with a negative stride.",
        fields("ScreenDraw", "command", "CopyBuffer", stride=lambda stride: -stride),
    ),
}

VARIANTS["framing.json-lines"] = {
    "last-line-open": Variant(
        "Writes its last line without a newline.",
        instead("send", lambda simulator, event: simulator.write(b'"Exited"'), named("Exited")),
    ),
}

VARIANTS["execution.reports-changes"] = {
    "tells-little": Variant(
        "Sends no poses, states, links and batteries, which are not required.",
        skip(
            "send",
            named("RobotPose", "RobotState", "VEXLinkConnect", "VEXLinkDisconnect", "Battery"),
        ),
    ),
}

VARIANTS["devices.update-on-change"] = {
    "stands-still-while-disabled": Variant(
        "Stops its whole simulation while the robot is disabled.",
        instead("build", lambda _: Paused()),
    ),
    "stops-slowly": Variant(
        "Has motors that hold with little force, and whose velocity stays a little above zero.",
        instead("build", lambda _: Sluggish()),
    ),
    "drives-on-while-disabled": Variant(
        "Leaves its motors to the program while the robot is disabled.",
        instead("build", lambda _: Unruly()),
    ),
}


@variant("reports-motors-at-rest", of="devices.update-on-change")
class ReportsMotorsAtRest(Simulator):
    """Sends the state of each motor twenty times a second until the program runs."""

    def configure(self, content: dict[str, Any]) -> None:
        if not self.robot.motors:
            self.report_motors()
        super().configure(content)

    def report_motors(self) -> None:
        if self.ended or self.started:
            return
        for port, motor in self.robot.motors.items():
            self.send({"DeviceUpdate": {"port": port_form(port), "status": motor.status()}})
        asyncio.get_running_loop().call_later(0.05, self.report_motors)


@variant("serial-held-while-disabled", of="serial.bytes-exact")
class SerialHeldWhileDisabled(Simulator):
    """Sends the program's serial data only while the robot is enabled."""

    def report(self) -> None:
        robot = self.robot
        held = [event for event in robot.events if name_of(event) == "Serial"]
        if robot.competition["enabled"]:
            held.clear()
        for event in held:
            robot.events.remove(event)
        super().report()
        robot.events.extend(held)


@variant("modes-read-leniently", of="competition.update")
class ModesReadLeniently(SerialHeldWhileDisabled):
    """Takes false for a flag of a CompetitionMode that is missing or no boolean."""

    def message(self, name: str, value: Any) -> None:
        if name == "CompetitionMode":
            given = member(value, name)
            given = given if isinstance(given, dict) else {}
            flags = ("enabled", "connected", "is_competition")
            read = {flag: given.get(flag) is True for flag in flags}
            value = {name: {"mode": "Driver", **given, **read}}
        super().message(name, value)


@variant("probe-repeats", of="serial.bytes-exact")
class ProbeRepeats(Simulator):
    """Runs a probe that repeats all its lines; the last line is divided."""

    def __init__(self, settings: Settings, number: int = 1) -> None:
        super().__init__(settings, number)
        self.lines: dict[bytes, bytes] = {}
        self.rest = b""

    def report(self) -> None:
        if self.settings.program == "probe" and not self.ended:
            for event in list(self.robot.events):
                if name_of(event) == "Serial":
                    self.robot.events.remove(event)
                    line = base64.b64decode(event["Serial"]["data"])
                    self.lines[line.split()[0]] = line
            self.repeat()
        super().report()

    def repeat(self) -> None:
        if self.rest:
            piece, self.rest = self.rest, b""
        else:
            last = self.lines.get(b"controller", b"\n")
            others = (line for line in self.lines.values() if line != last)
            piece, self.rest = b"".join((*others, last[:-2])), last[-2:]
        self.robot.serial(1, piece)


@variant("battery-told-often", of="battery.set-capacity")
class BatteryToldOften(Simulator):
    """Sends the battery every few steps, and an old value after a command."""

    every = 5  # steps
    late = 0  # steps of delay after the step in which the program sees the command
    battery: Any = None
    under_way: Any = None
    due = 0  # steps until the next Battery event

    def set_capacity(self, content: dict[str, Any]) -> None:
        super().set_capacity(content)
        if self.battery:
            self.under_way, self.due = self.battery, self.late

    def report(self) -> None:
        for event in list(self.robot.events):
            if name_of(event) == "Battery":
                self.robot.events.remove(event)
                fields = event["Battery"]
                self.battery = {"Battery": {**fields, "capacity": round(fields["capacity"], 1)}}
        super().report()
        told = self.under_way or self.battery
        if self.due:
            self.due -= 1
        elif told:
            self.send(told)
            self.under_way, self.due = None, self.every - 1


@variant("battery-told-seldom", of="battery.set-capacity")
class BatteryToldSeldom(BatteryToldOften):
    """Sends the battery twice a second, and an old value after the new capacity."""

    every, late = 25, 1


@variant("command-a-step", of="setup.commands-handled")
class CommandAStep(Simulator):
    """Handles one command per step; other commands wait."""

    def __init__(self, settings: Settings, number: int = 1) -> None:
        super().__init__(settings, number)
        self.waiting: deque[tuple[str, Any]] = deque()

    def handle(self, name: str, content: Any) -> None:
        self.waiting.append((name, content))
        if len(self.waiting) == 1:
            self.schedule_next()

    def schedule_next(self) -> None:
        asyncio.get_running_loop().call_later(self.settings.tick, self.next)

    def next(self) -> None:
        if self.ended:
            return
        super().handle(*self.waiting[0])
        self.waiting.popleft()
        if self.waiting:
            self.schedule_next()


@variant("one-session-at-a-time", of="session.independent", needs={"transport": "tcp"})
class OneSessionAtATime(Simulator):
    """Closes a connection at once while an earlier session has not ended yet."""

    busy = False

    async def run(self, stream: Stream) -> None:
        if OneSessionAtATime.busy:
            await stream.closed()
            return
        OneSessionAtATime.busy = True
        await super().run(stream)
        asyncio.get_running_loop().call_later(0.1, self.forget)

    def forget(self) -> None:
        OneSessionAtATime.busy = False


@variant("one-session-only", of="session.independent", needs={"transport": "tcp"})
class OneSessionOnly(Simulator):
    """Closes each connection after the first without a message."""

    async def run(self, stream: Stream) -> None:
        if self.number == 1:
            await super().run(stream)
        else:
            await stream.closed()
