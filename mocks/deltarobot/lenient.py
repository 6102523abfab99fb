"""Lenient modes: errors of a peer that the mocks forgive."""

from typing import Any

from mocks.deltarobot.session import VERSION, Session
from mocks.deviations import lenient


@lenient("any-version", of="handshake.version-value")
class AnyVersion(Session):
    """Accepts a peer with any other version of the protocol."""

    def acceptable(self, name: str, value: Any) -> bool:
        if not super().acceptable(name, value) and name == VERSION:
            self.stream.tell("forgiven", f"forgiven: {name} is {value}")
            return True
        return super().acceptable(name, value)


@lenient("no-end", of="end.announced")
class NoEnd(Session):
    """Accepts the end of a connection without an end of transmission."""

    def input_ended(self) -> None:
        self.stream.tell("forgiven", "forgiven: no end of transmission was sent")
        self.close()
