"""Faults in frames and segmentation."""

from typing import Any

from conformance import codec
from conformance.codec import Frame
from conformance.deltarobot.codec import SIZES, VARIABLE, Decoder, encode, message
from mocks.deltarobot.faults.building import (
    SHAKEN,
    Misreader,
    big,
    fixed_size,
    little,
    misreads,
)
from mocks.deltarobot.server import Server
from mocks.deltarobot.session import END, HANDSHAKE, MAGIC, VERSION, Session
from mocks.deviations import Fault, Subtle, Table, fault
from mocks.steps import call, having, instead, nth, send, then, write
from mocks.stream_readers import ForgetsInPauses, PerRead, reads


class HalfIdentifiersLost(Misreader):
    """Loses the first byte of an identifier that arrives alone."""

    def feed(self, data: bytes) -> list[Frame]:
        found = super().feed(data)
        if len(self.buffer) == 1:
            self.buffer = b""
        return found


class HalfLengthsLost(Misreader):
    """Loses the first bytes of a length that arrives in pieces."""

    def feed(self, data: bytes) -> list[Frame]:
        found = super().feed(data)
        if 2 < len(self.buffer) < 6 and self.buffer[1] >> 4 == VARIABLE:
            self.buffer = self.buffer[:2]
        return found


class HalfContentsLost(Misreader):
    """Loses a byte of a 128-bit message that is cut inside its contents."""

    def feed(self, data: bytes) -> list[Frame]:
        found = super().feed(data)
        if len(self.buffer) > 6 and self.buffer[1] >> 4 == 4:
            self.buffer = self.buffer[:-1]
        return found


class DeafAfterHalf(Misreader):
    """Reads nothing more after a read that ended inside a message."""

    deaf = False

    def feed(self, data: bytes) -> list[Frame]:
        found = [] if self.deaf else super().feed(data)
        self.deaf = bool(self.buffer)
        return found


class FirstAfterHandshake(Misreader):
    """Reads only the first of several messages that arrive together after the handshake."""

    seen = 0

    def feed(self, data: bytes) -> list[Frame]:
        found = super().feed(data)
        self.seen += len(found)
        return found if self.seen <= 2 else found[:1]


class RestOfTheHandshakeLost(Misreader):
    """Loses what arrives in one read with the end of the handshake."""

    seen = 0

    def feed(self, data: bytes) -> list[Frame]:
        left = len(HANDSHAKE) - self.seen
        found = super().feed(data)
        self.seen += len(found)
        if len(found) >= left > 0:
            self.buffer = b""
            return found[:left]
        return found


class UndefinedSizesLost(Misreader):
    """Reads only the lower 16 bits of lengths, and no message after bytes of undefined size."""

    def __init__(self) -> None:
        super().__init__(length=_lower_bits)

    def decoded(self, identifier: int, contents: bytes) -> list[Frame]:
        if identifier >> 12 not in (*SIZES, VARIABLE):
            return [Frame(contents, error="an undefined size")]
        return super().decoded(identifier, contents)


def _lower_bits(length: bytes) -> int:
    return little(length[:2])


def _signed(identifier: bytes) -> int:
    low = int.from_bytes(identifier[:1], signed=True)
    return (low | identifier[1] << 8) & 0xFFFF


def _without_bytes(identifier: int) -> int:
    return 0 if identifier >> 12 == 0 else fixed_size(identifier)


def _with_one_byte(identifier: int) -> int:
    return 1 if identifier >> 12 == 1 else fixed_size(identifier)


def _with_three_axes(identifier: int) -> int:
    return 12 if identifier >> 12 == 4 and identifier & 0xFFF > 9 else fixed_size(identifier)


def _send_big_endian(session: Session, value: Any) -> None:
    data = encode(value)
    session.write(data[1::-1] + data[2:])


def _send_swapped(session: Session, value: Any) -> None:
    identifier = int(value["identifier"], 16)
    swapped = (identifier & 0xFFF) << 4 | identifier >> 12
    session.write(swapped.to_bytes(2, "little") + encode(value)[2:])


def _send_half_an_end(session: Session, reason: str) -> None:
    session.write(encode(message(END, reason=reason))[:4])


def _end_in_big_endian(session: Session, reason: str) -> None:
    session.write(b"\x06\xf0" + len(reason).to_bytes(4, "big") + reason.encode())


def _end_with_long_length(session: Session, reason: str) -> None:
    session.write(b"\x06\xf0" + (len(reason) + 4).to_bytes(4, "little") + reason.encode())


def _take_first(session: Session, data: bytes) -> None:
    for frame in session.decoder.feed(data)[:1]:
        session.take(frame)


def _ping_often(server: Server) -> None:
    server.send_ping(server.number_of_ping())
    server.call_later(0.2, server.next_ping)


FAULTS = Table(Session)

FAULTS["frame.identifier"] = {
    "big-endian-identifiers": Fault(
        "Sends its identifiers in big-endian.", instead("send", _send_big_endian)
    ),
    "swapped-identifiers": Fault(
        "Puts the size identifier into the low bits of the identifier.",
        instead("send", _send_swapped),
    ),
}

FAULTS["frame.byte-order"] = {
    "big-endian-version": Fault(
        "Sends its version in big-endian.",
        instead("send_version", send(message(VERSION, version=1 << 24))),
    ),
    "reads-big-endian-identifiers": Fault(
        "Reads identifiers in big-endian.", misreads(identifier=big)
    ),
    "big-endian-lengths": Fault("Reads lengths in big-endian.", misreads(length=big)),
}

FAULTS["frame.fixed-lengths"] = {
    "version-of-16-bits": Fault(
        "Sends a version of two bytes under an identifier that announces four.",
        instead("send_version", write(encode(HANDSHAKE[VERSION])[:4])),
    ),
    "magic-with-its-zero": Subtle(
        "Sends the zero byte at the end of the magic, as of a string in C.",
        instead("send_magic", write(encode(HANDSHAKE[MAGIC]) + b"\0")),
    ),
    "eight-bits-are-none": Fault(
        "Takes messages with the size identifier 0x0 for empty.", misreads(size=_without_bytes)
    ),
    "sixteen-bits-are-one-byte": Subtle(
        "Skips only one byte of messages with the size identifier 0x1.",
        misreads(size=_with_one_byte),
    ),
    "unknown-vectors-are-three": Subtle(
        "Skips only 12 bytes of unknown messages of 128 bits.", misreads(size=_with_three_axes)
    ),
    "bytes-with-a-sign": Subtle(
        "Reads the bytes of an identifier as signed bytes.", misreads(identifier=_signed)
    ),
}

FAULTS["frame.variable-length"] = {
    "short-lengths": Subtle(
        "Reads only the lower 16 bits of lengths, which shows from 64 KiB on.",
        misreads(length=_lower_bits),
    ),
    "buffer-of-4096": Subtle(
        "Skips at most 4096 bytes of contents, and reads the rest as messages.",
        misreads(length=lambda data: min(little(data), 4096)),
    ),
    "negative-lengths-are-none": Subtle(
        "Reads lengths as signed numbers, and negative ones as 0.",
        misreads(length=lambda data: max(int.from_bytes(data, "little", signed=True), 0)),
    ),
    "lengths-with-themselves": Fault(
        "Reads lengths as if they included the length field itself.",
        misreads(length=lambda data: max(little(data) - 4, 0)),
    ),
    "nothing-is-not-yet": Subtle(
        "Waits for contents of an empty message.", misreads(length=lambda data: little(data) or 1)
    ),
    "big-endian-reason": Fault(
        "Sends the length of its reason in big-endian.",
        instead("announce_end", _end_in_big_endian),
    ),
    "reason-counts-its-length": Subtle(
        "Includes the length field in the length of its reason.",
        instead("announce_end", _end_with_long_length),
    ),
}

FAULTS["frame.undefined-sizes"] = {
    "undefined-size": Fault(
        "Sends a message with the size identifier 0x5.",
        then("send", write(b"\x01\x50" + bytes(8)), nth(3)),
    ),
}

FAULTS["frame.whole-messages"] = {
    "half-an-end": Subtle(
        "Closes inside the length of its end of transmission.",
        instead("announce_end", _send_half_an_end),
    ),
}

FAULTS["frame.segmentation"] = {
    "one-at-first": Fault(
        "Reads only the first message of each read until the peer's handshake is complete.",
        instead("receive", _take_first, ~SHAKEN),
    ),
    "handshake-in-one-read": Fault(
        "Refuses a handshake that does not arrive with one read.",
        then("receive", call("refuse", "the handshake is incomplete"), ~SHAKEN & ~having("ended")),
    ),
    "rest-of-the-handshake-lost": Subtle(
        "Loses what arrives in one read with the end of its peer's handshake.",
        reads(RestOfTheHandshakeLost),
    ),
    "one-message-a-read": Fault(
        "Loses an incomplete message at the end of each read.", reads(lambda: PerRead(Decoder))
    ),
    "first-of-a-read": Subtle(
        "Reads only the first of several messages that arrive together after the handshake.",
        reads(FirstAfterHandshake),
    ),
    "loses-half-identifiers": Subtle(
        "Loses the first byte of an identifier that arrives alone.", reads(HalfIdentifiersLost)
    ),
    "loses-half-lengths": Subtle(
        "Loses the first bytes of a length that arrives in pieces.", reads(HalfLengthsLost)
    ),
    "deaf-after-a-half": Subtle(
        "Reads nothing more after a read that ended inside a message, but goes on sending.",
        reads(DeafAfterHalf),
    ),
    "forgets-in-pauses": Subtle(
        "Loses the first part of a message during a pause.",
        reads(lambda: ForgetsInPauses(Decoder)),
    ),
    "loses-half-contents": Subtle(
        "Loses a byte of a 128-bit message that is cut inside its contents.",
        reads(HalfContentsLost),
    ),
}

OF_SERVER = Table(Server)

OF_SERVER["frame.variable-length"] = {
    "short-lengths-and-leaves": Subtle(
        "Reads only the lower 16 bits of lengths, and then closes after bytes of undefined size.",
        reads(UndefinedSizesLost),
        instead("next_ping", _ping_often),
    ),
}


@fault("small-reads", violates="frame.segmentation", subtle=True)
class SmallReads(Session):
    """Loses an incomplete message at the end of each read of 64 bytes."""

    def make_decoder(self) -> codec.Decoder:
        return PerRead(Decoder)

    def receive(self, data: bytes) -> None:
        for at in range(0, len(data), 64):
            if not self.ended:
                super().receive(data[at : at + 64])
