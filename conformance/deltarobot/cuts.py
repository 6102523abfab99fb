"""Segmentations of a stream: ways to cut the same messages at different places."""

from collections.abc import Iterator, Sequence

from conformance.deltarobot.codec import SIZES, VARIABLE
from conformance.segmentation import Segmentation, split_at


def _starts(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield the start of each message and the start of its contents."""
    at = 0
    while len(data) - at >= 2:
        size = data[at + 1] >> 4
        start = at + (6 if size == VARIABLE else 2)
        yield at, start
        variable = int.from_bytes(data[at + 2 : start], "little")
        at = start + (variable if size == VARIABLE else SIZES[size])


def inside_identifiers(data: bytes) -> Sequence[bytes]:
    """Cut between the two bytes of every identifier."""
    return split_at(at + 1 for at, _ in _starts(data))(data)


def inside_lengths(data: bytes) -> Sequence[bytes]:
    """Cut inside the length of each variable-length message, at a different byte each time."""
    long = [at for at, start in _starts(data) if start - at > 2]
    return split_at(at + 3 + number % 3 for number, at in enumerate(long))(data)


def after_headers(data: bytes) -> Sequence[bytes]:
    """Cut each message between its header and its contents."""
    return split_at(start for _, start in _starts(data))(data)


def inside_contents(data: bytes) -> Sequence[bytes]:
    """Cut inside the first number of every message's contents, and inside a later float."""
    places = [place for _, start in _starts(data) for place in (start + 1, start + 7)]
    return split_at(places)(data)


def last_byte_alone(data: bytes) -> Sequence[bytes]:
    """Send all bytes but the last, then the last byte."""
    return split_at([-1])(data)


CUTS: Sequence[Segmentation] = (
    inside_identifiers,
    inside_lengths,
    after_headers,
    inside_contents,
    last_byte_alone,
)
