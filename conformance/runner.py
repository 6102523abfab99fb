"""Runs the test cases of one role under pytest: smoke session, a result of each, one report."""

import asyncio
import contextlib
import datetime
import importlib
import json
import re
import shlex
import sys
import tempfile
from collections.abc import AsyncIterator, Generator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import pytest_asyncio

from conformance import interruption, locate
from conformance.configuration import Configuration, ConfigurationError
from conformance.iut import Iut
from conformance.outcome import Run, build
from conformance.protocols import Requirement
from conformance.reporting import write
from conformance.reporting.summary import terminal_summary
from conformance.results import Result, conclude
from conformance.selection import Collected
from conformance.verdicts import Conclusion, Inconclusive, Unreachable, Verdict

SMOKE = "smoke"


class Runner:
    """The state of one run; with xdist one in each worker, and one in the controller reports."""

    def __init__(self, config: pytest.Config, configuration: Configuration) -> None:
        locate.extend_packages()
        self.configuration = configuration
        self.role = configuration.role
        self.protocol = configuration.protocol
        self.folder = Path(configuration.report)
        self._config = config
        self._worker = hasattr(config, "workerinput")
        self._run = Run(configuration, datetime.datetime.now(datetime.UTC))
        self._session: pytest.Session | None = None
        self._stack = contextlib.ExitStack()
        self.report: dict[str, Any] | None = None
        # What it keeps between runs is of no use here, and would lie where the run was started.
        home = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="conformance-"))
        hypothesis.configuration.set_hypothesis_home_dir(home)
        hypothesis.settings.register_profile(
            "conformance",
            max_examples=configuration.examples,
            deadline=None,
            database=None,
            # Hypothesis turns it on wherever CI is set, and then heeds no seed.
            derandomize=False,
            print_blob=False,
            report_multiple_bugs=False,
            verbosity=hypothesis.Verbosity.quiet,
            suppress_health_check=list(hypothesis.HealthCheck),
        )
        hypothesis.settings.load_profile("conformance")
        self.folder.mkdir(parents=True, exist_ok=True)

    def pytest_sessionstart(self) -> None:
        self._stack.enter_context(interruption.orderly())

    def pytest_unconfigure(self) -> None:
        self._stack.close()

    # What tests are run

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
        if self._worker:
            config.workeroutput["conformance"] = asdict(self._run.collected)  # type: ignore[attr-defined]

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

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        """How many tests there are is known to the workers first."""
        if not self._run.collected.selected:
            self._run.collected = Collected(len(ids), len(ids))

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        if told := getattr(node, "workeroutput", {}).get("conformance"):
            self._run.collected = Collected(**told)

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

    # How they are run

    @pytest_asyncio.fixture(loop_scope="session", scope="session")
    async def _iut_of_run(self) -> AsyncIterator[Iut]:
        iut = Iut(self.configuration)
        await iut.open()
        yield iut
        await iut.close()

    @pytest.fixture
    def iut(self, request: pytest.FixtureRequest, _iut_of_run: Iut) -> Iut:
        """The IUT, with nothing remembered of earlier tests."""
        _iut_of_run.begin(self._decides(request.node).id)
        return _iut_of_run

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> object | None:
        """The smoke session: where it fails there is one message that teaches, and no test."""
        self._session = session
        if self._worker or session.config.option.collectonly:
            return None
        if (
            not self._run.collected.selected
            and getattr(session.config.option, "dist", "no") == "no"
        ):
            return True
        self._run.smoke = asyncio.run(self._smoke())
        return None if self._run.smoke["verdict"] == Verdict.PASS else True

    async def _smoke(self) -> dict[str, Any]:
        role_package = importlib.import_module(self.role.package)
        decides = self.protocol.requirement(role_package.SMOKE)
        result = Result(
            SMOKE, "The IUT starts and speaks its role's side of the protocol", decides.id
        )
        iut = Iut(self.configuration)
        error: BaseException | None = None
        try:
            await iut.open()
            iut.begin(decides.id)
            try:
                await role_package.smoke(iut)
            except Conclusion as conclusion:
                error = await self._never_started(iut) or conclusion
            error = _other_role(iut) or error
            self._run.reached = not isinstance(error, Unreachable)
        except ConfigurationError as wrong:
            raise pytest.UsageError(str(wrong)) from wrong
        finally:
            await iut.close()
        spoilt = any(session.judge.spoiled for session in iut.sessions)
        conclude(result, error, iut, decides, self.folder)
        if error is None and not spoilt:
            # Whatever else it did wrong is the business of the tests.
            result.verdict = Verdict.PASS
        result.reproduce = self._reproduce("")
        return result.to_json()

    async def _never_started(self, iut: Iut) -> Unreachable | None:
        """Where it ended without a word: does it also end when nobody speaks to it?

        Then it has never started; otherwise it has died of what it was sent. One that has connected
        has started, and may well end where nobody speaks to it.
        """
        said = any(event.data for session in iut.sessions for event in session.theirs)
        connected = not self.role.serves and iut.transport in ("tcp", "unix")
        ended = bool(iut.sessions) and all(session.ended for session in iut.sessions)
        if said or connected or not ended:
            return None
        async with iut.instance() as instance:
            process = instance.process
            if process and await process.wait(self.configuration.seconds("startup")):
                return Unreachable(f"it ends before it takes part{instance.describe_end()}")
        return None

    # What came of them

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if call.when == "call" or call.excinfo is not None:
            result = self._result(item, call)
            report.user_properties.append(("conformance", json.dumps(result.to_json())))
            if report.when == "call":
                _translate(report, result)
        return report

    def _result(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Result:
        decides = self._decides(item)
        result = Result(
            id=case_id(item),
            purpose=purpose(item),
            requirement=decides.id,
            duration_s=round(call.duration, 4),
        )
        iut = getattr(item, "funcargs", {}).get("iut")
        error = call.excinfo.value if call.excinfo else None
        if iut is None:
            result.verdict = Verdict.INCONCLUSIVE
            result.problem = f"{item.nodeid}: {error!r}"
        else:
            conclude(result, error, iut, decides, self.folder)
            if result.problem and call.excinfo:
                result.problem = f"{item.nodeid}: {call.excinfo.getrepr(style='short')}"
        result.reproduce = self._reproduce(item.name)
        return result

    def _reproduce(self, name: str) -> str:
        before, _, after = self.configuration.invocation.partition(" -- ")
        words = [before, f"--seed {self.configuration.seed}"]
        if name:
            words.append(f"-k {shlex.quote(name)}")
        return " ".join(words) + (f" -- {after}" if after else "")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if self._worker:
            return
        told = dict(report.user_properties)
        if "conformance" in told:
            result = json.loads(str(told["conformance"]))
            self._run.tests = [r for r in self._run.tests if r["id"] != result["id"]]
            self._run.tests.append(result)
            self._progress(result)
            if result["unreached"] and not self.configuration.command:
                self._lose(result)
        elif report.failed:
            # A worker that died has no result of what it was at.
            self._run.problems.append(f"{report.nodeid}: {report.longreprtext[-2000:]}")

    def _lose(self, result: dict[str, Any]) -> None:
        """An IUT that others have started is gone: it may have died of what it was sent."""
        before = [test["id"] for test in self._run.tests if test is not result]
        last = before[-1] if before else "the smoke session"
        self._run.lost = self._run.lost or f"the IUT was gone after {last}: {result['detail']}"
        if self._session:
            # Nothing else can be tried; what has been is reported.
            self._session.shouldfail = self._run.lost

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._run.problems.append(f"{report.nodeid}: {report.longreprtext[-2000:]}")

    def pytest_internalerror(self, excrepr: object) -> None:
        self._run.problems.append(str(excrepr)[-4000:])

    def _progress(self, result: dict[str, Any]) -> None:
        if not sys.stderr.isatty():
            return
        bad = sum(test["verdict"] == Verdict.FAIL for test in self._run.tests)
        selected = self._run.collected.selected
        total = f"/{selected}" if selected else ""
        line = f"{self.role}  {len(self._run.tests)}{total} tests, {bad} failed  {result['id']}"
        sys.stderr.write(f"\r\x1b[K{line[:100]}")
        sys.stderr.flush()

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_sessionfinish(
        self, session: pytest.Session, exitstatus: int
    ) -> Generator[None, None, None]:
        try:
            yield
        finally:
            ignored = session.config.option.collectonly or exitstatus == pytest.ExitCode.USAGE_ERROR
            if not self._worker and not ignored:
                with interruption.ignored():
                    self._write(session, exitstatus == pytest.ExitCode.INTERRUPTED)

    def _write(self, session: pytest.Session, interrupted: bool) -> None:
        if sys.stderr.isatty():
            sys.stderr.write("\r\x1b[K")
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


def _other_role(iut: Iut) -> Inconclusive | None:
    """What to say to an IUT that plays the other role; the judge has found what that violates."""
    role = iut.role
    foreign = next((session.judge.foreign for session in iut.sessions if session.judge.foreign), "")
    messages = iut.configuration.protocol.messages
    # Where the other side says nothing, what came is no sign of it.
    if not foreign or not any(sender == role.peer for sender, _ in messages):
        return None
    senders = [sender for sender, name in messages if name == foreign]
    other = role.peer if role.peer in senders else senders[0]
    return Inconclusive(
        f"{foreign} came, which only a {other} sends: if the IUT is a {other}, "
        f"test it as {role.protocol}/{other}"
    )


def case_id(item: pytest.Item) -> str:
    """A test case's id, as in the report: its module and its name, stable as long as they are."""
    module = str(getattr(getattr(item, "module", None), "__name__", ""))
    return f"{module.rpartition('.')[2].removeprefix('test_')}::{item.name.removeprefix('test_')}"


def purpose(item: pytest.Item) -> str:
    """What a test case is for: the first paragraph of its docstring."""
    text = (item.obj.__doc__ or "").strip()  # type: ignore[attr-defined]
    return re.sub(r"\s+", " ", text.partition("\n\n")[0])


def _translate(report: pytest.TestReport, result: Result) -> None:
    """What pytest is to think of a test: it has no words for most verdicts."""
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
