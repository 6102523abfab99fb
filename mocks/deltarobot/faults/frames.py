"""Faults in frames and segmentation."""

from typing import Any

from conformance.codec import Decoder, Frame
from conformance.deltarobot.codec import SIZES, VARIABLE, encode, message
from mocks.deltarobot.faults.building import Misreader
from mocks.deltarobot.server import Server
from mocks.deltarobot.session import END, HANDSHAKE, VERSION, Session
from mocks.deviations import Fault, Subtle, Table, fault
from mocks.steps import instead, nth, send, then, write
from mocks.stream_readers import PerRead

FAULTS = Table(Session)

FAULTS["frame.byte-order"] = {
    "big-endian-version": Fault(
        "Sends its version in big-endian.",
        instead("send_version", send(message(VERSION, version=1 << 24))),
    ),
}

FAULTS["frame.fixed-lengths"] = {
    "version-of-16-bits": Fault(
        "Sends a version of two bytes under an identifier that announces four.",
        instead("send_version", write(encode(HANDSHAKE[VERSION])[:4])),
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
        instead(
            "announce_end",
            lambda peer, reason: peer.write(encode(message(END, reason=reason))[:4]),
        ),
    ),
}


@fault("big-endian-identifiers", violates="frame.identifier")
class BigEndianIdentifiers(Session):
    """Sends its identifiers in big-endian."""

    def send(self, value: Any) -> None:
        data = encode(value)
        self.write(data[1::-1] + data[2:])


@fault("swapped-identifiers", violates="frame.identifier")
class SwappedIdentifiers(Session):
    """Puts the size identifier into the low bits of the identifier."""

    def send(self, value: Any) -> None:
        identifier = int(value["identifier"], 16)
        swapped = (identifier & 0xFFF) << 4 | identifier >> 12
        self.write(swapped.to_bytes(2, "little") + encode(value)[2:])


@fault("one-at-first", violates="frame.segmentation")
class OneAtFirst(Session):
    """Reads only the first message of each read until the peer's handshake is complete."""

    def receive(self, data: bytes) -> None:
        frames = self.decoder.feed(data)
        for frame in frames if self.shaken else frames[:1]:
            if not self.ended:
                self.take(frame)


@fault("handshake-in-one-read", violates="frame.segmentation")
class HandshakeInOneRead(Session):
    """Refuses a handshake that does not arrive with one read."""

    def receive(self, data: bytes) -> None:
        super().receive(data)
        if not (self.shaken or self.ended):
            self.refuse("the handshake is incomplete")


@fault("reads-big-endian-identifiers", violates="frame.byte-order")
class ReadsBigEndianIdentifiers(Session):
    """Reads identifiers in big-endian."""

    class Reader(Misreader):
        def identifier(self, data: bytes) -> int:
            return int.from_bytes(data, "big")


@fault("eight-bits-are-none", violates="frame.fixed-lengths")
class EightBitsAreNone(Session):
    """Takes messages with the size identifier 0x0 for empty."""

    class Reader(Misreader):
        def fixed(self, identifier: int) -> int:
            return 0 if identifier >> 12 == 0 else super().fixed(identifier)


@fault("sixteen-bits-are-one-byte", violates="frame.fixed-lengths", subtle=True)
class SixteenBitsAreOneByte(Session):
    """Skips only one byte of messages with the size identifier 0x1."""

    class Reader(Misreader):
        def fixed(self, identifier: int) -> int:
            return 1 if identifier >> 12 == 1 else super().fixed(identifier)


@fault("unknown-vectors-are-three", violates="frame.fixed-lengths", subtle=True)
class UnknownVectorsAreThree(Session):
    """Skips only 12 bytes of unknown messages of 128 bits."""

    class Reader(Misreader):
        def fixed(self, identifier: int) -> int:
            strange = identifier >> 12 == 4 and identifier & 0xFFF > 9
            return 12 if strange else super().fixed(identifier)


@fault("bytes-with-a-sign", violates="frame.fixed-lengths", subtle=True)
class BytesWithASign(Session):
    """Reads the bytes of an identifier as signed bytes."""

    class Reader(Misreader):
        def identifier(self, data: bytes) -> int:
            low = int.from_bytes(data[:1], signed=True)
            return (low | data[1] << 8) & 0xFFFF


@fault("big-endian-lengths", violates="frame.byte-order")
class BigEndianLengths(Session):
    """Reads lengths in big-endian."""

    class Reader(Misreader):
        def variable(self, identifier: int, length: bytes) -> int:
            return int.from_bytes(length, "big")


@fault("short-lengths", violates="frame.variable-length", subtle=True)
class ShortLengths(Session):
    """Reads only the lower 16 bits of lengths, which shows from 64 KiB on."""

    class Reader(Misreader):
        def variable(self, identifier: int, length: bytes) -> int:
            return int.from_bytes(length[:2], "little")


@fault("buffer-of-4096", violates="frame.variable-length", subtle=True)
class BufferOf4096(Session):
    """Skips at most 4096 bytes of contents, and reads the rest as messages."""

    class Reader(Misreader):
        def variable(self, identifier: int, length: bytes) -> int:
            return min(super().variable(identifier, length), 4096)


@fault("short-lengths-and-leaves", violates="frame.variable-length", subtle=True)
class ShortLengthsAndLeaves(Server):
    """Reads only the lower 16 bits of lengths, and then closes after bytes of undefined size."""

    class Reader(ShortLengths.Reader):
        def decoded(self, identifier: int, contents: bytes) -> list[Frame]:
            if identifier >> 12 not in (*SIZES, VARIABLE):
                return [Frame(contents, error="an undefined size")]
            return super().decoded(identifier, contents)

    def next_ping(self) -> None:
        self.send_ping(self.number_of_ping())
        self.call_later(0.2, self.next_ping)


@fault("lengths-with-themselves", violates="frame.variable-length")
class LengthsWithThemselves(Session):
    """Reads lengths as if they included the length field itself."""

    class Reader(Misreader):
        def variable(self, identifier: int, length: bytes) -> int:
            return max(super().variable(identifier, length) - 4, 0)


@fault("nothing-is-not-yet", violates="frame.variable-length", subtle=True)
class NothingIsNotYet(Session):
    """Waits for contents of an empty message."""

    class Reader(Misreader):
        def variable(self, identifier: int, length: bytes) -> int:
            return super().variable(identifier, length) or 1


@fault("big-endian-reason", violates="frame.variable-length")
class BigEndianReason(Session):
    """Sends the length of its reason in big-endian."""

    def announce_end(self, reason: str) -> None:
        data = reason.encode()
        self.write(b"\x06\xf0" + len(data).to_bytes(4, "big") + data)


@fault("reason-counts-its-length", violates="frame.variable-length", subtle=True)
class ReasonCountsItsLength(Session):
    """Includes the length field in the length of its reason."""

    def announce_end(self, reason: str) -> None:
        data = reason.encode()
        self.write(b"\x06\xf0" + (len(data) + 4).to_bytes(4, "little") + data)


@fault("one-message-a-read", violates="frame.segmentation")
class OneMessageARead(Session):
    """Loses an incomplete message at the end of each read."""

    def make_decoder(self) -> Decoder:
        return PerRead(super().make_decoder)


@fault("small-reads", violates="frame.segmentation", subtle=True)
class SmallReads(OneMessageARead):
    """Loses an incomplete message at the end of each read of 64 bytes."""

    def receive(self, data: bytes) -> None:
        for at in range(0, len(data), 64):
            if not self.ended:
                super().receive(data[at : at + 64])


@fault("first-of-a-read", violates="frame.segmentation", subtle=True)
class FirstOfARead(Session):
    """Reads only the first of several messages that arrive together after the handshake."""

    class Reader(Misreader):
        seen = 0

        def feed(self, data: bytes) -> list[Frame]:
            found = super().feed(data)
            self.seen += len(found)
            return found if self.seen <= 2 else found[:1]


@fault("loses-half-identifiers", violates="frame.segmentation", subtle=True)
class LosesHalfIdentifiers(Session):
    """Loses the first byte of an identifier that arrives alone."""

    class Reader(Misreader):
        def feed(self, data: bytes) -> list[Frame]:
            found = super().feed(data)
            if len(self.buffer) == 1:
                self.buffer = b""
            return found


@fault("loses-half-lengths", violates="frame.segmentation", subtle=True)
class LosesHalfLengths(Session):
    """Loses the first bytes of a length that arrives in pieces."""

    class Reader(Misreader):
        def feed(self, data: bytes) -> list[Frame]:
            found = super().feed(data)
            if 2 < len(self.buffer) < 6 and self.buffer[1] >> 4 == VARIABLE:
                self.buffer = self.buffer[:2]
            return found


@fault("deaf-after-a-half", violates="frame.segmentation", subtle=True)
class DeafAfterAHalf(Session):
    """Reads nothing more after a read that ended inside a message, but goes on sending."""

    class Reader(Misreader):
        deaf = False

        def feed(self, data: bytes) -> list[Frame]:
            found = [] if self.deaf else super().feed(data)
            self.deaf = bool(self.buffer)
            return found


@fault("loses-half-contents", violates="frame.segmentation", subtle=True)
class LosesHalfContents(Session):
    """Loses a byte of a 128-bit message that is cut inside its contents."""

    class Reader(Misreader):
        def feed(self, data: bytes) -> list[Frame]:
            found = super().feed(data)
            if len(self.buffer) > 6 and self.buffer[1] >> 4 == 4:
                self.buffer = self.buffer[:-1]
            return found
