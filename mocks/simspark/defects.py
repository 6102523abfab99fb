"""How a mock comes to a bad end, and readers that are not written well."""

import os
import signal
import sys
from typing import NoReturn

from conformance.codec import Frame
from conformance.simspark.codec import Decoder


def die() -> NoReturn:
    """End this process as a program does that has touched what is not its own."""
    sys.stdout.flush()
    os.kill(os.getpid(), signal.SIGSEGV)
    os._exit(1)


class Recursive(Decoder):
    """Reads brackets by recursion, as deep as it goes."""

    def feed(self, data: bytes) -> list[Frame]:
        frames = super().feed(data)
        for frame in frames:
            if frame.name == "TooDeep" or (frame.error and frame.raw.count(b"(") > 1000):
                die()
        return frames


class Trusting(Decoder):
    """Dies of a message that cannot be read."""

    def feed(self, data: bytes) -> list[Frame]:
        frames = super().feed(data)
        if any(frame.name is None for frame in frames):
            die()
        return frames


class Greedy(Decoder):
    """Takes the memory for a message once it knows the length, however large."""

    def feed(self, data: bytes) -> list[Frame]:
        frames = super().feed(data)
        if self.lost:
            die()
        return frames


class Impatient(Decoder):
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


class OutOfStep(Decoder):
    """Dies where a text does not end where its length says."""

    def feed(self, data: bytes) -> list[Frame]:
        frames = super().feed(data)
        for frame in frames:
            if frame.requirement == "frame.length-prefix" or (frame.error and b")" in frame.raw):
                die()
        return frames


class CharacterWise(Decoder):
    """Dies of a byte that is not ASCII."""

    def feed(self, data: bytes) -> list[Frame]:
        if any(byte > 0x7F for byte in data[4:]):
            die()
        return super().feed(data)
