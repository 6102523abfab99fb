"""The forms in which a stream may bring the same messages: cut into writes, and spelt."""

import re
from collections.abc import Callable, Sequence

from conformance.segmentation import Segmentation, byte_by_byte, in_halves, split_at


def around_newlines(data: bytes) -> Sequence[bytes]:
    """Cut before and behind every newline."""
    places = [index for index, byte in enumerate(data) if byte == ord("\n")]
    return split_at([*places, *(place + 1 for place in places)])(data)


def inside_characters(data: bytes) -> Sequence[bytes]:
    """Cut before every byte that continues a UTF-8 character."""
    return split_at(index for index, byte in enumerate(data) if byte & 0xC0 == 0x80)(data)


def newline_of_the_last_alone(data: bytes) -> Sequence[bytes]:
    """All but the last newline, then that."""
    return split_at([-1])(data)


CUTS: Sequence[Segmentation] = (
    byte_by_byte,
    in_halves,
    around_newlines,
    inside_characters,
    newline_of_the_last_alone,
)


def _escaped(string: re.Match[str]) -> str:
    return string[0].replace("e", "\\u0065").replace("o", "\\u006F")


SPELLINGS: dict[str, Callable[[str], str]] = {
    "spaces": lambda text: f"  {text}  ",
    "tabs-and-carriage-return": lambda text: f"\t{text}\t\r",
    "spread": lambda text: text.replace(":", " : ").replace(",", " ,\t").replace("{", "{ "),
    "escapes": lambda text: re.sub('"[^"]*"', _escaped, text),
}
"""Other spellings of a line of compact JSON; its newline is not part of it."""

SEPARATORS = {"next-line": "\u0085", "line": "\u2028", "paragraph": "\u2029"}
"""Characters that end a line of text elsewhere, but neither a line of JSON Lines nor a string."""
