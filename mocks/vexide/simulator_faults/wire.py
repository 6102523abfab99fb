"""Faults of the simulator in framing, roles, transport and encoding."""

import json
from typing import Any

from conformance.vexide.codec import name_of
from mocks.deviations import fault
from mocks.vexide import defects
from mocks.vexide.simulator import Simulator
from mocks.vexide.simulator_faults.altering import Altering


@fault("pretty-printed", violates="framing.json-lines")
class PrettyPrinted(Simulator):
    """Writes its events over several lines, indented."""

    def send(self, message: Any) -> None:
        self.write(json.dumps(message, indent=2).encode() + b"\n")


@fault("blank-after-ready", violates="framing.json-lines", subtle=True)
class BlankAfterReady(Simulator):
    """Writes one blank line, after Ready."""

    def loaded(self) -> None:
        super().loaded()
        self.write(b"\n")


@fault("one-message-a-read", violates="framing.segmentation")
class OneMessageARead(defects.OneMessageARead, Simulator):
    """Takes each read from the stream for one message."""


@fault("first-line-of-a-read", violates="framing.segmentation", subtle=True)
class FirstLineOfARead(defects.FirstLineOfARead, Simulator):
    """Takes the first of the lines that arrive together and forgets the others."""


@fault("one-line-a-read", violates="framing.segmentation", subtle=True)
class OneLineARead(defects.OneLineARead, Simulator):
    """Takes one line each time that something arrives; others wait until more arrives."""


@fault("text-reads", violates="framing.segmentation", subtle=True)
class TextReads(defects.TextReads, Simulator):
    """Loses what arrives cut inside a multi-byte character."""


@fault("reads-decoded-apart", violates="framing.segmentation", subtle=True)
class ReadsDecodedApart(defects.ReadsDecodedApart, Simulator):
    """Replaces a character that arrives in two reads by others, and loses nothing else."""


@fault("two-pieces", violates="framing.segmentation", subtle=True)
class TwoPieces(defects.TwoPieces, Simulator):
    """Loses the middle of a line that arrives in more than three pieces."""


@fault("splits-text", violates="framing.segmentation", subtle=True)
class SplitsText(defects.SplitsText, Simulator):
    """Takes a line separator inside a text for the end of a line of the stream."""


@fault("own-spelling-only", violates="framing.white-space")
class OwnSpellingOnly(defects.OwnSpellingOnly, Simulator):
    """Does not see a message that is not spelled as it would itself, without white space."""


@fault("no-escapes", violates="framing.white-space", subtle=True)
class NoEscapes(defects.NoEscapes, Simulator):
    """Does not see a message with a character written as \\u escape."""


@fault("no-exponents", violates="framing.white-space", subtle=True)
class NoExponents(defects.NoExponents, Simulator):
    """Does not see a message with a number that is written with an exponent."""


@fault("ordered-fields", violates="framing.white-space", subtle=True)
class OrderedFields(defects.OrderedFields, Simulator):
    """Does not see a message whose fields come in an order that it does not expect."""


@fault("buffer-64k", violates="framing.long-lines", subtle=True)
class Buffer64K(defects.SmallBuffer, Simulator):
    """Closes the session upon a line of more than 64 KiB."""


@fault("buffer-1m", violates="framing.long-lines", subtle=True)
class Buffer1M(defects.FullBuffer, Simulator):
    """Stops serving upon a line of more than 1 MiB."""


@fault("echoes-commands", violates="roles.own-messages")
class EchoesCommands(Simulator):
    """Sends each command back, as if to acknowledge it."""

    def handle(self, name: str, content: Any) -> None:
        super().handle(name, content)
        self.send({"AdiInput": {"port": 0, "voltage": 0.0}})


@fault("echoes-competition", violates="roles.own-messages", subtle=True)
class EchoesCompetition(Simulator):
    """Sends a CompetitionMode back, but only while the program runs."""

    def compete(self, content: dict[str, Any]) -> None:
        super().compete(content)
        if self.started:
            self.send({"CompetitionMode": content})


class DeafWhenReady(Simulator):
    """Takes no more commands once it is ready, on the transports that `deaf` names."""

    deaf: tuple[str, ...]

    def receive(self, data: bytes) -> None:
        if not (self.ready and self.stream.kind in self.deaf):
            super().receive(data)


@fault("pipe-deaf", violates="transport.standard-streams", needs={"transport": "stdio"})
class PipeDeaf(DeafWhenReady):
    """On its standard streams takes no more commands once it is ready."""

    deaf = ("stdio",)


@fault("socket-deaf", violates="transport.others", subtle=True, needs={"transport": "tcp"})
class SocketDeaf(DeafWhenReady):
    """On a socket takes no more commands once it is ready."""

    deaf = ("tcp", "unix")


@fault("internally-tagged", violates="encoding.externally-tagged")
class InternallyTagged(Simulator):
    """Tags events that have fields internally: the name is the field type among the others."""

    def send(self, message: Any) -> None:
        name = name_of(message)
        content = message[name] if isinstance(message, dict) else None
        if isinstance(content, dict) and name != "Handshake":
            message = {"type": name, **content}
        super().send(message)


@fault("ready-as-object", violates="encoding.externally-tagged", subtle=True)
class ReadyAsObject(Simulator):
    """Sends Ready as an object with an empty object in it."""

    def send(self, message: Any) -> None:
        super().send({"Ready": {}} if message == "Ready" else message)


@fault("brake-mode-lower-case", violates="encoding.externally-tagged", subtle=True)
class BrakeModeLowerCase(Altering):
    """Writes the brake mode of a motor in lower case."""

    def alter(self, name: str, content: Any) -> None:
        if name == "DeviceUpdate":
            motor = content["status"]["Motor"]
            motor["brake_mode"] = motor["brake_mode"].lower()


@fault("circle-adjacent", violates="encoding.externally-tagged", subtle=True)
class CircleAdjacent(Altering):
    """Tags a circle, and no other shape, adjacently."""

    def alter(self, name: str, content: Any) -> None:
        if name == "ScreenDraw":
            for command in content["command"].values():
                circle = command.get("shape", {}).get("Circle")
                if circle is not None:
                    command["shape"] = {"type": "Circle", "content": circle}


@fault("absent-root-ends", violates="encoding.optional-null")
class AbsentRootEnds(Simulator):
    """Ends the session upon a USD without root, instead of taking it for null."""

    def message(self, name: str, value: Any) -> None:
        if name == "USD" and "root" not in value["USD"]:
            self.close()
        else:
            super().message(name, value)


@fault("null-root-refused", violates="encoding.optional-null", subtle=True)
class NullRootRefused(Simulator):
    """Ends the session upon a USD whose root is null; an absent one it takes."""

    def message(self, name: str, value: Any) -> None:
        if name == "USD" and value["USD"].get("root", "") is None:
            self.close()
        else:
            super().message(name, value)
