"""Variants of the simulator: lawful behaviour that differs from the usual behaviour."""

import asyncio
import base64
from collections import deque
from typing import Any

from conformance.vexide.codec import encode, name_of
from mocks.deviations import variant
from mocks.vexide.messages import Port
from mocks.vexide.robot import Motor, Robot
from mocks.vexide.simulator import SIGNATURE, Settings, Simulator


@variant("closes-on-later-version", of="handshake.closes-incompatible")
class ClosesOnLaterVersion(Simulator):
    """Closes if a version above its own is offered, as an unsupported version."""

    def handle_handshake(self, content: dict[str, Any], strange: list[str]) -> None:
        if content["version"] > 1:
            self.incompatible(content)
        else:
            super().handle_handshake(content, strange)


@variant("ready-at-once", of="ready.sent")
class ReadyAtOnce(Simulator):
    """Sends Ready with the handshake, before its code signature."""

    def send_signature(self) -> None:
        self.become_ready()
        super().send_signature()

    def load(self) -> None:
        pass


@variant("ready-repeated", of="ready.once")
class ReadyRepeated(Simulator):
    """Sends Ready again after each setup command that follows Ready."""

    def handle(self, name: str, content: Any) -> None:
        super().handle(name, content)
        if self.ready and not self.started and not self.ended:
            self.send("Ready")


@variant("logs-everything", of="log.any-time")
class LogsEverything(Simulator):
    """Sends a Log before and after every other event, including the last event."""

    def send(self, message: Any) -> None:
        if name_of(message) in ("Handshake", "Log"):
            super().send(message)
            return
        self.log("Trace", "an event comes")
        super().send(message)
        self.log("Trace", "an event has come")


@variant("short-cold-header", of="signature.cold-header")
class ShortColdHeader(Simulator):
    """Sends a code signature of 12 bytes."""

    def signature(self) -> str:
        return base64.b64encode(base64.b64decode(SIGNATURE)[:12]).decode()


@variant("signature-of-a-section", of="signature.sent")
class SignatureOfASection(Simulator):
    """Sends a whole section of the program, which begins with the header, as code signature."""

    def signature(self) -> str:
        return base64.b64encode(base64.b64decode(SIGNATURE) + bytes(4096)).decode()


@variant("serial-in-pieces", of="serial.bytes-exact")
class SerialInPieces(Simulator):
    """Sends each byte of serial data in its own event, then an empty event."""

    def send(self, message: Any) -> None:
        if name_of(message) != "Serial":
            super().send(message)
            return
        fields = message["Serial"]
        data = base64.b64decode(fields["data"])
        for piece in (*(data[n : n + 1] for n in range(len(data))), b""):
            super().send({"Serial": {**fields, "data": base64.b64encode(piece).decode()}})


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


class Targeting(Simulator):
    """Changes the target position of a motor with `target`."""

    def send(self, message: Any) -> None:
        if name_of(message) == "DeviceUpdate":
            fields = message["DeviceUpdate"]
            motor = dict(fields["status"]["Motor"])
            self.target(motor)
            message = {"DeviceUpdate": {**fields, "status": {"Motor": motor}}}
        super().send(message)

    def target(self, motor: dict[str, Any]) -> None:
        raise NotImplementedError


@variant("target-null", of="encoding.optional-null")
class TargetNull(Targeting):
    """Sends null for a missing target position."""

    def target(self, motor: dict[str, Any]) -> None:
        motor["target_position"] = motor["target_position"] or None


@variant("target-absent", of="encoding.optional-absent")
class TargetAbsent(Targeting):
    """Omits the target position."""

    def target(self, motor: dict[str, Any]) -> None:
        del motor["target_position"]


@variant("files-removed-again", of="sdcard.mounted")
class FilesRemovedAgain(Simulator):
    """Runs a program that removes its file from the SD card after reading it."""

    def build(self) -> Robot:
        return Tidy()


class Tidy(Robot):
    """A robot whose files are removed after they are read."""

    def read_file(self, name: str) -> bytes:
        data = super().read_file(name)
        self._path(name).unlink()
        return data


@variant("absent-root-closes", of="encoding.optional-absent")
class AbsentRootCloses(Simulator):
    """Closes at a USD without root."""

    def message(self, name: str, value: Any) -> None:
        if name == "USD" and isinstance(value["USD"], dict) and "root" not in value["USD"]:
            self.close()
        else:
            super().message(name, value)


@variant("unsettled-commands-close", of="commands.undefined-tolerated")
class UnsettledCommandsClose(Simulator):
    """Closes at AdiInput and VEXLink commands, which it does not use."""

    def adi_input(self, content: dict[str, Any]) -> None:
        self.close()

    def link_opened(self, content: dict[str, Any]) -> None:
        self.close()

    def link_closed(self, content: dict[str, Any]) -> None:
        self.close()


@variant("negative-stride", of="types.stride-nonzero")
class NegativeStride(Simulator):
    """Counts the rows of a pixel buffer from the bottom, with a negative stride."""

    def send(self, message: Any) -> None:
        command = message["ScreenDraw"]["command"] if name_of(message) == "ScreenDraw" else {}
        if copied := command.get("CopyBuffer"):
            turned = {"CopyBuffer": {**copied, "stride": -copied["stride"]}}
            message = {"ScreenDraw": {**message["ScreenDraw"], "command": turned}}
        super().send(message)


@variant("last-line-open", of="framing.json-lines")
class LastLineOpen(Simulator):
    """Writes its last line without a newline."""

    def send(self, message: Any) -> None:
        if message == "Exited":
            self.write(encode(message).rstrip(b"\n"))
        else:
            super().send(message)


@variant("tells-little", of="execution.reports-changes")
class TellsLittle(Simulator):
    """Sends no poses, states, links and batteries, which are not required."""

    def send(self, message: Any) -> None:
        unneeded = ("RobotPose", "RobotState", "VEXLinkConnect", "VEXLinkDisconnect", "Battery")
        if name_of(message) not in unneeded:
            super().send(message)


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


@variant("stands-still-while-disabled", of="devices.update-on-change")
class StandsStillWhileDisabled(Simulator):
    """Stops its whole simulation while the robot is disabled."""

    def build(self) -> Robot:
        return Paused()


class Paused(Robot):
    """A robot for which no time passes while it is disabled."""

    def step(self, seconds: float) -> None:
        super().step(seconds if self.competition["enabled"] else 0.0)


@variant("stops-slowly", of="devices.update-on-change")
class StopsSlowly(Simulator):
    """Has motors that hold with little force, and whose velocity stays a little above zero."""

    def build(self) -> Robot:
        return Sluggish()


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


@variant("drives-on-while-disabled", of="devices.update-on-change")
class DrivesOnWhileDisabled(Simulator):
    """Leaves its motors to the program while the robot is disabled."""

    def build(self) -> Robot:
        return Unruly()


class Unruly(Robot):
    """A robot whose motors do not depend on the competition mode."""

    def step(self, seconds: float) -> None:
        mode = self.competition
        self.competition = {**mode, "enabled": True}
        super().step(seconds)
        self.competition = mode
