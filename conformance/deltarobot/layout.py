"""Reads and writes the contents of binary messages by the layouts in their schema files.

A schema file with the keyword `x-wire` describes one message; its `title` is the message's name.
A message consists of numbers, or of one text, or of one array:

    "x-wire": {"identifier": "0x4003", "byte-order": "little", "fields": [FIELD, …]}

Numbers follow each other without padding. A FIELD is one of

    {"name": "x", "type": "f32"}                            u8 … u64, i8 … i64, f32, f64
    {"name": "magic", "type": "ascii", "bytes": 8}          a text; "bytes": "rest" to the end
    {"name": "points", "type": ["f32", …], "repeat": "rest"}   groups of numbers, to the end

The decoded form is an object with the identifier and the fields. It keeps every bit:

- A byte of a text that is not ASCII becomes the character with the same number.
- Bytes that remain at the end become the member `rest`, in hex.
- A float that is not a finite number becomes a string, which the schema of floats defines.
"""

import json
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Any

REST = "rest"

Value = dict[str, Any]
_Read = Callable[[bytes, int, int], Value]
_Write = Callable[[Value], bytes]

_CODES = {
    "u8": "B",
    "u16": "H",
    "u32": "I",
    "u64": "Q",
    "f32": "f",
    "i8": "b",
    "i16": "h",
    "i32": "i",
    "i64": "q",
    "f64": "d",
}
_PATTERNS = {"f": "I", "d": "Q"}  # the integer type of the same width
_DIGITS = {"f": 8, "d": 16}  # number of hex digits of that integer
_QUIET_NAN = {"f": 0x7FC00000, "d": 0x7FF8000000000000}
_ORDERS = {"little": "<", "big": ">"}


class _Numbers:
    """Converts a sequence of numbers without gaps, such as three floats, to and from bytes."""

    def __init__(self, order: str, types: Sequence[str]) -> None:
        codes = "".join(_CODES[name] for name in types)
        self.struct = struct.Struct(order + codes)
        self._patterns = struct.Struct(order + "".join(_PATTERNS.get(code, code) for code in codes))
        self._codes = codes
        self._has_floats = any(code in _PATTERNS for code in codes)

    @property
    def size(self) -> int:
        return self.struct.size

    def read(self, data: bytes, at: int) -> Sequence[Any]:
        numbers = self.struct.unpack_from(data, at)
        # A sum of finite 32-bit floats is finite. A sum of 64-bit floats can overflow, and the
        # second reading then only costs time.
        if self._has_floats and not isfinite(sum(numbers)):
            patterns = self._patterns.unpack_from(data, at)
            return list(map(_decoded_number, self._codes, numbers, patterns))
        return numbers

    def write(self, values: Sequence[Any]) -> bytes:
        if not any(isinstance(value, str) for value in values):
            return self.struct.pack(*values)
        return self._patterns.pack(*map(self._pattern, self._codes, values))

    def _pattern(self, code: str, value: Any) -> int:
        """Return a number as the integer with the same bits."""
        if code not in _PATTERNS:
            return int(value)
        if isinstance(value, str) and value.startswith("NaN"):
            return int(value[4:], 16) if len(value) > 4 else _QUIET_NAN[code]
        packed = struct.pack(f"<{code}", float(value))
        return int.from_bytes(packed, "little")


def _decoded_number(code: str, value: Any, pattern: int) -> Any:
    if code not in _PATTERNS or isfinite(value):
        return value
    if value == value:
        return "Infinity" if value > 0 else "-Infinity"
    quiet = pattern == _QUIET_NAN[code]
    return "NaN" if quiet else f"NaN:{pattern:0{_DIGITS[code]}x}"


@dataclass(frozen=True)
class Layout:
    """The layout of one message.

    `size` is the number of bytes of its contents, None if it varies.
    """

    name: str
    identifier: int
    size: int | None
    read: _Read
    """Takes the data and the start and end of the contents, whose size is correct."""
    write: _Write
    """Returns the contents of a decoded message. Raises ValueError if the form is wrong."""

    parts: Sequence[tuple[str, Sequence[str]]]
    """Each field with its types: one number, the numbers of a group, or none for a text."""

    def place(self, path: Sequence[str | int], size: int) -> tuple[int, int] | None:
        """Return the start and end of a member in contents of this size, else None."""
        start = 0
        for name, types in self.parts:
            sizes = [struct.calcsize(f"<{_CODES[each]}") for each in types]
            match path:
                case [field, int(index)] if field == name and not types:
                    return start + index, start + index + 1
                case [field] if field == name:
                    return start, start + sizes[0] if len(sizes) == 1 else size
                case [field, int(group)] if field == name and len(sizes) > 1:
                    return group * sum(sizes), (group + 1) * sum(sizes)
                case [field, int(group), int(number)] if field == name and number < len(sizes):
                    begins = group * sum(sizes) + sum(sizes[:number])
                    return begins, begins + sizes[number]
            start += sum(sizes)
        return None

    @property
    def key(self) -> str:
        """The identifier as the decoded form writes it."""
        return f"{self.identifier:#06x}"


def load(folder: Path) -> dict[int, Layout]:
    """Return the layouts of all schema files below a folder, by identifier.

    Raises ValueError, which names the file, if a layout cannot be read.
    """
    found: dict[int, Layout] = {}
    for file in sorted(folder.rglob("*.json")):
        schema = json.loads(file.read_text(encoding="utf-8"))
        if "x-wire" in schema:
            try:
                layout = of(schema["title"], schema["x-wire"])
            except (KeyError, TypeError, ValueError, struct.error) as error:
                raise ValueError(f"{file}: its x-wire cannot be read: {error!r}") from error
            if layout.identifier in found:
                raise ValueError(
                    f"{file}: {layout.key} already belongs to {found[layout.identifier].name}"
                )
            found[layout.identifier] = layout
    return found


def of(name: str, wire: Mapping[str, Any]) -> Layout:
    """Return the layout of an `x-wire` keyword: one text, one array of groups, or numbers."""
    identifier, order = int(wire["identifier"], 16), _ORDERS[wire["byte-order"]]
    key = f"{identifier:#06x}"
    size: int | None = None
    read: _Read
    write: _Write
    parts: list[tuple[str, Sequence[str]]]
    match wire["fields"]:
        case [{"name": field, "type": "ascii", "bytes": room}]:
            size, parts = None if room == REST else int(room), [(field, ())]
            read, write = partial(_read_text, field, key), partial(_write_text, field, size)
        case [{"name": field, "type": [*types], "repeat": "rest"}]:
            group, parts = _Numbers(order, types), [(field, types)]
            read, write = (
                partial(_read_groups, group, field, key),
                partial(_write_groups, group, field),
            )
        case fields:
            numbers = _Numbers(order, [entry["type"] for entry in fields])
            names = [entry["name"] for entry in fields]
            size, parts = numbers.size, [(entry["name"], (entry["type"],)) for entry in fields]
            read = partial(_read_numbers, numbers, ("identifier", *names), key)
            write = partial(_write_numbers, numbers, names)
    return Layout(name, identifier, size, read, write, parts)


def _read_numbers(
    numbers: _Numbers, names: Sequence[str], key: str, data: bytes, start: int, stop: int
) -> Value:
    return dict(zip(names, (key, *numbers.read(data, start)), strict=True))


def _write_numbers(numbers: _Numbers, names: Sequence[str], value: Value) -> bytes:
    return numbers.write([value[name] for name in names])


def _read_text(name: str, key: str, data: bytes, start: int, stop: int) -> Value:
    return {"identifier": key, name: data[start:stop].decode("latin-1")}


def _write_text(name: str, size: int | None, value: Value) -> bytes:
    text: bytes = value[name].encode("latin-1")
    if size is not None and len(text) != size:
        raise ValueError(f"{name} has {len(text)} bytes; its field has {size}")
    return text


def _read_groups(group: _Numbers, name: str, key: str, data: bytes, start: int, stop: int) -> Value:
    whole = start + (stop - start) // group.size * group.size
    groups = [list(item) for item in group.struct.iter_unpack(data[start:whole])]
    if not isfinite(sum(map(sum, groups))):
        groups = [list(group.read(data, at)) for at in range(start, whole, group.size)]
    value = {"identifier": key, name: groups}
    return value if whole == stop else {**value, REST: data[whole:stop].hex()}


def _write_groups(group: _Numbers, name: str, value: Value) -> bytes:
    groups = b"".join(map(group.write, value[name]))
    return groups + bytes.fromhex(value.get(REST, ""))
