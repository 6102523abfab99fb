"""How bytes are cut into writes: a stream means the same however it is cut."""

import itertools
from collections.abc import Callable, Iterable, Sequence

Segmentation = Callable[[bytes], Sequence[bytes]]
"""Cuts the bytes of one write into the pieces in which they are written."""


def whole(data: bytes) -> Sequence[bytes]:
    """All in one write."""
    return [data]


def byte_by_byte(data: bytes) -> Sequence[bytes]:
    """Every byte in a write of its own."""
    return [data[index : index + 1] for index in range(len(data))]


def split_at(points: Iterable[int]) -> Segmentation:
    """Cut at these places, counted from the end where negative; places outside are passed over."""
    chosen = list(points)

    def cut(data: bytes) -> Sequence[bytes]:
        places = {point if point >= 0 else len(data) + point for point in chosen}
        edges = [0, *sorted(point for point in places if 0 < point < len(data)), len(data)]
        return [data[start:stop] for start, stop in itertools.pairwise(edges)]

    return cut


def in_halves(data: bytes) -> Sequence[bytes]:
    """In two writes, cut in the middle."""
    return split_at([len(data) // 2])(data)
