"""Compares values that a peer may have kept in a float of 32 bits.

MessagePack has floats of 32 and of 64 bits, and a parameter of the type `float` has 32 bits. A
float is therefore compared within single precision. A number beyond the range of single precision
must only stay at that end of the range.
"""

import math
from typing import Any

from conformance.definitions.keywords import equal
from conformance.runtime.shapes import mark

GREATEST = float.fromhex("0x1.fffffep127")
"""The greatest finite float of single precision."""
_STEP = 2.0**-23  # distance between 1 and the next float of single precision
_SMALLEST = 2.0**-149  # the smallest positive float of single precision


def is_rounded(sent: float, came: Any) -> bool:
    """Return True if a number is a float, exactly or in single precision.

    `came` is in its decoded form. A whole float can come as an integer.
    """
    number = float(came["$float"]) if mark(came) == "$float" else came
    if isinstance(number, bool) or not isinstance(number, int | float):
        return False
    if number == sent:
        return True
    if abs(sent) > GREATEST:
        return abs(number) >= GREATEST and math.copysign(1, number) == math.copysign(1, sent)
    return abs(number - sent) <= max(abs(sent) * _STEP, _SMALLEST)


def is_same(sent: Any, came: Any) -> bool:
    """Return True if two decoded values are equal, apart from the precision of floats."""
    if isinstance(sent, float):
        return is_rounded(sent, came)
    if isinstance(sent, list):
        return (
            isinstance(came, list)
            and len(sent) == len(came)
            and all(is_same(one, other) for one, other in zip(sent, came, strict=True))
        )
    if isinstance(sent, dict) and not mark(sent):
        return (
            isinstance(came, dict)
            and sent.keys() == came.keys()
            and all(is_same(sent[name], came[name]) for name in sent)
        )
    return equal(sent, came)
