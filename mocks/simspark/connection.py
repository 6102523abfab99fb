"""How the SimSpark mocks read and write messages, and one connection of a mock."""

from typing import Any

from conformance.codec import Frame
from conformance.simspark.codec import Decoder, frame
from mocks.run import note
from mocks.streams import Stream


class Endpoint:
    """What every mock is made of: how it reads and writes on its connections."""

    decoder: type[Decoder] = Decoder

    def written(self, text: str, connection: "Connection") -> bytes:
        """The bytes of one message."""
        return frame(text.encode("ascii", "replace"))

    def misread(self, connection: "Connection", error: str) -> None:
        """Something came that cannot be decoded: it is passed over."""
        note(f"not understood: {error}")


class Connection:
    """A stream with its messages. `number` counts the connections of a kind from 1."""

    def __init__(self, stream: Stream, owner: Endpoint, number: int = 1) -> None:
        self.stream = stream
        self.number = number
        self.decoder = owner.decoder()
        self.open = True
        self.sent = 0
        """How many messages were sent."""
        self.memory: dict[str, Any] = {}
        """What the owner wants to remember of it."""
        self._owner = owner

    def send(self, text: str) -> None:
        """One message."""
        data = self._owner.written(text, self)
        self.sent += 1
        self.stream.write(data)

    async def receive(self) -> list[Frame] | None:
        """The next messages; None at the end. What cannot be decoded is passed over."""
        data = await self.stream.read()
        if not data:
            self.open = False
            return None
        frames = self.decoder.feed(data)
        for entry in frames:
            if entry.name is None:
                self._owner.misread(self, str(entry.error))
        return [entry for entry in frames if entry.name is not None]

    async def close(self) -> None:
        """Close; what was sent is still delivered, without waiting for that."""
        self.open = False
        self.stream.close()
