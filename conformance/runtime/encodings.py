"""Alternative MessagePack encodings of one value, all with the same meaning."""

import struct
from collections.abc import Mapping
from typing import Any

from conformance.runtime.codec import encode
from conformance.runtime.shapes import mark

# by width in bytes: index of its format among the four formats of integers
_WIDTHS = {1: 0, 2: 1, 4: 2, 8: 3}
_UNSIGNED, _SIGNED = 0xCC, 0xD0
_STR, _BIN, _EXT = 0xD9, 0xC4, 0xC7
_ARRAY, _MAP = 0xDC, 0xDE


def encodings(value: Any) -> Mapping[str, bytes]:
    """Return the encodings of a value by name, each with a minimum width of numbers."""
    made = {f"{8 * width} bits": _wide(value, width) for width in _WIDTHS}
    made["signed integers"] = _wide(value, 1, _SIGNED)
    made["floats of single precision"] = _wide(value, 1, single=True)
    return made


def _wide(value: Any, width: int, first: int = _UNSIGNED, single: bool = False) -> bytes:
    """Encode a value. `first` is the preferred format of integers: signed or unsigned."""

    def inner(part: Any) -> bytes:
        return _wide(part, width, first, single)

    marked = mark(value)
    if isinstance(value, list):
        return _counted_header(_ARRAY, len(value), width) + b"".join(map(inner, value))
    if isinstance(value, dict) and marked in (None, "$map"):
        pairs = value["$map"] if marked else value.items()
        return _counted_header(_MAP, len(pairs), width) + b"".join(
            inner(part) for pair in pairs for part in pair
        )
    if type(value) is int:
        return _integer(value, width, first)
    if type(value) is float:
        return _float(value, single)
    return _encode_sized(value, marked, width)


def _integer(value: int, width: int, first: int) -> bytes:
    signed = value < 0 or (first == _SIGNED and value < 2**63)
    for size, index in _WIDTHS.items():
        try:
            data = value.to_bytes(size, "big", signed=signed)
        except OverflowError:
            continue
        if size >= width:
            return bytes([(_SIGNED if signed else _UNSIGNED) + index]) + data
    raise ValueError(f"{value} has more than 64 bits")


def _float(value: float, single: bool) -> bytes:
    try:
        narrow = struct.pack(">f", value)
    except OverflowError:
        narrow = b""
    if single and narrow and struct.unpack(">f", narrow) == (value,):
        return b"\xca" + narrow
    return encode(value)


def _encode_sized(value: Any, marked: str | None, width: int) -> bytes:
    """Encode text, bytes and extensions with a length. Other values have only one form."""
    if isinstance(value, str) or marked == "$raw":
        data = value.encode() if isinstance(value, str) else bytes.fromhex(value["$raw"])
        return _length(_STR, len(data), width) + data
    if marked == "$bin":
        data = bytes.fromhex(value[marked])
        return _length(_BIN, len(data), width) + data
    if marked == "$ext":
        data = bytes.fromhex(value[marked][1])
        return _length(_EXT, len(data), width) + bytes([value[marked][0] & 0xFF]) + data
    return encode(value)


def _length(first: int, length: int, width: int) -> bytes:
    size = next(size for size in (1, 2, 4) if size >= min(width, 4) and length < 1 << 8 * size)
    return bytes([first + _WIDTHS[size]]) + length.to_bytes(size, "big")


def _counted_header(first: int, count: int, width: int) -> bytes:
    """Encode the header of an array or a map, counted in 16 or 32 bits."""
    size = 2 if width <= 2 and count < 1 << 16 else 4
    return bytes([first + (size == 4)]) + count.to_bytes(size, "big")
