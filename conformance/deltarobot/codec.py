"""Cuts a deltarobot stream into messages, and writes messages as bytes.

A message is an identifier, a length if the size varies, and contents. The schema files describe
the contents; `layout` reads them. Four decoded forms do not come from a schema:

- `Unknown`: no schema has the identifier. `{"identifier": "0x0123", "data": "7f"}`, the contents
  in hex.
- `Oversized`: the contents are longer than the limit. The decoder skips the contents as they
  arrive and keeps none of them: `{"identifier": "0xf009", "length": 4294967295}`. The message is
  reported as soon as the length is known.
- `Truncated`: the stream ended inside a message: `{"begins": "023f"}`.
- The lost rest of a stream, after an undefined size identifier: the end of such a message is
  unknown.

For every other message `encode` returns exactly the bytes that were decoded.

Meaningless bytes after a message of fixed length can show that the message has another length.
The decoder reports such a message.
"""

import struct
from collections.abc import Sequence
from functools import cache
from typing import Any

from conformance.codec import Frame
from conformance.definitions import locations
from conformance.deltarobot import layout
from conformance.deltarobot.layout import Layout

SIZES = {0x0: 1, 0x1: 2, 0x2: 4, 0x3: 8, 0x4: 16}
"""Number of bytes of contents, by size identifier. Source: Message content length."""
VARIABLE = 0xF
HEADER, LENGTH = struct.Struct("<H"), struct.Struct("<I")

UNKNOWN, OVERSIZED, TRUNCATED = "Unknown", "Oversized", "Truncated"

# bytes of contents that the decoder keeps; twice the longest contents of any test
LIMIT = 2 * 1024 * 1024
LENGTH_KNOWN = HEADER.size + LENGTH.size
"""Number of bytes after which the length of a variable-length message is known."""

_UNDEFINED, _FIRST = "frame.undefined-sizes", "handshake.first"
_FIXED, LENGTHS = "frame.fixed-lengths", "frame.variable-length"

_SEEN = 64  # bytes after a message that are searched to find out if the message has another length


@cache
def layouts() -> dict[int, Layout]:
    """Return the layouts of all messages, by identifier.

    Raises ValueError, which names the faulty file.
    """
    folder = locations.folder("schemas", "deltarobot")
    if folder is None:
        raise ValueError("the schemas of deltarobot are missing")
    found = layout.load(folder)
    for entry in found.values():
        if entry.size != SIZES.get(entry.identifier >> 12):
            raise ValueError(
                f"{folder}: {entry.name} does not have the size that {entry.key} announces"
            )
    return found


@cache
def _by_name() -> dict[str, Layout]:
    return {entry.name: entry for entry in layouts().values()}


def message(name: str, **fields: Any) -> dict[str, Any]:
    """Return the decoded form of a message: `message("Ping", number=5)`."""
    return {"identifier": _by_name()[name].key, **fields}


def encode(value: Any) -> bytes:
    """Return the bytes of a decoded message. Raises ValueError if the value is not a message."""
    try:
        identifier = int(value["identifier"], 16)
        known = layouts().get(identifier)
        contents = known.write(value) if known else bytes.fromhex(value["data"])
    except (KeyError, TypeError, AttributeError, OverflowError, struct.error) as error:
        raise ValueError(f"no message has the form {str(value)[:200]}: {error!r}") from error
    return frame(identifier, contents)


def place(data: bytes, path: Sequence[str | int]) -> tuple[int, int] | None:
    """Return the start and end of a member in the bytes of one message.

    Returns None if the member has no place of its own.
    """
    known = layouts().get(int.from_bytes(data[: HEADER.size], "little"))
    if known is None or not path:
        return None
    if list(path) == ["identifier"]:
        return 0, HEADER.size
    start = HEADER.size + (LENGTH.size if known.size is None else 0)
    found = known.place(path, len(data) - start)
    return (start + found[0], start + found[1]) if found and found[1] <= len(data) else None


def frame(identifier: int, contents: bytes) -> bytes:
    """Return a message with these contents. Raises ValueError if their length is wrong."""
    size = identifier >> 12
    if size == VARIABLE:
        return HEADER.pack(identifier) + LENGTH.pack(len(contents)) + contents
    if SIZES.get(size) != len(contents):
        raise ValueError(f"{identifier:#06x} does not have {len(contents)} bytes of contents")
    return HEADER.pack(identifier) + contents


def name_of_begun(data: bytes) -> str:
    """Return the name of the known message that begins these bytes.

    Returns an empty text if the bytes begin no known message.
    """
    known = layouts().get(_identifier(data, 0))
    return known.name if known else ""


def misfit(data: bytes, intended: bool = False) -> str | None:
    """Return an error text if the first message has the wrong length, else None.

    The function searches a message of fixed length for a known identifier before its announced end.
    It also searches after this end, as far as numbers of twice the size would reach. If a message
    of undefined size can follow, it looks only at twice the size. With ``intended``, the bytes
    after the message can be an intended unknown message. They then count as an error only if a
    second known message follows.
    """
    known = layouts()
    entry = known.get(_identifier(data, 0))
    if entry is None or entry.size is None:
        return None
    size = entry.size
    undefined = _has_undefined_size(_identifier(data, HEADER.size + size))
    longer = () if undefined else range(size + 1, 2 * size)
    for length in (*range(1, size), *longer, 2 * size):
        at = HEADER.size + length
        ends = at + _length(data, at), at + HEADER.size + length
        if _identifier(data, at) in known and (
            not intended or any(_identifier(data, end) in known for end in ends)
        ):
            announced = f"but its identifier announces {size}"
            return f"{entry.name} has {length} bytes of contents {announced}"
    return None


def _length(data: bytes, at: int) -> int:
    """Return the length of the message at this place; too large if its length is incomplete."""
    size = _SIZES[_identifier(data, at) >> 12]
    if size is not None:
        return HEADER.size + size
    return LENGTH_KNOWN + int.from_bytes(data[at + HEADER.size : at + LENGTH_KNOWN], "little")


def _has_undefined_size(identifier: int) -> bool:
    return identifier >> 12 not in (*SIZES, VARIABLE)


def _identifier(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + HEADER.size], "little")


class Decoder:
    """Decodes one direction of one session; contents over `limit` bytes are skipped.

    `lost` is an error text if nothing more can be decoded, else empty.
    """

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._layouts = layouts()
        self._wanted = 0  # bytes needed before the next message can be decoded
        self._pieces: list[bytes] = []  # the received part of those bytes
        self._coming = 0  # number of bytes in the pieces
        self._skipping = 0  # bytes of an oversized message that have not arrived yet
        self._oversized = ""
        self._known = False  # True after the first known message
        self._ragged = False  # True if the contents of the latest message ended inside a part
        self._latest = b""  # the latest known message of fixed length, and unknown ones after it
        self.lost = ""
        self._about = ""  # the requirement that is violated if the stream is lost
        self._wrong = ""  # the error of an earlier message that later bytes have revealed

    def feed(self, data: bytes) -> list[Frame]:
        if self._skipping:
            passed = min(self._skipping, len(data))
            self._skipping -= passed
            data = data[passed:]
        self._coming += len(data)
        # Long contents come in many pieces; joining them only once saves time.
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
        value = {"begins": left[:LENGTH_KNOWN].hex() or self._oversized}
        known = bool(name_of_begun(left))
        if wrong := misfit(left) if known else self._earlier_error(left):
            return [Frame(left, TRUNCATED, value, wrong, _FIXED, earlier=not known)]
        return [Frame(left, TRUNCATED, value)]

    def _cut(self, data: bytes, frames: list[Frame]) -> bytes:
        """Remove all complete messages from the start of the data; return the remaining bytes."""
        known = self._layouts
        at, end = 0, len(data)
        self._wanted = HEADER.size
        while end - at >= HEADER.size and not self.lost:
            identifier = data[at] | data[at + 1] << 8
            start = at + HEADER.size
            size = _SIZES[identifier >> 12]
            if size is None:
                size, start = self._announced_size(data, at), at + LENGTH_KNOWN
                if size is None:
                    break
                if size > self._limit:
                    if not self._is_skipped(data, at, size, frames):
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
                self._known = True
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
            earlier = about not in (_UNDEFINED, _FIRST)
            frames.append(Frame(data[at:], None, None, self.lost, about, earlier))
            return b""
        return data[at:]

    def _announced_size(self, data: bytes, at: int) -> int | None:
        """Return the announced number of bytes of contents of the message at this place.

        Returns None if the length is incomplete, or if the size identifier is undefined.
        """
        identifier = _identifier(data, at)
        if identifier >> 12 != VARIABLE:
            # An earlier message of wrong length can have moved this place.
            if not self._is_misplaced(None if self._ragged else self._earlier_error(data[at:])):
                # Bytes before any known message are no message of the protocol at all.
                self.lost = _no_size(identifier)
                self._about = _UNDEFINED if self._known else _FIRST
            return None
        if len(data) - at < LENGTH_KNOWN:
            self._wanted = LENGTH_KNOWN
            return None
        (size,) = LENGTH.unpack_from(data, at + HEADER.size)
        return int(size)

    def _is_skipped(self, data: bytes, at: int, size: int, frames: list[Frame]) -> bool:
        """Report a message over the limit. Returns False if an earlier message is wrong."""
        identifier, raw = _identifier(data, at), data[at : at + LENGTH_KNOWN]
        self._oversized = raw.hex()
        if self._is_misplaced(self._earlier_error(data[at:], intended=True)):
            return False
        value = {"identifier": f"{identifier:#06x}", "length": size}
        wrong = None if identifier in self._layouts else self._earlier_error(raw)
        about = _FIXED if wrong else None
        frames.append(Frame(raw, OVERSIZED, value, wrong, about, earlier=True))
        self._latest = b""
        return True

    def _unknown(self, identifier: int, raw: bytes, contents: bytes) -> Frame:
        """Return a message of unknown type, with the error of the previous message if any."""
        # A sender never sends the null type on purpose.
        intended = bool(identifier & 0xFFF)
        wrong = self._earlier_error(raw, intended)
        self._wrong = self._wrong or wrong or ""
        if self._latest:
            self._latest = b"" if wrong else (self._latest + raw)[:_SEEN]
        value = {"identifier": f"{identifier:#06x}", "data": contents.hex()}
        about = _FIXED if wrong else None
        return Frame(raw, UNKNOWN, value, wrong, about, earlier=True)

    def _earlier_error(self, data: bytes, intended: bool = False) -> str | None:
        """Return the error of the previous message that explains this data, else None."""
        return misfit(self._latest + data[:_SEEN], intended) if self._latest else None

    def _is_misplaced(self, wrong: str | None) -> bool:
        """Mark the stream as lost if an earlier message is wrong. Returns True if lost."""
        if wrong := self._wrong or wrong:
            self.lost, self._about = wrong, _FIXED
        return bool(wrong)


def _no_size(identifier: int) -> str:
    return (
        f"{identifier:#06x} has the undefined size identifier {identifier >> 12:#x}: "
        "the end of this message, and all that follows, cannot be known"
    )


_SIZES = [SIZES.get(size) for size in range(16)]


def label(message: str, value: Any) -> str:
    """Return the label of a message's kind: its name, or its size if unknown.

    The highest four bits of an identifier code the size.
    """
    if message != UNKNOWN or not isinstance(value, dict):
        return message
    return f"{message} of size code 0x{int(str(value['identifier']), 16) >> 12:X}"


def name_of(value: Any) -> str | None:
    """Return the name of a decoded message, or None if it has no identifier."""
    try:
        known = layouts().get(int(value["identifier"], 16))
    except (KeyError, TypeError, ValueError):
        return None
    return known.name if known else UNKNOWN
