"""Other spellings of the same JSON, characters that a text may hold, and unknown fields."""

import json
import re
from collections.abc import Callable
from typing import Any


def _escaped(string: re.Match[str]) -> str:
    return string[0].replace("e", "\\u0065").replace("o", "\\u006F")


SPELLINGS: dict[str, Callable[[str], str]] = {
    "spaces": lambda text: f"  {text}  ",
    "tabs-and-carriage-return": lambda text: f"\t{text}\t\r",
    "spread": lambda text: text.replace(":", " : ").replace(",", " ,\t").replace("{", "{ "),
    "escapes": lambda text: re.sub('"[^"]*"', _escaped, text),
}
"""Other spellings of a line of compact JSON; its newline is not part of it."""

BEYOND_ASCII = "ä€😀"

SEPARATORS = {"next-line": "\u0085", "line": "\u2028", "paragraph": "\u2029"}
"""Characters that end a line of text elsewhere, but neither a line of JSON Lines nor a string."""

UNKNOWN_FIELDS: dict[str, dict[str, Any]] = {
    "nested": {"x": {"y": [1]}},
    "null": {"color": None},
    # Some readers take names regardless of case: the version is the same either way.
    "similar": {"Version": 1, "versions": [2]},
    "unicode": {"ünïcode": "😀", "": []},
    # Who counts braces, to see where a message ends, counts these.
    "braces": {"x-text": "]}}{["},
    # Who looks for the end of a text may take its last quote for one that is escaped.
    "backslash": {"x-path": "C:\\"},
    "deep": {"x-tree": json.loads("[" * 20 + "]" * 20)},
    "long": {"x-long": "a" * 1000},
}
"""Fields that no message has."""

UNKNOWN_FIRST: dict[str, Any] = {"name": {"version": 0, "extensions": ["x-inner"]}}
"""One to stand before the known ones: who looks for their names in the text finds these."""
