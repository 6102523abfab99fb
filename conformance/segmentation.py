"""Ways to cut bytes into writes; a stream means the same in any segmentation."""

import itertools
from collections.abc import Callable, Iterable, Sequence

Segmentation = Callable[[bytes], Sequence[bytes]]
"""Cuts the bytes of one write into the pieces that are written."""


def whole(data: bytes) -> Sequence[bytes]:
    """Write all bytes at once."""
    return [data]


def byte_by_byte(data: bytes) -> Sequence[bytes]:
    """Write each byte separately."""
    return [data[index : index + 1] for index in range(len(data))]


def split_at(points: Iterable[int]) -> Segmentation:
    """Cut at these offsets; negative offsets count from the end, others outside are ignored."""
    chosen = list(points)

    def cut(data: bytes) -> Sequence[bytes]:
        places = {point if point >= 0 else len(data) + point for point in chosen}
        edges = [0, *sorted(point for point in places if 0 < point < len(data)), len(data)]
        return [data[start:stop] for start, stop in itertools.pairwise(edges)]

    return cut


def in_halves(data: bytes) -> Sequence[bytes]:
    """Write two pieces, cut in the middle."""
    return split_at([len(data) // 2])(data)
