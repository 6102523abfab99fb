"""Draws the places at which a write is cut into pieces."""

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy


def cuts() -> SearchStrategy[list[int]]:
    """Draw places for `segmentation.split_at`: near the start, near the end, and anywhere."""
    return st.lists(st.integers(-40, 400), max_size=6)
