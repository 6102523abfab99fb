"""Finds where a MessagePack object ends, or a part of it stands, without making any of it.

It takes no more memory than a number for each level of nesting. An object that announces more than
is read is none at once. Formats: MessagePack specification.
"""

from collections.abc import Iterator, Sequence

DEPTH = 200  # levels of nesting that are followed
LIMIT = 32 * 1024 * 1024  # bytes of one object

# By first byte: the width of the length that follows, 0 for none, and the bytes besides, which it
# does not count.
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
# The same of arrays and maps, and the objects that each element has.
_COUNTED = {0xDC: (2, 1), 0xDD: (4, 1), 0xDE: (2, 2), 0xDF: (4, 2)}


class Malformed(Exception):
    """Bytes that begin no object; the text says why."""


class Ending:
    """The search for the end of one object, in bytes that may still grow."""

    def __init__(self) -> None:
        self._at = 0
        self._open = [1]  # objects that are still to come, on each level

    def find(self, data: bytes | bytearray) -> int | None:
        """Where the object that begins `data` ends, or None while that has not come.

        `data` is what it was at the last call, or more. Raises Malformed.
        """
        while self._open:
            if self._at >= len(data):
                return None
            size, elements = _head(data, self._at)
            if size is None:
                return None
            self._at += size
            # An element has a byte at least.
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


def _head(data: bytes | bytearray, at: int) -> tuple[int | None, int]:
    """The bytes of the object at a place but for its elements, and how many of those it has.

    Its size is None where too little of it has come to tell.
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
    """Where in the bytes of an object the part at a path of its decoded form stands (see `codec`).

    None where it has no such part, or too little of the object is there.
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
                    break  # the one member that stands for the whole
                case _:
                    return None
        return at, _end(data, at)
    except (LookupError, ValueError, Malformed):
        return None


def _children(data: bytes, at: int) -> Iterator[int]:
    """Where the elements of an array or a map begin; of a map, keys and values in turn."""
    size, elements = _head(data, at)
    at += size or 0
    for _ in range(elements):
        yield at
        at = _end(data, at)


def _end(data: bytes, at: int) -> int:
    """Where the object that begins at a place ends. Raises LookupError where it does not."""
    end = Ending().find(data[at:])
    if end is None:
        raise LookupError(at)
    return at + end


def _string(data: bytes, at: int) -> bytes | None:
    """The contents of a str; None of any other object."""
    if data[at] & 0xE0 != 0xA0 and data[at] not in (0xD9, 0xDA, 0xDB):
        return None
    width, _ = _SIZED.get(data[at], (0, 0))
    return data[at + 1 + width : _end(data, at)]
