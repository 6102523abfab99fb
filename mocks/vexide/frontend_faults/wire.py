"""Faults of the frontend in framing, roles, transport and encoding."""

import json
from typing import Any

from conformance.vexide.codec import name_of
from mocks.deviations import fault
from mocks.vexide import defects
from mocks.vexide.frontend import Frontend


@fault("pretty-printed", violates="framing.json-lines")
class PrettyPrinted(Frontend):
    """Writes its commands over several lines, indented."""

    def send(self, message: Any) -> None:
        self.write(json.dumps(message, indent=2).encode() + b"\n")


@fault("blank-before-start", violates="framing.json-lines", subtle=True)
class BlankBeforeStart(Frontend):
    """Writes one blank line, before StartExecution."""

    def start(self) -> None:
        self.write(b"\n")
        super().start()


@fault("byte-order-mark", violates="framing.json-lines", subtle=True)
class ByteOrderMark(Frontend):
    """Begins the stream with a byte order mark."""

    def opened(self) -> None:
        self.write(b"\xef\xbb\xbf")
        super().opened()


@fault("one-message-a-read", violates="framing.segmentation")
class OneMessageARead(defects.OneMessageARead, Frontend):
    """Takes each read from the stream for one message."""


@fault("first-line-of-a-read", violates="framing.segmentation", subtle=True)
class FirstLineOfARead(defects.FirstLineOfARead, Frontend):
    """Takes the first of the lines that arrive together and forgets the others."""


@fault("one-line-a-read", violates="framing.segmentation", subtle=True)
class OneLineARead(defects.OneLineARead, Frontend):
    """Takes one line each time that something arrives; others wait until more arrives."""


@fault("text-reads", violates="framing.segmentation", subtle=True)
class TextReads(defects.TextReads, Frontend):
    """Loses what arrives cut inside a multi-byte character."""


@fault("reads-decoded-apart", violates="framing.segmentation", subtle=True)
class ReadsDecodedApart(defects.ReadsDecodedApart, Frontend):
    """Replaces a character that arrives in two reads by others, and loses nothing else."""


@fault("two-pieces", violates="framing.segmentation", subtle=True)
class TwoPieces(defects.TwoPieces, Frontend):
    """Loses the middle of a line that arrives in more than three pieces."""


@fault("splits-text", violates="framing.segmentation", subtle=True)
class SplitsText(defects.SplitsText, Frontend):
    """Takes a line separator inside a text for the end of a line of the stream."""


@fault("own-spelling-only", violates="framing.white-space")
class OwnSpellingOnly(defects.OwnSpellingOnly, Frontend):
    """Does not see a message that is not spelled as it would itself, without white space."""


@fault("no-escapes", violates="framing.white-space", subtle=True)
class NoEscapes(defects.NoEscapes, Frontend):
    """Does not see a message with a character written as \\u escape."""


@fault("no-exponents", violates="framing.white-space", subtle=True)
class NoExponents(defects.NoExponents, Frontend):
    """Ends the session upon a number that is written with an exponent."""

    def exponent(self) -> None:
        self.close()


@fault("ordered-fields", violates="framing.white-space", subtle=True)
class OrderedFields(defects.OrderedFields, Frontend):
    """Does not see a message whose fields come in an order that it does not expect."""


@fault("buffer-64k", violates="framing.long-lines", subtle=True)
class Buffer64K(defects.SmallBuffer, Frontend):
    """Closes the session upon a line of more than 64 KiB."""


@fault("buffer-1m", violates="framing.long-lines", subtle=True)
class Buffer1M(defects.FullBuffer, Frontend):
    """Stops serving upon a line of more than 1 MiB."""


@fault("sends-events", violates="roles.own-messages")
class SendsEvents(Frontend):
    """Sends a Log of its own to the simulator after the handshake."""

    def set_up(self) -> None:
        self.send({"Log": {"level": "Info", "message": "the frontend is here"}})
        super().set_up()


@fault("ready-echoed", violates="roles.own-messages", subtle=True)
class ReadyEchoed(Frontend):
    """Sends Ready back before it starts the program."""

    def start(self) -> None:
        self.send("Ready")
        super().start()


class Dropping(Frontend):
    """Closes when the handshake is finished, on the transports that `dropped` names."""

    dropped: tuple[str, ...]

    def set_up(self) -> None:
        if self.stream.kind in self.dropped:
            self.close()
        else:
            super().set_up()


@fault("pipe-dropped", violates="transport.standard-streams", needs={"transport": "stdio"})
class PipeDropped(Dropping):
    """Gives up a simulator on standard streams when the handshake is finished."""

    dropped = ("stdio",)


@fault("socket-dropped", violates="transport.others", subtle=True, needs={"transport": "tcp"})
class SocketDropped(Dropping):
    """Gives up a simulator on a socket when the handshake is finished."""

    dropped = ("tcp", "unix")


@fault("stderr-is-events", violates="stderr.unstructured", needs={"transport": "stdio"})
class StderrIsEvents(Frontend):
    """Takes a line of the simulator's standard error for an event where it looks like one."""

    def simulator_said(self, line: str) -> None:
        super().simulator_said(line)
        if self.live:
            self.receive(line.encode() + b"\n")


@fault("stderr-exited", violates="stderr.unstructured", subtle=True, needs={"transport": "stdio"})
class StderrExited(Frontend):
    """Ends the session when Exited, and nothing else, comes on standard error."""

    def simulator_said(self, line: str) -> None:
        super().simulator_said(line)
        if self.live and line.strip() == '"Exited"':
            self.exited(None)


@fault("stderr-hidden", violates="stderr.accessible", needs={"transport": "stdio"})
class StderrHidden(Frontend):
    """Does not show what the simulator writes on its standard error."""

    def simulator_said(self, line: str) -> None:
        pass


@fault(
    "stderr-hidden-in-session",
    violates="stderr.accessible",
    subtle=True,
    needs={"transport": "stdio"},
)
class StderrHiddenInSession(Frontend):
    """Shows standard error only until the handshake is finished."""

    def simulator_said(self, line: str) -> None:
        if not self.live:
            super().simulator_said(line)


@fault("internally-tagged", violates="encoding.externally-tagged")
class InternallyTagged(Frontend):
    """Tags the setup commands internally: the name is the field type among the others."""

    def send(self, message: Any) -> None:
        name = name_of(message)
        if name is not None and isinstance(message, dict) and name != "Handshake":
            message = {"type": name, **message[name]}
        super().send(message)


@fault("start-as-object", violates="encoding.externally-tagged", subtle=True)
class StartAsObject(Frontend):
    """Sends StartExecution as an object with an empty object in it."""

    def send(self, message: Any) -> None:
        super().send({"StartExecution": {}} if message == "StartExecution" else message)


@fault("mode-autonomous", violates="encoding.externally-tagged", subtle=True)
class ModeAutonomous(Frontend):
    """Calls the mode Auto by its full name."""

    def write(self, data: bytes) -> None:
        super().write(data.replace(b'"mode":"Auto"', b'"mode":"Autonomous"'))


@fault("last-gearset-lower-case", violates="encoding.externally-tagged", subtle=True)
class LastGearsetLowerCase(Frontend):
    """Writes the gearset of the motor on Smart port 20 in lower case."""

    def write(self, data: bytes) -> None:
        for color in (b"Red", b"Green", b"Blue"):
            if b'"Smart":20}' in data:
                data = data.replace(b'"%s"' % color, b'"%s"' % color.lower())
        super().write(data)


class Ending(Frontend):
    """Ends the session upon a motor's status with a target position of a kind."""

    def message(self, name: str, value: Any) -> None:
        if name == "DeviceUpdate" and self.ends(value[name]["status"].get("Motor", {"": 0})):
            self.close()
        else:
            super().message(name, value)

    def ends(self, motor: dict[str, Any]) -> bool:
        raise NotImplementedError


@fault("null-target-ends", violates="encoding.optional-null")
class NullTargetEnds(Ending):
    """Ends the session upon a target position that is null."""

    def ends(self, motor: dict[str, Any]) -> bool:
        return motor.get("target_position", 0) is None


@fault("absent-target-ends", violates="encoding.optional-null", subtle=True)
class AbsentTargetEnds(Ending):
    """Ends the session upon the status of a motor without a target position."""

    def ends(self, motor: dict[str, Any]) -> bool:
        return "velocity" in motor and "target_position" not in motor
