"""What both mocks are made of."""

from typing import Any

from conformance.toy.codec import encode
from mocks.streams import Stream


class Peer:
    """One side of one session."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream

    def send(self, value: Any) -> None:
        """Send one message."""
        self.stream.write(encode(value))
