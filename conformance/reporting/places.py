"""Finds the member at a path in JSON, so that a page can mark it.

An index into a string finds one character.
"""

import re
from collections.abc import Sequence
from json import JSONDecoder
from json.decoder import scanstring  # type: ignore[attr-defined]

Path = Sequence[str | int]
Range = tuple[int, int]

_BLANK = " \t\r\n"
_CHARACTER = re.compile(r"\\u[0-9a-fA-F]{4}|\\.|[^\\]", re.DOTALL)
_DECODER = JSONDecoder()


def range_in_text(text: str, path: Path, start: int = 0) -> Range | None:
    """The range of characters of the value at a path in a JSON text.

    ``start`` is the beginning of the text. The result is None if the text is not JSON, or has no
    value at the path.
    """
    try:
        at = _skip(text, start)
        for part in path:
            if text[at] == '"' and isinstance(part, int):
                return _character(text, at, part)
            at = _member(text, at, part)
        return at, _DECODER.raw_decode(text, at)[1]
    except (ValueError, IndexError, LookupError, RecursionError):
        return None


def range_in_bytes(data: bytes, path: Path) -> Range | None:
    """The range of bytes of the value at a path in JSON bytes.

    The bytes are UTF-8. Anything before the first brace or bracket is skipped.
    """
    begins = min((at for at in (data.find(b"{"), data.find(b"[")) if at >= 0), default=-1)
    if begins < 0:
        return None
    try:
        text = data[begins:].decode("utf-8")
    except UnicodeDecodeError:
        return None
    found = range_in_text(text, path)
    if found is None:
        return None
    before, within = text[: found[0]], text[found[0] : found[1]]
    start = begins + len(before.encode("utf-8"))
    return start, start + len(within.encode("utf-8"))


def _character(text: str, at: int, index: int) -> Range:
    """The range of a character of the string at ``at``; it can be an escape."""
    for _, found in zip(range(index + 1), _CHARACTER.finditer(text, at + 1), strict=False):
        if found[0] == '"':
            raise LookupError(index)
    return found.span()


def _member(text: str, at: int, part: str | int) -> int:
    """The beginning of a member of the object or array at ``at``.

    Raises LookupError or ValueError.
    """
    if text[at] not in "{[" or (text[at] == "{") != isinstance(part, str):
        raise LookupError(part)
    named, number = text[at] == "{", 0
    at = _skip(text, at + 1)
    while text[at] not in "}]":
        key: str | int = number
        if named:
            key, at = scanstring(text, at + 1)
            at = _skip(text, _skip(text, at) + 1)
        if key == part:
            return at
        at = _skip(text, _DECODER.raw_decode(text, at)[1])
        if text[at] == ",":
            at = _skip(text, at + 1)
        number += 1
    raise LookupError(part)


def _skip(text: str, at: int) -> int:
    while text[at] in _BLANK:
        at += 1
    return at
