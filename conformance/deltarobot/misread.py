"""Finds out from numbers alone whether they were meant otherwise than the protocol has them.

What a server says of an exercise of its own cannot be compared with anything. But numbers that make
no sense as they are, and all make sense in one other way, were written in that way.
"""

import struct
from collections.abc import Sequence

_READINGS = {
    "numbers of double precision": "<d",
    "big-endian numbers": ">f",
    "integers": "<i",
    "big-endian integers": ">i",
}
_ENOUGH = 8  # different numbers that it takes to tell
_LEAST, _MOST = 2.0**-20, 2.0**20  # of coordinates, in whatever unit


def meant(words: Sequence[bytes]) -> str | None:
    """What these floats of four bytes each seem to be instead; None where nothing is said."""
    if len(set(words)) < _ENOUGH or _sensible(words, "<f") > 3 / 4:
        return None
    readings = (name for name, form in _READINGS.items() if _sensible(words, form) >= 9 / 10)
    return next(readings, None)


def _sensible(words: Sequence[bytes], form: str) -> float:
    """How many of the numbers, in parts of all, are coordinates that somebody would use."""
    data = b"".join(words)
    size = struct.calcsize(form)
    numbers = [number for (number,) in struct.iter_unpack(form, data[: len(data) // size * size])]
    sensible = [number for number in numbers if number == 0 or _LEAST <= abs(number) <= _MOST]
    return len(sensible) / max(len(numbers), 1)


def in_fours(words: Sequence[bytes]) -> bool:
    """Whether each fourth of these floats is the same, as where a point has a number too many."""
    if len(words) % 4:
        return False
    columns = [set(words[place::4]) for place in range(4)]
    return len(columns[3]) == 1 and len(columns[0] | columns[1] | columns[2]) >= 2 * _ENOUGH
