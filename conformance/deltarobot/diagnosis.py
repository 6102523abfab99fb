"""What wrong bytes seem to be instead: numbers of another kind, an opening of another form.

What an IUT says of its own accord cannot be compared with anything. But bytes that make no sense as
they are, and all make sense in one other way, were written in that way.
"""

import struct
from collections.abc import Sequence

from conformance.deltarobot.codec import HEADER, layouts

_READINGS = {
    "numbers of double precision": "<d",
    "big-endian numbers": ">f",
    "integers": "<i",
    "big-endian integers": ">i",
}
_SHOWN = 40  # bytes of an opening
_ENOUGH = 8  # different numbers that it takes to tell
_LEAST, _MOST = 2.0**-20, 2.0**20  # of coordinates, in whatever unit


def meant(words: Sequence[bytes]) -> str | None:
    """What these floats of four bytes each seem to be instead; None where nothing is said."""
    if len(set(words)) < _ENOUGH or _sensible(words, "<f") > 3 / 4:
        return None
    readings = (name for name, form in _READINGS.items() if _sensible(words, form) >= 9 / 10)
    return next(readings, None)


def _sensible(words: Sequence[bytes], form: str) -> float:
    """The share of the numbers that are plausible coordinates."""
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


def opening(data: bytes) -> tuple[str, str] | None:
    """What is wrong with an opening in which magic or version is missing, where that is plain."""
    if data[:2] in (b"\x30\x01", b"\x20\x02"):
        return "frame.identifier", f"{data[:2].hex(' ')} is an identifier in big-endian"
    if data[:2] in (b"\x13\x00", b"\x22\x00"):
        return "frame.identifier", f"{data[:2].hex(' ')} has the size identifier in the low bits"
    if data.startswith(b"DeltaRVr"):
        return "frame.identifier", "the magic came without an identifier"
    if data.startswith(b"\x02\x20\0\0\x01\0\0\0"):
        return "frame.fixed-lengths", "the version has two bytes of padding before its contents"
    rest = data.removeprefix(b"\x01\x30DeltaRVr")
    if rest.startswith(b"\x02\x20") and len(rest) < 6:
        return "frame.fixed-lengths", f"the version has only {len(rest) - 2} bytes of contents"
    if len(data) >= HEADER.size and HEADER.unpack_from(data)[0] not in layouts():
        # Where the first message is none, nothing behind it was meant as what it seems to be.
        return "handshake.first", f"what came first, {data[:_SHOWN]!r}, begins no known message"
    return None
