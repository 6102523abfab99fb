"""Compares values that one side writes as numbers and the other as texts, and bytes."""

from typing import Any


def same(one: Any, other: Any) -> bool:
    """Whether two values are equal, as numbers where both can be read so: 7.9 and "7.900" are."""
    try:
        return float(one) == float(other)
    except (TypeError, ValueError):
        return str(one) == str(other)


def difference(wanted: bytes, came: bytes) -> tuple[str, str]:
    """What was expected and what came, from the first byte on in which they differ."""
    pairs = enumerate(zip(wanted, came, strict=False))
    place = next((at for at, (a, b) in pairs if a != b), min(len(wanted), len(came)))
    expected = f"{len(wanted)} bytes, {wanted[place : place + 8].hex(' ') or 'none'} from {place}"
    return expected, f"{len(came)} came, {came[place : place + 8].hex(' ') or 'none'} from there"
