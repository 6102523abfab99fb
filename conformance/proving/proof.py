"""Prove the suite with its mocks: every fault is found, and every lawful variant passes.

A trial is a run of the suite in a separate process, forked from this one. This process has already
imported pytest, Hypothesis and the test cases, and has started the fork server of the mocks. This
saves most of the cost of a short run.

- A fault first runs the tests of its requirement, and then all tests if those miss the fault. The
  oracle judges every session, whatever its test decides.
- The sound mock and its variants run all tests.
- A generated mutant is tried until any test finds it.
- A pair is two faults at once; both must be reported.

The findings of a trial must be found again in the transcripts that its report links.
"""

import contextlib
import gc
import importlib
import io
import json
import multiprocessing
import os
import pkgutil
import signal
import sys
import tarfile
import tempfile
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from multiprocessing import connection
from pathlib import Path
from typing import Any

from conformance import cli, configuration
from conformance.campaigns import task as worker
from conformance.campaigns.plan import Task
from conformance.campaigns.task import Outcome
from conformance.definitions import explanations, protocols  # noqa: F401  each trial explains
from conformance.harness import fork_server
from conformance.harness.process import sweep
from conformance.harness.transports import transport
from conformance.judging import captures
from conformance.proving import evidence, mutants
from conformance.proving.planning import (
    BROKEN,
    FALSE_ALARM,
    FAULT,
    HIDDEN,
    IDLE,
    KILLED,
    MUTANT,
    PAIR,
    SOUND,
    SPARED,
    SPREADS,
    STOPPED,
    SURVIVED,
    UNSHOWN,
    VARIANT,
    WRONG,
    WRONG_CAUSE,
    Trial,
    decided_requirements,
)
from conformance.reporting import page
from conformance.running.machine import MEASURE_INTERVAL, Room
from conformance.verdicts import VIOLATIONS, Verdict
from mocks.mutants import APPLIED, Mutant

MAX_TIME = 900.0  # seconds that one run of the suite can take: several times the slowest role's
_EXIT_TIME = 5.0  # seconds for an interrupted run to end the processes that it started
_MARK = "CONFORMANCE_PROOF"


def mutations(role: str, number: int, seed: int) -> list[Trial]:
    """Plan up to ``number`` mutants of a role's mock, the same for each seed.

    Mutants that would change nothing in a whole run of the sound mock already have a verdict.
    """
    found = protocols.role(role)
    usual = transport(configuration.mock_configuration(found))
    decided = decided_requirements(role)
    planned = [
        Trial(
            role,
            usual,
            MUTANT,
            str(one.mutant),
            one.requirement,
            whole=one.requirement not in decided,
        )
        for one in mutants.make_mutants(protocols.load(found.protocol), found, number, seed)
    ]
    changing, seen = _effective_mutants(role, usual, [trial.name for trial in planned])
    for trial in planned:
        trial.verdict = "" if trial.name in changing else IDLE
        trial.shown = seen.get(Mutant.parse(trial.name).message, [])
    return planned


def _effective_mutants(
    role: str, over: str, names: Sequence[str]
) -> tuple[set[str], Mapping[str, list[str]]]:
    """Return the mutants that would change a message in a whole run of the sound mock.

    Also returns, for each message, the requirements of the tests whose transcripts contain it.
    """
    with _mark_processes(), tempfile.TemporaryDirectory(prefix="conformance-mutants-") as folder:
        file = Path(folder) / "all"
        file.write_text("".join(f"{name}\n" for name in names), encoding="utf-8")
        run = _Running(Trial(role, over, MUTANT, f"@{file}", whole=True), Path(folder))
        try:
            run.process.join(MAX_TIME)
        finally:
            _end([run])
        list_file = file.with_name(f"{file.name}.changing")
        changing = set(list_file.read_text("utf-8").splitlines()) if list_file.exists() else set()
        seen: dict[str, dict[str, None]] = {}
        for path in Path(folder).glob("*/transcripts/*.jsonl"):
            transcript = captures.read(path)
            for message in {event.message for event in transcript.events if event.message}:
                seen.setdefault(message, {}).update(dict.fromkeys(transcript.requirements))
    return changing, {message: [*requirements] for message, requirements in seen.items()}


def prove(
    planned: Sequence[Trial], room: Room, report_result: Callable[[Trial], None], client: Any = None
) -> None:
    """Run all trials and fill in their results; call ``report_result`` with each.

    The number of parallel trials is ``room.allowed_count()``. Trials that already have a verdict do
    not run. All processes of all trials have ended when this returns or raises. With the ``client``
    of a Dask cluster, the trials run there.
    """
    for trial in (trial for trial in planned if trial.verdict):
        report_result(trial)
    if client is None:
        _prepare(dict.fromkeys(trial.role for trial in planned))
    # The longest trials run first, so that no long trial runs alone at the end.
    left = [trial for trial in planned if not trial.verdict]
    waiting = deque(sorted(left, key=lambda trial: not trial.whole))
    with _mark_processes(), tempfile.TemporaryDirectory(prefix="conformance-proof-") as folder:
        running: list[_Running] = []
        try:
            while waiting or running:
                allowed = room.allowed_count()
                while waiting and len(running) < allowed:
                    trial = waiting.popleft()
                    running.append(
                        _Remote(trial, Path(folder), client)
                        if client
                        else _Running(trial, Path(folder))
                    )
                _wait(running)
                for run in [run for run in running if run.is_over]:
                    running.remove(run)
                    if run.conclude():
                        report_result(run.trial)
                    else:
                        waiting.appendleft(run.trial)
        finally:
            _end(running)


def _wait(running: Sequence["_Running"]) -> None:
    """Wait until a trial ends, or for a moment."""
    sentinels = [run.process.sentinel for run in running if not isinstance(run, _Remote)]
    if sentinels:
        connection.wait(sentinels, timeout=MEASURE_INTERVAL)
    else:
        time.sleep(MEASURE_INTERVAL)


def _prepare(roles: Iterable[str]) -> None:
    """Import and start everything that each trial of these roles would need."""
    for role in roles:
        for package in map(importlib.import_module, protocols.role(role).packages):
            for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
                importlib.import_module(found.name)
    page.template("template.html")
    fork_server.serve()
    # A garbage collection in a trial would otherwise copy all of this memory.
    gc.freeze()


@contextlib.contextmanager
def _mark_processes() -> Iterator[None]:
    """Mark every process that starts in the block, and kill those that remain after it."""
    mark = uuid.uuid4().hex
    os.environ[_MARK] = mark
    try:
        yield
    finally:
        del os.environ[_MARK]
        sweep(_MARK, mark)


class _Running:
    """A trial that is running in a forked process."""

    def __init__(self, trial: Trial, folder: Path) -> None:
        self.trial = trial
        self._folder = Path(tempfile.mkdtemp(dir=folder))
        self._began = time.monotonic()
        words = trial.words(self._folder)
        target = multiprocessing.get_context("fork").Process
        self.process = target(target=_run, args=(words, self._folder / "output"))
        self.process.start()

    @property
    def is_over(self) -> bool:
        if time.monotonic() > self._began + MAX_TIME:
            self.process.kill()
            self.process.join()
        return not self.process.is_alive()

    def conclude(self) -> bool:
        """Fill in the trial's result; return False if it must run again with all tests."""
        trial = self.trial
        trial.seconds = round(trial.seconds + time.monotonic() - self._began, 2)
        report = self._report()
        if report is None:
            return True
        if trial.kind:
            if not self._judge(report):
                return False
            unshown = evidence.unshown_findings(report, self._folder)
        else:
            self._judge_sound(report)
            unshown = evidence.alarms(self._folder)
        # Transcripts must show the findings, and no others.
        if trial.is_good and (first := next(unshown, None)):
            trial.verdict, trial.detail = UNSHOWN, first
        return True

    def _report(self) -> dict[str, Any] | None:
        """Return the report of the run; None if the run itself failed, which is then the result."""
        try:
            report: dict[str, Any] = json.loads((self._folder / "report.json").read_text("utf-8"))
        except (OSError, ValueError):
            self.trial.verdict, self.trial.detail = BROKEN, self._output_text()
            return None
        if report["problems"]:
            self.trial.verdict, self.trial.detail = BROKEN, report["problems"][0].strip()[-400:]
            return None
        self.trial.detail = report["headline"]
        return report

    def _judge_sound(self, report: dict[str, Any]) -> None:
        self.trial.others = _requirements_with(report, *VIOLATIONS, Verdict.INCONCLUSIVE)
        sound = report["verdict"] == "conformant" and not self.trial.others
        self.trial.verdict = SOUND if sound else WRONG

    def _judge(self, report: dict[str, Any]) -> bool:
        """Judge the run of a deviation; return False if more tests must run before a verdict."""
        trial, violated = self.trial, _requirements_with(report, *VIOLATIONS)
        trial.others = [each for each in violated if each not in (trial.requirement, trial.second)]
        if trial.kind == VARIANT:
            alarmed = (
                _requirements_with(report, Verdict.FAIL)
                or trial.others
                or report["verdict"] != "conformant"
            )
            trial.verdict = FALSE_ALARM if alarmed else SPARED
        elif trial.kind == MUTANT and violated:
            trial.verdict = KILLED
            if trial.requirement not in violated:
                trial.requirement, *trial.others = violated
        elif trial.requirement in violated and trial.second in ("", *violated):
            wide = trial.kind == FAULT and len(trial.others) > trial.company
            trial.verdict = SPREADS if wide else KILLED
            if trial.kind in (FAULT, PAIR) and (wrong := _wrong_cause(report, trial)):
                trial.verdict, trial.detail = WRONG_CAUSE, wrong
        elif not trial.whole:
            trial.whole = True
        elif trial.shown:
            trial.shown = []
        elif trial.kind == MUTANT:
            trial.verdict = SURVIVED if (self._folder / "applied").exists() else IDLE
        elif trial.kind == PAIR:
            # After a failed smoke session no other test runs, so other requirements have no
            # verdict.
            stopped = report["smoke"]["verdict"] != Verdict.PASS
            trial.verdict = STOPPED if stopped else HIDDEN
        else:
            trial.verdict = WRONG if trial.others else SURVIVED
        return bool(trial.verdict)

    def _output_text(self) -> str:
        if time.monotonic() > self._began + MAX_TIME:
            return f"the run did not end within {MAX_TIME:g} s"
        output = (self._folder / "output").read_text(encoding="utf-8", errors="replace")
        return output.strip()[-400:] or f"the run ended with exit code {self.process.exitcode}"


def _wrong_cause(report: Mapping[str, Any], trial: Trial) -> str:
    """Say what the first cause names instead of a fault's requirement; empty if it is right.

    For a pair, each requirement must be named by some cause.
    """
    causes = report["causes"] if trial.second else report["causes"][:1]
    named = {name for cause in causes for name in cause["requirements"]}
    missing = [name for name in (trial.requirement, trial.second) if name and name not in named]
    if not missing:
        return ""
    first = causes[0] if causes else {"requirements": [], "what": "no cause"}
    return f"not named: {missing[0]}; first: {first['requirements'][:3]} {first['what']}"


class _Remote(_Running):
    """A trial that runs on a cluster; its report folder is unpacked here."""

    def __init__(self, trial: Trial, folder: Path, client: Any) -> None:
        self.trial = trial
        self._folder = Path(tempfile.mkdtemp(dir=folder))
        self._began = time.monotonic()
        name = f"{trial.role}/{trial.kind}/{trial.name}/{uuid.uuid4().hex}"
        task = Task(name, trial.name, trial.role, 0, tuple(trial.words()), timeout=MAX_TIME)
        self._future = client.submit(worker.run, task, key=name, retries=2, pure=False)

    @property
    def is_over(self) -> bool:
        return bool(self._future.done())

    def conclude(self) -> bool:
        try:
            outcome: Outcome = self._future.result()
        except Exception as lost:
            self.trial.verdict, self.trial.detail = BROKEN, f"lost: {lost}"
            return True
        (self._folder / "output").write_text(outcome.output, encoding="utf-8")
        if outcome.packed:
            with tarfile.open(fileobj=io.BytesIO(outcome.packed), mode="r:gz") as archive:
                archive.extractall(self._folder, filter="data")
        return super().conclude()

    def cancel(self) -> None:
        self._future.cancel()


def _requirements_with(report: dict[str, Any], *verdicts: Verdict) -> list[str]:
    """Return the requirements with one of these verdicts."""
    return [entry["id"] for entry in report["requirements"] if entry["verdict"] in verdicts]


def _run(words: list[str], output: Path) -> None:
    """Run one trial, in its own process."""
    # Only this process gets our signals; it ends the processes that it has started itself (see
    # _end).
    os.setsid()
    # Temporary files are deleted with the trial, even if its process is killed.
    tempfile.tempdir = os.environ["TMPDIR"] = str(output.parent)
    os.environ[APPLIED] = str(output.parent / "applied")
    for variable in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        os.environ.pop(variable, None)
    with output.open("wb") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    sys.exit(cli.main(words))


def _end(started: Sequence[_Running]) -> None:
    running = [run for run in started if not isinstance(run, _Remote)]
    for run in started:
        if isinstance(run, _Remote):
            run.cancel()
    for run in running:
        with contextlib.suppress(ProcessLookupError):
            if run.process.pid:
                os.kill(run.process.pid, signal.SIGTERM)
    deadline = time.monotonic() + _EXIT_TIME
    for run in running:
        run.process.join(max(deadline - time.monotonic(), 0))
        if run.process.is_alive():
            run.process.kill()
            run.process.join()
