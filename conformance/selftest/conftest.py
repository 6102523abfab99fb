"""What all self-tests share: a folder of their own from which the command is run."""

from pathlib import Path

import pytest

from conformance.selftest.driving import Place

collect_ignore = ["toy"]  # test cases for an IUT, not tests of the suite


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A folder of its own, in which IUTs are written and the command is run."""
    return Place(tmp_path)
