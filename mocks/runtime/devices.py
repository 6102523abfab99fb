"""Simulated devices that connect and disconnect, and the values of their parameters over time.

A number moves between its bounds, a boolean changes every second, and an array has the length from
the catalog. All values depend only on the time since the start, so that every run is the same.
"""

from collections.abc import Iterable
from math import isinf
from typing import Any

from conformance.runtime.memory.catalog import BOOLEAN, INTEGER, OTHER, Parameter

SWING = 20.0  # seconds from one bound to the other and back
STAYS, AWAY = 10.0, 5.0  # seconds that a device is connected, and then disconnected
USUAL = 100.0  # range of a number without bounds


def measure(params: Iterable[Parameter], seconds: float) -> dict[str, Any]:
    """Return the values of these parameters, except those that JSON cannot express."""
    known = [param for param in params if param.kind != OTHER]
    return {param.name: _value(param, seconds + n) for n, param in enumerate(known)}


def is_connected(seconds: float, number: int) -> bool:
    """Return True while a device is connected; no two devices disconnect together."""
    return (seconds + number * AWAY) % (STAYS + AWAY) < STAYS


def _value(param: Parameter, seconds: float) -> Any:
    if param.count is not None:
        return [_single(param, seconds + n) for n in range(param.count)]
    return _single(param, seconds)


def _single(param: Parameter, seconds: float) -> Any:
    if param.kind == BOOLEAN:
        return int(seconds) % 2 == 1
    low, high = _bounds(param)
    value = low + (high - low) * abs(1 - 2 * (seconds % SWING) / SWING)
    return round(value) if param.kind == INTEGER else value


def _bounds(param: Parameter) -> tuple[float, float]:
    """Return the range of a number, which every type can represent within its own bounds."""
    low, high = param.lower, param.upper
    if isinf(low):
        low = min(0.0, high)
    if isinf(high):
        high = max(USUAL, low)
    return low, high
