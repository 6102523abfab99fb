"""Runs the test cases of one role under pytest: smoke session, a result of each, one report."""

import asyncio
import contextlib
import datetime
import functools
import gc
import importlib
import math
import shlex
import time
import traceback
from collections.abc import Coroutine, Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from conformance.cases import DRAWN, LASTING
from conformance.conclusions.following import presumes
from conformance.conclusions.outcome import Run
from conformance.conclusions.report import build
from conformance.configuration import Configuration, ConfigurationError
from conformance.definitions import locate
from conformance.definitions.protocol import Requirement
from conformance.iut import Iut
from conformance.reporting.files import write
from conformance.reporting.summary import terminal_summary
from conformance.running import drawing, interruption, other_role, smoke
from conformance.running.doubt import Doubt
from conformance.running.naming import case_id, purpose
from conformance.running.overlap import overlap, width
from conformance.running.patience import TARDY
from conformance.running.progress import Progress
from conformance.running.results import Result, conclude
from conformance.running.selection import Collected
from conformance.running.testbed import Testbed
from conformance.verdicts import VIOLATIONS, Hindered, NotExercised, Verdict

LOOK = 0.05  # seconds between two looks at what the sessions of a test have shown


@dataclass(frozen=True)
class _Attempt:
    """A test that was held, and how that ended, if it did not pass.

    ``lost`` are the seconds by which this machine fell behind in the worst `SPELL` of it.
    """

    item: pytest.Item
    iut: Iut
    error: Exception | None
    began: float
    seconds: float
    lost: float

    @property
    def hindered(self) -> bool:
        """Whether another test was in its way."""
        return isinstance(self.error, Hindered)


class Runner:
    """The state of one run."""

    def __init__(self, config: pytest.Config, configuration: Configuration) -> None:
        locate.extend_packages()
        self.configuration = configuration
        self.role = configuration.role
        self.protocol = configuration.protocol
        self.folder = Path(configuration.report)
        self._config = config
        self._run = Run(configuration, datetime.datetime.now(datetime.UTC))
        self._stack = contextlib.ExitStack()
        self._doubt = Doubt()
        self._doubted: list[_Attempt] = []
        self._progress = Progress(self._run, self._doubted)
        self._wrong = 0
        self._writing = False
        self.report: dict[str, Any] | None = None
        drawing.set_up(configuration.examples)
        self.folder.mkdir(parents=True, exist_ok=True)

    def pytest_sessionstart(self) -> None:
        self._stack.enter_context(interruption.orderly())

    def pytest_unconfigure(self) -> None:
        self._stack.close()

    # Choosing the tests

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> Generator[None]:
        """Keep the test cases of the role under test, and of these what is selected."""
        mine = self._of_the_role(items)
        config.hook.pytest_deselected(items=[item for item in items if item not in mine])
        items[:] = mine
        yield  # to pytest's own selection
        cases = [(case_id(item), self._decides(item).id) for item in items]
        taken = self.configuration.selection.of(cases)
        left = [item for item, take in zip(items, taken, strict=True) if not take]
        items[:] = [item for item, take in zip(items, taken, strict=True) if take]
        config.hook.pytest_deselected(items=left)
        kept = set(items)
        self._run.collected = Collected(
            len(mine),
            len(items),
            tuple({self._decides(item).id for item in items}),
            tuple({self._decides(item).id for item in mine if item not in kept}),
        )

    def _of_the_role(self, items: Sequence[pytest.Item]) -> list[pytest.Item]:
        """Those that lie in the role's own package, and those of shared ones that bind it."""
        own, *shared = [
            Path(importlib.import_module(package).__path__[0]) for package in self.role.packages
        ]
        return [
            item
            for item in items
            if own in item.path.parents
            or (
                any(package in item.path.parents for package in shared)
                and self.role.name in self._names(item).binds
            )
        ]

    def _names(self, item: pytest.Item) -> Requirement:
        """The requirement that a test case names. Raises UsageError where it names none."""
        markers = list(item.iter_markers("requirement"))
        if len(markers) != 1 or not item.obj.__doc__:  # type: ignore[attr-defined]
            raise pytest.UsageError(f"{item.nodeid} needs one requirement and a docstring")
        return self.protocol.requirement(markers[0].args[0])

    def _decides(self, item: pytest.Item) -> Requirement:
        """The same of a test case that is run. Raises UsageError where it binds another role."""
        requirement = self._names(item)
        if self.role.name not in requirement.binds:
            raise pytest.UsageError(f"{item.nodeid}: {requirement.id} does not bind {self.role}")
        return requirement

    # Running them

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> object | None:
        """Run the smoke session, and then all test cases, several at a time in one event loop."""
        if session.config.option.collectonly or session.testsfailed:
            return None
        if self._run.collected.selected:
            try:
                asyncio.run(self._play(session))
            except ConfigurationError as wrong:
                raise pytest.UsageError(str(wrong)) from wrong
        return True

    async def _play(self, session: pytest.Session) -> None:
        # What is loaded stays: the collector, which Hypothesis calls as well, need not look at it.
        gc.freeze()
        async with Testbed(self.configuration) as testbed, self._progress.heartbeat():
            try:
                async with asyncio.timeout(self.configuration.max_time) as limit:
                    await self._hold(testbed, session)
            except TimeoutError:
                if not limit.expired():
                    raise
                self._run.timed_out = True
            self._run.stretched = testbed.patience.stretched

    async def _hold(self, testbed: Testbed, session: pytest.Session) -> None:
        held = await smoke.hold(testbed, self.folder)
        held.result.reproduce = self._reproduce("")
        self._run.smoke, self._run.reached = held.result.to_json(), held.reached
        self._wrong += bool(held.result.findings)
        if not held.held:
            return
        if self.role.serves and not self.configuration.command:
            await Iut(testbed, "").look_whether_it_turns_away()
        items = sorted(session.items, key=self._place)
        tests = [functools.partial(self._case, testbed, item) for item in items]
        found = await width(testbed, len(tests), held)
        self._run.at_a_time, self._run.alone = found.tests, found.why
        self._run.at_a_time = await overlap(
            tests, found, lambda: self._stopped(session), lambda: testbed.patience.idle
        )
        await self._look_again(testbed)
        shown = [test["verdict"] != Verdict.NOT_EXERCISED for test in self._run.tests]
        whole = self._run.collected.selected == self._run.collected.available
        if whole and shown and not any(shown):
            # It took part, as several roles do, and had none of the operations of this one.
            other = await other_role.inverted(Iut(testbed, ""))
            self._run.lost = self._run.lost or str(other or "")

    def _place(self, item: pytest.Item) -> tuple[bool, int, bool]:
        """Test cases in which a time has to pass come first: started last, one would end alone.

        Then come those that others rest on, in order: what fails there is known then. Of the others
        those with drawn examples, which take long as well.
        """
        presumed = {name for one in self.protocol.requirements.values() for name in one.presumes}
        decides = self._decides(item).id
        rests_on = len(presumes(decides, self.protocol))
        own = rests_on if decides in presumed else len(self.protocol.requirements)
        case = item.obj  # type: ignore[attr-defined]
        return not getattr(case, LASTING, False), own, not getattr(case, DRAWN, False)

    def _stopped(self, session: pytest.Session) -> bool:
        # pytest counts failed tests; a finding in a session that a test passed is as bad.
        enough = 0 < (session.config.option.maxfail or 0) <= self._wrong
        return bool(enough or self._run.lost or session.shouldfail or session.shouldstop)

    # Their results

    async def _case(self, testbed: Testbed, item: pytest.Item) -> None:
        """Run one test case; report it to pytest, unless it is to be held again at the end."""
        attempt = await self._held(item, Iut(testbed, self._decides(item).id))
        doubtful = self._doubt.arises(attempt.error, attempt.iut, attempt.lost)
        if self._config.option.maxfail or not doubtful:
            await self._conclude(attempt)
        else:
            self._doubted.append(attempt)

    async def _look_again(self, testbed: Testbed) -> None:
        """Hold again, few at a time, what may have failed for the machine or another test alone."""
        for first in self._doubted:
            self._doubt.forget(first.error, first.iut)
        self._doubted.sort(key=lambda one: not one.hindered)
        at_a_time = self._run.at_a_time
        while self._doubted and (few := self._doubt.few(self._doubted[0].error, at_a_time)):
            firsts = self._doubted[:few]
            del self._doubted[:few]
            again = (self._held(one.item, one.iut.anew()) for one in firsts)
            # What it rests on is asked for beside it, as it will be where it is found again.
            plain = (one.iut.plainly_violated() for one in firsts if not one.hindered)
            attempts, _ = await asyncio.gather(asyncio.gather(*again), asyncio.gather(*plain))
            for first, latest in zip(firsts, attempts, strict=True):
                self._doubt.settle(first.error, latest.error, latest.iut)
                await self._conclude(latest)
        while self._doubted:
            await self._conclude(self._doubted.pop(0))

    async def _conclude(self, attempt: _Attempt) -> None:
        """Report to pytest what a test has found."""
        item, iut, error = attempt.item, attempt.iut, attempt.error
        decides = self._decides(item)
        seconds = attempt.seconds
        result = Result(case_id(item), purpose(item), decides.id, duration_s=round(seconds, 4))
        conclude(result, error, iut, decides, self.folder)
        if result.problem and error:
            result.problem = f"{item.nodeid}: {''.join(traceback.format_exception(error))}"
        # What an operation shows, or a look, may rest on others as an absence does.
        if result.verdict in VIOLATIONS and not result.shown:
            result.rests = await iut.basis(decides.id)
        for finding in result.findings:
            if finding["at_end"] or (finding["concluded"] and not result.shown):
                finding["rests"] = await iut.basis(finding["requirement"])
        result.reproduce = self._reproduce(result.id)
        report = pytest.TestReport(
            item.nodeid,
            item.location,
            {},
            "passed",
            None,
            "call",
            duration=seconds,
            start=attempt.began,
            stop=attempt.began + seconds,
        )
        _translate(report, result)
        self._tell(result)
        item.ihook.pytest_runtest_logreport(report=report)

    async def _held(self, item: pytest.Item, iut: Iut) -> _Attempt:
        """Hold a test."""
        began, clock = time.time(), time.perf_counter()
        error: Exception | None = None
        crowding, since = iut.testbed.patience.crowding, time.monotonic()
        try:
            if claimed := self.configuration.leaves_out(iut.deciding):
                raise NotExercised(f"declared as unsupported: {claimed}")
            parameters = item.callspec.params if hasattr(item, "callspec") else {}
            await self._unless_found(iut, item.obj(iut=iut, **parameters))  # type: ignore[attr-defined]
        except Exception as raised:
            error = raised
        # By what a deadline was missed then, it has been longer.
        lost = crowding.worst(since, min(_latest(iut) + TARDY, time.monotonic()))
        return _Attempt(item, iut, error, began, time.perf_counter() - clock, lost)

    async def _unless_found(self, iut: Iut, test: Coroutine[Any, Any, None]) -> None:
        """Run a test; where the run ends at the first violation, only until there is one.

        Raises NotExercised where it was ended.
        """
        if self._config.option.maxfail != 1:
            return await test
        running = asyncio.ensure_future(test)
        try:
            while not (running.done() or self._wrong or iut.found):
                await asyncio.wait({running}, timeout=LOOK)
            if running.done():
                return running.result()
        finally:
            running.cancel()
            await asyncio.wait({running})
        raise NotExercised("the run was to end at the first violation")

    def _reproduce(self, test: str) -> str:
        before, _, after = self.configuration.invocation.partition(" -- ")
        words = [before, f"--seed {self.configuration.seed}"]
        if test:
            words.append(f"--test {shlex.quote(test)}")
        return " ".join(words) + (f" -- {after}" if after else "")

    def _tell(self, result: Result) -> None:
        self._run.tests.append(result.to_json())
        self._wrong += result.verdict in VIOLATIONS or bool(result.findings)
        self._progress.held(result.id)
        if result.unreached and not self.configuration.command:
            self._lose(result)

    def _lose(self, result: Result) -> None:
        """An IUT that was started by hand is gone: it may have died of what it was sent.

        Nothing else can be tried; what has been is reported.
        """
        before = [test["id"] for test in self._run.tests if test["id"] != result.id]
        last = before[-1] if before else "the smoke session"
        self._run.lost = self._run.lost or f"the IUT was gone after {last}: {result.detail}"

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._run.problems.append(f"{report.nodeid}: {report.longreprtext[-2000:]}")

    def pytest_internalerror(self, excrepr: object) -> bool:
        """Keep it for the report; pytest prints only what has failed while that is written."""
        self._run.problems.append(str(excrepr)[-4000:])
        return not self._writing

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_sessionfinish(
        self, session: pytest.Session, exitstatus: int
    ) -> Generator[None, None, None]:
        try:
            yield
        finally:
            ignored = session.config.option.collectonly or exitstatus == pytest.ExitCode.USAGE_ERROR
            if not ignored:
                with interruption.ignored():
                    self._write(session, exitstatus == pytest.ExitCode.INTERRUPTED)

    def _write(self, session: pytest.Session, interrupted: bool) -> None:
        self._writing = True
        self._progress.end()
        # Tests that cannot be collected end a run in the same way.
        self._run.interrupted = interrupted and not self._run.problems
        self._run.strict = self.configuration.strict
        self._run.tests.sort(key=lambda result: str(result["id"]))
        self.report = build(self._run)
        write(self.report, self.folder, self.configuration.allure)
        # pytest knows of failed tests only, not of findings or of a smoke session that failed.
        session.exitstatus = self.report["exit_code"]

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.report and not self._config.getoption("--conformance-run"):
            terminalreporter.write_line(f"\n{terminal_summary(self.report, self.folder)}")


def _latest(iut: Iut) -> float:
    """When anything has happened last in the sessions of a test, by the clock; else the end."""
    return max((each.began + each.events[-1].at for each in iut.sessions), default=math.inf)


def _translate(report: pytest.TestReport, result: Result) -> None:
    """The outcome of a test for pytest, which does not know most verdicts."""
    bad = result.problem or result.verdict == Verdict.FAIL
    if bad:
        report.outcome = "failed"
    elif result.verdict in (Verdict.INCONCLUSIVE, Verdict.NOT_EXERCISED):
        report.outcome = "skipped"
    else:
        report.outcome = "passed"
        report.longrepr = None
    if report.outcome != "passed":
        text = result.problem or f"{result.verdict}: {result.detail}"
        report.longrepr = (report.location[0], report.location[1] or 0, text) if not bad else text
