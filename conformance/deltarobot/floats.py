"""Numbers of single precision: those at its edges, and when two are the same."""

import math
import struct
from typing import Any

DENORMAL = 2.0**-149
LARGEST = (2.0 - 2.0**-23) * 2.0**127
EDGES: list[list[Any]] = [
    [0.0, -0.0, DENORMAL],
    [-DENORMAL, LARGEST, -LARGEST],
    [2.0**-126, -(2.0**-127), 1.0],
]
"""Points of finite numbers."""
NO_NUMBERS: list[list[Any]] = [["NaN", "Infinity", "-Infinity"], ["NaN:ff800001", 1.0, "NaN"]]

_SINGLE, _REVERSE = struct.Struct(">f"), struct.Struct("<f")


def same(wanted: Any, seen: Any) -> bool:
    """Whether these, or all in these lists, are the same number in 32 bits.

    One NaN is like another, and so is one zero: many a JSON library loses the sign of zero on the
    way between the suite and the application. What is seen may be anything that an application
    tells; null is what it knows of no points.
    """
    if isinstance(wanted, list | tuple):
        seen = [] if seen is None else seen
        return isinstance(seen, list) and len(seen) == len(wanted) and all(map(same, wanted, seen))
    told, meant = _single(seen), _single(wanted)
    if told is None or meant is None:
        return False
    return told == meant or (math.isnan(told) and math.isnan(meant))


def turned(wanted: Any, seen: Any) -> bool:
    """Whether the bytes of these numbers, or of some in these lists, were taken in reverse order.

    The others are as they are wanted.
    """
    return not same(wanted, seen) and _but_for_order(wanted, seen)


def _but_for_order(wanted: Any, seen: Any) -> bool:
    if isinstance(wanted, list | tuple):
        alike = isinstance(seen, list) and len(seen) == len(wanted)
        return alike and all(map(_but_for_order, wanted, seen))
    single = _single(wanted)
    if single is None or same(wanted, seen):
        return single is not None
    return same(_REVERSE.unpack(_SINGLE.pack(single))[0], seen)


def _single(number: Any) -> float | None:
    """A number, or the text of one, in single precision; None where it is neither."""
    if isinstance(number, bool) or not isinstance(number, int | float | str):
        return None
    if isinstance(number, str) and number.lower().startswith("nan"):
        return math.nan
    try:
        # An integer may be beyond what a float holds, which its text is not.
        whole = number if isinstance(number, float) else float(str(number))
        single: float = _SINGLE.unpack(_SINGLE.pack(whole))[0]
    except (ValueError, OverflowError):
        return None
    return single
