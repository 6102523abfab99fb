"""A plain reader of the stream, in which faults can get one thing wrong."""

from conformance.codec import Frame
from conformance.deltarobot.codec import SIZES, VARIABLE, Decoder, frame

Header = tuple[int, int, int]
"""The identifier, the bytes up to the contents, and the bytes of contents."""


class Misreader(Decoder):
    """Cuts messages off a buffer, one after another; right as long as nothing is overridden."""

    def __init__(self) -> None:
        super().__init__()
        self.buffer = b""

    def feed(self, data: bytes) -> list[Frame]:
        self.buffer += data
        found: list[Frame] = []
        while header := self.header():
            identifier, start, size = header
            if len(self.buffer) < start + size:
                break
            contents = self.buffer[start : start + size]
            self.buffer = self.buffer[start + size :]
            found += self.decoded(identifier, contents)
        return found

    def header(self) -> Header | None:
        """What the message at the beginning of the buffer says; None until it has said it."""
        if len(self.buffer) < 2:
            return None
        identifier = int.from_bytes(self.buffer[:2], "little")
        if identifier >> 12 != VARIABLE:
            return identifier, 2, self.fixed(identifier)
        if len(self.buffer) < 6:
            return None
        return identifier, 6, self.variable(identifier, self.buffer[2:6])

    def fixed(self, identifier: int) -> int:
        return SIZES.get(identifier >> 12, 0)

    def variable(self, identifier: int, length: bytes) -> int:
        return int.from_bytes(length, "little")

    def decoded(self, identifier: int, contents: bytes) -> list[Frame]:
        try:
            return Decoder().feed(frame(identifier, contents))
        except ValueError:
            return []


class EightBitsAreNone(Misreader):
    def fixed(self, identifier: int) -> int:
        return 0 if identifier >> 12 == 0 else super().fixed(identifier)


class SixteenBitsAreOneByte(Misreader):
    def fixed(self, identifier: int) -> int:
        return 1 if identifier >> 12 == 1 else super().fixed(identifier)


class UnknownVectorsAreThree(Misreader):
    def fixed(self, identifier: int) -> int:
        strange = identifier >> 12 == 4 and identifier & 0xFFF > 9
        return 12 if strange else super().fixed(identifier)


class BigEndianLengths(Misreader):
    def variable(self, identifier: int, length: bytes) -> int:
        return int.from_bytes(length, "big")


class ShortLengths(Misreader):
    def variable(self, identifier: int, length: bytes) -> int:
        return int.from_bytes(length[:2], "little")


class LengthsWithThemselves(Misreader):
    def variable(self, identifier: int, length: bytes) -> int:
        return max(super().variable(identifier, length) - 4, 0)


class NothingIsNotYet(Misreader):
    def variable(self, identifier: int, length: bytes) -> int:
        return super().variable(identifier, length) or 1


class OneMessageARead(Misreader):
    def feed(self, data: bytes) -> list[Frame]:
        self.buffer = b""
        return super().feed(data)


class FirstOfARead(Misreader):
    """Only once the handshake is over, so that it gets that far."""

    seen = 0

    def feed(self, data: bytes) -> list[Frame]:
        found = super().feed(data)
        self.seen += len(found)
        return found if self.seen <= 2 else found[:1]


class LosesHalfIdentifiers(Misreader):
    def feed(self, data: bytes) -> list[Frame]:
        found = super().feed(data)
        if len(self.buffer) == 1:
            self.buffer = b""
        return found


class LosesHalfLengths(Misreader):
    def feed(self, data: bytes) -> list[Frame]:
        found = super().feed(data)
        if 2 < len(self.buffer) < 6 and self.buffer[1] >> 4 == VARIABLE:
            self.buffer = self.buffer[:2]
        return found


class LosesHalfContents(Misreader):
    def feed(self, data: bytes) -> list[Frame]:
        found = super().feed(data)
        if len(self.buffer) > 6 and self.buffer[1] >> 4 == 4:
            self.buffer = self.buffer[:-1]
        return found
