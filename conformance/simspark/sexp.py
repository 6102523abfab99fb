"""Reads and writes S-expressions: lists of lists and atoms. Every atom is a string as written.

Reading and writing do not recurse, so deep lists need memory but no stack. A text with matching
brackets and moderate depth is rewritten as JSON, because Python's JSON reader is the fastest reader
of nested lists. Every correct message is such a text. Any other text is read token by token. If
this also fails, another pass finds the error and its offset.

White space is the white space of ASCII. All other characters except brackets are part of atoms,
because the specification has no quotes and no comments.
"""

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

Expression = Any
"""An atom, which is a string, or a list of expressions."""

_TOKEN = re.compile(r"[()]|[^() \t\r\n\v\f]+")
_ATOM = re.compile(r"[^() \t\r\n\v\f\x80-\U0010ffff]+")
_NO_BRACKETS = bytes(byte for byte in range(256) if byte not in b"()")

_JSON = json.JSONDecoder(strict=False)

DEEP = 200  # levels of lists up to which Python's recursive JSON reader is safe


class SexpError(ValueError):
    """The bytes are not a sequence of S-expressions.

    `offset` is the offset of the error in bytes. `ascii` is False if the byte there is not ASCII.
    """

    def __init__(self, offset: int, why: str, ascii: bool = True) -> None:  # noqa: A002
        super().__init__(f"{why} at offset {offset}")
        self.offset = offset
        self.ascii = ascii


def read(data: bytes) -> list[Expression]:
    """Read all expressions of a text, in order. Raises SexpError."""
    return read_deep(data)[0]


def read_deep(data: bytes) -> tuple[list[Expression], int]:
    """Read all expressions of a text, and the depth of their lists. Raises SexpError."""
    if not data.isascii():
        offset = next(place for place, byte in enumerate(data) if byte > 0x7F)
        what = f"the byte {data[offset]:#04x}, which is not ASCII,"
        raise SexpError(offset, what, ascii=False)
    depth = _depth(data)
    if depth is None:
        return _read_by_token(data.decode("ascii"))
    return _read_as_json(data), depth


def place(data: bytes, path: Sequence[str | int]) -> tuple[int, int] | None:
    """Return the start and end of an expression, or of a character of an atom.

    `path` leads to it. The result is None if there is none. The ends are offsets in the data.
    """
    here: list[int] = [0]  # the number of expressions so far in each open list
    start: int | None = None
    for token in _TOKEN.finditer(data.decode("latin-1")):
        closing = token[0] == ")"
        if closing:
            here.pop()
            if not here:
                return None
        begins = not closing and here == list(path)
        if begins:
            start = token.start()
        if token[0] == "(":
            here.append(0)
            continue
        if start is not None and (begins or here == list(path)):
            return start, token.end()
        index = path[-1] if path and here == list(path[:-1]) else None
        if isinstance(index, int) and not closing and index < len(token[0]):
            return token.start() + index, token.start() + index + 1
        here[-1] += 1
    return None


def _depth(data: bytes) -> int | None:
    """Return the nesting depth of a text.

    Returns None if the depth reaches DEEP or if the brackets do not match.
    """
    brackets = data.translate(None, _NO_BRACKETS)
    if b"(" * DEEP in brackets:
        return None
    for depth in range(DEEP):
        if not brackets:
            return depth
        fewer = brackets.replace(b"()", b"")
        if len(fewer) == len(brackets):
            return None
        brackets = fewer
    return None


def _read_as_json(data: bytes) -> list[Expression]:
    """Read all expressions of a text with matching brackets: convert the text to JSON."""
    if b'"' in data or b"\\" in data:
        data = data.replace(b"\\", b"\\\\").replace(b'"', b'\\"')
    tokens = data.replace(b"(", b" ( ").replace(b")", b" ) ").split()
    if not tokens:
        return []
    # Atoms contain no brackets, so every token with a bracket begins or ends a list.
    text = b'["' + b'","'.join(tokens) + b'"]'
    text = text.replace(b'"(",")"', b"[]").replace(b'"(",', b"[").replace(b',")"', b"]")
    found: list[Expression] = _JSON.decode(text.decode("ascii"))
    return found


def _read_by_token(text: str) -> tuple[list[Expression], int]:
    if text.count("(") != text.count(")"):
        raise _bracket_error(text)
    top: list[Expression] = []
    current = top
    outer: list[list[Expression]] = []
    deepest = 0
    push, pop = outer.append, outer.pop
    add = top.append
    try:
        for token in _TOKEN.findall(text):
            if token == "(":
                push(current)
                inner: list[Expression] = []
                add(inner)
                current = inner
                add = inner.append
            elif token == ")":
                if len(outer) > deepest:
                    deepest = len(outer)
                current = pop()
                add = current.append
            else:
                add(token)
    except IndexError:
        raise _bracket_error(text) from None
    return top, deepest


def _bracket_error(text: str) -> SexpError:
    """Return the error of a bracket without a match.

    This is the first extra closing bracket, or the innermost open bracket.
    """
    opened: list[int] = []
    for token in re.finditer(r"[()]", text):
        if token[0] == "(":
            opened.append(token.start())
        elif not opened:
            return SexpError(token.start(), "a closing bracket without an opening bracket")
        else:
            opened.pop()
    return SexpError(opened[-1], "an opening bracket without a closing bracket")


def write(expressions: Iterable[Expression]) -> bytes:
    """Write expressions as a text, with a blank between the items of a list.

    Raises ValueError if a value is neither a list nor an atom.
    """
    pieces: list[str] = []
    waiting = [iter(expressions)]
    while waiting:
        for item in waiting[-1]:
            if isinstance(item, str):
                if not _ATOM.fullmatch(item):
                    raise ValueError(f"{item[:80]!r} is not an atom")
                pieces.append(item)
                pieces.append(" ")
            elif isinstance(item, list | tuple):
                pieces.append("(")
                waiting.append(iter(item))
                break
            else:
                raise ValueError(f"{item!r:.80} is neither an atom nor a list")
        else:
            waiting.pop()
            if waiting:
                if pieces[-1] == " ":
                    pieces.pop()
                # The published server writes no blank between the expressions of a message.
                pieces.append(") " if len(waiting) > 1 else ")")
    return "".join(pieces).replace(" )", ")").rstrip(" ").encode("ascii")
