"""One connection of a SimSpark mock: messages in both directions, and whether the peer keeps up."""

from typing import Any

from conformance.codec import Frame
from conformance.simspark.codec import Decoder, frame
from mocks.streams import Stream, note


class Connection:
    """A stream with its messages. `number` counts the connections of a kind from 1."""

    def __init__(self, stream: Stream, number: int = 1) -> None:
        self.stream = stream
        self.number = number
        self.decoder = Decoder()
        self.open = True
        self.sent = 0
        self.memory: dict[str, Any] = {}
        """What whoever serves it wants to know of it later."""

    def send(self, text: str) -> None:
        """One message."""
        self.write(frame(text.encode("ascii", "replace")))

    def write(self, data: bytes) -> None:
        self.sent += 1
        self.stream.write(data)

    async def receive(self) -> list[Frame] | None:
        """The next messages; None at the end. What is none is passed over."""
        data = await self.stream.read()
        if not data:
            self.open = False
            return None
        frames = self.decoder.feed(data)
        for entry in frames:
            if entry.name is None:
                note(f"not understood: {entry.error}")
        return [entry for entry in frames if entry.name is not None]

    async def close(self) -> None:
        """Close; what was sent is still delivered, but nobody waits for that."""
        self.open = False
        self.stream.close()
