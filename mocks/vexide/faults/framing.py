"""Faults of either mock in dividing the stream into lines and in reading the lines."""

import itertools
import json
import re
from collections.abc import Mapping
from typing import Any

from conformance.codec import Frame
from conformance.vexide.codec import Decoder, encode
from mocks.deviations import Fault, Subtle, Table, fault
from mocks.steps import When, alter, first, hang, instead, only, returning, skip
from mocks.stream_readers import FirstOfARead, ForgetsInPauses, reads
from mocks.vexide.session import Session

HANDSHAKE = When(lambda _, frame: frame.name == "Handshake")


def text(pattern: bytes) -> When:
    """If the text of a message has a match of a pattern."""
    return When(lambda _, frame: re.search(pattern, frame.raw))


def _is_utf_8(_: Session, data: bytes) -> bool:
    return data.decode(errors="ignore").encode() == data


def _is_own_spelling(_: Session, frame: Frame) -> bool:
    return frame.name is None or frame.raw.strip() == encode(frame.value).strip()


def _is_in_usual_order(peer: Session, frame: Frame) -> bool:
    """Return True if all known fields of a message come in the order of its shape."""
    shape = peer.INCOMING.variants.get(frame.name or "")
    if not isinstance(shape, Mapping) or not isinstance(frame.value, dict):
        return True
    content = frame.value[frame.name]
    return [name for name in content if name in shape] == [n for n in shape if n in content]


def _version_is_first(_: Session, frame: Frame) -> bool:
    return bool(next(iter(frame.value["Handshake"])) == "version")


def _is_balanced(text: bytes) -> bool:
    return text.count(b"{") == text.count(b"}")


def _outside_of_texts(text: bytes) -> bytes:
    """Return a line without its texts, if each quote after a backslash is escaped."""
    return re.sub(rb'"(?:\\"|[^"])*+"?', b"", text)


def _depth(text: bytes) -> int:
    steps = ((byte in b"{[") - (byte in b"}]") for byte in text)
    return max(itertools.accumulate(steps), default=0)


def _first_version(_: Session, value: Any) -> Any:
    """Return a Handshake with the first version in its text, even that of a nested field."""
    found = re.search(rb'"version":(\d+)', encode(value))
    if not found or not isinstance(value["Handshake"], dict):
        return value
    return {"Handshake": {**value["Handshake"], "version": int(found[1])}}


FAULTS = Table(Session)

FAULTS["framing.json-lines"] = {
    "pretty-printed": Fault(
        "Writes its messages over several lines, indented.",
        instead("send", lambda peer, sent: peer.write(json.dumps(sent, indent=2).encode() + b"\n")),
    ),
    "no-newline": Fault(
        "Writes messages directly after each other, without a newline.",
        alter("write", lambda _, data: data.removesuffix(b"\n")),
    ),
    "newline-between": Subtle(
        "Writes a newline before each message except the first, and none after it.",
        alter("write", lambda _, data: data.removesuffix(b"\n"), first(1)),
        alter("write", lambda _, data: b"\n" + data.removesuffix(b"\n"), ~first(1)),
    ),
}

FAULTS["framing.segmentation"] = {
    "first-line-of-a-read": Subtle(
        "Reads the first of several lines that arrive together and forgets the others.",
        returning("make_decoder", FirstOfARead),
    ),
    "text-reads": Subtle(
        "Loses data that arrives cut inside a multi-byte character.",
        only("receive", _is_utf_8),
    ),
    "reads-decoded-apart": Subtle(
        "Replaces a character that arrives in two reads by other characters.",
        alter("receive", lambda _, data: data.decode(errors="replace").encode()),
    ),
    "forgets-in-pauses": Subtle(
        "Loses the first part of a line during a pause.",
        reads(lambda: ForgetsInPauses(Decoder)),
    ),
    "splits-text": Subtle(
        "Treats a line separator inside a text as the end of a line.",
        alter("receive", lambda _, data: data.replace("\u2028".encode(), b"\n")),
    ),
    "buffer-of-1024": Subtle(
        "Reads a line that fills its buffer of 1024 bytes as two lines.",
        skip("take", lambda _, frame: len(frame.raw) == 1024),
    ),
}

FAULTS["framing.white-space"] = {
    "own-spelling-only": Fault(
        "Ignores a message that is not spelled as its own encoder spells it.",
        only("take", _is_own_spelling),
    ),
    "no-escapes": Subtle(
        "Ignores a message with a character written as \\u escape.", skip("take", text(rb"\\u"))
    ),
    "no-pairs": Subtle(
        "Ignores a message with a character written as a pair of escapes.",
        skip("take", text(rb"\\u[dD]8")),
    ),
    "pairs-as-two": Subtle(
        "Reads each half of a pair of escapes as a character of its own.",
        alter("receive", lambda _, data: re.sub(rb"\\u[dD][89a-fA-F]..", rb"\\uFFFD", data)),
        roles=("simulator",),
    ),
    "escaped-slashes": Subtle(
        "Keeps the backslash of an escaped slash in a text.",
        alter("receive", lambda _, data: data.replace(b"\\/", b"\\\\/")),
        roles=("simulator",),
    ),
    "escapes-end": Subtle(
        "Ends the session at a Handshake in which a name contains a \\u escape.",
        instead("take", "close", HANDSHAKE & ~text(b'"version"')),
    ),
    "ascii-only": Subtle(
        "Ends the session at a Handshake with a character beyond ASCII.",
        instead("take", "close", HANDSHAKE & (lambda _, frame: not frame.raw.isascii())),
    ),
    "no-exponents": Subtle(
        "Ends the session at a number with an exponent.",
        instead("take", "close", text(rb"\d[eE][-+]?\d+\s*[],}]")),
    ),
    "twenty-digits": Subtle(
        "Ignores a message with a number of more than twenty digits.",
        skip("take", text(rb"[:,]\s*-?[\d.]{21,}")),
        roles=("simulator",),
    ),
    "small-exponents": Subtle(
        "Ends the session at a number whose exponent has another size than its value.",
        instead("take", "close", text(rb"[eE][-+]?([4-9]|\d\d)\s*[],}]")),
    ),
    "ordered-fields": Subtle(
        "Ignores a message whose fields come in an unexpected order.",
        only("take", _is_in_usual_order),
    ),
    "fields-by-position": Subtle(
        "Ends the session at a Handshake whose first field is not the version.",
        instead("take", "close", HANDSHAKE & ~When(_version_is_first)),
    ),
}

FAULTS["framing.long-lines"] = {
    "buffer-of-65536": Subtle(
        "Loses a line whose newline does not fit into its buffer of 65536 bytes.",
        skip("take", lambda _, frame: len(frame.raw) == 65537),
    ),
    "buffer-64k": Subtle(
        "Closes the session at a line of more than 64 KiB.",
        reads(lambda: Decoder(limit=65536)),
        instead("take", "close", lambda _, frame: "a line of more than" in (frame.error or "")),
    ),
    "drops-long-lines": Subtle(
        "Ignores a line of more than 8 KiB and continues.",
        skip("take", lambda _, frame: len(frame.raw) > 8192),
    ),
}

FAULTS["handshake.unknown-fields"] = {
    "braces-counted-in-texts": Subtle(
        "Ignores a message with unbalanced braces, and counts braces within texts, too.",
        only("take", lambda _, frame: _is_balanced(frame.raw)),
    ),
    "quote-behind-a-backslash": Subtle(
        "Treats each quote after a backslash as escaped, even after two backslashes.",
        only("take", lambda _, frame: _is_balanced(_outside_of_texts(frame.raw))),
    ),
    "eight-deep": Subtle(
        "Ignores a message with more than eight levels of nesting.",
        skip("take", lambda _, frame: _depth(frame.raw) > 8),
    ),
    "first-version-in-the-text": Subtle(
        "Uses the first version in the text of a Handshake, even from a nested field.",
        alter("handshake", _first_version),
    ),
}


@fault("one-message-a-read", violates="framing.segmentation")
class OneMessageARead(Session):
    """Reads all bytes of one read() as one message."""

    def receive(self, data: bytes) -> None:
        for frame in Decoder().feed(data.replace(b"\n", b" ") + b"\n"):
            self.take(frame)


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


@fault("two-pieces", violates="framing.segmentation", subtle=True)
class TwoPieces(Session):
    """Loses the middle of a line that arrives in more than three pieces."""

    pieces = 0

    def receive(self, data: bytes) -> None:
        self.pieces = 0 if b"\n" in data else self.pieces + 1
        if self.pieces < 3:
            super().receive(data)


@fault("buffer-1m", violates="framing.long-lines", subtle=True)
class FullBuffer(Session):
    """Stops serving at a line of more than 1 MiB."""

    held = 0

    def receive(self, data: bytes) -> None:
        _, newline, rest = data.rpartition(b"\n")
        self.held = len(rest) if newline else self.held + len(data)
        if self.held > 1024 * 1024:
            hang(self)
        else:
            super().receive(data)
