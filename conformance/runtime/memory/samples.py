"""Values for the parameters of a catalog: within their bounds, and all different."""

import math
from typing import Any

from conformance.runtime.memory.catalog import BOOLEAN, INTEGER, OTHER, Parameter, Peripheral
from conformance.runtime.memory.layout import Layout

UID = 0x000C_17_0123456789ABCDEF


def sample(param: Parameter, number: int) -> Any:
    """One of the values of a parameter; neighbouring numbers give different ones.

    Each is a number that a float of 32 bits has exactly. Raises ValueError where there is none.
    """
    if param.kind == OTHER:
        raise ValueError(f"no value of {param.type} is known")
    if param.count is not None:
        return [_one(param, number + index) for index in range(param.count)]
    return _one(param, number)


def _one(param: Parameter, number: int) -> Any:
    if param.kind == BOOLEAN:
        return number % 2 == 1
    low = max(param.lower, 0.0 if param.upper > 0 else -math.inf)
    if param.kind == INTEGER:
        return int(max(low, 0)) + 1 + number % 90
    room = min(param.upper - low, 64.0)
    return low + room * (1 + number % 30) / 32


def fitted(value: int, layout: Layout, field: str = "control.uid") -> int:
    """As much of a value as its field has bits for: see format.control-widths."""
    return value & ((1 << 8 * layout[field].size) - 1)


def filling(peripheral: Peripheral, layout: Layout) -> dict[str, Any]:
    """A value other than zero for every field of a buffer but mutex and valid bit."""
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
        # Of no bitmap are all bits set, and of none the same.
        for name, bits in (("read", 0x8003), ("write", 0x4101), ("update", 0x0C01)):
            chosen = peripheral.names(bits) or [param.name for param in peripheral.params[:1]]
            given[f"control.{name}"] = layout.bitmap(peripheral, chosen)
        values |= {name: fitted(value, layout, name) for name, value in given.items()}
    return values
