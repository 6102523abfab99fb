"""Faults of either peer in the encoding of its messages."""

from typing import Any

from conformance.vexide.codec import name_of
from mocks.deviations import fault
from mocks.vexide.session import Session


@fault("internally-tagged", violates="encoding.externally-tagged")
class InternallyTagged(Session):
    """Tags messages internally: the name is the field "type" among the other fields."""

    def send(self, message: Any) -> None:
        name = name_of(message)
        content = message[name] if isinstance(message, dict) else None
        if isinstance(content, dict) and name != "Handshake":
            message = {"type": name, **content}
        super().send(message)
