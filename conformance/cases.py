"""What test cases are written with: the requirement they decide, checks, and drawn examples."""

import functools
import time
from collections.abc import Awaitable, Callable
from typing import Any

import hypothesis
import pytest
from hypothesis.strategies import SearchStrategy

from conformance.iut import Iut
from conformance.session import Message
from conformance.verdicts import Conclusion, Violation

requirement = pytest.mark.requirement
"""Names the one requirement that a test case decides; its docstring is the test's purpose."""


def each_of(*requirements: str) -> pytest.MarkDecorator:
    """Makes a test case for each of these requirements, which it is told as ``statement``."""
    cases = [pytest.param(name, marks=requirement(name)) for name in requirements]
    return pytest.mark.parametrize("statement", cases)


in_one_loop = pytest.mark.asyncio(loop_scope="session")
"""Every module of test cases is marked with it: the IUT started ahead lives between tests."""

SHRINKING = 10.0  # seconds that looking for a smaller counterexample may take

TestCase = Callable[..., Awaitable[None]]


def check(condition: bool, expected: str, came: str, event: int | None = None) -> None:
    """Raise Violation unless the condition holds; both texts are sentences without a full stop."""
    if not condition:
        raise Violation(expected, came, event=event)


def absent(message: Message | None, expected: str) -> None:
    """Raise Violation if a message came that must not; `expected` says what should have been."""
    if message is not None:
        raise Violation(expected, f"{message.name} came", event=message.event)


def explore(**strategies: SearchStrategy[Any]) -> Callable[[TestCase], TestCase]:
    """Run a test case over drawn arguments; its smallest violation becomes a counterexample.

    Each example is judged like a test of its own. None is run twice, so that what it came to stays
    what it came to; shrinking is bounded in time, so that an IUT that hangs does not stop the run.
    """

    def decorate(test: TestCase) -> TestCase:
        @functools.wraps(test)
        async def example(iut: Iut, **arguments: Any) -> None:
            tried = iut.tried
            key = repr({name: arguments[name] for name in strategies})
            if key in tried.failed:
                raise tried.failed[key]
            if key in tried.passed:
                return
            if tried.smallest and time.monotonic() > tried.until:
                raise _Enough(tried.smallest)
            iut.settle()
            try:
                await test(iut, **arguments)
                _raise_finding(iut)
                tried.passed.add(key)
            except Conclusion as conclusion:
                if not tried.failed:
                    # Only a violation is worth a smaller example.
                    worth = isinstance(conclusion, Violation)
                    tried.until = time.monotonic() + (SHRINKING if worth else 0)
                tried.add(key, conclusion)
                conclusion.sessions = tuple(iut.sessions)
                conclusion.session = conclusion.session or next(reversed(iut.sessions), None)
                raise

        drawn = hypothesis.given(**strategies)(example)

        @functools.wraps(drawn)
        def search(*args: Any, **kwargs: Any) -> Any:
            try:
                return drawn(*args, **kwargs)
            except _Enough as enough:
                raise enough.smallest from None

        return search

    return decorate


class _Enough(BaseException):
    """Ends the search for a smaller example at once: Hypothesis passes on what is no Exception."""

    def __init__(self, smallest: Conclusion) -> None:
        super().__init__(smallest)
        self.smallest = smallest


def _raise_finding(iut: Iut) -> None:
    for session in iut.sessions:
        for finding in session.judge.findings:
            if finding.requirement == iut.deciding:
                shown = "what the requirement says"
                violation = Violation(shown, finding.message, event=finding.event)
                violation.session = session
                raise violation
