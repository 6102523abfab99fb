"""What the mocks of servers and clients can forgive their peers."""

from typing import Any

from mocks.deltarobot.session import VERSION, Session
from mocks.deviations import lenient


@lenient("any-version", of="handshake.version-value")
class AnyVersion(Session):
    """Takes a peer that speaks any other version of the protocol, as if it were version 1."""

    def acceptable(self, name: str, value: Any) -> bool:
        if not super().acceptable(name, value) and name == VERSION:
            self.stream.tell("forgiven", f"forgiven: {name} is {value}")
            return True
        return super().acceptable(name, value)


@lenient("no-end", of="end.announced")
class NoEnd(Session):
    """Takes the end of a connection for an orderly one, though nothing has announced it."""

    def input_ended(self) -> None:
        self.stream.tell("forgiven", "forgiven: no end of transmission was sent")
        self.close()
