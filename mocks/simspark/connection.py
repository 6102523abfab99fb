"""Reading and writing of messages in all SimSpark mocks, and one connection of a mock."""

from typing import Any

from conformance import codec
from conformance.codec import Frame
from conformance.simspark.codec import Decoder, frame
from mocks.run import note
from mocks.session import Session


class Endpoint:
    """Base class of every mock: reads and writes messages on its connections."""

    def make_decoder(self) -> codec.Decoder:
        return Decoder()

    def encode(self, text: str, connection: "Connection") -> bytes:
        """Encode one message."""
        return frame(text.encode("ascii", "replace"))

    def log_misread(self, connection: "Connection", error: str) -> None:
        """Log bytes that cannot be decoded, and ignore them."""
        note(f"cannot decode: {error}")


class Connection(Session):
    """A session of an endpoint. `number` counts the connections of each kind from 1."""

    def __init__(self, owner: Endpoint, number: int = 1) -> None:
        self._owner = owner
        super().__init__()
        self.number = number
        self.sent = 0
        """The number of messages sent."""
        self.memory: dict[str, Any] = {}
        """Facts that the owner remembers about this connection."""

    def make_decoder(self) -> codec.Decoder:
        return self._owner.make_decoder()

    def send(self, text: str) -> None:
        """Send one message."""
        data = self._owner.encode(text, self)
        self.sent += 1
        self.write(data)

    def take(self, frame: Frame) -> None:
        if frame.name is None:
            self._owner.log_misread(self, str(frame.error))
        else:
            self.heed(frame)

    def heed(self, frame: Frame) -> None:
        """React to one message. Does nothing by default."""

    async def settle(self) -> None:
        """Continue at once, because the world does not wait for slow clients."""
