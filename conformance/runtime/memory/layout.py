"""Positions in a buffer: fields, and the layouts of the mocks.

Source: Buffers, Format. The specification does not fix offsets. An implementation declares its
layout (`declared`), and all readers and writers use it. Numbers are in the machine's byte order.
"""

import ctypes
import itertools
import struct
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from conformance import mutex
from conformance.runtime.memory.catalog import KINDS, Peripheral

TIMESTAMP = "double"
BITMAPS = ("read", "write", "update")
# bytes in the control block: the UID has 88 bits, all other fields have 16
UID_BYTES, SHORT = 11, 2
_REALS = {4: "f", 8: "d"}


def width(type_: str) -> int:
    """Return the size in bytes of a type's value, as ctypes defines it here."""
    return ctypes.sizeof(getattr(ctypes, f"c_{type_}"))


@dataclass(frozen=True)
class Field:
    """A field, such as `read.params.angle`; ``count`` is None for a single value."""

    name: str
    offset: int
    size: int
    type: str = ""
    count: int | None = None

    @property
    def end(self) -> int:
        return self.offset + self.size

    def of(self, image: bytes) -> bytes:
        """Return the bytes of the field in an image of the buffer."""
        return image[self.offset : self.end]

    def decode(self, raw: bytes) -> Any:
        """Return the value of the bytes: a list for an array, else a single value."""
        if not self.type:
            return int.from_bytes(raw, sys.byteorder)
        one = self.size // (self.count or 1)
        values = [_decode(self.type, raw[at : at + one]) for at in range(0, len(raw), one)]
        return values[0] if self.count is None else values

    def encode(self, value: Any) -> bytes:
        """Return the bytes of a value. Raises ValueError or TypeError if the value does not fit."""
        if not self.type:
            return _whole(value, self.size, signed=False)
        one = self.size // (self.count or 1)
        if self.count is None:
            return _encode(self.type, value, one)
        if not isinstance(value, list | tuple) or len(value) != self.count:
            raise ValueError(f"{self.name} takes an array of {self.count}")
        return b"".join(_encode(self.type, item, one) for item in value)


def _decode(type_: str, raw: bytes) -> Any:
    match KINDS[type_]:
        case "boolean":
            return raw != bytes(len(raw))
        case "integer":
            return int.from_bytes(raw, sys.byteorder, signed=not _unsigned(type_))
        case "real":
            return struct.unpack(f"={_REALS[len(raw)]}", raw)[0]
    return raw.hex()


def _encode(type_: str, value: Any, size: int) -> bytes:
    match KINDS[type_]:
        case "boolean":
            if not isinstance(value, bool):
                raise TypeError(f"{value!r} is not a boolean")
            return value.to_bytes(size, sys.byteorder)
        case "integer":
            return _whole(value, size, signed=not _unsigned(type_))
        case "real":
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise TypeError(f"{value!r} is not a number")
            try:
                return struct.pack(f"={_REALS[size]}", value)
            except (struct.error, OverflowError) as error:
                raise ValueError(f"{value!r} does not fit a {type_}") from error
    raise ValueError(f"the type {type_} has no values")


def _whole(value: Any, size: int, *, signed: bool) -> bytes:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{value!r} is not an integer")
    try:
        return value.to_bytes(size, sys.byteorder, signed=signed)
    except OverflowError as error:
        raise ValueError(f"{value} does not fit {size} bytes") from error


def _unsigned(type_: str) -> bool:
    return type_.startswith("u") or type_ == "size_t"


@dataclass(frozen=True)
class Layout:
    """The fields of one buffer by name, and its size in bytes."""

    size: int
    fields: Mapping[str, Field]
    bits: Mapping[str, int] = field(default_factory=dict)
    """By parameter: the number of its bit, if that is not its index in the catalog."""

    def __getitem__(self, name: str) -> Field:
        return self.fields[name]

    def bitmap(self, peripheral: Peripheral, names: Iterable[str]) -> int:
        """Return the bitmap of these parameters."""
        return sum({1 << self.bits.get(name, peripheral.index(name)) for name in names})

    def params(self, block: str) -> dict[str, Field]:
        """Return the parameters of the `read` or the `write` block by name."""
        found = {name.removeprefix(f"{block}.params."): f for name, f in self.fields.items()}
        return {name: f for name, f in found.items() if f.name == f"{block}.params.{name}"}

    @property
    def control(self) -> bool:
        """True if the layout has a device control block."""
        return "control.uid" in self.fields

    @cached_property
    def overlaps(self) -> list[str]:
        """Descriptions of fields that share bytes or exceed the end of the buffer."""
        ordered = sorted(self.fields.values(), key=lambda f: (f.offset, f.end))
        found = [
            f"{a.name} (bytes {a.offset} to {a.end - 1}) and {b.name} "
            f"(bytes {b.offset} to {b.end - 1})"
            for a, b in itertools.pairwise(ordered)
            if b.offset < a.end
        ]
        beyond = (f for f in ordered if f.end > self.size)
        return found + [f"{f.name} ends at {f.end} of {self.size} bytes" for f in beyond]

    def to_json(self) -> dict[str, Any]:
        """Return the layout in the JSON form of the operation `layout`."""

        def place(name: str) -> dict[str, int]:
            return {"offset": self[name].offset, "size": self[name].size}

        def block(name: str) -> dict[str, Any]:
            params = {
                key: {"offset": f.offset, "type": f.type, "count": f.count}
                for key, f in self.params(name).items()
            }
            return {"timestamp": place(f"{name}.timestamp"), "params": params}

        parts = ("uid", "subscription", "delay", *BITMAPS)
        return {
            "size": self.size,
            "mutex": place("mutex"),
            "valid": place("valid"),
            "read": block("read"),
            "write": block("write"),
            "control": {part: place(f"control.{part}") for part in parts} if self.control else None,
            **({"bits": dict(self.bits)} if self.bits else {}),
        }


# Layouts of the mocks


@dataclass(frozen=True)
class Plan:
    """Rules for a layout: the order of the parts, and the alignment.

    ``packed`` means without padding. ``mutex`` is the size of the mutex and its attributes in
    bytes.
    """

    order: tuple[str, ...] = ("read", "write", "control")
    packed: bool = False
    mutex: int = mutex.SIZE


PLANS: Mapping[str, Plan] = {
    "natural": Plan(),
    # The order of the published figure: the control block comes first.
    "figure": Plan(("control", "read", "write")),
    # With the attributes of the mutex after it, and without alignment.
    "packed": Plan(("control", "read", "write"), packed=True, mutex=mutex.SIZE + 4),
}


def plan_layout(peripheral: Peripheral, plan: Plan = PLANS["natural"]) -> Layout:
    """Return the layout of a peripheral's buffer, aligned like a C structure unless packed."""
    fields: dict[str, Field] = {}
    end = 0

    def align(to: int) -> None:
        nonlocal end
        end = end if plan.packed else -(-end // to) * to

    def place(name: str, size: int, to: int, type_: str = "", count: int | None = None) -> None:
        nonlocal end
        align(to)
        fields[name] = Field(name, end, size, type_, count)
        end += size

    place("mutex", plan.mutex, 8)
    place("valid", 1, 1)
    for part in plan.order:
        if part != "control":
            align(8)
            place(f"{part}.timestamp", 8, 8, TIMESTAMP)
            for param in peripheral.params:
                if param.readable if part == "read" else param.writeable:
                    one = width(param.type)
                    size = one * (param.count or 1)
                    place(f"{part}.params.{param.name}", size, one, param.type, param.count)
            align(8)
        elif peripheral.device_id is not None:
            align(SHORT)
            place("control.uid", UID_BYTES, 1)
            for name in ("subscription", "delay", *BITMAPS):
                place(f"control.{name}", SHORT, SHORT)
    align(8)
    return Layout(end, fields)
