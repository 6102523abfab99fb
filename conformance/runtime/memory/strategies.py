"""Generates valid catalogs in the style of the specification."""

from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from conformance.runtime.memory.catalog import BOOLEAN, KINDS, OTHER

_TYPES = [type_ for type_, kind in KINDS.items() if kind != OTHER]
_LETTERS = st.sampled_from("abcdefghijklmnopqrstuvwxyz")
_NAMES = st.builds(str.__add__, _LETTERS, st.text("abcxyz_0123456789", max_size=8))
_KEYWORDS = {"if", "as", "is", "or", "in", "on", "no", "off", "yes", "null", "true", "false", "y"}


def catalogs() -> SearchStrategy[str]:
    """The text of a catalog of one to three types."""
    types = _NAMES.filter(lambda name: name not in _KEYWORDS)
    return st.dictionaries(types, _peripherals(), min_size=1, max_size=3).map(_text)


def _peripherals() -> SearchStrategy[dict[str, Any]]:
    def of(most: int, more: dict[str, SearchStrategy[Any]]) -> SearchStrategy[dict[str, Any]]:
        names = st.lists(
            _NAMES.filter(lambda n: n not in _KEYWORDS), min_size=1, max_size=most, unique=True
        )
        params = names.flatmap(lambda chosen: st.tuples(*map(_parameters, chosen)).map(list))
        return st.fixed_dictionaries({**more, "params": params})

    devices = {"device_id": st.integers(0, 2**16 - 1), "delay": st.sampled_from([1.0, 40.0, 100.0])}
    return of(24, {}) | of(16, devices)


def _parameters(name: str) -> SearchStrategy[dict[str, Any]]:
    def whole(type_: str, count: int, bounds: dict[str, float], access: int) -> dict[str, Any]:
        single = count == 0
        return {
            "name": name,
            "type": type_ if single else f"{type_}[{count}]",
            **(bounds if single and KINDS[type_] != BOOLEAN else {}),
            "readable": bool(access & 1),
            "writeable": bool(access & 2),
            "subscribed": bool(access & 4),
        }

    bounds = st.sampled_from([{}, {"lower": 0.0}, {"upper": 100.0}, {"lower": 0.0, "upper": 100.0}])
    counts = st.sampled_from([0, 0, 0, 1, 2, 3, 7])
    return st.builds(whole, st.sampled_from(_TYPES), counts, bounds, st.integers(0, 7))


def _text(types: dict[str, dict[str, Any]]) -> str:
    """Return a catalog in block style, with strings in quotes."""
    lines = []
    for name, peripheral in types.items():
        lines.append(f'"{name}":')
        lines += [f"  {key}: {value}" for key, value in peripheral.items() if key != "params"]
        lines.append("  params:")
        for param in peripheral["params"]:
            for number, (key, value) in enumerate(param.items()):
                lead = "    - " if number == 0 else "      "
                lines.append(f"{lead}{key}: {_scalar(value)}")
    return "\n".join(lines) + "\n"


def _scalar(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f'"{value}"' if isinstance(value, str) else str(value)
