"""Fixtures of all self-tests: a separate folder in which the command is run."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from conformance.definitions import locations
from conformance.selftest import report_fixtures
from conformance.selftest.driving import Place

# A slow test on a busy machine is not a failure.
settings.register_profile("selftest", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("selftest")

collect_ignore = ["toy"]  # test cases for an IUT, not tests of the suite


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set a fixed terminal width, so that outputs do not depend on the caller's terminal."""
    monkeypatch.setenv("COLUMNS", "120")


@pytest.fixture
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """Return a new folder for programs of IUTs, in which the command is run.

    Its path is short, because the paths of unix sockets are limited.
    """
    return Place(tmp_path_factory.mktemp("place"))


@pytest.fixture
def sample() -> dict[str, Any]:
    """Return the stored report of the sample simulator."""
    file = locations.reports() / "sample" / "report.json"
    loaded: dict[str, Any] = json.loads(file.read_text("utf-8"))
    return loaded


@pytest.fixture
def full() -> dict[str, Any]:
    """Return the fixture of a report with every verdict."""
    return report_fixtures.full()
