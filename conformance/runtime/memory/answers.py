"""Checks of values that an IUT reports in the JSON of its operations."""

import math
from collections.abc import Mapping
from typing import Any

from conformance.runtime.memory import catalog
from conformance.runtime.memory.catalog import Peripheral
from conformance.verdicts import Violation


def is_same_answer(expected: Any, came: Any, kind: str) -> bool:
    """Return True if a value reported in JSON equals a parameter's value."""
    if isinstance(expected, list):
        return (
            isinstance(came, list)
            and len(came) == len(expected)
            and all(is_same_answer(e, c, kind) for e, c in zip(expected, came, strict=True))
        )
    if isinstance(expected, bool):
        return came is expected or (came in (0, 1) and bool(came) == expected)
    if isinstance(came, bool) or not isinstance(came, int | float):
        return False
    if kind == catalog.REAL:
        return math.isclose(expected, came, rel_tol=1e-6, abs_tol=1e-12)
    # If all numbers are doubles, integers of 64 bits have the precision of a double.
    return bool(came == expected or (abs(expected) > 2**53 and float(came) == float(expected)))


def check_values(
    peripheral: Peripheral,
    expected: Mapping[str, Any],
    came: Any,
    what: str,
    about: str | None = None,
) -> None:
    """Raise Violation unless an answer has exactly the values of these parameters.

    `about` is the violated requirement (None: the requirement under test).
    """
    answer = f"it answered {str(came)[:200]}"
    if not isinstance(came, dict):
        raise Violation(f"{what} to answer an object of values", answer, about)
    for name, value in expected.items():
        if name not in came:
            raise Violation(f"{what} to answer {name}", answer, about)
        if not is_same_answer(value, came[name], peripheral[name].kind):
            wrong = f"it answered {str(came[name])[:200]}"
            raise Violation(f"{what} to answer {value!r} for {name}", wrong, about)
    if extra := [name for name in came if name not in expected]:
        only = ", ".join(expected) or "nothing"
        more = f"it also answered {', '.join(extra)[:200]}"
        raise Violation(f"{what} to answer only {only}", more, about)


def check_own_bit(place: str, bits: int, name: str, seen: dict[int, str], sets: str) -> None:
    """Raise Violation unless a bitmap is one bit that no other parameter has.

    If no bit was ever set, the violated requirement is ``sets``.
    """
    if bits.bit_count() != 1:
        about = None if bits or seen else sets
        raise Violation(f"{place} to have one bit for {name}", f"it is {bits:#06x}", about)
    other = seen.setdefault(bits, name)
    if other != name:
        raise Violation(f"different bits for {name} and {other} in {place}", f"both have {bits:#x}")
