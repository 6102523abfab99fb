"""Faults of either mock in dividing the stream into lines and in reading the lines."""

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
    """Writes messages directly after each other, without a newline."""

    def write(self, data: bytes) -> None:
        super().write(data.removesuffix(b"\n"))


@fault("newline-between", violates="framing.json-lines", subtle=True)
class NewlineBetween(Session):
    """Writes a newline before each message except the first, and none after it."""

    between = b""

    def write(self, data: bytes) -> None:
        super().write(self.between + data.removesuffix(b"\n"))
        self.between = b"\n"


@fault("one-message-a-read", violates="framing.segmentation")
class OneMessageARead(Session):
    """Reads all bytes of one read() as one message."""

    def receive(self, data: bytes) -> None:
        for frame in Decoder().feed(data.replace(b"\n", b" ") + b"\n"):
            self.take(frame)


@fault("first-line-of-a-read", violates="framing.segmentation", subtle=True)
class FirstLineOfARead(Session):
    """Reads the first of several lines that arrive together and forgets the others."""

    def make_decoder(self) -> codec.Decoder:
        return FirstOfARead(super().make_decoder())


@fault("one-line-a-read", violates="framing.segmentation", subtle=True)
class OneLineARead(Session):
    """Reads one line whenever data arrives; other lines wait for the next data."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.waiting: list[Frame] = []

    def receive(self, data: bytes) -> None:
        self.waiting += self.decoder.feed(data)
        if self.waiting:
            self.take(self.waiting.pop(0))


@fault("text-reads", violates="framing.segmentation", subtle=True)
class TextReads(Session):
    """Loses data that arrives cut inside a multi-byte character."""

    def receive(self, data: bytes) -> None:
        try:
            data.decode()
        except UnicodeDecodeError:
            return
        super().receive(data)


@fault("reads-decoded-apart", violates="framing.segmentation", subtle=True)
class ReadsDecodedApart(Session):
    """Replaces a character that arrives in two reads by other characters."""

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
    """Treats a line separator inside a text as the end of a line."""

    def receive(self, data: bytes) -> None:
        super().receive(data.replace("\u2028".encode(), b"\n"))


@fault("buffer-of-1024", violates="framing.segmentation", subtle=True)
class BufferOf1024(Session):
    """Reads a line that fills its buffer of 1024 bytes as two lines."""

    def take(self, frame: Frame) -> None:
        if len(frame.raw) != 1024:
            super().take(frame)


@fault("buffer-of-65536", violates="framing.segmentation", subtle=True)
class BufferOf65536(Session):
    """Loses a line whose newline does not fit into its buffer of 65536 bytes."""

    def take(self, frame: Frame) -> None:
        if len(frame.raw) != 65537:
            super().take(frame)


@fault("own-spelling-only", violates="framing.white-space")
class OwnSpellingOnly(Session):
    """Ignores a message that is not spelled as its own encoder spells it."""

    def take(self, frame: Frame) -> None:
        if frame.name is None or frame.raw.strip() == encode(frame.value).strip():
            super().take(frame)


@fault("no-escapes", violates="framing.white-space", subtle=True)
class NoEscapes(Session):
    """Ignores a message with a character written as \\u escape."""

    def take(self, frame: Frame) -> None:
        if b"\\u" not in frame.raw:
            super().take(frame)


@fault("escapes-end", violates="framing.white-space", subtle=True)
class EscapesEnd(Session):
    """Ends the session at a Handshake in which a name contains a \\u escape."""

    def take(self, frame: Frame) -> None:
        if frame.name != "Handshake" or b'"version"' in frame.raw:
            super().take(frame)
        else:
            self.close()


@fault("ascii-only", violates="framing.white-space", subtle=True)
class AsciiOnly(Session):
    """Ends the session at a Handshake with a character beyond ASCII."""

    def take(self, frame: Frame) -> None:
        if frame.name != "Handshake" or frame.raw.isascii():
            super().take(frame)
        else:
            self.close()


@fault("no-exponents", violates="framing.white-space", subtle=True)
class NoExponents(Session):
    """Ends the session at a number with an exponent."""

    def take(self, frame: Frame) -> None:
        if re.search(rb"\d[eE][-+]?\d+\s*[],}]", frame.raw):
            self.close()
        else:
            super().take(frame)


@fault("twenty-digits", violates="framing.white-space", subtle=True, roles=("simulator",))
class TwentyDigits(Session):
    """Ignores a message with a number of more than twenty digits."""

    def take(self, frame: Frame) -> None:
        if not re.search(rb"[:,]\s*-?[\d.]{21,}", frame.raw):
            super().take(frame)


@fault("small-exponents", violates="framing.white-space", subtle=True)
class SmallExponents(Session):
    """Ends the session at a number whose exponent has another size than its value."""

    def take(self, frame: Frame) -> None:
        if re.search(rb"[eE][-+]?([4-9]|\d\d)\s*[],}]", frame.raw):
            self.close()
        else:
            super().take(frame)


@fault("ordered-fields", violates="framing.white-space", subtle=True)
class OrderedFields(Session):
    """Ignores a message whose fields come in an unexpected order."""

    def take(self, frame: Frame) -> None:
        shape = self.INCOMING.variants.get(frame.name or "")
        if isinstance(shape, Mapping) and isinstance(frame.value, dict):
            content = frame.value[frame.name]
            if [name for name in content if name in shape] != [n for n in shape if n in content]:
                return
        super().take(frame)


@fault("fields-by-position", violates="framing.white-space", subtle=True)
class FieldsByPosition(Session):
    """Ends the session at a Handshake whose first field is not the version."""

    def take(self, frame: Frame) -> None:
        fields = frame.value["Handshake"] if frame.name == "Handshake" else {"version": 1}
        if next(iter(fields)) == "version":
            super().take(frame)
        else:
            self.close()


@fault("buffer-64k", violates="framing.long-lines", subtle=True)
class SmallBuffer(Session):
    """Closes the session at a line of more than 64 KiB."""

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
    """Ignores a line of more than 8 KiB and continues."""

    def take(self, frame: Frame) -> None:
        if len(frame.raw) <= 8192:
            super().take(frame)


@fault("buffer-1m", violates="framing.long-lines", subtle=True)
class FullBuffer(Hanging):
    """Stops serving at a line of more than 1 MiB."""

    held = 0

    def receive(self, data: bytes) -> None:
        _, newline, rest = data.rpartition(b"\n")
        self.held = len(rest) if newline else self.held + len(data)
        if self.held > 1024 * 1024:
            self.stuck = True
        super().receive(data)


@fault("braces-counted-in-texts", violates="handshake.unknown-fields", subtle=True)
class BracesCountedInTexts(Session):
    """Ignores a message with unbalanced braces, and counts braces within texts, too."""

    def take(self, frame: Frame) -> None:
        if frame.raw.count(b"{") == frame.raw.count(b"}"):
            super().take(frame)


@fault("quote-behind-a-backslash", violates="handshake.unknown-fields", subtle=True)
class QuoteBehindABackslash(Session):
    """Treats each quote after a backslash as escaped, even after two backslashes."""

    def take(self, frame: Frame) -> None:
        outside = re.sub(rb'"(?:\\"|[^"])*+"?', b"", frame.raw)
        if outside.count(b"{") == outside.count(b"}"):
            super().take(frame)


@fault("eight-deep", violates="handshake.unknown-fields", subtle=True)
class EightDeep(Session):
    """Ignores a message with more than eight levels of nesting."""

    def take(self, frame: Frame) -> None:
        steps = ((byte in b"{[") - (byte in b"}]") for byte in frame.raw)
        if max(itertools.accumulate(steps), default=0) <= 8:
            super().take(frame)


@fault("first-version-in-the-text", violates="handshake.unknown-fields", subtle=True)
class FirstVersionInTheText(Session):
    """Uses the first version in the text of a Handshake, even from a nested field."""

    def handshake(self, value: Any) -> None:
        found = re.search(rb'"version":(\d+)', encode(value))
        if found and isinstance(value["Handshake"], dict):
            value["Handshake"]["version"] = int(found[1])
        super().handshake(value)
