"""Values for the parameters of a catalog: different values within the bounds, and extremes."""

import ctypes
import math
from collections.abc import Iterator
from typing import Any

from conformance.runtime.memory.catalog import BOOLEAN, INTEGER, OTHER, REAL, Parameter, Peripheral
from conformance.runtime.memory.layout import Field, Layout

UID = 0x000C_17_0123456789ABCDEF


def sample(param: Parameter, number: int) -> Any:
    """Return a value of a parameter; consecutive numbers give different values.

    A float of 32 bits represents each value exactly. Raises ValueError if no value is known.
    """
    if param.kind == OTHER:
        raise ValueError(f"no value of {param.type} is known")
    if param.count is not None:
        return [_one(param, number + index) for index in range(param.count)]
    return _one(param, number)


def other_sample(param: Parameter, present: Any) -> Any:
    """Return a value of a parameter that differs from its present value."""
    value = sample(param, 3)
    same = bool(present) == value if param.kind == BOOLEAN else present == value
    return sample(param, 4) if same else value


def _one(param: Parameter, number: int) -> Any:
    if param.kind == BOOLEAN:
        return number % 2 == 1
    low = max(param.lower, 0.0 if param.upper > 0 else -math.inf)
    if param.kind == INTEGER:
        return int(max(low, 0)) + 1 + number % 90
    room = min(param.upper - low, 64.0)
    return low + room * (1 + number % 30) / 32


def extremes(param: Parameter, field: Field) -> list[Any]:
    """Return the smallest and greatest values of a parameter's type that fit its field.

    A double represents each number exactly, also for integers of 64 bits, because some languages
    have no other numbers in JSON. The decimal digits of a float are few, because some readers of
    JSON round the last digits of long ones. The list is empty if no value of the type is known.
    """
    ends = _extreme_values(param, field)
    if param.count is None:
        return ends
    return [
        [ends[(index + shift) % len(ends)] for index in range(param.count)]
        for shift in range(len(ends))
    ]


def _extreme_values(param: Parameter, field: Field) -> list[Any]:
    if param.kind == BOOLEAN:
        return [True, False]
    if param.kind == OTHER:
        return []
    of: Any = getattr(ctypes, f"c_{param.type}")
    bits, signed = 8 * (field.size // (field.count or 1)), of(-1).value < 0
    if param.kind == REAL:
        # The smallest double is the same number, even if a reader rounds its digits.
        great, denormal = (2.0**100, 2.0**-140) if bits == 32 else (1e300, 5e-324)
        return [-great, 2.0**-20, denormal, great]
    greatest = (1 << (bits - signed)) - 1
    greatest -= greatest >> 53  # keep only the first 53 bits, which a double represents exactly
    return [-(1 << (bits - 1)), -1, greatest] if signed else [greatest, 0]


def around_bounds(param: Parameter) -> Iterator[tuple[Any, Any]]:
    """Yield values around the bounds of a parameter, each with its stored value."""
    step = 1 if param.kind == INTEGER else 0.5
    one = int if param.kind == INTEGER else float
    for value in (param.lower - step, param.lower, param.upper, param.upper + step):
        if math.isfinite(value):
            yield one(value), one(max(param.lower, min(param.upper, value)))


def fit(value: int, layout: Layout, field: str = "control.uid") -> int:
    """Return the part of a value that fits its field: see format.control-widths."""
    return value & ((1 << 8 * layout[field].size) - 1)


def fill_values(peripheral: Peripheral, layout: Layout) -> dict[str, Any]:
    """Return a value other than zero for every field except mutex and valid bit."""
    values: dict[str, Any] = {}
    for shift, block in enumerate(("read", "write")):
        params = layout.params(block)
        if f"{block}.timestamp" in layout.fields:
            values[f"{block}.timestamp"] = 1.0 + shift
        for index, name in enumerate(params):
            param = peripheral[name]
            if param.kind != OTHER:
                number = 2 * index + 1 + 20 * shift
                values[f"{block}.params.{name}"] = sample(param, number)
    if layout.control:
        given = {"control.uid": UID, "control.delay": 77, "control.subscription": 0x0A05}
        # No bitmap has all bits set, and all bitmaps differ.
        for name, bits in (("read", 0x8003), ("write", 0x4101), ("update", 0x0C01)):
            chosen = peripheral.names(bits) or [param.name for param in peripheral.params[:1]]
            given[f"control.{name}"] = layout.bitmap(peripheral, chosen)
        values |= {name: fit(value, layout, name) for name, value in given.items()}
    return values
