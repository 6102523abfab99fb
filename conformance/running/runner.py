"""The pytest plugin of one run: collects and runs test cases, and writes the report."""

import asyncio
import contextlib
import datetime
import functools
import importlib
import sys
from collections.abc import Generator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conformance.cases import DRAWN, LASTING
from conformance.conclusions.outcome import Run
from conformance.conclusions.report import build
from conformance.configuration import Configuration, ConfigurationError
from conformance.definitions import locations
from conformance.definitions.protocol import Requirement
from conformance.evidence import Result
from conformance.exits import USAGE
from conformance.reporting import allure
from conformance.reporting.files import UnwrittenReport, prepare, write
from conformance.reporting.summary import terminal_summary
from conformance.reporting.text import one_line
from conformance.running import hypothesis_setup, interruption
from conformance.running.case_names import case_id, purpose
from conformance.running.execution import Case, Execution
from conformance.running.outcomes import ReportItem, raise_result, raise_verdict
from conformance.running.selection import SMOKE, Collected
from conformance.verdicts import VIOLATIONS, Verdict

_FAILED = (*VIOLATIONS, Verdict.KNOWN)


class Runner:
    """The state of one run."""

    def __init__(self, config: pytest.Config, configuration: Configuration) -> None:
        locations.extend_packages()
        self.configuration = configuration
        self.role = configuration.role
        self.protocol = configuration.protocol
        self.folder = Path(configuration.report)
        self._config = config
        self._run = Run(configuration, datetime.datetime.now(datetime.UTC))
        self._stack = contextlib.ExitStack()
        self._items: dict[str, pytest.Item] = {}
        self._own_call: dict[str, Case] = {}
        """The tests that run in their own call phase, by node id."""
        self._results: dict[str, Result] = {}
        """The results of tests that have ended, by node id."""
        self._waiting: pytest.Item | None = None
        """The item that goes through pytest's protocol as soon as the next item is known."""
        self._loop: asyncio.Runner
        self._execution: Execution | None = None
        self._writing = False
        self.report: dict[str, Any] | None = None
        self.written = False
        """True after all files of the report were written."""
        self.unwritten = ""
        """Why the report's files could not be written; empty if they were written."""
        hypothesis_setup.set_up(configuration.examples)
        prepare(self.folder)

    def pytest_sessionstart(self) -> None:
        self._stack.enter_context(interruption.stop_at_signal())

    def pytest_unconfigure(self) -> None:
        self._stack.close()

    # Choosing the tests

    @pytest.hookimpl
    def pytest_pycollect_makemodule(
        self, module_path: Path, parent: pytest.Collector
    ) -> pytest.Module | None:
        """Give a module of test cases an id that works from any folder with `--pyargs`."""
        for package in self.role.packages:
            folder = Path(importlib.import_module(package).__path__[0])
            if module_path.is_relative_to(folder):
                names = module_path.relative_to(folder).with_suffix("").parts
                nodeid = ".".join((package, *names))
                module: pytest.Module = pytest.Module.from_parent(
                    parent, path=module_path, nodeid=nodeid
                )
                return module
        return None

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> Generator[None]:
        """Keep the selected test cases of the role under test."""
        of_role = self._role_items(items)
        config.hook.pytest_deselected(items=[item for item in items if item not in of_role])
        items[:] = of_role
        yield  # to pytest's own selection
        cases = [(case_id(item), self._decided_requirement(item).id) for item in items]
        taken = self.configuration.selection.of(cases)
        left = [item for item, take in zip(items, taken, strict=True) if not take]
        items[:] = [item for item, take in zip(items, taken, strict=True) if take]
        config.hook.pytest_deselected(items=left)
        selected = set(items)
        self._run.collected = Collected(
            len(of_role),
            len(items),
            tuple({self._decided_requirement(item).id for item in items}),
            tuple({self._decided_requirement(item).id for item in of_role if item not in selected}),
        )

    def _role_items(self, items: Sequence[pytest.Item]) -> list[pytest.Item]:
        """The items of the role's own package, and items of shared packages that bind the role."""
        own, *shared = [
            Path(importlib.import_module(package).__path__[0]) for package in self.role.packages
        ]
        return [
            item
            for item in items
            if own in item.path.parents
            or (
                any(package in item.path.parents for package in shared)
                and self.role.name in self._named_requirement(item).binds
            )
        ]

    def _named_requirement(self, item: pytest.Item) -> Requirement:
        """The requirement that a test case names. Raises UsageError without a requirement."""
        markers = list(item.iter_markers("requirement"))
        if len(markers) != 1 or not item.obj.__doc__:  # type: ignore[attr-defined]
            raise pytest.UsageError(f"{item.nodeid} needs one requirement and a docstring")
        return self.protocol.requirement(markers[0].args[0])

    def _decided_requirement(self, item: pytest.Item) -> Requirement:
        """The requirement of a test case. Raises UsageError if it does not bind the role."""
        requirement = self._named_requirement(item)
        if self.role.name not in requirement.binds:
            raise pytest.UsageError(f"{item.nodeid}: {requirement.id} does not bind {self.role}")
        return requirement

    # Running them

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> object | None:
        """Run the smoke session, then all tests, then the items that the report adds.

        Most tests run ahead, several at a time in one event loop. When such a test ends, its item
        goes through pytest's own protocol. There, the recorded outcome replaces the call.
        A test with a fixture that is not session-wide runs in its own call phase.
        """
        if session.config.option.collectonly or session.testsfailed:
            return None
        if not self._run.collected.selected:
            return True
        items = [*session.items]
        ahead = [item for item in items if self._can_run_ahead(item)]
        sequential = [item for item in items if item not in ahead]
        if sequential and (terminal := session.config.pluginmanager.get_plugin("terminalreporter")):
            count = len(sequential)
            terminal.write_line(f"{count} tests run one by one, because of their fixtures")
        max_failures = session.config.option.maxfail or 0

        def is_stopped(violations: int) -> bool:
            # pytest counts failed tests only; findings in passed tests count here as well.
            too_many = 0 < max_failures <= violations
            return bool(too_many or session.shouldfail or session.shouldstop)

        self._execution = Execution(
            self._run,
            self.folder,
            self._record_result,
            is_stopped,
            first_only=max_failures == 1,
            shows_progress=not session.config.pluginmanager.hasplugin("terminalreporter"),
        )
        cases = {item.nodeid: self._case(item) for item in items}
        with asyncio.Runner() as loop:
            self._loop = loop
            try:
                self._play_smoke(
                    session, [name for item in ahead for name in _session_fixtures(item)]
                )
                loop.run(self._execution.run([cases[item.nodeid] for item in ahead]))
                self._flush(None)
                for item in sequential if self._smoke_passed else ():
                    self._raise_if_stopped(session)
                    self._own_call[item.nodeid] = cases[item.nodeid]
                    item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
            except ConfigurationError as wrong:
                raise pytest.UsageError(str(wrong)) from wrong
            finally:
                loop.run(self._execution.finish())
                self._replace_removed_folder()
        self._add_report(session)
        self._raise_if_stopped(session)
        return True

    def _replace_removed_folder(self) -> None:
        """Let pytest return to the root folder if the working folder was removed."""
        given = self._config.invocation_params
        if not given.dir.is_dir():
            self._config.invocation_params = pytest.Config.InvocationParams(
                args=given.args, plugins=given.plugins, dir=Path("/")
            )

    @property
    def _smoke_passed(self) -> bool:
        return self._run.smoke is not None and self._run.smoke.verdict is Verdict.PASS

    def _play_smoke(self, session: pytest.Session, wide: Sequence[str]) -> None:
        """Run the smoke session as the first item, after all session-wide fixtures.

        Raises ConfigurationError, or any exception that is a fault of the suite.
        """
        execution = self._execution
        assert execution is not None
        faults: list[Exception] = []

        def smoke(request: pytest.FixtureRequest) -> None:
            for name in dict.fromkeys(wide):
                request.getfixturevalue(name)
            try:
                result = self._loop.run(execution.begin())
            except Exception as error:
                faults.append(error)
                raise
            raise_result(result)

        item = pytest.Function.from_parent(session, name=SMOKE, callobj=smoke)
        following = session.items[0] if session.items else None
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if faults:
            raise faults[0]

    def _can_run_ahead(self, item: pytest.Item) -> bool:
        """True if a test only needs `iut`, parameters and session-wide fixtures."""
        info: dict[str, Any] = item._fixtureinfo.name2fixturedefs  # type: ignore[attr-defined]
        given = {"request", *(item.callspec.params if hasattr(item, "callspec") else ())}
        for name, known in info.items():
            if name in given or known[-1].scope == "session":
                continue
            if name != "iut" or known[-1].func.__module__ != "conformance.plugin":
                return False
        return True

    def _case(self, item: pytest.Item) -> Case:
        test = item.obj  # type: ignore[attr-defined]
        parameters = item.callspec.params if hasattr(item, "callspec") else {}
        case = Case(
            case_id(item),
            purpose(item),
            self._decided_requirement(item),
            lambda iut: functools.partial(test, **parameters)(iut=iut),
            lasting=getattr(test, LASTING, False),
            drawn=getattr(test, DRAWN, False),
        )
        self._items[case.id] = item
        return case

    def _record_result(self, case: Case, result: Result) -> None:
        """Keep the result of a test, and take its item through pytest's protocol."""
        item = self._items[case.id]
        self._results[item.nodeid] = result
        if item.nodeid not in self._own_call:
            self._flush(item)

    def _flush(self, item: pytest.Item | None) -> None:
        """Take the waiting item through pytest's protocol; let the given item wait.

        pytest needs the next item to decide which fixtures it tears down.
        """
        waiting, self._waiting = self._waiting, item
        if waiting:
            waiting.config.hook.pytest_runtest_protocol(item=waiting, nextitem=item)

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> object | None:
        """Raise the outcome of a test; first run tests that did not run ahead."""
        case = self._own_call.get(pyfuncitem.nodeid)
        if case and pyfuncitem.nodeid not in self._results and self._execution:
            names = pyfuncitem._fixtureinfo.argnames
            given = {name: pyfuncitem.funcargs[name] for name in names if name != "iut"}
            test, own = pyfuncitem.obj, pyfuncitem.funcargs.get("iut")
            with_fixtures = replace(case, play=lambda iut: test(**given, iut=own or iut))
            self._loop.run(self._execution.run([with_fixtures]))
        result = self._results.get(pyfuncitem.nodeid)
        if result is None:
            return None
        if allure.is_active(self._config):
            allure.describe(result, self.protocol, self.role, self.folder)
        known = self.configuration.known_failures.get(result.requirement)
        raise_result(result, known.reason if known else "")
        return True

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Set the recorded times of a test that ran ahead."""
        report = yield
        result = self._results.get(item.nodeid)
        if result and report.when == "call":
            report.duration = result.duration_s
            report.start = report.stop - result.duration_s
        return report

    def _raise_if_stopped(self, session: pytest.Session) -> None:
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)

    def _add_report(self, session: pytest.Session) -> None:
        """Add items: each violated requirement without a failed test, and the verdict."""
        self.report = report = self._build_report()
        failed = {t["requirement"] for t in report["tests"] if t["verdict"] in _FAILED}
        for entry in report["requirements"]:
            if entry["verdict"] in _FAILED and entry["id"] not in failed:
                self._add(session, f"requirement[{entry['id']}]", entry["verdict"], entry["reason"])
        verdicts = {"conformant": Verdict.PASS, "nonconformant": Verdict.FAIL}
        verdict = verdicts.get(report["verdict"], Verdict.FAIL)
        self._add(session, "verdict", verdict, f"{report['verdict']}: {report['headline']}")

    def _add(self, session: pytest.Session, name: str, verdict: str, detail: str) -> None:
        item = ReportItem.from_parent(
            session, name=name, raise_outcome=lambda: raise_verdict(verdict, detail)
        )
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._run.problems.append(f"{report.nodeid}: {report.longreprtext[-2000:]}")

    def pytest_internalerror(self, excrepr: object) -> bool:
        """Keep the error for the report; pytest only prints errors from writing the report."""
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
                with interruption.ignore_signals():
                    self._write(session, exitstatus == pytest.ExitCode.INTERRUPTED)

    def _build_report(self, interrupted: bool = False) -> dict[str, Any]:
        # pytest also reports errors of the collection as an interruption.
        self._run.interrupted = interrupted and not self._run.problems
        self._run.strict = self.configuration.strict
        self._run.tests.sort(key=lambda result: result.id)
        return build(self._run)

    def _write(self, session: pytest.Session, interrupted: bool) -> None:
        self._writing = True
        if self._execution:
            self._execution.progress.end()
        if self.report is None or interrupted:
            self.report = self._build_report(interrupted)
        try:
            write(self.report, self.folder)
            self.written = True
        except UnwrittenReport as error:
            self.unwritten = str(error)
        if self._execution and (why := self._execution.unwritten_transcript):
            print(f"conformance: transcripts are missing: {one_line(why)}", file=sys.stderr)
        if allure.is_active(self._config):
            allure.write_context(self.report, Path(self._config.getoption("allure_report_dir")))
        # pytest's own status ignores findings and the smoke session.
        session.exitstatus = USAGE if self.unwritten else self.report["exit_code"]

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.report and not self._config.getoption("--conformance-run"):
            folder = None if self.unwritten else self.folder
            terminalreporter.write_line(f"\n{terminal_summary(self.report, folder)}")
            if self.unwritten:
                terminalreporter.write_line(self.unwritten)


def _session_fixtures(item: pytest.Item) -> list[str]:
    """The names of the session-wide fixtures of a test."""
    info: dict[str, Any] = item._fixtureinfo.name2fixturedefs  # type: ignore[attr-defined]
    return [name for name, known in info.items() if known[-1].scope == "session"]
