"""Hypothesis strategies for messages: values of any type, and plans of requests."""

from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40)
)
_KEYS = st.text("abcäöü€_ .", min_size=1, max_size=8)


def values() -> SearchStrategy[Any]:
    """Values of every type except bytes and extensions, in their decoded form."""
    return st.recursive(
        _SCALARS,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_KEYS, inner, max_size=4),
        max_leaves=12,
    )


def plans() -> SearchStrategy[list[list[Any] | None]]:
    """Plans of a client: the arguments of each request, or None for a notification."""
    return st.lists(st.none() | st.lists(values(), max_size=3), min_size=1, max_size=12)
