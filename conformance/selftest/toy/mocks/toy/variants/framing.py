"""Lawful ways to write a message; both roles have these variants."""

from typing import Any

from conformance.toy.codec import encode
from mocks.deviations import variant
from mocks.toy.peer import Peer


@variant("in-pieces", of="framing.layout")
class InPieces(Peer):
    """Writes every byte separately."""

    def send(self, value: Any) -> None:
        for byte in encode(value):
            self.write(bytes([byte]))
