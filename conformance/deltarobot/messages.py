"""The messages that the test cases of both roles send, in their decoded form."""

from collections.abc import Sequence
from typing import Any

from conformance.definitions import protocols
from conformance.deltarobot.codec import frame, message

MAGIC = message("ProtocolMagic", magic="DeltaRVr")
VERSION = message("ProtocolVersion", version=1)
HANDSHAKE = (MAGIC, VERSION)

PROGRESS = protocols.load("deltarobot").groups["progress"]
POSITION, CURRENT, DESIRED = PROGRESS
EXERCISE = ("Curve", *PROGRESS)


def ping(number: int) -> dict[str, Any]:
    return message("Ping", number=number)


def pong(number: int) -> dict[str, Any]:
    return message("Pong", number=number)


def end(reason: str = "") -> dict[str, Any]:
    return message("EndOfTransmission", reason=reason)


def curve(*points: Sequence[Any]) -> dict[str, Any]:
    return message("Curve", points=[list(point) for point in points])


def vector(name: str, x: Any, y: Any, z: Any, u: Any = 0.0) -> dict[str, Any]:
    return message(name, x=x, y=y, z=z, u=u)


def unknown(identifier: int, data: str) -> dict[str, Any]:
    """Return a message with any identifier; the contents are given in hex."""
    return {"identifier": f"{identifier:#06x}", "data": data}


def begin_message(identifier: int, length: int, contents: bytes = b"") -> bytes:
    """Return the start of a variable-length message that announces `length` bytes."""
    return frame(identifier, contents)[:2] + length.to_bytes(4, "little") + contents


OF_EACH_SIZE: dict[str, dict[str, Any]] = {
    "8-bit": unknown(0x0123, "ff"),
    "16-bit": unknown(0x1123, "ffff"),
    "32-bit": unknown(0x2123, "ff" * 4),
    "64-bit": unknown(0x3123, "ff" * 8),
    "128-bit": unknown(0x4123, "ff" * 16),
    "variable": unknown(0xF123, "ff" * 5),
    "variable-empty": unknown(0xF123, ""),
}
"""A message of an unknown type of each defined size.

Contents of FF look like an endless message to an IUT that does not skip them by their size.
"""

OF_HIGH_TYPES: dict[str, dict[str, Any]] = {
    "8-bit": unknown(0x09F8, "ff"),
    "16-bit": unknown(0x1AF9, "ffff"),
    "32-bit": unknown(0x2BFA, "ff" * 4),
    "64-bit": unknown(0x3CFB, "ff" * 8),
    "128-bit": unknown(0x4DFC, "ff" * 16),
}
"""A message of an unknown type of each fixed size.

The first byte of each identifier is negative if bytes are read as signed numbers.
"""

NEARLY_KNOWN: dict[str, dict[str, Any]] = {
    "like-a-ping": unknown(0xF7FF, "0430" + "11" * 8),
    "low-byte-of-an-end": unknown(0xF106, "627965"),
    "low-byte-of-a-ping": unknown(0x3104, "12" * 8),
    "low-byte-of-a-position": unknown(0x4103, "0000a040" * 4),
    "low-byte-of-a-direction": unknown(0x4F07, "0000a040" * 4),
    "low-byte-of-another-direction": unknown(0x4208, "0000a040" * 4),
    "low-byte-of-a-curve": unknown(0xF309, "0000a040" * 6),
}
"""Unknown types that resemble a known type, by their bits or their contents."""

UNKNOWN = {**OF_EACH_SIZE, **NEARLY_KNOWN, "highest-type": unknown(0x4FFF, "0430" * 8)}

OTHER_SIZES: dict[str, dict[str, Any]] = {
    "magic-of-32": unknown(0x2001, "44656c74"),
    "version-of-64": unknown(0x3002, "0200000000000000"),
    "position-variable": unknown(0xF003, "0000a040" * 4),
    "position-of-32": unknown(0x2003, "0000a040"),
    "ping-variable": unknown(0xF004, "13" * 8),
    "ping-of-128": unknown(0x4004, "14" * 8 + "00" * 8),
    "pong-of-16": unknown(0x1005, "0102"),
    "pong-variable": unknown(0xF005, "01" * 8),
    "end-of-8": unknown(0x0006, "62"),
    "end-of-128": unknown(0x4006, "62" * 16),
    "direction-of-64": unknown(0x3007, "15" * 8),
    "curve-of-128": unknown(0x4009, "16" * 16),
}
"""Known types, each with a size that the specification does not give them."""

NULLS: dict[str, dict[str, Any]] = {
    "8-bit": unknown(0x0000, "00"),
    "16-bit": unknown(0x1000, "0000"),
    "32-bit": unknown(0x2000, "00000000"),
    "64-bit": unknown(0x3000, "0430000000000000"),
    "128-bit": unknown(0x4000, "ff" * 16),
    "variable": unknown(0xF000, "000000"),
    "variable-empty": unknown(0xF000, ""),
}
"""Messages of the reserved type 0x000, of each defined size."""
