"""A mock's session on a stream: it reads, decodes, takes one frame after another, and leaves.

A mock derives from `Session`, makes the decoder of its protocol (`make_decoder`) and says what it
does with a frame (`take`). Everything else is a method that a fault or a variant may override.
"""

from abc import ABC, abstractmethod

from conformance.codec import Decoder, Frame
from mocks.streams import Stream


class Session(ABC):
    """One side of one session; `run` plays it on a stream."""

    stream: Stream

    def __init__(self) -> None:
        self.decoder = self.make_decoder()
        self.ended = False

    @abstractmethod
    def make_decoder(self) -> Decoder:
        """What cuts the peer's bytes into frames."""

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

    def opened(self) -> None:  # noqa: B027  most have nothing to do then
        """The stream is there."""

    def receive(self, data: bytes) -> None:
        """What one read has brought."""
        for frame in self.decoder.feed(data):
            if not self.ended:
                self.take(frame)

    async def settle(self) -> None:
        """Before the next read: wait until what was written is on its way."""
        await self.stream.drain()

    @abstractmethod
    def take(self, frame: Frame) -> None:
        """A message has come, or bytes that are not one."""

    def write(self, data: bytes) -> None:
        self.stream.write(data)

    def input_ended(self) -> None:
        """The peer has closed the stream."""
        self.close()

    def close(self, why: str = "") -> None:
        """End the session; what was sent is still delivered."""
        self.ended = True
        self.stream.close(why)

    async def leave(self) -> None:
        """The session is over: release what it holds."""
        await self.stream.closed()
