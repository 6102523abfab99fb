"""The titles of commits, as ``.ci/titles`` checks them."""

import importlib.machinery
import importlib.util
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[2] / ".ci" / "titles"

pytestmark = pytest.mark.skipif(not SCRIPT.is_file(), reason="installed without its checkout")


def script() -> ModuleType:
    """Load the script, whose name has no suffix."""
    loader = importlib.machinery.SourceFileLoader("titles", str(SCRIPT))
    spec = importlib.util.spec_from_loader("titles", loader)
    assert spec
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    "title",
    ["simspark/agent: send scores in every GS", "README, init: keep both the same", "ci: feed it"],
)
def test_right_titles(title: str) -> None:
    assert not [*script().problems(title)]


@pytest.mark.parametrize(
    ("title", "why"),
    [
        ("Send scores in every GS", "area: imperative"),
        ("simspark: Send scores", "lower case"),
        ("simspark: send scores.", "full stop"),
        ("simspark: sending scores", "imperative"),
        ("simspark: removed scores", "imperative"),
        ("simspark: send " + "scores " * 9, "78 characters"),
    ],
)
def test_wrong_titles(title: str, why: str) -> None:
    assert why in " ".join(script().problems(title))


def test_titles_of_new_commits() -> None:
    """All commits after the one that added the script have right titles."""
    titles = script()
    try:
        found = titles.titles()
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no git checkout")
    wrong = [f"{name} {title}: {why}" for name, title in found for why in titles.problems(title)]
    assert not wrong, "\n".join(wrong)
