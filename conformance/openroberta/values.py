"""Compares values that one side writes as numbers and the other as texts."""

from typing import Any


def same(one: Any, other: Any) -> bool:
    """Whether two values are equal, as numbers where both can be read so: 7.9 and "7.900" are."""
    try:
        return float(one) == float(other)
    except (TypeError, ValueError):
        return str(one) == str(other)
