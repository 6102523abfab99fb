"""Building blocks of several faults: conditions, a peer that tires, a wrong reader."""

from collections.abc import Callable
from typing import Any

from conformance.codec import Frame
from conformance.deltarobot.codec import SIZES, VARIABLE, Decoder, frame
from mocks.deltarobot.session import Session
from mocks.steps import Change, When, from_connection, having
from mocks.stream_readers import reads

Header = tuple[int, int, int]
"""The identifier, the bytes before the contents, and the bytes of contents."""


SHAKEN = having("shaken")
"""After the peer's handshake is complete."""
LATER = from_connection(2)


def named(*names: str) -> When:
    """If the step is about a message of these names."""
    return When(lambda _, frame, *rest: frame.name in names)


class Tiring(Session):
    """Stops its duty after 1.5 times its patience for a handshake, if only ping messages arrive."""

    PINGS = ""
    """The name of the ping message that this side receives."""
    busy = tired = False

    def handshake(self, frame: Frame) -> None:
        super().handshake(frame)
        if self.shaken:
            self.call_later(1.5 * self.patience, self.tire)

    def take(self, frame: Frame) -> None:
        self.busy |= self.shaken and frame.name != self.PINGS
        super().take(frame)

    def tire(self) -> None:
        self.tired = not self.busy


def little(data: bytes) -> int:
    return int.from_bytes(data, "little")


def big(data: bytes) -> int:
    return int.from_bytes(data, "big")


def fixed_size(identifier: int) -> int:
    """Return the size in bytes of the contents of a message with a fixed length."""
    return SIZES.get(identifier >> 12, 0)


class Misreader(Decoder):
    """Cuts messages off a buffer; correct with the usual functions.

    The functions read an identifier and a length from their bytes, and return the size of the
    contents of messages without a length.
    """

    def __init__(
        self,
        identifier: Callable[[bytes], int] = little,
        length: Callable[[bytes], int] = little,
        size: Callable[[int], int] = fixed_size,
    ) -> None:
        super().__init__()
        self.buffer = b""
        self._identifier, self._length, self._size = identifier, length, size

    def feed(self, data: bytes) -> list[Frame]:
        self.buffer += data
        found: list[Frame] = []
        while header := self._header():
            identifier, start, size = header
            if len(self.buffer) < start + size:
                break
            contents = self.buffer[start : start + size]
            self.buffer = self.buffer[start + size :]
            found += self.decoded(identifier, contents)
        return found

    def _header(self) -> Header | None:
        """Return the header of the message at the start of the buffer; None if it is incomplete."""
        if len(self.buffer) < 2:
            return None
        identifier = self._identifier(self.buffer[:2])
        if identifier >> 12 != VARIABLE:
            return identifier, 2, self._size(identifier)
        if len(self.buffer) < 6:
            return None
        return identifier, 6, self._length(self.buffer[2:6])

    def decoded(self, identifier: int, contents: bytes) -> list[Frame]:
        try:
            return Decoder().feed(frame(identifier, contents))
        except ValueError:
            return []


def misreads(**functions: Any) -> Change:
    """Read messages with a `Misreader` that gets these functions."""
    return reads(lambda: Misreader(**functions))
