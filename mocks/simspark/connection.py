"""How the SimSpark mocks read and write messages, and one connection of a mock."""

from typing import Any, ClassVar

from conformance import codec
from conformance.codec import Frame
from conformance.simspark.codec import Decoder, frame
from mocks.run import note
from mocks.session import Session


class Endpoint:
    """What every mock is made of: how it reads and writes on its connections."""

    Reader: ClassVar[type[Decoder]] = Decoder

    def make_decoder(self) -> codec.Decoder:
        return self.Reader()

    def written(self, text: str, connection: "Connection") -> bytes:
        """The bytes of one message."""
        return frame(text.encode("ascii", "replace"))

    def misread(self, connection: "Connection", error: str) -> None:
        """Something came that cannot be decoded: it is passed over."""
        note(f"not understood: {error}")


class Connection(Session):
    """A session of an endpoint. `number` counts the connections of a kind from 1."""

    def __init__(self, owner: Endpoint, number: int = 1) -> None:
        self._owner = owner
        super().__init__()
        self.number = number
        self.sent = 0
        """How many messages were sent."""
        self.memory: dict[str, Any] = {}
        """What the owner wants to remember of it."""

    def make_decoder(self) -> codec.Decoder:
        return self._owner.make_decoder()

    def send(self, text: str) -> None:
        """One message."""
        data = self._owner.written(text, self)
        self.sent += 1
        self.write(data)

    def take(self, frame: Frame) -> None:
        if frame.name is None:
            self._owner.misread(self, str(frame.error))
        else:
            self.heed(frame)

    def heed(self, frame: Frame) -> None:
        """A message has come."""

    async def settle(self) -> None:
        """The world goes on: whoever does not read is heard nevertheless."""
