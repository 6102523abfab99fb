"""Building blocks of deviations in values: single precision, shorter text, text as bytes."""

import ctypes
from collections.abc import Callable
from typing import Any

from conformance.runtime.shapes import mark

Change = Callable[[Any], Any]


def in_all_parts(change: Change) -> Change:
    """Return a function that makes a change in every part of a value except keys."""

    def changed(value: Any) -> Any:
        if isinstance(value, list):
            return [changed(part) for part in value]
        if isinstance(value, dict) and not mark(value):
            return {key: changed(part) for key, part in value.items()}
        return change(value)

    return changed


def in_members(change: Change) -> Change:
    """Return a function that makes a change in every member of a map."""
    return lambda members: {name: change(value) for name, value in members.items()}


def of_type(
    type_: type, change: Change, when: Callable[[Any], object] = lambda value: True
) -> Change:
    """Return a function that changes values of exactly this type that have a property."""
    return lambda value: change(value) if type(value) is type_ and when(value) else value


def to_single(value: float) -> float:
    """Return a float of single precision; a greater value becomes infinite."""
    return ctypes.c_float(value).value


def is_within_single(value: float) -> bool:
    return abs(value) <= 3e38


def to_four_digits(value: float) -> float:
    return float(f"{value:.4g}")


def cut_text(size: int) -> Callable[[str], str]:
    """Return a function that truncates text to a number of bytes."""
    return lambda text: text.encode()[:size].decode(errors="ignore")


def cut_last_at(size: int) -> Callable[[str], str]:
    """Return a function that removes the last character of a text of this size."""
    return lambda text: text[:-1] if len(text.encode()) == size else text


def to_bin(text: str) -> Any:
    """Return text as a bin."""
    return {"$bin": text.encode().hex()}


def of_mark(marker: str, change: Change) -> Change:
    """Return a function that changes the content of values that JSON cannot express."""
    return lambda value: change(value[marker]) if mark(value) == marker else value
