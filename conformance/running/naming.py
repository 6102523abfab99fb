"""Names a test case: its id and its purpose in a report, and what `-k` finds it by."""

import re

import pytest

_WORD = re.compile(r"[\w:+\-.\[\]/\\]+")
"""What an expression for ``-k`` can hold of a name in one piece."""


def case_id(item: pytest.Item) -> str:
    """A test case's id, as in the report: its module and its name, stable as long as they are."""
    module = str(getattr(getattr(item, "module", None), "__name__", ""))
    return f"{module.rpartition('.')[2].removeprefix('test_')}::{item.name.removeprefix('test_')}"


def keyword(name: str) -> str:
    """An expression for ``-k`` that takes the test case of this name: all words of it."""
    words = [word for word in _WORD.findall(name) if word not in ("and", "or", "not")]
    return " and ".join(word for word in words if any(map(str.isalnum, word)))


def purpose(item: pytest.Item) -> str:
    """What a test case is for: the first paragraph of its docstring."""
    text = (item.obj.__doc__ or "").strip()  # type: ignore[attr-defined]
    return re.sub(r"\s+", " ", text.partition("\n\n")[0])
