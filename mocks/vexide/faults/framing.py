"""Faults of either peer in cutting the stream into lines and in reading what stands in them."""

import itertools
import json
import re
from collections.abc import Mapping
from typing import Any

from conformance import codec
from conformance.codec import Frame
from conformance.vexide.codec import Decoder, encode
from mocks.deviations import fault
from mocks.misreading import FirstOfARead
from mocks.vexide.faults.bases import Hanging
from mocks.vexide.session import Session


@fault("pretty-printed", violates="framing.json-lines")
class PrettyPrinted(Session):
    """Writes its messages over several lines, indented."""

    def send(self, message: Any) -> None:
        self.write(json.dumps(message, indent=2).encode() + b"\n")


@fault("no-newline", violates="framing.json-lines")
class NoNewline(Session):
    """Writes its messages one behind the other, without a newline."""

    def write(self, data: bytes) -> None:
        super().write(data.removesuffix(b"\n"))


@fault("newline-between", violates="framing.json-lines", subtle=True)
class NewlineBetween(Session):
    """Writes a newline before each message but the first, and none behind it."""

    between = b""

    def write(self, data: bytes) -> None:
        super().write(self.between + data.removesuffix(b"\n"))
        self.between = b"\n"


@fault("one-message-a-read", violates="framing.segmentation")
class OneMessageARead(Session):
    """Takes each read from the stream for one message."""

    def receive(self, data: bytes) -> None:
        for frame in Decoder().feed(data.replace(b"\n", b" ") + b"\n"):
            self.take(frame)


@fault("first-line-of-a-read", violates="framing.segmentation", subtle=True)
class FirstLineOfARead(Session):
    """Takes the first of the lines that arrive together and forgets the others."""

    def make_decoder(self) -> codec.Decoder:
        return FirstOfARead(super().make_decoder())


@fault("one-line-a-read", violates="framing.segmentation", subtle=True)
class OneLineARead(Session):
    """Takes one line each time that something arrives; others wait until more arrives."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.waiting: list[Frame] = []

    def receive(self, data: bytes) -> None:
        self.waiting += self.decoder.feed(data)
        if self.waiting:
            self.take(self.waiting.pop(0))


@fault("text-reads", violates="framing.segmentation", subtle=True)
class TextReads(Session):
    """Loses what arrives cut inside a multi-byte character."""

    def receive(self, data: bytes) -> None:
        try:
            data.decode()
        except UnicodeDecodeError:
            return
        super().receive(data)


@fault("reads-decoded-apart", violates="framing.segmentation", subtle=True)
class ReadsDecodedApart(Session):
    """Replaces a character that arrives in two reads by others, and loses nothing else."""

    def receive(self, data: bytes) -> None:
        super().receive(data.decode(errors="replace").encode())


@fault("two-pieces", violates="framing.segmentation", subtle=True)
class TwoPieces(Session):
    """Loses the middle of a line that arrives in more than three pieces."""

    pieces = 0

    def receive(self, data: bytes) -> None:
        self.pieces = 0 if b"\n" in data else self.pieces + 1
        if self.pieces < 3:
            super().receive(data)


@fault("splits-text", violates="framing.segmentation", subtle=True)
class SplitsText(Session):
    """Takes a line separator inside a text for the end of a line of the stream."""

    def receive(self, data: bytes) -> None:
        super().receive(data.replace("\u2028".encode(), b"\n"))


@fault("own-spelling-only", violates="framing.white-space")
class OwnSpellingOnly(Session):
    """Does not see a message that is not spelled as it would itself, without white space."""

    def take(self, frame: Frame) -> None:
        if frame.name is None or frame.raw.strip() == encode(frame.value).strip():
            super().take(frame)


@fault("no-escapes", violates="framing.white-space", subtle=True)
class NoEscapes(Session):
    """Does not see a message with a character written as \\u escape."""

    def take(self, frame: Frame) -> None:
        if b"\\u" not in frame.raw:
            super().take(frame)


@fault("escapes-end", violates="framing.white-space", subtle=True)
class EscapesEnd(Session):
    """Ends the session upon a Handshake in which a name is written with a \\u escape."""

    def take(self, frame: Frame) -> None:
        if frame.name != "Handshake" or b'"version"' in frame.raw:
            super().take(frame)
        else:
            self.close()


@fault("ascii-only", violates="framing.white-space", subtle=True)
class AsciiOnly(Session):
    """Ends the session upon a Handshake with a character beyond ASCII."""

    def take(self, frame: Frame) -> None:
        if frame.name != "Handshake" or frame.raw.isascii():
            super().take(frame)
        else:
            self.close()


@fault("no-exponents", violates="framing.white-space", subtle=True)
class NoExponents(Session):
    """Ends the session upon a number that is written with an exponent."""

    def take(self, frame: Frame) -> None:
        if re.search(rb"\d[eE][-+]?\d+\s*[],}]", frame.raw):
            self.close()
        else:
            super().take(frame)


@fault("ordered-fields", violates="framing.white-space", subtle=True)
class OrderedFields(Session):
    """Does not see a message whose fields come in an order that it does not expect."""

    def take(self, frame: Frame) -> None:
        shape = self.INCOMING.variants.get(frame.name or "")
        if isinstance(shape, Mapping) and isinstance(frame.value, dict):
            content = frame.value[frame.name]
            if [name for name in content if name in shape] != [n for n in shape if n in content]:
                return
        super().take(frame)


@fault("fields-by-position", violates="framing.white-space", subtle=True)
class FieldsByPosition(Session):
    """Ends the session upon a Handshake in which the version is not the first field."""

    def take(self, frame: Frame) -> None:
        fields = frame.value["Handshake"] if frame.name == "Handshake" else {"version": 1}
        if next(iter(fields)) == "version":
            super().take(frame)
        else:
            self.close()


@fault("buffer-64k", violates="framing.long-lines", subtle=True)
class SmallBuffer(Session):
    """Closes the session upon a line of more than 64 KiB."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.decoder = Decoder(limit=65536)

    def take(self, frame: Frame) -> None:
        if "a line of more than" in (frame.error or ""):
            self.close()
        else:
            super().take(frame)


@fault("drops-long-lines", violates="framing.long-lines", subtle=True)
class DropsLongLines(Session):
    """Ignores a line of more than 8 KiB, and goes on."""

    def take(self, frame: Frame) -> None:
        if len(frame.raw) <= 8192:
            super().take(frame)


@fault("buffer-1m", violates="framing.long-lines", subtle=True)
class FullBuffer(Hanging):
    """Stops serving upon a line of more than 1 MiB."""

    held = 0

    def receive(self, data: bytes) -> None:
        _, newline, rest = data.rpartition(b"\n")
        self.held = len(rest) if newline else self.held + len(data)
        if self.held > 1024 * 1024:
            self.stuck = True
        super().receive(data)


@fault("braces-counted-in-texts", violates="handshake.unknown-fields", subtle=True)
class BracesCountedInTexts(Session):
    """Waits for as many closing braces as have been opened, those within texts among them."""

    def take(self, frame: Frame) -> None:
        if frame.raw.count(b"{") == frame.raw.count(b"}"):
            super().take(frame)


@fault("quote-behind-a-backslash", violates="handshake.unknown-fields", subtle=True)
class QuoteBehindABackslash(Session):
    """Takes each quote behind a backslash for one within the text, also where that is escaped."""

    def take(self, frame: Frame) -> None:
        outside = re.sub(rb'"(?:\\"|[^"])*+"?', b"", frame.raw)
        if outside.count(b"{") == outside.count(b"}"):
            super().take(frame)


@fault("eight-deep", violates="handshake.unknown-fields", subtle=True)
class EightDeep(Session):
    """Does not see a message in which more than eight values stand one within the other."""

    def take(self, frame: Frame) -> None:
        steps = ((byte in b"{[") - (byte in b"}]") for byte in frame.raw)
        if max(itertools.accumulate(steps), default=0) <= 8:
            super().take(frame)


@fault("first-version-in-the-text", violates="handshake.unknown-fields", subtle=True)
class FirstVersionInTheText(Session):
    """Takes the first version in the text of a Handshake for its own, whatever it belongs to."""

    def handshake(self, value: Any) -> None:
        found = re.search(rb'"version":(\d+)', encode(value))
        if found and isinstance(value["Handshake"], dict):
            value["Handshake"]["version"] = int(found[1])
        super().handshake(value)
