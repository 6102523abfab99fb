"""Run many programs with many seeds, on this machine or on a cluster.

FILE is a TOML file with a table [campaign] (seeds, examples, shards, timeout, memory). It has one
[[program]] for each program (name, role, and command or mock), and [[pair]] for `conformance pair`.
The runs of [[regression]] (program, seed) come first. Each run is an ordinary `conformance run` in
a folder of its own.

The plan, the results, a page and campaign.json are written to the folder of --report. The option
--resume continues a campaign that was stopped, and repeats runs without a report. Without
--cluster, the campaign uses the cores of this machine. The command needs Dask, which is installed
by: pip install 'conformance[campaign]'.

Exit codes: 0 if all runs are conformant, 1 if one is not, 3 if runs are missing or decided nothing,
4 if the suite failed in one. The worst run counts.
"""

import argparse
import json
import sys
import time
from pathlib import Path

from conformance.campaigns import engine, plan, summary
from conformance.campaigns.engine import ClusterLost
from conformance.campaigns.plan import Task
from conformance.campaigns.results import Results
from conformance.campaigns.summary import Whole
from conformance.campaigns.task import Outcome
from conformance.configuration import ConfigurationError
from conformance.reporting.text import one_line
from conformance.verdicts import Verdict

_WIDTH = 20  # columns of the bar


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", type=Path)
    parser.add_argument("--cluster", metavar="ADDR", default="", help="tcp://HOST:PORT of Dask")
    parser.add_argument(
        "--report", metavar="DIR", type=Path, default=Path("campaign"), help="default: campaign"
    )
    parser.add_argument(
        "--keep-regressions",
        action="store_true",
        help="append each failure that only some seeds show to FILE, as [[regression]]",
    )
    parser.add_argument("--resume", action="store_true", help="continue a stopped campaign")


def execute(args: argparse.Namespace) -> int:
    results = Results(args.report.resolve())
    tasks = _plan(args, results)
    results.prepare(tasks)
    left = [task for task in tasks if not results.has_report(task)]
    progress = _Progress(len(tasks), len(tasks) - len(left), results)
    try:
        if left:
            with engine.cluster(args.cluster) as client:
                if client.dashboard_link:
                    print(f"dashboard: {client.dashboard_link}", file=sys.stderr)
                engine.play(client, left, progress.ended)
    except ClusterLost as lost:
        print(f"\nthe cluster is gone ({lost}); --resume continues", file=sys.stderr)
    finally:
        whole = summary.summarize(len(tasks), results.summaries(tasks))
        (results.folder / "campaign.json").write_text(
            json.dumps(whole.to_json(), indent=1) + "\n", encoding="utf-8"
        )
        summary.write_page(whole, results.folder / "index.html")
        if args.keep_regressions:
            _keep(args.file, whole)
        print(f"\n{whole.headline}\nPage: {results.folder / 'index.html'}")
    return whole.code


def _plan(args: argparse.Namespace, results: Results) -> list[Task]:
    """The tasks of the existing plan with --resume, or else of the file."""
    if args.resume:
        return plan.read(results.plan)
    if results.plan.exists():
        raise ConfigurationError(
            f"{args.report} has a campaign; give --resume, or another folder with --report"
        )
    tasks = plan.load(args.file)
    results.folder.mkdir(parents=True, exist_ok=True)
    plan.write(tasks, results.plan)
    return tasks


def _keep(file: Path, whole: Whole) -> None:
    """Append the smallest seed of each failure that only some seeds show."""
    text = file.read_text(encoding="utf-8")
    for group in whole.groups.values():
        for program, seeds in group.seeds.items():
            entry = f'[[regression]]\nprogram = "{program}"\nseed = {min(seeds)}\n'
            if len(seeds) < whole.runs[program] and entry not in text:
                text = f"{text.rstrip()}\n\n# {', '.join(group.requirements[:3])}\n{entry}"
    file.write_text(text, encoding="utf-8")


class _Progress:
    """Prints the progress of a campaign, and keeps its results."""

    def __init__(self, planned: int, done: int, results: Results) -> None:
        self._planned = planned
        self._done = self._before = done
        self._failed = 0
        self._known: set[tuple[str, ...]] = set()
        self._began = time.monotonic()
        self._results = results

    def ended(self, task: Task, outcome: Outcome | None, lost: str) -> None:
        """Keep an outcome; print the bar and each new cause of a failure."""
        if outcome is None:
            self._print(f"LOST  {task.id}: {lost}; --resume tries it again")
            return
        kept = self._results.keep(task, outcome)
        self._done += 1
        self._failed += kept["code"] == 1
        if kept["ended"]:
            self._print(f"NO REPORT  {task.id}: {kept['ended']}")
        for cause in kept["causes"]:
            key = (task.program, *cause["requirements"])
            if cause["verdict"] == Verdict.FAIL and key not in self._known:
                self._known.add(key)
                names = ", ".join(cause["requirements"][:3])
                self._print(f"FAIL  {task.program}, seed {task.seed}: {names}: {cause['what']}")
                self._print(f"      again: {cause['reproduce']}")
        self._bar()

    def _print(self, text: str) -> None:
        start = "\r\x1b[K" if sys.stderr.isatty() else ""
        print(f"{start}{one_line(text, 300)}", file=sys.stderr, flush=True)

    def _bar(self) -> None:
        new = self._done - self._before
        filled = _WIDTH * self._done // max(self._planned, 1)
        seconds = (time.monotonic() - self._began) * (self._planned - self._done) / max(new, 1)
        text = (
            f"[{'#' * filled}{'-' * (_WIDTH - filled)}] {self._done}/{self._planned} runs, "
            f"{self._failed} failed, about {seconds:.0f} s"
        )
        if sys.stderr.isatty():
            print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
        elif self._done % 10 == 0 or self._done == self._planned:
            print(text, file=sys.stderr, flush=True)
