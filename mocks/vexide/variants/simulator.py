"""Variants of the simulator: what it may do, or may do otherwise."""

import asyncio
import base64
from collections import deque
from typing import Any

from conformance.vexide.codec import encode, name_of
from mocks.deviations import variant
from mocks.vexide.robot import Robot
from mocks.vexide.simulator import SIGNATURE, Settings, Simulator


@variant("closes-on-later-version", of="handshake.closes-incompatible")
class ClosesOnLaterVersion(Simulator):
    """Closes upon an offer of a version above its own, as one that it does not speak."""

    def greeted(self, content: dict[str, Any], strange: list[str]) -> None:
        if content["version"] > 1:
            self.incompatible(content)
        else:
            super().greeted(content, strange)


@variant("ready-at-once", of="ready.sent")
class ReadyAtOnce(Simulator):
    """Is ready with the handshake, before it has sent its code signature."""

    def send_signature(self) -> None:
        self.loaded()
        super().send_signature()

    def load(self) -> None:
        pass


@variant("ready-repeated", of="ready.once")
class ReadyRepeated(Simulator):
    """Sends Ready again upon each setup command that comes after it."""

    def handle(self, name: str, content: Any) -> None:
        super().handle(name, content)
        if self.ready and not self.started and not self.ended:
            self.send("Ready")


@variant("logs-everything", of="log.any-time")
class LogsEverything(Simulator):
    """Sends a Log before and behind every other event, the last one among them."""

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
    """Sends a whole section of the program as code signature, which begins with the header."""

    def signature(self) -> str:
        return base64.b64encode(base64.b64decode(SIGNATURE) + bytes(4096)).decode()


@variant("serial-in-pieces", of="serial.bytes-exact")
class SerialInPieces(Simulator):
    """Sends each byte of serial data in an event of its own, with an empty one behind."""

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
    """Flushes what the program has written to serial channels while the robot is enabled only."""

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
    """Runs a probe that writes all that it sees again and again, its last line in two events."""

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
    """Tells the target position of a motor otherwise."""

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
    """Sends null for a target position that there is not."""

    def target(self, motor: dict[str, Any]) -> None:
        motor["target_position"] = motor["target_position"] or None


@variant("target-absent", of="encoding.optional-absent")
class TargetAbsent(Targeting):
    """Leaves a target position out."""

    def target(self, motor: dict[str, Any]) -> None:
        del motor["target_position"]


@variant("files-removed-again", of="sdcard.mounted")
class FilesRemovedAgain(Simulator):
    """Runs a program that removes what it wrote to the SD card, once it has read it back."""

    def build(self) -> Robot:
        return Tidy()


class Tidy(Robot):
    """A robot whose files are gone once they are read."""

    def read_file(self, name: str) -> bytes:
        data = super().read_file(name)
        self._path(name).unlink()
        return data


@variant("absent-root-closes", of="encoding.optional-absent")
class AbsentRootCloses(Simulator):
    """Closes upon a USD without root."""

    def message(self, name: str, value: Any) -> None:
        if name == "USD" and isinstance(value["USD"], dict) and "root" not in value["USD"]:
            self.close()
        else:
            super().message(name, value)


@variant("unsettled-commands-close", of="commands.undefined-tolerated")
class UnsettledCommandsClose(Simulator):
    """Closes upon AdiInput and VEXLink commands, of which it has no use."""

    def adi_input(self, content: dict[str, Any]) -> None:
        self.close()

    def link_opened(self, content: dict[str, Any]) -> None:
        self.close()

    def link_closed(self, content: dict[str, Any]) -> None:
        self.close()


@variant("negative-stride", of="types.stride-nonzero")
class NegativeStride(Simulator):
    """Counts the rows of a pixel buffer from the bottom: its stride is negative."""

    def send(self, message: Any) -> None:
        command = message["ScreenDraw"]["command"] if name_of(message) == "ScreenDraw" else {}
        if copied := command.get("CopyBuffer"):
            turned = {"CopyBuffer": {**copied, "stride": -copied["stride"]}}
            message = {"ScreenDraw": {**message["ScreenDraw"], "command": turned}}
        super().send(message)


@variant("last-line-open", of="framing.json-lines")
class LastLineOpen(Simulator):
    """Ends its last line with the stream, without a newline."""

    def send(self, message: Any) -> None:
        if message == "Exited":
            self.write(encode(message).rstrip(b"\n"))
        else:
            super().send(message)


@variant("tells-little", of="execution.reports-changes")
class TellsLittle(Simulator):
    """Sends no poses, states, links and battery, which are not required."""

    def send(self, message: Any) -> None:
        unneeded = ("RobotPose", "RobotState", "VEXLinkConnect", "VEXLinkDisconnect", "Battery")
        if name_of(message) not in unneeded:
            super().send(message)


@variant("battery-told-often", of="battery.set-capacity")
class BatteryToldOften(Simulator):
    """Tells the battery every few steps, to a tenth, and late what it held before a command."""

    every = 5  # steps
    late = 0  # steps after the one in which the program sees the command
    battery: Any = None
    under_way: Any = None
    due = 0  # steps until it is told again

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
    """Tells the battery twice a second; what it held before comes after the program saw it set."""

    every, late = 25, 1


@variant("command-a-step", of="setup.commands-handled")
class CommandAStep(Simulator):
    """Takes one command in each of its steps; the others wait."""

    def __init__(self, settings: Settings, number: int = 1) -> None:
        super().__init__(settings, number)
        self.waiting: deque[tuple[str, Any]] = deque()

    def handle(self, name: str, content: Any) -> None:
        self.waiting.append((name, content))
        if len(self.waiting) == 1:
            self.soon()

    def soon(self) -> None:
        asyncio.get_running_loop().call_later(self.settings.tick, self.next)

    def next(self) -> None:
        if self.ended:
            return
        super().handle(*self.waiting[0])
        self.waiting.popleft()
        if self.waiting:
            self.soon()
