"""The meaning of each keyword of our JSON Schemas, and its description in messages.

The dialect is draft 2020-12, with these readings:

- An integer is a number that is written as an integer; 1.0 is not.
- `contentEncoding: base64` is strict (RFC 4648): alphabet, padding, zero trailing bits.
- Patterns are ASCII, and `$` matches only at the very end.
- NaN satisfies no limit.
"""

import base64
import json
import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from math import isfinite
from pathlib import PurePosixPath
from typing import Any

MAX_TEXT = 80  # characters of a value that a message shows


def short_json(value: Any, limit: int = MAX_TEXT) -> str:
    """Return a value as JSON on one line, shortened to `limit` characters.

    The text is ASCII only, because the value is not trusted.
    """
    text = ""
    try:
        for piece in json.JSONEncoder(default=repr).iterencode(value):
            text += piece[: limit + 1]
            if len(text) > limit:
                return f"{text[: limit - 1]}…"
    # an integer with too many digits for Python, or a value that JSON cannot express
    except (ValueError, TypeError):
        return f"{text}…"
    return text


def place(path: Sequence[str | int]) -> str:
    """Return a path in a value as people write it:

    `Touch.pos.x`, `extensions[0]`, `["odd name"]`.
    """
    parts = [
        f".{part}" if isinstance(part, str) and part.isidentifier() and part.isascii()
        else f"[{short_json(part, 40)}]"
        for part in path
    ]  # fmt: skip
    return "".join(parts).removeprefix(".")


# A dollar that is an anchor; other parts, which are kept, can contain one.
_DOLLAR = re.compile(r"(\\.|\[\^?\]?(?:\\.|[^\]\\])*\])|\$", re.DOTALL)


@cache
def regex(pattern: str) -> re.Pattern[str]:
    """Compile a schema's pattern; Python's own `$` would accept a newline after it."""
    return re.compile(_DOLLAR.sub(lambda found: found[1] or r"\Z", pattern), re.ASCII)


def words(keyword: str, limit: Any) -> str:
    """Describe what a keyword demands, in words that fit after "expected"."""
    if keyword == "type":
        return " or ".join(_TYPES[name] for name in ([limit] if isinstance(limit, str) else limit))
    if keyword in ("oneOf", "anyOf"):
        return _short(" or ".join(dict.fromkeys(map(_label, limit))))
    if keyword == "enum":
        return f"one of {short_json(limit)}"
    if keyword in RULES:
        # A pattern can be longer than the received value, which must be visible next to it.
        return _short(
            RULES[keyword][2].format(limit if isinstance(limit, str) else short_json(limit))
        )
    named = {
        "const": "{}",
        "required": "the member {}",
        "additionalProperties": "no member {}",
        "false": "nothing",
    }
    return named.get(keyword, keyword).format(short_json(limit))


def _short(text: str) -> str:
    return text if len(text) <= 2 * MAX_TEXT else f"{text[: 2 * MAX_TEXT - 1]}…"


def _label(branch: Any) -> str:
    """Describe the top level of a branch by which it differs from the other branches."""
    if not isinstance(branch, dict):
        return "nothing" if branch is False else "anything"
    if "const" in branch:
        return short_json(branch["const"])
    if "enum" in branch:
        return " or ".join(map(short_json, branch["enum"]))
    if branch.get("required"):
        return f"{{{short_json(branch['required'][0])}: …}}"
    if "type" in branch:
        return words("type", branch["type"])
    return str(branch.get("title") or PurePosixPath(branch.get("$ref", "another form")).stem)


# The keywords that restrict one type of value: the type, the condition, and a description.
RULES: dict[str, tuple[str, Callable[[Any, Any], bool], str]] = {
    "minimum": ("number", lambda limit, value: value >= limit, "at least {}"),
    "maximum": ("number", lambda limit, value: value <= limit, "at most {}"),
    "exclusiveMinimum": ("number", lambda limit, value: value > limit, "more than {}"),
    "exclusiveMaximum": ("number", lambda limit, value: value < limit, "less than {}"),
    "multipleOf": ("number", lambda step, value: _is_multiple(value, step), "a multiple of {}"),
    "minLength": ("string", lambda n, value: len(value) >= n, "text of {} or more characters"),
    "maxLength": ("string", lambda n, value: len(value) <= n, "text of {} or fewer characters"),
    "pattern": ("string", lambda text, value: bool(regex(text).search(value)), "{}"),
    "contentEncoding": ("string", lambda name, value: _is_encoded(value, name), "strict {}"),
    "minItems": ("array", lambda n, value: len(value) >= n, "an array of {} or more items"),
    "maxItems": ("array", lambda n, value: len(value) <= n, "an array of {} or fewer items"),
    "uniqueItems": ("array", lambda yes, value: not yes or _unique(value), "no item twice"),
    "minProperties": ("object", lambda n, value: len(value) >= n, "{} or more members"),
    "maxProperties": ("object", lambda n, value: len(value) <= n, "{} or fewer members"),
}  # fmt: skip
SIZES = frozenset(
    f"{end}{what}" for end in ("min", "max") for what in ("Items", "Length", "Properties")
)
"""The keywords that restrict the size of a value."""

RESTRICTING = frozenset(
    {
        *RULES,
        *("$dynamicRef", "$ref", "additionalProperties", "allOf", "anyOf", "const", "contains"),
        *("dependentRequired", "dependentSchemas", "enum", "format", "if", "items", "not"),
        *("oneOf", "patternProperties", "prefixItems", "properties", "propertyNames", "required"),
        *("type", "unevaluatedItems", "unevaluatedProperties", "x-requirement"),
    }
)
"""The keywords that restrict or mark a value; all others only describe."""

KINDS: dict[str, Callable[[Any], bool]] = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "string": lambda value: isinstance(value, str),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}

_CHARACTERS = re.compile(r"\^(\[[^]]+\])[*+]\$\Z")
"""A pattern that allows certain characters anywhere."""
_NOT_BASE64 = re.compile(r"[^A-Za-z0-9+/=]|=(?!=?\Z)")
"""A character that Base64 text does not have, or padding before its end."""

_TYPES = {
    "null": "null",
    "boolean": "a boolean",
    "integer": "an integer",
    "number": "a number",
    "string": "a string",
    "array": "an array",
    "object": "an object",
}


def _is_multiple(value: float, step: float) -> bool:
    """Return True for multiples in decimal arithmetic: 0.3 is a multiple of 0.1."""
    exact = [Fraction(x if isinstance(x, int) else repr(x)) for x in (value, step) if isfinite(x)]
    return len(exact) == 2 and exact[0] % exact[1] == 0


def _is_encoded(value: str, name: str) -> bool:
    try:
        data = base64.b64decode(value, validate=True)
    except ValueError:
        return name != "base64"
    return name != "base64" or base64.b64encode(data).decode() == value


def fault_index(keyword: str, limit: Any, value: Any) -> int | None:
    """Return the index of the first character that breaks a keyword; None if nothing is known."""
    wrong = None
    if keyword == "contentEncoding":
        wrong = _NOT_BASE64
    elif keyword == "pattern" and (allowed := _CHARACTERS.match(limit)):
        wrong = re.compile(f"(?!{allowed[1]}).", re.ASCII | re.DOTALL)
    found = wrong.search(value) if wrong and isinstance(value, str) else None
    return found.start() if found else None


def describe_fault(keyword: str, limit: Any, value: Any) -> str:
    """Say where a value breaks a keyword, for the end of a sentence.

    The result is empty if nothing is known.
    """
    index = fault_index(keyword, limit, value)
    if index is not None:
        return f", with {short_json(value[index])} at character {index + 1}"
    if keyword != "contentEncoding" or not isinstance(value, str):
        return ""
    if len(value) % 4:
        return f", with {len(value)} characters, which is not a multiple of 4"
    return ", with bits other than zero after the last byte"


def _unique(items: list[Any]) -> bool:
    return len(set(map(canonical, items))) == len(items)


def canonical(value: Any) -> Any:
    """Return a hashable form that is equal for values that JSON Schema calls equal.

    For example, 1 and 1.0 are equal, but 1 and true are not.
    """
    if isinstance(value, dict):
        return "object", frozenset((name, canonical(item)) for name, item in value.items())
    if isinstance(value, list):
        return "array", tuple(map(canonical, value))
    return ("boolean", value) if isinstance(value, bool) else value


def equal(one: Any, other: Any) -> bool:
    """Return True if two values are equal in JSON Schema."""
    return bool(canonical(one) == canonical(other))
