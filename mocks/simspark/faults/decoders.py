"""Decoders with typical mistakes."""

import re
import signal
import struct
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from conformance.codec import Frame
from conformance.simspark.codec import LENGTH, Decoder
from conformance.simspark.sexp import read, write
from mocks.steps import die

ROOM = 1 << 14  # bytes in the buffer of a decoder


def without(holds: Callable[[Frame], Any]) -> type[Decoder]:
    """Return a decoder that drops messages for which a function is true."""

    class Dropping(Decoder):
        def feed(self, data: bytes) -> list[Frame]:
            return [frame for frame in super().feed(data) if not holds(frame)]

    return Dropping


def dying(holds: Callable[[Frame], Any]) -> type[Decoder]:
    """Return a decoder that dies of a message for which a function is true."""

    class Dying(Decoder):
        def feed(self, data: bytes) -> list[Frame]:
            frames = super().feed(data)
            if any(map(holds, frames)):
                die()
            return frames

    return Dying


LONG_WORDS_KILL = dying(lambda frame: frame.name and re.search(rb"[^\s()]{256}", frame.raw[4:]))
"""Dies of a word of 256 characters or more."""


class Greedy(Decoder):
    """Allocates memory for a message of any announced length."""

    def feed(self, data: bytes) -> list[Frame]:
        frames = super().feed(data)
        if self.lost:
            die()
        return frames


class LengthsUnread(Decoder):
    """Takes each piece of 16 kB for a message, and skips the length."""

    def feed(self, data: bytes) -> list[Frame]:
        frames: list[Frame] = []
        for start in range(0, len(data), ROOM):
            text = data[start : start + ROOM][4:]
            frames += Decoder().feed(len(text).to_bytes(4, "big") + text)
        return frames


class CutLengths(Decoder):
    """Loses a length if only some of its bytes have arrived."""

    def feed(self, data: bytes) -> list[Frame]:
        frames = super().feed(data)
        if len(self._held) < 4:
            self._held.clear()
        return frames


class Impatient(Decoder):
    """Discards an incomplete message after a tenth of a second without data."""

    _latest = 0.0

    def feed(self, data: bytes) -> list[Frame]:
        before, self._latest = self._latest, time.monotonic()
        if self._latest - before > 0.1:
            self._held.clear()
            self._wanted = LENGTH.size
        return super().feed(data)


class SixtyFourKilobytes(Decoder):
    """Has a buffer of 64 kB for the whole stream and never reuses it."""

    _taken = 0

    def feed(self, data: bytes) -> list[Frame]:
        self._taken += len(data)
        return super().feed(data) if self._taken < 1 << 16 else []


class LowerBits(Decoder):
    """Reads only the lower bits of a length."""

    def __init__(self, bits: int) -> None:
        super().__init__()
        self.bits = bits

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


class NoNegativeLengths(LowerBits):
    """Reads a length as a signed number, and takes a negative one for 0."""

    def __init__(self) -> None:
        super().__init__(32)

    def length(self, prefix: bytes) -> int:
        return max(0, int.from_bytes(prefix, "big", signed=True))


class NegativeLengthsHang(NoNegativeLengths):
    """Reads a length as a signed number, and hangs at a negative one."""

    def length(self, prefix: bytes) -> int:
        while prefix[0] & 0x80:
            signal.pause()
        return super().length(prefix)


class FewOfARead(Decoder):
    """Has room for 32 messages of one read."""

    def feed(self, data: bytes) -> list[Frame]:
        return super().feed(data)[:32]


class SignedBytes(LowerBits):
    """Adds up the bytes of a length as signed bytes.

    A char of C can be signed.
    """

    def __init__(self) -> None:
        super().__init__(32)

    def length(self, prefix: bytes) -> int:
        return sum(
            byte << shift
            for byte, shift in zip(struct.unpack("4b", prefix), (24, 16, 8, 0), strict=True)
        )


class Utf8(Decoder):
    """Reads the stream as text, so that a byte of 128 or more becomes another character."""

    def feed(self, data: bytes) -> list[Frame]:
        return super().feed(data.decode("utf-8", "replace").encode())


class LongCut(Decoder):
    """Reads only the part of a message that fits into the buffer."""

    def feed(self, data: bytes) -> list[Frame]:
        frames: list[Frame] = []
        for frame in super().feed(data):
            text = frame.raw[4:ROOM]
            frames += Decoder().feed(len(text).to_bytes(4, "big") + text)
        return frames


class ClosesAboveAKilobyte(Decoder):
    """Exits before it reads a message of more than 1024 bytes."""

    def feed(self, data: bytes) -> list[Frame]:
        frames = super().feed(data)
        if self._wanted > LENGTH.size + 1024 or any(len(each.raw) > 1028 for each in frames):
            raise SystemExit
        return frames


class ThreeKilobytes(Decoder):
    """Returns only the lists that end within the first 3000 bytes of a message."""

    def feed(self, data: bytes) -> list[Frame]:
        frames: list[Frame] = []
        for frame in super().feed(data):
            text = frame.raw[LENGTH.size :]
            if len(text) > 3000 and frame.value:
                text = b""
                for item in frame.value:
                    text += write([item])
                    if len(text) > 3000:
                        break
                    frame = replace(frame, value=read(text))
            frames.append(frame)
        return frames


class HalfLengthsKill(Decoder):
    """Dies if one to three bytes of a length have arrived without the others."""

    def feed(self, data: bytes) -> list[Frame]:
        frames = super().feed(data)
        if 0 < len(self._held) < LENGTH.size:
            die()
        return frames


class Remains(Decoder):
    """Reads a message together with leftover bytes of a longer one in the same buffer."""

    left = b""

    def feed(self, data: bytes) -> list[Frame]:
        frames: list[Frame] = []
        for frame in super().feed(data):
            text = frame.raw[4:]
            self.left = text + self.left[len(text) :]
            frames += Decoder().feed(len(self.left).to_bytes(4, "big") + self.left)
        return frames


class OneBehind(Decoder):
    """Returns a message only after the next one has arrived."""

    waiting: Frame | None = None

    def feed(self, data: bytes) -> list[Frame]:
        frames = [frame for frame in (self.waiting, *super().feed(data)) if frame]
        self.waiting = frames.pop() if frames else None
        return frames


class Hangs(Decoder):
    """Hangs at a tab."""

    def feed(self, data: bytes) -> list[Frame]:
        while b"\t" in data:
            signal.pause()
        return super().feed(data)


class EmptyEnds(Decoder):
    """Takes a message of length 0 for the end of the stream."""

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
    """Takes the third empty message in one read for the end of the received data."""

    def feed(self, data: bytes) -> list[Frame]:
        frames = super().feed(data)
        empty = [place for place, frame in enumerate(frames) if frame.name == "Empty"]
        return frames[: empty[2]] if len(empty) > 2 else frames


class Offended(Decoder):
    """Reads nothing after a malformed message."""

    offended = False

    def feed(self, data: bytes) -> list[Frame]:
        frames = [] if self.offended else super().feed(data)
        self.offended = self.offended or any(frame.name is None for frame in frames)
        return frames


class Discouraged(Decoder):
    """Drops everything that the same read brings after a malformed message."""

    def feed(self, data: bytes) -> list[Frame]:
        frames = super().feed(data)
        for place, frame in enumerate(frames):
            if frame.name is None:
                self._held.clear()
                return frames[: place + 1]
        return frames


class OneAfterAnother(Decoder):
    """Drops the first message after a malformed one."""

    offended = False

    def feed(self, data: bytes) -> list[Frame]:
        taken = []
        for frame in super().feed(data):
            if not self.offended:
                taken.append(frame)
            self.offended = frame.name is None
        return taken


class CharacterWise(Decoder):
    """Dies of a byte that is not ASCII."""

    def feed(self, data: bytes) -> list[Frame]:
        if any(byte > 0x7F for byte in data[4:]):
            die()
        return super().feed(data)
