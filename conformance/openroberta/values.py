"""Compare values that can be numbers or strings, and compare bytes."""

from typing import Any


def same(one: Any, other: Any) -> bool:
    """True if two values are equal, as numbers if possible: 7.9 equals "7.900"."""
    try:
        return float(one) == float(other)
    except (TypeError, ValueError):
        return str(one) == str(other)


def difference(wanted: bytes, came: bytes) -> tuple[str, str]:
    """Return texts of the expected and the received bytes, from the first difference."""
    pairs = enumerate(zip(wanted, came, strict=False))
    place = next((at for at, (a, b) in pairs if a != b), min(len(wanted), len(came)))
    expected = (
        f"{len(wanted)} bytes, {wanted[place : place + 8].hex(' ') or 'none'} from byte {place}"
    )
    return expected, (
        f"received {len(came)} bytes, {came[place : place + 8].hex(' ') or 'none'} from there"
    )
