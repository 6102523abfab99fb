"""Numbers of single precision: those at its edges, and when two are the same."""

import struct
from collections.abc import Sequence
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


def same(wanted: Any, seen: Any) -> bool:
    """Whether these, or all in these lists, have the same 32 bits; one NaN is like another.

    What is seen may be anything that an application tells; null is what it knows of no points.
    """
    if isinstance(wanted, Sequence) and not isinstance(wanted, str):
        seen = [] if seen is None else seen
        return isinstance(seen, list) and len(seen) == len(wanted) and all(map(same, wanted, seen))
    if seen == 0 and type(seen) is int:
        # It has lost its sign on the way: JSON's -0 is an integer, and JavaScript writes it as 0.
        return _bits(wanted) in (_bits(0.0), _bits(-0.0))
    bits = _bits(seen)
    return bits is not None and bits == _bits(wanted)


def _bits(number: Any) -> bytes | None:
    if isinstance(number, bool) or not isinstance(number, int | float | str):
        return None
    text = str(number)
    if text.lower().startswith("nan"):
        return b"nan"
    try:
        return struct.pack(">f", float(text))
    except (ValueError, OverflowError):
        return None
