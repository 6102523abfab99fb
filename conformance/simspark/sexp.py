"""Reads and writes S-expressions: lists of lists and atoms, every atom a string as it was written.

Neither recurses, so depth costs memory and no stack. Reading is one pass of a regular expression
over the text and one loop over what it finds; only where that comes out wrong a second look tells
what is wrong and where. White space is blank, tab and line end; all else but brackets is atoms, for
the specification knows no quotes and no comments.
"""

import re
from collections.abc import Iterable
from typing import Any

Expression = Any
"""An atom, which is a string, or a list of expressions."""

_TOKEN = re.compile(r"[()]|[^() \t\r\n]+")
_ATOM = re.compile(r"[^() \t\r\n\x80-\U0010ffff]+")


class SexpError(ValueError):
    """Bytes that are no sequence of S-expressions: at which offset, in bytes, and why.

    `ascii` is False where it is a byte that is none of a character.
    """

    def __init__(self, offset: int, why: str, ascii: bool = True) -> None:  # noqa: A002
        super().__init__(f"{why} at offset {offset}")
        self.offset = offset
        self.ascii = ascii


def read(data: bytes) -> list[Expression]:
    """All expressions of a text, in order. Raises SexpError."""
    return read_deep(data)[0]


def read_deep(data: bytes) -> tuple[list[Expression], int]:
    """All expressions of a text, and how deep their lists are nested. Raises SexpError."""
    try:
        text = data.decode("ascii")
    except UnicodeDecodeError as error:
        what = f"the byte {data[error.start]:#04x}, which is not ASCII,"
        raise SexpError(error.start, what, ascii=False) from None
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
        raise _misplaced(text) from None
    if outer:
        raise _misplaced(text)
    return top, deepest


def _misplaced(text: str) -> SexpError:
    """Which bracket has no match: the first one too many, or the innermost that stays open."""
    opened: list[int] = []
    for token in re.finditer(r"[()]", text):
        if token[0] == "(":
            opened.append(token.start())
        elif not opened:
            return SexpError(token.start(), "a closing bracket that closes nothing")
        else:
            opened.pop()
    return SexpError(opened[-1], "an opening bracket that is never closed")


def write(expressions: Iterable[Expression]) -> bytes:
    """A text of these expressions, a blank between the items of a list. Raises ValueError."""
    pieces: list[str] = []
    waiting = [iter(expressions)]
    while waiting:
        for item in waiting[-1]:
            if isinstance(item, str):
                if not _ATOM.fullmatch(item):
                    raise ValueError(f"{item[:80]!r} is no atom")
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
                pieces.append(")")
                pieces.append(" ")
    text = "".join(pieces)
    # Lists need no blank between them.
    return text.replace(") (", ")(").rstrip(" ").encode("ascii")
