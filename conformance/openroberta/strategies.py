"""Hypothesis strategies for the content of messages: robots, answers and programs."""

from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

_TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40)
"""Texts of any characters but NUL, which texts of many databases and languages cannot contain."""


def robots() -> SearchStrategy[dict[str, str]]:
    """Draw values for the free-form fields of a robot's data object."""
    free = _TEXTS.filter(str.strip)
    volts = st.sampled_from(["8.4", "0.000", "12", "100"])
    optional = {"firmwareversion": free, "brickname": free, "battery": volts}
    return st.fixed_dictionaries({}, optional=optional)


def members() -> SearchStrategy[dict[str, Any]]:
    """Draw members of an answer that the protocol does not define."""
    names = _TEXTS.filter(lambda name: name != "cmd")
    plain = st.none() | st.booleans() | st.integers() | _TEXTS
    values = st.recursive(plain, lambda inner: st.lists(inner, max_size=3), max_leaves=5)
    return st.dictionaries(names, values, max_size=5)


def programs() -> SearchStrategy[bytes]:
    """Draw programs of any bytes, some with line ends or ends of chunks."""
    odd = st.sampled_from([b"\r\n", b"0\r\n\r\n", b"\0", b"\xff", b"\n"])
    return st.lists(odd | st.binary(max_size=40), max_size=20).map(b"".join)
