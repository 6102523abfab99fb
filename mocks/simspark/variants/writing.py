"""Lawful variants of every mock in writing messages."""

from conformance.simspark.codec import frame
from mocks.deviations import variant
from mocks.simspark.connection import Connection, Endpoint


@variant("zero-at-the-end", of="text.s-expressions")
class ZeroAtTheEnd(Endpoint):
    """Adds the final zero byte of a C string to each message."""

    def encode(self, text: str, connection: Connection) -> bytes:
        return frame(super().encode(text, connection)[4:] + b"\0")
