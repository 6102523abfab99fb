"""The pytest plugin of one run: collects the role's test cases, runs them, writes the report."""

import asyncio
import contextlib
import datetime
import functools
import importlib
import time
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import pytest

from conformance.cases import DRAWN, LASTING
from conformance.conclusions.outcome import Run
from conformance.conclusions.report import build
from conformance.configuration import Configuration, ConfigurationError
from conformance.definitions import locate
from conformance.definitions.protocol import Requirement
from conformance.evidence import Result
from conformance.reporting.files import write
from conformance.reporting.summary import terminal_summary
from conformance.running import drawing, interruption
from conformance.running.execution import Case, Execution
from conformance.running.naming import case_id, purpose
from conformance.running.selection import Collected
from conformance.verdicts import Verdict


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
        self._items: dict[str, pytest.Item] = {}
        self._execution: Execution | None = None
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
        """Keep the test cases of the role under test, and of these the selected ones."""
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
        """The items of the role's own package, and those of shared ones that bind the role."""
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
        """The requirement that a test case names. Raises UsageError if it does not name one."""
        markers = list(item.iter_markers("requirement"))
        if len(markers) != 1 or not item.obj.__doc__:  # type: ignore[attr-defined]
            raise pytest.UsageError(f"{item.nodeid} needs one requirement and a docstring")
        return self.protocol.requirement(markers[0].args[0])

    def _decides(self, item: pytest.Item) -> Requirement:
        """The requirement of a test case. Raises UsageError if it binds another role only."""
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
            most = session.config.option.maxfail or 0

            def stopped(wrong: int) -> bool:
                # pytest counts failed tests; a finding in a test that passes is as bad.
                return bool(0 < most <= wrong or session.shouldfail or session.shouldstop)

            self._execution = Execution(
                self._run, self.folder, self._tell_pytest, stopped, first_only=most == 1
            )
            try:
                asyncio.run(self._execution.play([self._case(item) for item in session.items]))
            except ConfigurationError as wrong:
                raise pytest.UsageError(str(wrong)) from wrong
        return True

    def _case(self, item: pytest.Item) -> Case:
        test = item.obj  # type: ignore[attr-defined]
        parameters = item.callspec.params if hasattr(item, "callspec") else {}
        case = Case(
            case_id(item),
            purpose(item),
            self._decides(item),
            lambda iut: functools.partial(test, **parameters)(iut=iut),
            lasting=getattr(test, LASTING, False),
            drawn=getattr(test, DRAWN, False),
        )
        self._items[case.id] = item
        return case

    def _tell_pytest(self, case: Case, result: Result) -> None:
        """Report a result to pytest and its other plugins."""
        item, stop = self._items[case.id], time.time()
        report = pytest.TestReport(
            item.nodeid,
            item.location,
            {},
            "passed",
            None,
            "call",
            duration=result.duration_s,
            start=stop - result.duration_s,
            stop=stop,
        )
        _translate(report, result)
        item.ihook.pytest_runtest_logreport(report=report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._run.problems.append(f"{report.nodeid}: {report.longreprtext[-2000:]}")

    def pytest_internalerror(self, excrepr: object) -> bool:
        """Keep it for the report; pytest prints only errors of writing the report."""
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
        if self._execution:
            self._execution.progress.end()
        # Tests that cannot be collected end a run in the same way.
        self._run.interrupted = interrupted and not self._run.problems
        self._run.strict = self.configuration.strict
        self._run.tests.sort(key=lambda result: result.id)
        self.report = build(self._run)
        write(self.report, self.folder, self.configuration.allure)
        # pytest knows of failed tests only, not of findings or of a smoke session that failed.
        session.exitstatus = self.report["exit_code"]

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.report and not self._config.getoption("--conformance-run"):
            terminalreporter.write_line(f"\n{terminal_summary(self.report, self.folder)}")


def _translate(report: pytest.TestReport, result: Result) -> None:
    """Set the outcome of a test for pytest, which does not know most verdicts."""
    bad = result.problem or result.verdict is Verdict.FAIL
    if bad:
        report.outcome = "failed"
    elif result.verdict in (Verdict.INCONCLUSIVE, Verdict.NOT_EXERCISED):
        report.outcome = "skipped"
    if report.outcome != "passed":
        text = result.problem or f"{result.verdict}: {result.detail}"
        report.longrepr = (report.location[0], report.location[1] or 0, text) if not bad else text
