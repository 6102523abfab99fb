"""Where to cut the bytes of a write into pieces."""

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy


def cuts() -> SearchStrategy[list[int]]:
    """Places for `segmentation.split_at`: near the beginning, the end, and anywhere."""
    return st.lists(st.integers(-40, 400), max_size=6)
