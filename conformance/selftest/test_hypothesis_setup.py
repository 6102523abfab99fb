"""The same seed draws the same examples, whatever files are next to the suite."""

import gc
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType

import hypothesis
import pytest
from hypothesis import strategies as st
from hypothesis.internal.conjecture import providers

from conformance.running import hypothesis_setup


@pytest.fixture(autouse=True)
def set_up(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(providers, "_get_local_constants", providers._get_local_constants)
    monkeypatch.setattr(hypothesis.core, "threadlocal", hypothesis.core.threadlocal)
    before = hypothesis.configuration.storage_directory()
    hypothesis_setup.set_up(300)
    yield
    hypothesis.configuration.set_hypothesis_home_dir(before.path)
    hypothesis.settings.load_profile("selftest")


def drawn() -> list[int]:
    numbers: list[int] = []
    hypothesis.seed(7)(
        hypothesis.given(number=st.integers())(lambda number: numbers.append(number))
    )()
    return numbers


def test_another_module_changes_no_example(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    before = drawn()
    module = ModuleType("beside")
    module.__file__ = str(tmp_path / "beside.py")
    (tmp_path / "beside.py").write_text("NUMBERS = (123457, 123458, 123459)\n", "utf-8")
    monkeypatch.setitem(sys.modules, "beside", module)
    assert len(before) > 100
    assert drawn() == before


def test_a_thread_that_draws_collects_no_garbage(monkeypatch: pytest.MonkeyPatch) -> None:
    collections: list[int] = []
    monkeypatch.setattr(gc, "collect", lambda: collections.append(1))
    with ThreadPoolExecutor(1) as thread:
        assert len(thread.submit(drawn).result()) > 100
    assert collections == []
