"""Translates the outcomes of tests, of requirements and of a run into pytest's outcomes."""

import warnings
from collections.abc import Callable
from typing import Any

import pytest

from conformance.evidence import Result
from conformance.verdicts import VIOLATIONS, Verdict


class ConformanceWarning(UserWarning):
    """A requirement of level should is violated; pytest counts a warning, and the test passes."""


def raise_result(result: Result, known: str = "") -> None:
    """Raise pytest's exception for a result; return if the test passed.

    ``known`` is the reason of a known failure of its requirement, or empty.
    """
    if result.problem:
        pytest.fail(result.problem, pytrace=False)
    raise_verdict(result.verdict, result.detail, known)


def raise_verdict(verdict: str, detail: str, known: str = "") -> None:
    """Raise pytest's exception for a verdict; return if the verdict is pass."""
    if verdict in VIOLATIONS and known:
        pytest.xfail(f"known failure: {known}")
    match verdict:
        case Verdict.FAIL:
            pytest.fail(f"{verdict}: {detail}", pytrace=False)
        case Verdict.KNOWN:
            pytest.xfail(detail)
        case Verdict.WARN:
            warnings.warn(ConformanceWarning(detail), stacklevel=2)
        case Verdict.INCONCLUSIVE | Verdict.NOT_EXERCISED | Verdict.NOT_APPLICABLE:
            pytest.skip(f"{verdict}: {detail}")


class ReportItem(pytest.Item):
    """An item that is not a test: a requirement, or the verdict of the run."""

    def __init__(self, *, raise_outcome: Callable[[], None], **given: Any) -> None:
        """``raise_outcome`` raises pytest's exception for the item."""
        super().__init__(**given)
        self._raise_outcome = raise_outcome

    def runtest(self) -> None:
        self._raise_outcome()

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException]) -> str:  # type: ignore[override]
        return str(excinfo.value)

    def reportinfo(self) -> tuple[str, int, str]:
        return "conformance", 0, self.name
