"""Finds where a MessagePack object ends, whatever it holds, without making any of it.

It takes no more memory than a number for each level of nesting, so an object that announces four
thousand million elements costs nothing until they come. Formats: MessagePack specification.
"""

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
            if self._at > LIMIT:
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
