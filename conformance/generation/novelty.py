"""Finds out whether a drawn example covers anything that earlier examples do not.

An example covers pairs of features. A feature is a place in the example and the class of the value
there. The class of a number is its sign and size, and that of a text its length and characters.
"""

import math
import unicodedata
from collections.abc import Iterator, Mapping
from itertools import combinations, islice
from typing import Any

Feature = tuple[str, object]

MAX_FEATURES = 200  # features of one example that count; more would make too many pairs
MAX_DEPTH = 20  # levels of nesting that count
_CHARACTERS = 1000  # characters of a text that count


class Novelty:
    """The pairs of features that the examples so far have covered."""

    def __init__(self) -> None:
        self._covered: set[tuple[Feature, Feature]] = set()

    def add(self, example: Any) -> bool:
        """Add an example; return True if it covers a pair that is new."""
        found = dict.fromkeys(islice(features(example), MAX_FEATURES))
        pairs = {(one, one) for one in found} | {*combinations(found, 2)}
        new = not pairs <= self._covered
        self._covered |= pairs
        return new


def features(value: Any, place: str = "", depth: int = 0) -> Iterator[Feature]:
    """Yield the features of a value. All items of an array have the same place."""
    if isinstance(value, Mapping | list | tuple) and depth == MAX_DEPTH:
        yield place, "deeper"
    elif isinstance(value, Mapping):
        yield place, ("object", len(value).bit_length())
        for name, member in value.items():
            yield from features(member, f"{place}.{name}", depth + 1)
    elif isinstance(value, list | tuple):
        yield place, ("array", len(value).bit_length())
        for item in value:
            yield from features(item, f"{place}[]", depth + 1)
    else:
        yield place, _class(value)


def _class(value: Any) -> object:
    """Return the class of a value without members, as something that can be compared."""
    match value:
        case bool() | None:
            return value
        case int():
            return "integer", value < 0, value.bit_length()
        case float() if not math.isfinite(value):
            return "float", repr(value)
        case float():
            return "float", math.copysign(1, value), math.frexp(value)[1], value.is_integer()
        case str():
            kinds = frozenset(map(_kind, value[:_CHARACTERS]))
            return "text", len(value).bit_length(), kinds
        case bytes():
            return "bytes", len(value).bit_length(), any(byte > 127 for byte in value)
    return type(value).__name__, repr(value)[:_CHARACTERS]


def _kind(character: str) -> str:
    """Return the kind of a character: itself if it is ASCII and neither a letter nor a digit."""
    if character.isascii() and not character.isalnum():
        return character
    return unicodedata.category(character)
