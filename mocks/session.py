"""A mock's session on a stream: reads, decodes, handles each frame, and ends.

A mock inherits from `Session`. It defines `make_decoder`, which returns the protocol's decoder, and
`take`, which handles a frame. Faults and variants can override every other method.
"""

from abc import ABC, abstractmethod

from conformance.codec import Decoder, Frame
from mocks.streams import Stream


class Session(ABC):
    """A side of a session; `run` plays it on a stream."""

    stream: Stream

    def __init__(self) -> None:
        self.decoder = self.make_decoder()
        self.ended = False

    @abstractmethod
    def make_decoder(self) -> Decoder:
        """Return a decoder for the peer's bytes."""

    async def run(self, stream: Stream) -> None:
        """Play the session until either side ends it."""
        self.stream = stream
        self.opened()
        try:
            while not self.ended and (data := await stream.read()):
                self.receive(data)
                await self.settle()
            if not self.ended:
                self.input_ended()
        finally:
            await self.leave()

    def opened(self) -> None:  # noqa: B027  most sessions do nothing here
        """Handle the start of the stream."""

    def receive(self, data: bytes) -> None:
        """Handle the bytes of one read."""
        for frame in self.decoder.feed(data):
            if not self.ended:
                self.take(frame)

    async def settle(self) -> None:
        """Wait, before the next read, until all written bytes are on their way."""
        await self.stream.drain()

    @abstractmethod
    def take(self, frame: Frame) -> None:
        """Handle a message, or bytes that are not a message."""

    def write(self, data: bytes) -> None:
        self.stream.write(data)

    def input_ended(self) -> None:
        """Handle the end of the peer's stream."""
        self.close()

    def close(self, why: str = "") -> None:
        """End the session; bytes already written are still delivered."""
        self.ended = True
        self.stream.close(why)

    async def leave(self) -> None:
        """Release the stream after the end of the session."""
        await self.stream.closed()
