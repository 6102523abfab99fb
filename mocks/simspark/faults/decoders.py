"""Decoders with typical mistakes, and how a mock dies of what it reads."""

import os
import re
import signal
import struct
import sys
import time
from typing import NoReturn

from conformance.codec import Frame
from conformance.simspark.codec import LENGTH, Decoder

ROOM = 1 << 14  # bytes


def die() -> NoReturn:
    """End this process by a segmentation fault."""
    sys.stdout.flush()
    os.kill(os.getpid(), signal.SIGSEGV)
    os._exit(1)


# Wrong about where a message ends


class CutLengths(Decoder):
    """Loses a length of which not all bytes have come yet."""

    def feed(self, data: bytes) -> list[Frame]:
        frames = super().feed(data)
        if len(self._held) < 4:
            self._held.clear()
        return frames


class Impatient(Decoder):
    """Begins anew where nothing has come for a tenth of a second."""

    _latest = 0.0

    def feed(self, data: bytes) -> list[Frame]:
        before, self._latest = self._latest, time.monotonic()
        if self._latest - before > 0.1:
            self._held.clear()
            self._wanted = LENGTH.size
        return super().feed(data)


class SixtyFourKilobytes(Decoder):
    """Has room for that much in all, and never begins anew."""

    _taken = 0

    def feed(self, data: bytes) -> list[Frame]:
        self._taken += len(data)
        return super().feed(data) if self._taken < 1 << 16 else []


class SixteenBits(Decoder):
    """Takes only the two lower bytes of a length for the length."""

    bits = 16

    def feed(self, data: bytes) -> list[Frame]:
        self._held += data
        frames: list[Frame] = []
        while len(self._held) >= 4:
            size = self.length(bytes(self._held[:4])) % (1 << self.bits)
            if len(self._held) < 4 + size:
                break
            frames += Decoder().feed(size.to_bytes(4, "big") + bytes(self._held[4 : 4 + size]))
            del self._held[: 4 + size]
        return frames

    def length(self, prefix: bytes) -> int:
        return int.from_bytes(prefix, "big")


class SignedBytes(SixteenBits):
    """Adds up the bytes of a length as numbers with a sign, as a char of C may be."""

    bits = 32

    def length(self, prefix: bytes) -> int:
        return sum(
            byte << shift
            for byte, shift in zip(struct.unpack("4b", prefix), (24, 16, 8, 0), strict=True)
        )


class LongLost(Decoder):
    """Passes over a message that is longer than what there is room for."""

    def feed(self, data: bytes) -> list[Frame]:
        return [frame for frame in super().feed(data) if len(frame.raw) <= ROOM]


class LongCut(Decoder):
    """Reads of a message only what there is room for."""

    def feed(self, data: bytes) -> list[Frame]:
        frames: list[Frame] = []
        for frame in super().feed(data):
            text = frame.raw[4:ROOM]
            frames += Decoder().feed(len(text).to_bytes(4, "big") + text)
        return frames


class TwentyFourBits(SixteenBits):
    """Takes only the three lower bytes of a length for the length."""

    bits = 24


class ThirtyOneBits(SixteenBits):
    """Leaves out the sign of a length that it has read as a signed number."""

    bits = 31


class Remains(Decoder):
    """Reads, behind a message, what an earlier and longer one has left in the same buffer."""

    left = b""

    def feed(self, data: bytes) -> list[Frame]:
        frames: list[Frame] = []
        for frame in super().feed(data):
            text = frame.raw[4:]
            self.left = text + self.left[len(text) :]
            frames += Decoder().feed(len(self.left).to_bytes(4, "big") + self.left)
        return frames


class OneBehind(Decoder):
    """Gives a message once the next one has come."""

    waiting: Frame | None = None

    def feed(self, data: bytes) -> list[Frame]:
        frames = [frame for frame in (self.waiting, *super().feed(data)) if frame]
        self.waiting = frames.pop() if frames else None
        return frames


class Hangs(Decoder):
    """Hangs where a tab comes."""

    def feed(self, data: bytes) -> list[Frame]:
        while b"\t" in data:
            signal.pause()
        return super().feed(data)


class EmptyEnds(Decoder):
    """Takes a message of length 0 for the end of the stream: reads nothing behind it."""

    ended = False

    def feed(self, data: bytes) -> list[Frame]:
        if self.ended:
            return []
        frames = super().feed(data)
        for place, frame in enumerate(frames):
            if frame.name == "Empty":
                self.ended = True
                return frames[:place]
        return frames


class EmptySkips(Decoder):
    """Takes the third empty message of a read for the end of what has come."""

    def feed(self, data: bytes) -> list[Frame]:
        frames = super().feed(data)
        empty = [place for place, frame in enumerate(frames) if frame.name == "Empty"]
        return frames[: empty[2]] if len(empty) > 2 else frames


# Particular about texts


class Blanks(Decoder):
    """Takes blanks for the only white space: a message with another in it is lost."""

    def feed(self, data: bytes) -> list[Frame]:
        return [
            frame
            for frame in super().feed(data)
            if not any(byte in frame.raw[4:] for byte in b"\t\r\n")
        ]


class Offended(Decoder):
    """Reads nothing behind a message that cannot be read."""

    offended = False

    def feed(self, data: bytes) -> list[Frame]:
        frames = [] if self.offended else super().feed(data)
        self.offended = self.offended or any(frame.name is None for frame in frames)
        return frames


class Discouraged(Decoder):
    """Passes over all that a read brings behind a message that cannot be read."""

    def feed(self, data: bytes) -> list[Frame]:
        frames = super().feed(data)
        for place, frame in enumerate(frames):
            if frame.name is None:
                self._held.clear()
                return frames[: place + 1]
        return frames


class OneAfterAnother(Decoder):
    """Passes over the message behind one that cannot be read, whenever it comes."""

    offended = False

    def feed(self, data: bytes) -> list[Frame]:
        taken = []
        for frame in super().feed(data):
            if not self.offended:
                taken.append(frame)
            self.offended = frame.name is None
        return taken


# Dying of what is malformed


class Recursive(Decoder):
    """Reads brackets by recursion, as deep as it goes."""

    def feed(self, data: bytes) -> list[Frame]:
        frames = super().feed(data)
        for frame in frames:
            if frame.name == "TooDeep" or (frame.error and frame.raw.count(b"(") > 1000):
                die()
        return frames


class Trusting(Decoder):
    """Dies of a text that cannot be read."""

    def feed(self, data: bytes) -> list[Frame]:
        frames = super().feed(data)
        if any(frame.error and frame.requirement != "frame.length-prefix" for frame in frames):
            die()
        return frames


class Greedy(Decoder):
    """Takes the memory for a message once it knows the length, however large."""

    def feed(self, data: bytes) -> list[Frame]:
        frames = super().feed(data)
        if self.lost:
            die()
        return frames


class OutOfStep(Decoder):
    """Dies where a text ends before its length does, and the next length stands in it."""

    def feed(self, data: bytes) -> list[Frame]:
        frames = super().feed(data)
        if any(re.match(rb"\([ -~]*\)\0", frame.raw[4:]) for frame in frames if frame.error):
            die()
        return frames


class Words(Decoder):
    """Dies of a word that it has no room for."""

    def feed(self, data: bytes) -> list[Frame]:
        frames = super().feed(data)
        if any(re.search(rb"[^\s()]{256}", frame.raw[4:]) for frame in frames if frame.name):
            die()
        return frames


class CharacterWise(Decoder):
    """Dies of a byte that is not ASCII."""

    def feed(self, data: bytes) -> list[Frame]:
        if any(byte > 0x7F for byte in data[4:]):
            die()
        return super().feed(data)
