"""The tools of test cases: requirements, checks, comparisons and drawn examples."""

import asyncio
import concurrent.futures
import contextlib
import functools
import inspect
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

import hypothesis
import pytest
from hypothesis.strategies import SearchStrategy

from conformance.iut import Iut
from conformance.segmentation import Segmentation, split_at
from conformance.session import Session
from conformance.verdicts import Conclusion, Inconclusive, Violation
from conformance.wire import Message

_CONTROLS = 3  # sessions in the plain form that must pass before the unusual form is to blame
PAUSE = 0.3  # seconds; longer than the read timeouts of most programs
SLOW = 10  # tries that an example counts for if it times out or ends the IUT, because it takes long

LASTING, DRAWN = "__lasting__", "__drawn__"
"""Attributes of test cases that wait for a time to pass, and of tests with drawn examples."""

requirement = pytest.mark.requirement
"""Names the one requirement that a test case decides."""


def each_of(*requirements: str) -> pytest.MarkDecorator:
    """Make a test case for each of these requirements, passed to it as ``statement``."""
    cases = [pytest.param(name, marks=requirement(name)) for name in requirements]
    return pytest.mark.parametrize("statement", cases)


T = TypeVar("T")
TestCase = Callable[..., Awaitable[None]]


def lasting(test: TestCase) -> TestCase:
    """Mark a test case that waits for a time to pass; it starts first."""
    setattr(test, LASTING, True)
    return test


def check(condition: bool, expected: str, came: str, event: int | None = None) -> None:
    """Raise Violation unless the condition is true; the texts have no full stop."""
    if not condition:
        raise Violation(expected, came, event=event)


def absent(message: Message | None, expected: str) -> None:
    """Raise Violation if there is a message; ``expected`` says what should have happened."""
    if message is not None:
        raise Violation(expected, f"{message.name} came", event=message.event)


@contextlib.contextmanager
def blaming(requirement: str | None) -> Iterator[None]:
    """Blame a requirement for a violation in the block that names none.

    None means the requirement that the test decides.
    """
    try:
        yield
    except Violation as violation:
        violation.requirement = violation.requirement or requirement
        raise


async def send_with_pause(session: Session, data: bytes, at: int) -> None:
    """Send bytes in two pieces, cut at this offset; pause after each piece."""
    for piece in split_at([at])(data):
        await session.send_bytes(piece)
        await session.until_closed(PAUSE)


async def however_cut(
    iut: Iut,
    cuts: Iterable[int],
    requirement: str,
    play: Callable[[Segmentation | None], Awaitable[None]],
) -> None:
    """Play sessions with messages that are cut at these places, and compare with whole messages.

    Raises Violation if the sessions fail. The violated requirement is ``requirement`` (that of
    segmentation) if they pass with whole messages, unless these sessions violate the same one.
    """
    try:
        await play(split_at(cuts))
    except Violation as violation:
        violation.shown_in(next(reversed(iut.sessions), None))
        before = len(iut.sessions)
        await _play_controls(play, None)
        findings = (each for session in iut.sessions[before:] for each in session.judge.findings)
        if violation.requirement not in {each.requirement for each in findings}:
            violation.requirement = requirement
        raise


async def compared(
    iut: Iut, play: Callable[[T], Awaitable[None]], unusual: T, plain: T, known: str
) -> None:
    """Play sessions with a value in an unusual form, which should make no difference.

    Raises Violation if the sessions fail. Raises Inconclusive if they also fail with the plain
    form, which violates the requirement ``known``.
    """
    try:
        await play(unusual)
    except Violation as violation:
        violation.shown_in(next(reversed(iut.sessions), None))
        try:
            await _play_controls(play, plain)
        except Violation as also:
            raise Inconclusive(f"{also}, also in the plain form ({known})") from None
        # If only the plain form is readable, the unusual form explains the bytes that came.
        violation.explains = violation.explains or not iut.sessions[-1].judge.spoiled
        # The unusual form is also the reason for the end of its session, but excuses no crash.
        if violation.session and not violation.session.crash:
            violation.session.excuse_end()
        raise


async def _play_controls(play: Callable[[T], Awaitable[None]], plain: T) -> None:
    """Play the plain form, until it fails once: an IUT that fails at times passes at times, too."""
    for _ in range(_CONTROLS):
        await play(plain)


def explore(**strategies: SearchStrategy[Any]) -> Callable[[TestCase], TestCase]:
    """Run a test case over drawn arguments; the smallest violation becomes a counterexample.

    Each example is judged like a test of its own. No example runs twice, so its result cannot
    change. An example that covers nothing new is left out. The number of examples bounds the search
    for a smaller one, so the same seed has the same result. A test that runs again begins with the
    smallest example that failed.
    """

    def decorate(test: TestCase) -> TestCase:
        signature = inspect.signature(test)
        given = [entry for name, entry in signature.parameters.items() if name not in strategies]

        @functools.wraps(test)
        async def search(iut: Iut, **fixed: Any) -> None:
            loop = asyncio.get_running_loop()
            stopped, running = False, concurrent.futures.Future[None]()

            async def run_example(drawn: Mapping[str, Any]) -> None:
                # Checked here as well: the test can have been cancelled after the drawing.
                if stopped:
                    raise asyncio.CancelledError
                await _try(functools.partial(test, iut, **fixed), iut, drawn)

            def example(**drawn: Any) -> None:
                nonlocal running
                if stopped:
                    raise _Stopped
                running = asyncio.run_coroutine_threadsafe(run_example(drawn), loop)
                # The `finally` block of the loop's thread can have run before this assignment.
                if stopped:
                    running.cancel()
                try:
                    running.result()
                except concurrent.futures.CancelledError:
                    raise _Stopped from None

            # Hypothesis cannot run coroutines: it draws in a thread, and examples run in this loop.
            drawing = hypothesis.seed(iut.configuration.seed)(
                hypothesis.given(**strategies)(example)
            )
            try:
                if iut.drawn_examples.example is not None:
                    await run_example(iut.drawn_examples.example)
                await asyncio.to_thread(drawing)
            except _AllPassed:
                pass
            except _Enough as enough:
                raise enough.error from None
            finally:
                # If the loop closes without another step, the thread would wait for ever.
                stopped = True
                running.cancel()

        # Without this, pytest would look for fixtures with the names of drawn arguments.
        search.__signature__ = signature.replace(parameters=given)  # type: ignore[attr-defined]
        setattr(search, DRAWN, True)
        return search

    return decorate


async def _try(test: TestCase, iut: Iut, drawn: Mapping[str, Any]) -> None:
    """Run one example, unless it ran before or covers nothing new."""
    tried, key = iut.drawn_examples, repr(drawn)
    if key in tried.failed:
        raise tried.failed[key]
    if key in tried.passed:
        return
    if not tried.smallest and not tried.novelty.add(drawn):
        return
    if tried.smallest:
        # An example that times out, or ends the IUT, takes long.
        sessions = tried.smallest.sessions
        slow = any(session.missed or session.crash for session in sessions)
        tried.tries_left -= SLOW if slow else 1
        if tried.tries_left < 0:
            raise _Enough(tried.smallest)
    iut.settle()
    try:
        await test(**drawn)
        _raise_finding(iut)
        tried.passed.add(key)
        if not tried.smallest and len(tried.passed) >= iut.configuration.examples:
            raise _AllPassed
    except Conclusion as conclusion:
        conclusion.shown_in(next(reversed(iut.sessions), None), iut.sessions)
        first = tried.smallest is None
        tried.add(drawn, conclusion)
        # A smaller example is of no use if the conclusion is about another requirement.
        other = isinstance(conclusion, Violation) and conclusion.requirement not in (
            None,
            iut.requirement_id,
        )
        if first and (other or not isinstance(conclusion, Violation)):
            raise _Enough(conclusion) from conclusion
        raise
    except Exception as error:
        # The test cannot read a message, or has a defect: more examples would show no more.
        raise _Enough(tried.smallest or error) from error


class _Stopped(BaseException):
    """Ends the drawing of examples whose test was cancelled."""


class _AllPassed(BaseException):
    """Ends the drawing of examples after the configured number has passed."""


class _Enough(BaseException):
    """Ends the drawing of examples with this error; Hypothesis does not catch a BaseException."""

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error


def _raise_finding(iut: Iut) -> None:
    for session in iut.sessions:
        for finding in session.judge.findings:
            if finding.requirement == iut.requirement_id:
                raise Violation(None, finding.message, event=finding.event).shown_in(session)
