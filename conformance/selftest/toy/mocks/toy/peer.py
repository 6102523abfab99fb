"""The common base of both mocks."""

from typing import Any

from conformance.toy.codec import Decoder, encode
from mocks.session import Session


class Peer(Session):
    """A side of a session."""

    def make_decoder(self) -> Decoder:
        return Decoder()

    def send(self, value: Any) -> None:
        """Send one message."""
        self.write(encode(value))
