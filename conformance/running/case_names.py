"""Names a test case: its id and its purpose in a report."""

import re

import pytest


def case_id(item: pytest.Item) -> str:
    """The id of a test case in the report: its module and its function."""
    module = str(getattr(getattr(item, "module", None), "__name__", ""))
    return f"{module.rpartition('.')[2].removeprefix('test_')}::{item.name.removeprefix('test_')}"


def purpose(item: pytest.Item) -> str:
    """The purpose of a test case: the first paragraph of its docstring."""
    text = (item.obj.__doc__ or "").strip()  # type: ignore[attr-defined]
    return re.sub(r"\s+", " ", text.partition("\n\n")[0])
