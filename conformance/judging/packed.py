"""What messages were decoded into, held in as little memory as their bytes take.

Nested lists of short words take ten times that, and long sessions have thousands of messages that
hardly anything looks at again.
"""

import marshal
from typing import Any


class Packed:
    """A value that is made anew each time that it is asked for."""

    __slots__ = ("_held",)

    def __init__(self, value: Any) -> None:
        self._held = marshal.dumps(value)

    @property
    def value(self) -> Any:
        return marshal.loads(self._held)


def unpacked(value: Any) -> Any:
    """A value that may be packed."""
    return value.value if isinstance(value, Packed) else value
