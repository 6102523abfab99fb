"""Building blocks of several faults: conditions, a peer that tires, a wrong reader."""

from conformance.codec import Frame
from conformance.deltarobot.codec import SIZES, VARIABLE, Decoder, frame
from mocks.deltarobot.session import Session
from mocks.steps import When, from_connection, having

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


class Misreader(Decoder):
    """Cuts messages off a buffer; correct as long as no method is overridden."""

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
        """Return the header of the message at the start of the buffer; None if it is incomplete."""
        if len(self.buffer) < 2:
            return None
        identifier = self.identifier(self.buffer[:2])
        if identifier >> 12 != VARIABLE:
            return identifier, 2, self.fixed(identifier)
        if len(self.buffer) < 6:
            return None
        return identifier, 6, self.variable(identifier, self.buffer[2:6])

    def identifier(self, data: bytes) -> int:
        return int.from_bytes(data, "little")

    def fixed(self, identifier: int) -> int:
        return SIZES.get(identifier >> 12, 0)

    def variable(self, identifier: int, length: bytes) -> int:
        return int.from_bytes(length, "little")

    def decoded(self, identifier: int, contents: bytes) -> list[Frame]:
        try:
            return Decoder().feed(frame(identifier, contents))
        except ValueError:
            return []
