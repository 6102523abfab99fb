"""Other spellings of the same JSON, unusual characters for texts, and unknown fields."""

import json
import re
from collections.abc import Callable
from typing import Any


def _escape(string: re.Match[str]) -> str:
    return string[0].replace("e", "\\u0065").replace("o", "\\u006F")


SPELLINGS: dict[str, Callable[[str], str]] = {
    "spaces": lambda text: f"  {text}  ",
    "tabs-and-carriage-return": lambda text: f"\t{text}\t\r",
    "spread": lambda text: text.replace(":", " : ").replace(",", " ,\t").replace("{", "{ "),
    "escapes": lambda text: re.sub('"[^"]*"', _escape, text),
}
"""Other spellings of a line of compact JSON without its newline."""

BEYOND_ASCII = "ä€😀"

SEPARATORS = {"next-line": "\u0085", "line": "\u2028", "paragraph": "\u2029"}
"""Characters that end a line in other text formats, but not in JSON Lines."""

UNKNOWN_FIELDS: dict[str, dict[str, Any]] = {
    "nested": {"x": {"y": [1]}},
    "null": {"color": None},
    # Some readers ignore the case of names. "Version" is 1 so that it agrees with "version".
    "similar": {"Version": 1, "versions": [2]},
    "unicode": {"ünïcode": "😀", "": []},
    # A reader that counts braces to find the end of a message miscounts because of this text.
    "braces": {"x-text": "]}}{["},
    # A reader that searches for the end of a text may take the last quote as escaped.
    "backslash": {"x-path": "C:\\"},
    "deep": {"x-tree": json.loads("[" * 20 + "]" * 20)},
    "long": {"x-long": "a" * 1000},
}
"""Fields that no message has."""

UNKNOWN_FIRST: dict[str, Any] = {"name": {"version": 0, "extensions": ["x-inner"]}}
"""A field to place before the known fields.

A reader that searches the text for field names finds the nested fields first.
"""
