"""Faults in the way a message is written; both roles have these faults."""

from typing import Any

from mocks.deviations import fault
from mocks.toy.peer import Peer


@fault("stray-byte", violates="framing.layout")
class StrayByte(Peer):
    """Writes a zero byte after every message."""

    def send(self, value: Any) -> None:
        super().send(value)
        self.write(b"\0")
