"""The tests of a run: a doubtful test is repeated alone at the end.

Only the repetition counts.
"""

import asyncio
import datetime
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from conformance.conclusions.outcome import Run
from conformance.evidence import Kind, Result
from conformance.iut import Iut
from conformance.judging.captures import Event
from conformance.running import smoke
from conformance.running.execution import Case, Execution, _Attempt
from conformance.running.machine import Crowding
from conformance.running.smoke import Smoke
from conformance.selftest.evidence_fixtures import MIDDLE, configuration, protocol, result
from conformance.verdicts import Hindered, NotExercised, Violation

BEHIND = 0.4
"""Seconds that a busy machine takes from programs while a test waits."""

MISSED = Violation("a push", "received nothing")


class Played:
    """A run of tests with given conclusions, one for each run of a test."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path, behind: float) -> None:
        async def smoke_session(*_: object) -> Smoke:
            return Smoke(result("smoke", MIDDLE), True)

        monkeypatch.setattr(smoke, "play", smoke_session)
        monkeypatch.setattr(Crowding, "worst_loss", lambda *_: behind)
        self._folder = folder
        self.order: list[str] = []
        self.results: list[Result] = []

    def run(self, *tests: Sequence[Exception | None], first_only: bool = False) -> list[Result]:
        """Run tests that are called "0", "1", …; return their results in the order of the end."""

        def case(number: int, conclusions: Sequence[Exception | None]) -> Case:
            coming = iter(conclusions)

            async def play(_: Iut) -> None:
                self.order.append(str(number))
                if conclusion := next(coming):
                    raise conclusion

            return Case(str(number), "purpose", protocol().requirement(MIDDLE), play)

        now = datetime.datetime.now(datetime.UTC)
        cases = [case(number, each) for number, each in enumerate(tests)]

        async def play() -> None:
            execution = Execution(
                Run(configuration(), now),
                self._folder,
                lambda _, result: self.results.append(result),
                lambda wrong: bool(first_only and wrong),
                first_only=first_only,
                shows_progress=False,
            )
            await execution.begin()
            await execution.run(cases)
            await execution.finish()

        asyncio.run(play())
        return self.results


@pytest.fixture
def busy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Played:
    return Played(monkeypatch, tmp_path, BEHIND)


@pytest.fixture
def idle(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Played:
    return Played(monkeypatch, tmp_path, 0.0)


def test_a_test_that_timed_out_on_a_busy_machine_runs_again_at_the_end(busy: Played) -> None:
    """Only the repetition counts, in which the test passes."""
    found = busy.run([MISSED, None], [None])
    assert busy.order == ["0", "1", "0"]
    assert [(each.id, each.verdict) for each in found] == [("1", "pass"), ("0", "pass")]
    assert found[1].evidence == ()


def test_a_test_that_times_out_again_fails(busy: Played) -> None:
    """A test is repeated only once."""
    [found] = busy.run([MISSED, Violation("a push", "again nothing")])
    assert (found.verdict, found.detail) == ("fail", "expected a push; again nothing")


def test_a_test_that_another_one_hindered_runs_again_on_any_machine(idle: Played) -> None:
    [found] = idle.run([Hindered("a lock of another program"), MISSED])
    assert (idle.order, found.verdict) == (["0", "0"], "fail")


def test_a_test_that_is_hindered_again_is_undecided(idle: Played) -> None:
    [found] = idle.run([Hindered("a lock"), Hindered("a lock")])
    assert (found.verdict, found.evidence[0].kind) == ("inconclusive", Kind.HINDERED)


@pytest.mark.parametrize("conclusion", [None, NotExercised("no hook"), ValueError("a bug")])
def test_other_conclusions_count_at_once(conclusion: Exception | None, busy: Played) -> None:
    busy.run([conclusion])
    assert busy.order == ["0"]


@pytest.mark.parametrize(
    ("event", "answered", "crash", "doubtful"),
    [
        (None, False, "", True),
        (1, False, "", True),
        (0, False, "", False),
        (2, False, "", False),
        (None, True, "", False),
        (None, False, "was killed by SIGSEGV", False),
    ],
)
def test_only_an_absence_is_doubtful(
    event: int | None, answered: bool, crash: str, doubtful: bool
) -> None:
    """The end of the stream is an event, but can be an absence.

    A message that came is no absence. A state that the IUT denied to the last is none either, and
    no busy machine is the reason for a crash.
    """
    events = (Event(0.1, "robot", b"something"), Event(0.2, "robot", event="closed"))
    session: Any = SimpleNamespace(events=events, answered_without_showing=answered, crash=crash)
    iut: Any = SimpleNamespace(sessions=[session])
    case: Any = None
    missed = Violation("a push", "received nothing", event=event)
    assert _Attempt(case, iut, missed, 1.0, BEHIND).is_doubtful == doubtful
    # If the clock was set during the test, correct times of the IUT can look wrong.
    assert _Attempt(case, iut, missed, 1.0, 0.0, clock_jumped=True).is_doubtful


def test_an_idle_machine_has_no_excuse(idle: Played) -> None:
    [found] = idle.run([MISSED])
    assert (idle.order, found.verdict) == (["0"], "fail")


def test_a_run_that_stops_at_the_first_violation_repeats_nothing(busy: Played) -> None:
    found = busy.run([MISSED], [None], first_only=True)
    assert (busy.order, len(found)) == (["0"], 1)
