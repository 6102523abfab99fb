"""Cuts a deltarobot stream into messages and back: identifier, length where it varies, contents.

What the contents mean stands in the schema files alone (`layout`). A message whose identifier no
schema has is an `Unknown`: `{"identifier": "0x0123", "data": "7f"}`, its contents in hex. Contents
longer than the limit are skipped as they come and never held: such a message is an `Oversized`,
`{"identifier": "0xf009", "length": 4294967295}`, told as soon as its length is known. What is left
of a message where the stream ends is a `Truncated`, `{"begins": "023f"}`. For every other message
`encode` gives back the very bytes that were decoded.

A message of an undefined size identifier cannot be followed by anything: where it ends is unknown.
What makes no sense behind a message of fixed length may show that this has another: that is told.
"""

import struct
from collections.abc import Sequence
from functools import cache
from typing import Any

from conformance.codec import Frame
from conformance.definitions import locate
from conformance.deltarobot import layout
from conformance.deltarobot.layout import Layout

SIZES = {0x0: 1, 0x1: 2, 0x2: 4, 0x3: 8, 0x4: 16}
"""The bytes of contents by size identifier. Source: Message content length."""
VARIABLE = 0xF
HEADER, LENGTH = struct.Struct("<H"), struct.Struct("<I")

UNKNOWN, OVERSIZED, TRUNCATED = "Unknown", "Oversized", "Truncated"

LIMIT = 2 * 1024 * 1024  # bytes of contents that are held; the largest that a test sends has half
SAID = HEADER.size + LENGTH.size
"""The bytes in which a message of variable length has said how long it is."""

_UNDEFINED = "frame.undefined-sizes"
_FIXED, LENGTHS = "frame.fixed-lengths", "frame.variable-length"

_SEEN = 64  # bytes behind a message that are looked at, to see whether it has another length


@cache
def layouts() -> dict[int, Layout]:
    """The layouts of all messages, by identifier. Raises ValueError, naming the file at fault."""
    folder = locate.folder("schemas", "deltarobot")
    if folder is None:
        raise ValueError("the schemas of deltarobot are missing")
    found = layout.load(folder)
    for entry in found.values():
        if entry.size != SIZES.get(entry.identifier >> 12):
            raise ValueError(f"{folder}: {entry.name} is not of the size that {entry.key} says")
    return found


@cache
def _by_name() -> dict[str, Layout]:
    return {entry.name: entry for entry in layouts().values()}


def message(name: str, **fields: Any) -> dict[str, Any]:
    """The decoded form of a message: `message("Ping", number=5)`."""
    return {"identifier": _by_name()[name].key, **fields}


def encode(value: Any) -> bytes:
    """The bytes of a message in its decoded form. Raises ValueError where it cannot be one."""
    try:
        identifier = int(value["identifier"], 16)
        known = layouts().get(identifier)
        contents = known.write(value) if known else bytes.fromhex(value["data"])
    except (KeyError, TypeError, AttributeError, OverflowError, struct.error) as error:
        raise ValueError(f"no message has the form {str(value)[:200]}: {error!r}") from error
    return frame(identifier, contents)


def place(data: bytes, path: Sequence[str | int]) -> tuple[int, int] | None:
    """Where in the bytes of one message the member at a path of its decoded form stands."""
    known = layouts().get(int.from_bytes(data[: HEADER.size], "little"))
    if known is None or not path:
        return None
    if list(path) == ["identifier"]:
        return 0, HEADER.size
    start = HEADER.size + (LENGTH.size if known.size is None else 0)
    found = known.place(path, len(data) - start)
    return (start + found[0], start + found[1]) if found and found[1] <= len(data) else None


def frame(identifier: int, contents: bytes) -> bytes:
    """A message of these contents. Raises ValueError where they are not as long as it says."""
    size = identifier >> 12
    if size == VARIABLE:
        return HEADER.pack(identifier) + LENGTH.pack(len(contents)) + contents
    if SIZES.get(size) != len(contents):
        raise ValueError(f"{identifier:#06x} does not have {len(contents)} bytes of contents")
    return HEADER.pack(identifier) + contents


def begun(data: bytes) -> str:
    """The name of the known message that these bytes are, or begin; empty where they begin none."""
    known = layouts().get(_identifier(data, 0))
    return known.name if known else ""


def misfit(data: bytes, meant: bool = False) -> str | None:
    """What is wrong with the length of the message at the beginning, behind which junk comes.

    It is one of fixed length, where a known message begins before its end, or as far behind that
    as if its numbers had twice their bytes. What may be ``meant`` is junk only where that message,
    which may be as long as the first, is followed by a known one as well.
    """
    known = layouts()
    entry = known.get(_identifier(data, 0))
    if entry is None or entry.size is None:
        return None
    for length in (*range(1, entry.size), 2 * entry.size):
        at = HEADER.size + length
        ends = at + _length(data, at), at + HEADER.size + length
        if _identifier(data, at) in known and (
            not meant or any(_identifier(data, end) in known for end in ends)
        ):
            said = f"where its identifier says {entry.size}"
            return f"{entry.name} has {length} bytes of contents {said}"
    return None


def _length(data: bytes, at: int) -> int:
    """How long the message is that begins here; too long where that has not come yet."""
    size = _SIZES[_identifier(data, at) >> 12]
    if size is not None:
        return HEADER.size + size
    return SAID + int.from_bytes(data[at + HEADER.size : at + SAID], "little")


def _identifier(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + HEADER.size], "little")


class Decoder:
    """One direction of one session; contents over `limit` bytes are skipped.

    `lost`: what is wrong where nothing can be decoded any more, else empty.
    """

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._layouts = layouts()
        self._wanted = 0  # bytes that are to be held before there is anything to decode
        self._pieces: list[bytes] = []  # what has come of them
        self._coming = 0  # how much that is
        self._skipping = 0  # bytes of an oversized message that are still to come
        self._oversized = ""
        self._ragged = False  # the contents of the latest one did not end where they should
        self._latest = b""  # the latest known message of fixed length, and the unknown ones behind
        self.lost = ""
        self._about = ""  # what is violated then
        self._wrong = ""  # what is wrong with a message that what comes behind it has shown

    def feed(self, data: bytes) -> list[Frame]:
        if self._skipping:
            passed = min(self._skipping, len(data))
            self._skipping -= passed
            data = data[passed:]
        self._coming += len(data)
        # Long contents come in many pieces, which are joined once.
        self._pieces.append(data)
        if self._coming < self._wanted:
            return []
        data = b"".join(self._pieces) if len(self._pieces) > 1 else bytes(data)
        self._pieces.clear()
        frames: list[Frame] = []
        left = self._cut(data, frames)
        if left:
            self._pieces.append(left)
        self._coming = len(left)
        return frames

    def end(self) -> list[Frame]:
        left = b"".join(self._pieces)
        if not (self._skipping or (left and not self.lost)):
            return []
        value = {"begins": left[:SAID].hex() or self._oversized}
        known = bool(begun(left))
        if wrong := misfit(left) if known else self._before(left):
            return [Frame(left, TRUNCATED, value, wrong, _FIXED, earlier=not known)]
        return [Frame(left, TRUNCATED, value)]

    def _cut(self, data: bytes, frames: list[Frame]) -> bytes:
        """Take all messages off the beginning of the data; return the rest, less than a message."""
        known = self._layouts
        at, end = 0, len(data)
        self._wanted = HEADER.size
        while end - at >= HEADER.size and not self.lost:
            identifier = data[at] | data[at + 1] << 8
            start = at + HEADER.size
            size = _SIZES[identifier >> 12]
            if size is None:
                size, start = self._said(data, at), at + SAID
                if size is None:
                    break
                if size > self._limit:
                    if not self._passed_over(data, at, size, frames):
                        break
                    at = min(start + size, end)
                    self._skipping = start + size - at
                    continue
            stop = start + size
            if stop > end:
                self._wanted = stop - at
                break
            raw, entry = data[at:stop], known.get(identifier)
            if entry is not None:
                value = entry.read(data, start, stop)
                self._ragged = "rest" in value
                self._latest = raw if entry.size is not None else b""
                frames.append(Frame(raw, entry.name, value))
            else:
                frames.append(self._unknown(identifier, raw, data[start:stop]))
            at = stop
        if self.lost and at < end:
            self._wanted = 0
            about = LENGTHS if self._ragged else self._about
            earlier = about != _UNDEFINED
            frames.append(Frame(data[at:], None, None, self.lost, about, earlier))
            return b""
        return data[at:]

    def _said(self, data: bytes, at: int) -> int | None:
        """How many bytes of contents the message that begins here says it has.

        None where it has not said it yet, or no identifier of its size can.
        """
        identifier = _identifier(data, at)
        if identifier >> 12 != VARIABLE:
            # What comes next may be read from a wrong place.
            if not self._misplaced(None if self._ragged else self._before(data[at:])):
                self.lost, self._about = _no_size(identifier), _UNDEFINED
            return None
        if len(data) - at < SAID:
            self._wanted = SAID
            return None
        (size,) = LENGTH.unpack_from(data, at + HEADER.size)
        return int(size)

    def _passed_over(self, data: bytes, at: int, size: int, frames: list[Frame]) -> bool:
        """Tell of a message that is too long to be held; False where one before it is wrong."""
        identifier, raw = _identifier(data, at), data[at : at + SAID]
        self._oversized = raw.hex()
        if self._misplaced(self._before(data[at:], meant=True)):
            return False
        value = {"identifier": f"{identifier:#06x}", "length": size}
        wrong = None if identifier in self._layouts else self._before(raw)
        about = _FIXED if wrong else None
        frames.append(Frame(raw, OVERSIZED, value, wrong, about, earlier=True))
        self._latest = b""
        return True

    def _unknown(self, identifier: int, raw: bytes, contents: bytes) -> Frame:
        """A message of no known identifier, which may show that the one before it is wrong."""
        # One of the null type is never meant.
        meant = bool(identifier & 0xFFF)
        wrong = self._before(raw, meant)
        self._wrong = self._wrong or (wrong if meant and wrong else "")
        if self._latest:
            self._latest = b"" if wrong else (self._latest + raw)[:_SEEN]
        value = {"identifier": f"{identifier:#06x}", "data": contents.hex()}
        about = _FIXED if wrong else None
        return Frame(raw, UNKNOWN, value, wrong, about, earlier=True)

    def _before(self, data: bytes, meant: bool = False) -> str | None:
        """What is wrong with the message before, if that is why this follows it."""
        return misfit(self._latest + data[:_SEEN], meant) if self._latest else None

    def _misplaced(self, wrong: str | None) -> bool:
        """Whether a message before is wrong, so that nothing behind it is what it seems to be."""
        if wrong := self._wrong or wrong:
            self.lost, self._about = wrong, _FIXED
        return bool(wrong)


def _no_size(identifier: int) -> str:
    return (
        f"{identifier:#06x} has the undefined size identifier {identifier >> 12:#x}: "
        "the end of this message, and all that follows, cannot be known"
    )


_SIZES = [SIZES.get(size) for size in range(16)]


def name_of(value: Any) -> str | None:
    """The name of a message in its decoded form; None where it has no identifier."""
    try:
        known = layouts().get(int(value["identifier"], 16))
    except (KeyError, TypeError, ValueError):
        return None
    return known.name if known else UNKNOWN
