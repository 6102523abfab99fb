"""Runs the test cases of a run: smoke session, tests, re-runs, then experiments."""

import asyncio
import contextlib
import functools
import gc
import math
import shlex
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from conformance import configuration
from conformance.conclusions.outcome import Run
from conformance.configuration import Configuration
from conformance.definitions.protocol import Requirement
from conformance.evidence import FIRST_CONNECTION, Result
from conformance.iut import Iut
from conformance.running import other_role, smoke
from conformance.running.isolation import Isolation
from conformance.running.overlap import overlap, width
from conformance.running.progress import Progress
from conformance.running.reduction import EndedSession
from conformance.running.results import conclude
from conformance.running.smoke import Smoke
from conformance.running.testbed import Testbed
from conformance.running.timeouts import OWN_DELAY
from conformance.verdicts import (
    VIOLATIONS,
    Hindered,
    Inconclusive,
    NotExercised,
    Verdict,
    Violation,
)

_POLL_INTERVAL = 0.05  # seconds between two checks for a first finding, which ends the run
_CLOCK_JUMP = 0.5  # seconds by which a user sets the clock; time servers correct it in small steps
_MIN_LOSS = 0.25  # seconds lost on a busy machine within `LOSS_WINDOW` that can fail a test


@dataclass(frozen=True)
class Case:
    """A test case: its facts for the report, and the coroutine function ``play``.

    ``lasting`` tests wait for a time to pass; ``drawn`` tests try many examples.
    """

    id: str
    purpose: str
    requirement: Requirement
    play: Callable[[Iut], Coroutine[Any, Any, None]]
    lasting: bool = False
    drawn: bool = False


def _clock_offset() -> float:
    """The difference between the clock and the time since the start of the machine, in seconds."""
    return time.time() - time.monotonic()


@dataclass(frozen=True)
class _Attempt:
    """A run of a test case, and how it ended.

    ``lost_seconds`` is the most time that the machine took from programs in any `LOSS_WINDOW`.
    ``clock_jumped``: the clock was set during the run, so times of the IUT can be wrong.
    """

    case: Case
    iut: Iut
    error: Exception | None
    seconds: float
    lost_seconds: float
    clock_jumped: bool = False

    @property
    def is_doubtful(self) -> bool:
        """True if the machine or another test can be the reason why the test failed."""
        if isinstance(self.error, Hindered):
            return True
        if self.clock_jumped and isinstance(self.error, Violation):
            return True
        if not isinstance(self.error, Violation) or self.lost_seconds < _MIN_LOSS:
            return False
        if any(session.crash for session in self.iut.sessions):
            return False
        session = self.error.session or next(reversed(self.iut.sessions), None)
        if self.error.event is None:
            return session is None or not session.answered_without_showing
        events = session.events[self.error.event :] if session else []
        return bool(events) and events[0].data is None


class Execution:
    """The tests of one run, several at a time in one event loop.

    Call `begin` once, then `run` any number of times, then `finish`; all in the same loop.
    """

    def __init__(
        self,
        run: Run,
        folder: Path,
        ended: Callable[[Case, Result], None],
        stopped: Callable[[int], bool],
        *,
        first_only: bool = False,
        shows_progress: bool = True,
    ) -> None:
        """``ended`` is called with each result; ``stopped`` with the number of violations so far.

        ``first_only``: the run ends at the first violation of any requirement.
        ``shows_progress``: this object prints the progress, because pytest does not.
        """
        self._run = run
        self._configuration: Configuration = run.configuration
        self._folder = folder
        self._report = ended
        self._stopped = stopped
        self._first_only = first_only
        self._shows_progress = shows_progress
        self._to_rerun: list[_Attempt] = []
        self._ended_sessions: list[EndedSession] = []
        self._violation_count = 0
        self._stack = contextlib.AsyncExitStack()
        self._smoke: Smoke | None = None
        self._testbed: Testbed | None = None
        self._until = time.monotonic() + run.configuration.max_time
        self.progress = Progress(run, self._to_rerun)

    @property
    def testbed(self) -> Testbed:
        """The testbed of the run, once `begin` was called."""
        assert self._testbed is not None
        return self._testbed

    @property
    def unwritten_transcript(self) -> str:
        """The first transcript that could not be written, and why; empty if all were written."""
        return self._testbed.written.unwritten if self._testbed else ""

    async def begin(self) -> Result:
        """Set up the testbed and play the smoke session; return its result."""
        # Imported modules stay in memory, so garbage collection need not look at them. Hypothesis
        # collects garbage often.
        gc.freeze()
        self._testbed = await self._stack.enter_async_context(Testbed(self._configuration))
        if self._shows_progress:
            await self._stack.enter_async_context(self.progress.heartbeat())
        async with self._time_limit():
            self._smoke = await smoke.play(self.testbed, self._folder, self.command())
            self._run.smoke, self._run.reached = self._smoke.result, self._smoke.reached
            self._violation_count += bool(self._smoke.result.findings)
            by_hand = self._configuration.role.serves and not self._configuration.command
            if self._smoke.passed and by_hand:
                await Iut(self.testbed, "").check_if_it_refuses_clients()
        return self._run.smoke or smoke.out_of_time_result(self._configuration)

    async def run(self, cases: Sequence[Case]) -> None:
        """Run tests in parallel; run those again that a busy machine can have failed."""
        if not (cases and self._smoke and self._smoke.passed):
            return
        run, testbed = self._run, self.testbed
        async with self._time_limit():
            tests = [
                functools.partial(self._test, testbed, case) for case in self._start_order(cases)
            ]
            found = await width(testbed, len(tests), self._smoke)
            most = await overlap(tests, found, self._is_stopped, lambda: testbed.timeouts.idle)
            run.max_parallel = max(run.max_parallel, most)
            run.why_sequential = run.why_sequential or found.why
            # Each of these tests runs again alone; only that run counts.
            while self._to_rerun:
                attempt = self._to_rerun.pop(0)
                if not self._is_stopped():
                    attempt = await self._attempt(attempt.case, attempt.iut.for_rerun())
                self._conclude(attempt)

    async def finish(self) -> None:
        """Isolate the messages that ended sessions; then stop all instances and listeners."""
        try:
            if self._testbed is None:
                return
            async with self._time_limit():
                if self._configuration.command and self._configuration.isolate:
                    await self._isolate()
                await self._detect_other_role(self.testbed)
            self._run.slowdown = self.testbed.timeouts.slowdown
            self._run.coverage = self.testbed.tally.coverage
        finally:
            await self._stack.aclose()

    @contextlib.asynccontextmanager
    async def _time_limit(self) -> AsyncIterator[None]:
        """Cancel the block at the time limit of the run, and record that."""
        left = self._until - time.monotonic()
        try:
            async with asyncio.timeout(left) as limit:
                yield
        except TimeoutError:
            if not limit.expired():
                raise
            self._run.timed_out = True

    async def _isolate(self) -> None:
        if self._smoke and not self._is_stopped():
            opening = [FIRST_CONNECTION] if self._configuration.role.serves else []
            opening += self._smoke.sent
            isolation = Isolation(self.testbed, self._folder, opening, self._run_masked)
            self._run.culprits += await isolation.run(self._run.tests, self._ended_sessions)

    async def _detect_other_role(self, testbed: Testbed) -> None:
        """If no test was exercised, check whether the IUT plays another role."""
        tests, collected = self._run.tests, self._run.collected
        whole = collected.selected == collected.available
        if whole and tests and all(t.verdict is Verdict.NOT_EXERCISED for t in tests):
            other = await other_role.other_role_message(Iut(testbed, ""))
            self._run.why_stopped = self._run.why_stopped or str(other or "")

    def _start_order(self, cases: Sequence[Case]) -> list[Case]:
        """Sort test cases in the order in which they start.

        - Test cases that wait for a time to pass start first. If they started last, they would run
          alone at the end.
        - Tests of prerequisites come next, those without prerequisites of their own first.
        - Tests with drawn examples come before other tests.
        """
        protocol = self._configuration.protocol
        presumed = {name for each in protocol.requirements.values() for name in each.presumes}

        def place(case: Case) -> tuple[bool, int, bool]:
            name = case.requirement.id
            depth = len(protocol.prerequisites(name))
            last = len(protocol.requirements)
            return not case.lasting, depth if name in presumed else last, not case.drawn

        return sorted(cases, key=place)

    def _is_stopped(self) -> bool:
        return bool(self._run.why_stopped) or self._stopped(self._violation_count)

    async def _test(self, testbed: Testbed, case: Case) -> None:
        """Run one test case, and conclude it unless it has to run again alone at the end."""
        mask = frozenset(self._configuration.without)
        attempt = await self._attempt(case, Iut(testbed, case.requirement.id, mask))
        if attempt.is_doubtful and not self._first_only:
            self._to_rerun.append(attempt)
        else:
            self._conclude(attempt)

    async def _attempt(self, case: Case, iut: Iut) -> _Attempt:
        clock, offset = time.perf_counter(), _clock_offset()
        error: Exception | None = None
        crowding, since = iut.testbed.timeouts.crowding, time.monotonic()
        try:
            if claimed := self._configuration.reason_to_leave_out(iut.requirement_id):
                raise NotExercised(f"declared as unsupported: {claimed}")
            await self._run_until_violation(iut, case.play(iut))
        except Exception as raised:
            error = raised
        # Time that the machine takes away after the last event cannot have failed the test.
        until = min(_latest_event_time(iut) + OWN_DELAY, time.monotonic())
        lost = crowding.worst_loss(since, until)
        jumped = abs(_clock_offset() - offset) > _CLOCK_JUMP
        return _Attempt(case, iut, error, time.perf_counter() - clock, lost, jumped)

    async def _run_until_violation(self, iut: Iut, test: Coroutine[Any, Any, None]) -> None:
        """Run a test; with ``first_only``, cancel it at the first violation of the run.

        Raises NotExercised if the test was cancelled.
        """
        if not self._first_only:
            return await test
        running = asyncio.ensure_future(test)
        try:
            while not (running.done() or self._violation_count or iut.has_finding):
                await asyncio.wait({running}, timeout=_POLL_INTERVAL)
            if running.done():
                return running.result()
        finally:
            running.cancel()
            await asyncio.wait({running})
        raise NotExercised("the run ended at the first violation")

    def _conclude(self, attempt: _Attempt) -> None:
        """Decide a test and report it."""
        case, iut, error = attempt.case, attempt.iut, attempt.error
        sessions = getattr(error, "sessions", ()) or tuple(iut.sessions)
        result = conclude(
            case.id,
            case.purpose,
            case.requirement,
            error,
            iut,
            self._folder,
            seconds=attempt.seconds,
            reproduce=self.command(case.id),
        )
        if ended := EndedSession.of(case, iut, sessions, result):
            self._ended_sessions.append(ended)
        self._run.tests.append(result)
        self._violation_count += result.verdict in VIOLATIONS or bool(result.findings)
        if self._shows_progress:
            self.progress.add_result(result)
        if result.is_unreached and not self._configuration.command:
            self._stop_after_loss(result)
        self._report(case, result)

    async def _run_masked(
        self, ended: EndedSession, mask: frozenset[str], longest: float
    ) -> Result:
        """Run the test of an ended session again without some messages.

        A violation counts only if the reference implementation passes the test without them.
        """
        case, labels = ended.test, sorted(mask)
        attempt = await self._run_bounded(case, ended.iut.for_rerun(mask), longest)
        if isinstance(attempt.error, Violation):
            async with Testbed(
                configuration.mock_configuration(self._configuration.role)
            ) as reference:
                control = await self._run_bounded(
                    case, ended.iut.for_rerun(mask, reference), longest
                )
            if control.error is not None:
                text = f"the test needs {' and '.join(labels)}: the reference fails it as well"
                iut = ended.iut.for_rerun(mask)
                attempt = replace(attempt, iut=iut, error=Inconclusive(text))
        return conclude(
            f"{case.id} without {' and '.join(labels)}",
            case.purpose,
            case.requirement,
            attempt.error,
            attempt.iut,
            self._folder,
            seconds=attempt.seconds,
            reproduce=self.command(case.id, labels),
        )

    async def _run_bounded(self, case: Case, iut: Iut, longest: float) -> _Attempt:
        """Run a test for at most ``longest`` seconds."""
        try:
            async with asyncio.timeout(longest):
                return await self._attempt(case, iut)
        except TimeoutError:
            late = Inconclusive(f"the test did not end within {longest:g} s")
            return _Attempt(case, iut, late, longest, 0.0)

    def _stop_after_loss(self, result: Result) -> None:
        """End the run, because an IUT that a user started cannot be reached any more."""
        before = [test.id for test in self._run.tests if test.id != result.id]
        last = before[-1] if before else "the smoke session"
        why = f"the IUT was gone after {last}: {result.detail}"
        self._run.why_stopped = self._run.why_stopped or why

    def command(self, test: str = "", without: Sequence[str] = ()) -> str:
        """The command that runs one test again, or the whole run."""
        before, _, after = self._configuration.invocation.partition(" -- ")
        words = [before, f"--seed {self._configuration.seed}"]
        words += [f"--test {shlex.quote(test)}"] if test else []
        words += [f"--without {shlex.quote(label)}" for label in without]
        return " ".join(words) + (f" -- {after}" if after else "")


def _latest_event_time(iut: Iut) -> float:
    """The monotonic time of the latest event in the sessions of a test; infinity if none."""
    return max((each.began + each.events[-1].at for each in iut.sessions), default=math.inf)
