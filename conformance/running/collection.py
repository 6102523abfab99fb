"""Finds the test cases of a role without running them."""

import contextlib
import importlib
import io
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from conformance.definitions import protocols
from conformance.definitions.protocol import Role
from conformance.running.case_names import case_id, purpose

LEAN = (
    *("--disable-plugin-autoload", "--noconftest", "-p", "no:cacheprovider", "-W", "ignore"),
    # These plugins collect garbage several times at the end, to warn about unclosed resources.
    *("-p", "no:unraisableexception", "-p", "no:threadexception"),
)
"""Options with which pytest starts quickly and leaves nothing behind."""


class CollectionError(Exception):
    """Test cases cannot be collected, which is a fault of the suite."""


@dataclass(frozen=True)
class Case:
    """A test case: its id and purpose as in a report, and its requirement."""

    id: str
    purpose: str
    requirement: str


class _Collector:
    """A pytest plugin that keeps the collected items and errors."""

    def __init__(self) -> None:
        self.items: list[pytest.Item] = []
        self.problems: list[str] = []

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.items = list(session.items)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.problems.append(report.longreprtext)


@cache
def cases(role: Role) -> tuple[Case, ...]:
    """The test cases of a role; empty if its package does not exist. Raises CollectionError."""
    package = role.package
    try:
        importlib.import_module(package)
    except ModuleNotFoundError as error:
        if error.name and package.startswith(error.name):
            return ()
        raise CollectionError(f"{package}: {error}") from error
    collector = _Collector()
    words = ["--pyargs", *role.packages, "--collect-only", "-c", os.devnull]
    words += ["--rootdir", str(Path(__file__).parents[1]), "-p", "conformance.plugin"]
    words += [*LEAN, "-p", "no:terminal"]
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        code = pytest.main(words, plugins=[collector])
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        collector.problems.append(output.getvalue())
    if collector.problems:
        raise CollectionError(collector.problems[0].strip().splitlines()[-1])
    binding = {entry.id for entry in protocols.load(role.protocol).requirements_for(role)}
    shared = f"{package.rpartition('.')[0]}.both."
    found = [(_case(item), item.module.__name__) for item in collector.items]  # type: ignore[attr-defined]
    return tuple(
        case
        for case, module in found
        if case.requirement in binding or not module.startswith(shared)
    )


def _case(item: pytest.Item) -> Case:
    named = [str(marker.args[0]) for marker in item.iter_markers("requirement")]
    if len(named) > 1:
        raise CollectionError(
            f"{case_id(item)} decides {' and '.join(named)}: name one requirement"
        )
    return Case(case_id(item), purpose(item), *named or [""])
