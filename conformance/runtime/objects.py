"""Finds the end of a MessagePack object or its parts without decoding values.

The memory needed is one number for each level of nesting. An object that announces more bytes than
the limit is rejected immediately. Formats: MessagePack specification.
"""

import re
from collections.abc import Iterator, Sequence

DEPTH = 200  # levels of nesting at most; protects against input that is nested endlessly
# bytes of one object at most; protects against announced lengths of gigabytes
LIMIT = 32 * 1024 * 1024

# By first byte: the width of the length field (0 if none), and the number of further bytes that the
# length does not count.
_SIZED: dict[int, tuple[int, int]] = {
    0xC0: (0, 0),  # nil
    0xC2: (0, 0),  # false
    0xC3: (0, 0),  # true
    0xC4: (1, 0),  # bin
    0xC5: (2, 0),
    0xC6: (4, 0),
    0xC7: (1, 1),  # ext, whose type is one byte
    0xC8: (2, 1),
    0xC9: (4, 1),
    0xCA: (0, 4),  # float
    0xCB: (0, 8),
    0xCC: (0, 1),  # uint
    0xCD: (0, 2),
    0xCE: (0, 4),
    0xCF: (0, 8),
    0xD0: (0, 1),  # int
    0xD1: (0, 2),
    0xD2: (0, 4),
    0xD3: (0, 8),
    0xD4: (0, 2),  # fixext
    0xD5: (0, 3),
    0xD6: (0, 5),
    0xD7: (0, 9),
    0xD8: (0, 17),
    0xD9: (1, 0),  # str
    0xDA: (2, 0),
    0xDB: (4, 0),
}
# Arrays and maps by first byte: the width of the count field, and the objects of each element.
_COUNTED = {0xDC: (2, 1), 0xDD: (4, 1), 0xDE: (2, 2), 0xDF: (4, 2)}

_SINGLE = re.compile(rb"[\x00-\x7f\xc0\xc2\xc3\xe0-\xff]+")
"""Objects of a single byte: small integers, nil and booleans."""
_MIN_OBJECTS = 100  # objects; for fewer objects a regular expression saves no time


class Malformed(Exception):
    """The bytes are not the beginning of a MessagePack object. The text is the reason."""


class Ending:
    """The search for the end of one object, in bytes that can still grow."""

    def __init__(self) -> None:
        self._at = 0
        self._open = [1]  # objects still to come, on each level

    def find(self, data: bytes | bytearray) -> int | None:
        """Return the end of the first object in `data`, or None if incomplete.

        `data` is the data of the last call, or that data with more bytes. Raises Malformed.
        """
        while self._open:
            if self._at >= len(data):
                return None
            size, elements = _head(data, self._at)
            if size is None:
                return None
            self._at += size
            if self._open[-1] > _MIN_OBJECTS and not elements:
                self._skip(data)
            # Each element has at least one byte.
            if self._at + elements > LIMIT:
                raise Malformed(f"an object of more than {LIMIT} bytes")
            self._open[-1] -= 1
            if elements:
                self._open.append(elements)
                if len(self._open) > DEPTH:
                    raise Malformed(f"an object that is nested more than {DEPTH} levels deep")
            while self._open and not self._open[-1]:
                self._open.pop()
        return self._at if self._at <= len(data) else None

    def _skip(self, data: bytes | bytearray) -> None:
        """Skip objects of a single byte, except the last object of this level."""
        # The object that was read last is still counted.
        most = self._at + self._open[-1] - 2
        if found := _SINGLE.match(data, self._at, most):
            self._open[-1] -= found.end() - self._at
            self._at = found.end()


def _head(data: bytes | bytearray, at: int) -> tuple[int | None, int]:
    """Return the size of an object without its elements, and the number of its elements.

    The size is None if too few bytes have arrived.
    """
    first = data[at]
    if first < 0x80 or first >= 0xE0:
        return 1, 0
    if first < 0xA0:
        return 1, (first & 0x0F) * (2 if first < 0x90 else 1)
    if first < 0xC0:
        return 1 + (first & 0x1F), 0
    if first == 0xC1:
        raise Malformed("the byte c1, which begins no object")
    width, more = _COUNTED.get(first) or _SIZED[first]
    if len(data) < at + 1 + width:
        return None, 0
    number = int.from_bytes(data[at + 1 : at + 1 + width], "big")
    if first in _COUNTED:
        return 1 + width, number * more
    return 1 + width + more + number, 0


def place(data: bytes, path: Sequence[str | int]) -> tuple[int, int] | None:
    """Return the byte range of a part, given its decoded path (see `codec`).

    Return None if the object has no such part or is incomplete.
    """
    at, left = 0, list(path)
    try:
        while left:
            children = list(_children(data, at))
            match data[at] & 0xF0 == 0x80 or data[at] in (0xDE, 0xDF), left:
                case True, ["$map", int(number), int(part), *left]:
                    at = children[2 * number + part]
                case True, ["$map", int(number)]:
                    return children[2 * number], _end(data, children[2 * number + 1])
                case True, [str(key), *left] if not key.startswith("$"):
                    keys = [_string(data, child) for child in children[::2]]
                    at = children[2 * keys.index(key.encode()) + 1]
                case False, [int(number), *left]:
                    at = children[number]
                case _, [str(mark), *_] if mark.startswith("$"):
                    break  # this member represents the whole value
                case _:
                    return None
        return at, _end(data, at)
    except (LookupError, ValueError, Malformed):
        return None


def _children(data: bytes, at: int) -> Iterator[int]:
    """Yield the offsets of an array's elements, or of a map's keys and values."""
    size, elements = _head(data, at)
    at += size or 0
    for _ in range(elements):
        yield at
        at = _end(data, at)


def _end(data: bytes, at: int) -> int:
    """Return the end of the object at an offset. Raises LookupError if the object is incomplete."""
    end = Ending().find(data[at:])
    if end is None:
        raise LookupError(at)
    return at + end


def _string(data: bytes, at: int) -> bytes | None:
    """Return the bytes of a str, or None for any other object."""
    if data[at] & 0xE0 != 0xA0 and data[at] not in (0xD9, 0xDA, 0xDB):
        return None
    width, _ = _SIZED.get(data[at], (0, 0))
    return data[at + 1 + width : _end(data, at)]
