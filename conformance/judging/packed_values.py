"""Keep decoded messages in about as little memory as their bytes take.

Nested lists of short words take ten times as much memory as their bytes. Long sessions have
thousands of messages, and most of them are never read again.
"""

import marshal
from typing import Any


class PackedValue:
    """A value that is kept serialized, and decoded at each access."""

    __slots__ = ("_held",)

    def __init__(self, value: Any) -> None:
        self._held = marshal.dumps(value)

    @property
    def value(self) -> Any:
        return marshal.loads(self._held)


def unpack(value: Any) -> Any:
    """Return a value, unpacked if it is packed."""
    return value.value if isinstance(value, PackedValue) else value
