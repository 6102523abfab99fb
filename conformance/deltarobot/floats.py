"""Single-precision numbers: boundary values and comparison."""

import math
import struct
from collections.abc import Sequence
from typing import Any

DENORMAL = 2.0**-149
LARGEST = (2.0 - 2.0**-23) * 2.0**127
LINE_ENDS = float.fromhex("0x1.1a141ap-1")  # its bytes are CR, LF, CR and 3F
EDGES: list[list[Any]] = [
    [0.0, -0.0, DENORMAL],
    [-DENORMAL, LARGEST, -LARGEST],
    [2.0**-126, -(2.0**-127), LINE_ENDS],
]
"""Points of finite numbers at the limits of single precision, or with unusual bytes."""
NO_NUMBERS: list[list[Any]] = [["NaN", "Infinity", "-Infinity"], ["NaN:ff800001", 1.0, "NaN"]]

_SIX_DIGITS = 1e-5  # largest relative error of a number with six digits

_SINGLE, _REVERSE = struct.Struct(">f"), struct.Struct("<f")


def is_same(wanted: Any, seen: Any) -> bool:
    """Return True if both numbers, or all numbers of both lists, are equal.

    Any NaN equals any other. Zero equals minus zero, because many JSON libraries lose the sign of
    zero between the suite and the application. ``seen`` can be any value that an application
    reports; null means that the application knows no points.
    """
    if isinstance(wanted, list | tuple):
        seen = [] if seen is None else seen
        return (
            isinstance(seen, list) and len(seen) == len(wanted) and all(map(is_same, wanted, seen))
        )
    shown, expected = _single(seen), _single(wanted)
    if shown is None or expected is None:
        return False
    return shown == expected or (math.isnan(shown) and math.isnan(expected))


def is_shown(wanted: Any, seen: Any) -> bool:
    """Return True if an application shows these numbers, with at least six digits.

    Many libraries write no more digits of a number in single precision.
    """
    if isinstance(wanted, list | tuple):
        seen = [] if seen is None else seen
        return (
            isinstance(seen, list) and len(seen) == len(wanted) and all(map(is_shown, wanted, seen))
        )
    shown, expected = _single(seen), _single(wanted)
    if shown is None or expected is None:
        return False
    return is_same(wanted, seen) or math.isclose(shown, expected, rel_tol=_SIX_DIGITS)


def is_finite(number: Any) -> bool:
    """Return True for a number; the decoder writes numbers that are not finite as texts."""
    return isinstance(number, int | float) and math.isfinite(number)


def is_scaled(wanted: Sequence[Any], seen: Any) -> bool:
    """Return True if a direction is shown with the length 1."""
    return all(map(is_finite, wanted)) and is_shown(unit(wanted), seen)


def unit(wanted: Sequence[float]) -> list[float]:
    """Return a direction with the length 1; a direction of zero stays as it is."""
    length = math.hypot(*wanted)
    return [coordinate / length for coordinate in wanted] if length else [*wanted]


def differs_by_byte_order(wanted: Any, seen: Any) -> bool:
    """Return True if some numbers were read in big-endian, and all others correctly."""
    return not is_same(wanted, seen) and _is_same_but_for_order(wanted, seen)


def _is_same_but_for_order(wanted: Any, seen: Any) -> bool:
    if isinstance(wanted, list | tuple):
        same_length = isinstance(seen, list) and len(seen) == len(wanted)
        return same_length and all(map(_is_same_but_for_order, wanted, seen))
    single = _single(wanted)
    if single is None or is_same(wanted, seen):
        return single is not None
    return is_same(_REVERSE.unpack(_SINGLE.pack(single))[0], seen)


def _single(number: Any) -> float | None:
    """Return a number, or its text, in single precision; None for any other value."""
    if isinstance(number, bool) or not isinstance(number, int | float | str):
        return None
    if isinstance(number, str) and number.lower().startswith("nan"):
        return math.nan
    try:
        # An integer can be too large for float(); float() of its text never raises OverflowError.
        whole = number if isinstance(number, float) else float(str(number))
        single: float = _SINGLE.unpack(_SINGLE.pack(whole))[0]
    except (ValueError, OverflowError):
        return None
    return single
