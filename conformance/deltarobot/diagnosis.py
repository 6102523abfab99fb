"""Guesses the mistake in wrong bytes: another number format, or another opening.

The suite cannot predict the values that an IUT sends by itself. If they make no sense as they are,
and all make sense in exactly one other format, then the IUT wrote them in that format.
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
_MAX_SHOWN = 40  # bytes of an opening that a message shows
_MIN_NUMBERS = 8  # different numbers that are needed before a format is named
_MIN_PLAUSIBLE, _MAX_PLAUSIBLE = 2.0**-20, 2.0**20  # limits of coordinates in any unit of length


def guess_number_format(words: Sequence[bytes]) -> str | None:
    """Return the format in which these 4-byte floats seem to be written.

    Returns None if they are plausible as they are, or if no other format fits.
    """
    if len(set(words)) < _MIN_NUMBERS or _sensible(words, "<f") > 3 / 4:
        return None
    readings = (name for name, form in _READINGS.items() if _sensible(words, form) >= 9 / 10)
    return next(readings, None)


def _sensible(words: Sequence[bytes], form: str) -> float:
    """Return the share of numbers that are plausible coordinates, from 0 to 1."""
    data = b"".join(words)
    size = struct.calcsize(form)
    numbers = [number for (number,) in struct.iter_unpack(form, data[: len(data) // size * size])]
    sensible = [
        number
        for number in numbers
        if number == 0 or _MIN_PLAUSIBLE <= abs(number) <= _MAX_PLAUSIBLE
    ]
    return len(sensible) / max(len(numbers), 1)


def has_fourth_numbers(words: Sequence[bytes]) -> bool:
    """Return True if every fourth float is the same, so points have four numbers."""
    if len(words) % 4:
        return False
    columns = [set(words[place::4]) for place in range(4)]
    return len(columns[3]) == 1 and len(columns[0] | columns[1] | columns[2]) >= 2 * _MIN_NUMBERS


def explain_opening(data: bytes) -> tuple[str, str] | None:
    """Return the requirement and the error of an opening without magic or version.

    Returns None if the bytes do not show the error.
    """
    if data[:2] in (b"\x30\x01", b"\x20\x02"):
        return "frame.identifier", f"{data[:2].hex(' ')} is an identifier in big-endian"
    if data[:2] in (b"\x13\x00", b"\x22\x00"):
        return "frame.identifier", f"{data[:2].hex(' ')} has the size identifier in the low bits"
    if data.startswith(b"DeltaRVr"):
        return "frame.identifier", "the magic was sent without an identifier"
    if data.startswith(b"\x02\x20\0\0\x01\0\0\0"):
        return "frame.fixed-lengths", "the version has two bytes of padding before its contents"
    rest = data.removeprefix(b"\x01\x30DeltaRVr")
    if rest.startswith(b"\x02\x20") and len(rest) < 6:
        return "frame.fixed-lengths", f"the version has only {len(rest) - 2} bytes of contents"
    if len(data) >= HEADER.size and HEADER.unpack_from(data)[0] not in layouts():
        # If the first message is unknown, no later bytes can be trusted.
        return "handshake.first", f"the first bytes, {data[:_MAX_SHOWN]!r}, begin no known message"
    return None
