"""What every mock does in a session on a stream: read, decode, take one frame after another, leave.

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
                await stream.drain()
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


# Readers that lose what one read has brought; a fault derives from one and from its mock


class PerRead(Session):
    """Takes each read for whole messages."""

    def receive(self, data: bytes) -> None:
        self.decoder = self.make_decoder()
        super().receive(data)


class FirstOfARead(Session):
    """Takes the first message of a read only."""

    def receive(self, data: bytes) -> None:
        for frame in self.decoder.feed(data)[:1]:
            self.take(frame)


class LastOfARead(Session):
    """Takes the last message of a read only."""

    def receive(self, data: bytes) -> None:
        for frame in self.decoder.feed(data)[-1:]:
            self.take(frame)
