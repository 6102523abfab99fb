"""Devices that come, move and go: what their parameters are at each moment.

A number swings between its bounds, a boolean changes, an array is as long as the catalog says. All
of it follows from the seconds since the beginning, so that every run is the same.
"""

from collections.abc import Iterable
from math import isinf
from typing import Any

from conformance.runtime.memory.catalog import BOOLEAN, INTEGER, OTHER, Parameter

SWING = 20.0  # seconds from one bound to the other and back
STAYS, AWAY = 10.0, 5.0  # seconds that a device that comes and goes is there, and is not
USUAL = 100.0  # how far a number without bounds swings


def measured(params: Iterable[Parameter], seconds: float) -> dict[str, Any]:
    """What a device measures of these parameters; those that JSON has no form for are left out."""
    known = [param for param in params if param.kind != OTHER]
    return {param.name: _value(param, seconds + n) for n, param in enumerate(known)}


def there(seconds: float, number: int) -> bool:
    """Whether a device that comes and goes is there; no two of them leave at once."""
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
    """Between which a number swings: every type holds it, where its own bounds are not further."""
    low, high = param.lower, param.upper
    if isinf(low):
        low = min(0.0, high)
    if isinf(high):
        high = max(USUAL, low)
    return low, high
