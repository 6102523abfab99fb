"""Measure what a campaign costs, as ratios within one run.

    python -m conformance.benchmarks.campaign_costs [--runs N] [--results N]

Three lines are printed:

- The first ratio is the time of N short runs one after another by their time on a local cluster.
- The overhead is the processor time of client, scheduler and workers by that of the runs. It
  includes the start of the cluster.
- The last ratio is the memory of client and scheduler with all results by that with a tenth.
  The results have the size of a short run's.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from unittest.mock import patch

from conformance.campaigns import engine, plan, task
from conformance.campaigns.plan import Task
from conformance.campaigns.results import Results

ROLE = "runtime/log-publisher"
FILE = """
[campaign]
examples = 1
seeds = {runs}
[[program]]
name = "p"
role = "{role}"
mock = true
"""


def tasks(folder: Path, runs: int) -> list[Task]:
    """Return the tasks of a campaign of short runs."""
    file = folder / "campaign.toml"
    file.write_text(FILE.format(runs=runs, role=ROLE), encoding="utf-8")
    return plan.load(file)


def processor_times() -> tuple[float, float]:
    """Return the seconds of processor time of this process, and of its ended children."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    own, children = (each.ru_utime + each.ru_stime for each in used)
    return own, children


def one_after_another(planned: list[Task]) -> float:
    """Return the seconds that the runs take without a campaign."""
    began = time.perf_counter()
    for each in planned:
        with tempfile.TemporaryDirectory() as folder:
            words = [sys.executable, "-m", "conformance", *each.words, "--report", "report"]
            subprocess.run(words, cwd=folder, capture_output=True, check=True)
    return time.perf_counter() - began


def as_campaign(planned: list[Task], folder: Path) -> tuple[float, float]:
    """Return the seconds of a campaign with its cluster, and its overhead.

    The overhead is the processor time of all except the runs, divided by that of the runs.
    """
    began, (before, _) = time.perf_counter(), processor_times()
    results = Results(folder)
    results.prepare(planned)

    def ended(one: Task, outcome: task.Outcome | None, why: str) -> None:
        assert outcome and not results.keep(one, outcome)["ended"], why

    with engine.cluster("") as client:
        engine.play(client, planned, ended)
        workers = client.run(processor_times).values()
    beside = processor_times()[0] - before + sum(own for own, _ in workers)
    return time.perf_counter() - began, beside / sum(runs for _, runs in workers)


def resident() -> int:
    """Return the resident size of this process in bytes."""
    pages = Path("/proc/self/statm").read_text("ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def made(one: Task) -> task.Outcome:
    """Return an outcome at once, with a packed report of the usual size."""
    return task.Outcome(one.id, 0, 1.0, "", "", "/nowhere", os.urandom(60_000))


def memory(folder: Path, count: int) -> float:
    """Return the memory with all results, divided by that with a tenth."""
    import distributed

    results = Results(folder)
    planned = [Task(f"t-{number}", "t", ROLE, number, ()) for number in range(count)]
    results.prepare(planned)
    sizes: list[int] = []

    def ended(one: Task, outcome: task.Outcome | None, why: str) -> None:
        assert outcome, why
        results.keep(one, outcome)
        sizes.append(resident())

    with (
        patch.object(task, "run", made),
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address="127.0.0.1:0"
        ) as local,
        distributed.Client(local) as client,
    ):
        engine.play(client, planned, ended)
    return sizes[-1] / sizes[len(sizes) // 10]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--results", type=int, default=10_000)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        planned = tasks(folder, args.runs)
        alone = one_after_another(planned)
        together, overhead = as_campaign(planned, folder / "campaign")
        print(f"{alone / together:.2f} times as fast as one after another")
        print(f"{100 * overhead:.1f} % more processor time than the runs")
        grown = memory(folder / "many", args.results)
        print(f"{grown:.2f} times the memory of the client with {args.results} results")


if __name__ == "__main__":
    main()
