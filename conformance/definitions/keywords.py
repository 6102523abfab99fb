"""What each keyword of our JSON Schemas asks of a value, and how that is said.

Draft 2020-12, with these readings of our own: an integer is what is written as one (1.0 is not);
`contentEncoding: base64` is strict (RFC 4648: alphabet, padding, zero trailing bits); patterns are
ASCII and `$` is the very end; NaN is within no bounds.
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

SHOWN = 80  # characters of a value that a message shows


def shown(value: Any, limit: int = SHOWN) -> str:
    """A value as JSON on one line, cut short; ASCII only, as it is not to be trusted."""
    text = ""
    try:
        for piece in json.JSONEncoder(default=repr).iterencode(value):
            text += piece[: limit + 1]
            if len(text) > limit:
                return f"{text[: limit - 1]}…"
    except (ValueError, TypeError):  # more digits than Python is willing to write; no JSON
        return f"{text}…"
    return text


def place(path: Sequence[str | int]) -> str:
    """A path in a value as people write it: `Touch.pos.x`, `extensions[0]`, `["odd name"]`."""
    parts = [
        f".{part}" if isinstance(part, str) and part.isidentifier() and part.isascii()
        else f"[{shown(part, 40)}]"
        for part in path
    ]  # fmt: skip
    return "".join(parts).removeprefix(".")


@cache
def regex(pattern: str) -> re.Pattern[str]:
    """A schema's pattern; Python's own `$` would let a newline follow."""
    if pattern.endswith("$") and not pattern.endswith("\\$"):
        pattern = pattern[:-1] + r"\Z"
    return re.compile(pattern, re.ASCII)


def words(keyword: str, limit: Any) -> str:
    """What a keyword asks for, in words that fit before "was expected"."""
    if keyword == "type":
        return " or ".join(_TYPES[name] for name in ([limit] if isinstance(limit, str) else limit))
    if keyword in ("oneOf", "anyOf"):
        return _short(" or ".join(dict.fromkeys(map(_label, limit))))
    if keyword == "enum":
        return f"one of {shown(limit)}"
    if keyword in RULES:
        # A pattern may be longer than what came, which is to be seen beside it.
        return _short(RULES[keyword][2].format(limit if isinstance(limit, str) else shown(limit)))
    named = {
        "const": "{}",
        "required": "the member {}",
        "additionalProperties": "no member {}",
        "false": "nothing",
    }
    return named.get(keyword, keyword).format(shown(limit))


def _short(text: str) -> str:
    return text if len(text) <= 2 * SHOWN else f"{text[: 2 * SHOWN - 1]}…"


def _label(branch: Any) -> str:
    """What distinguishes a branch of a oneOf from the others, as far as its top level shows."""
    if not isinstance(branch, dict):
        return "nothing" if branch is False else "anything"
    if "const" in branch:
        return shown(branch["const"])
    if "enum" in branch:
        return " or ".join(map(shown, branch["enum"]))
    if branch.get("required"):
        return f"{{{shown(branch['required'][0])}: …}}"
    if "type" in branch:
        return words("type", branch["type"])
    return str(branch.get("title") or PurePosixPath(branch.get("$ref", "another form")).stem)


# The keywords that ask one thing of one type of value: the type, whether it holds, and in words.
RULES: dict[str, tuple[str, Callable[[Any, Any], bool], str]] = {
    "minimum": ("number", lambda limit, value: value >= limit, "at least {}"),
    "maximum": ("number", lambda limit, value: value <= limit, "at most {}"),
    "exclusiveMinimum": ("number", lambda limit, value: value > limit, "more than {}"),
    "exclusiveMaximum": ("number", lambda limit, value: value < limit, "less than {}"),
    "multipleOf": ("number", lambda step, value: _is_multiple(value, step), "a multiple of {}"),
    "minLength": ("string", lambda n, value: len(value) >= n, "text of {} or more characters"),
    "maxLength": ("string", lambda n, value: len(value) <= n, "text of {} or fewer characters"),
    "pattern": ("string", lambda text, value: bool(regex(text).search(value)), "text like {}"),
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
"""Those of them that ask how much a value has."""

ASKING = frozenset(
    {
        *RULES,
        *("$dynamicRef", "$ref", "additionalProperties", "allOf", "anyOf", "const", "contains"),
        *("dependentRequired", "dependentSchemas", "enum", "format", "if", "items", "not"),
        *("oneOf", "patternProperties", "prefixItems", "properties", "propertyNames", "required"),
        *("type", "unevaluatedItems", "unevaluatedProperties", "x-requirement"),
    }
)
"""The keywords that ask or mark something; all others only describe."""

KINDS: dict[str, Callable[[Any], bool]] = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "string": lambda value: isinstance(value, str),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}

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
    """Decimal arithmetic: 0.3 is a multiple of 0.1."""
    exact = [Fraction(x if isinstance(x, int) else repr(x)) for x in (value, step) if isfinite(x)]
    return len(exact) == 2 and exact[0] % exact[1] == 0


def _is_encoded(value: str, name: str) -> bool:
    try:
        data = base64.b64decode(value, validate=True)
    except ValueError:
        return name != "base64"
    return name != "base64" or base64.b64encode(data).decode() == value


def _unique(items: list[Any]) -> bool:
    return len(set(map(canonical, items))) == len(items)


def canonical(value: Any) -> Any:
    """Equal for values that JSON Schema calls equal (1 and 1.0, not 1 and true); hashable."""
    if isinstance(value, dict):
        return "object", frozenset((name, canonical(item)) for name, item in value.items())
    if isinstance(value, list):
        return "array", tuple(map(canonical, value))
    return ("boolean", value) if isinstance(value, bool) else value


def equal(one: Any, other: Any) -> bool:
    """Whether two values are the same to JSON Schema."""
    return bool(canonical(one) == canonical(other))
