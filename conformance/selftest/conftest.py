"""What all self-tests share: a folder of their own from which the command is run."""

from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from conformance.selftest import reports
from conformance.selftest.driving import Place

# How long something takes on a busy machine decides nothing.
settings.register_profile("selftest", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("selftest")

collect_ignore = ["toy"]  # test cases for an IUT, not tests of the suite


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """As wide as where there is no terminal, whatever width the tests were started with."""
    monkeypatch.setenv("COLUMNS", "120")


@pytest.fixture
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """A folder of its own, in which IUTs are written and the command is run.

    Its path is short: there are unix sockets in it.
    """
    return Place(tmp_path_factory.mktemp("place"))


@pytest.fixture
def sample() -> dict[str, Any]:
    """The report of the sample."""
    return reports.sample()
