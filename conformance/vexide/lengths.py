"""Lines of an exact length, near the sizes of usual buffers."""

from typing import Any

import pytest

from conformance.cases import requirement
from conformance.vexide.codec import encode

LENGTHS = {
    "framing.segmentation": (255, 256, 257, 1023, 1024, 1025, 4095, 4096, 4097),
    "framing.long-lines": (65_535, 65_536, 65_537),
}
"""Bytes of a line with its newline: powers of two that buffers have, and their neighbours.

The key is the requirement that an IUT violates if such a line does not count.
"""

EACH_LENGTH = [
    pytest.param(size, marks=requirement(name)) for name, sizes in LENGTHS.items() for size in sizes
]
"""All lengths, for `parametrize`."""

SHORT = 200  # bytes of a line that every buffer holds


def pad(message: Any, size: int) -> bytes:
    """Return a message as a line of so many bytes, beginning with white space."""
    line = encode(message)
    return b" " * (size - len(line)) + line
