"""Campaigns: the plan, the bounds of a task, results that survive, and the whole."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance import cli
from conformance.campaigns import engine, plan, summary, task
from conformance.campaigns.plan import Task
from conformance.campaigns.results import Results
from conformance.configuration import ConfigurationError
from conformance.exits import (
    CONFORMANT,
    INCONCLUSIVE,
    INTERRUPTED,
    NONCONFORMANT,
    SUITE_FAILED,
    USAGE,
)

FILE = """
[campaign]
seeds = [3, 5]
examples = 2

[[program]]
name = "sender"
role = "runtime/gamepad-sender"
mock = true

[[program]]
name = "own"
role = "runtime/rpc-server"
command = ["server", "{port}"]
seeds = 2
shards = 2
timing = {response = 1.5}

[[regression]]
program = "own"
seed = 77
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "campaign.toml"
    path.write_text(FILE, encoding="utf-8")
    return path


def test_the_plan_has_regressions_first_then_each_seed_and_shard(file: Path) -> None:
    """Each task is a run with a seed, a shard and the file's configuration."""
    tasks = plan.load(file)
    assert [one.id for one in tasks] == [
        *("own-77-1of2", "own-77-2of2", "sender-3", "sender-5"),
        *("own-0-1of2", "own-0-2of2", "own-1-1of2", "own-1-2of2"),
    ]
    own = tasks[0]
    assert own.words[-4:] == ("--seed", "77", "--shard", "1/2")
    assert '"response" = 1.5' in own.configuration
    assert f'"cwd" = "{file.parent}"' in own.configuration
    assert "--mock" in tasks[2].words and tasks[2].configuration == ""


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("[[program]]\nname = 'x'\nrole = 'runtime/rpc-server'", "command or mock"),
        ("[[program]]\nname = '../x'\nrole = 'runtime/rpc-server'\nmock = true", "name"),
        (FILE.replace('program = "own"', 'program = "none"'), "no program 'none'"),
        ("seeds = [", "not TOML"),
    ],
)
def test_a_wrong_file_gets_one_line(tmp_path: Path, text: str, wrong: str) -> None:
    """A wrong file is reported in one line."""
    path = tmp_path / "campaign.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigurationError, match=wrong):
        plan.load(path)


def test_a_plan_is_read_as_it_was_written(file: Path, tmp_path: Path) -> None:
    """A plan survives the way over its file."""
    tasks = plan.load(file)
    plan.write(tasks, tmp_path / "plan.json")
    assert plan.read(tmp_path / "plan.json") == tasks


def test_a_task_is_bounded_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A task that takes too long is stopped, and its outcome gives this reason."""
    monkeypatch.setattr(sys, "executable", "/bin/sh")
    bounded = Task("slow", "slow", "none", 0, ("x",), timeout=0.5)
    monkeypatch.setattr(task, "_EXIT_TIME", 0.5)
    monkeypatch.setattr(subprocess, "Popen", _sleeping(subprocess.Popen))
    outcome = task.run(bounded)
    assert outcome.ended == "ended after 0.5 s"
    assert outcome.packed == b""


def _sleeping(popen: Any) -> Callable[..., Any]:
    return lambda words, **how: popen(["sleep", "60"], **how)


def test_memory_counts_descendants() -> None:
    """The memory of a process is that of its whole family."""
    assert task.memory(os.getpid()) > 10


def _summary(
    program: str, seed: int, verdict: str = "pass", ended: str = "", code: int | None = None
) -> dict[str, Any]:
    bad = verdict in ("fail", "warn")
    cause = {
        "requirements": ["a.b"],
        "verdict": verdict,
        "what": f"expected 1; received {seed}",
        "alike": "expected …; received …",
        "reproduce": f"run --seed {seed}",
    }
    return {
        "task": f"{program}-{seed}",
        "program": program,
        "role": "x/y",
        "seed": seed,
        "code": int(verdict == "fail") if code is None else code,
        "seconds": 1.0,
        "ended": ended,
        "requirements": {"a.b": verdict},
        "causes": [cause] if bad else [],
    }


def test_the_whole_is_inconclusive_until_all_runs_are_done() -> None:
    """A missing run is never green; a violated must is red once all are done."""
    one = summary.summarize(2, [_summary("p", 0)])
    assert one.code == INCONCLUSIVE and one.headline.startswith("1 of 2 runs done")
    assert summary.summarize(1, [_summary("p", 0)]).code == CONFORMANT
    assert summary.summarize(1, [_summary("p", 0, "fail")]).code == NONCONFORMANT
    assert summary.summarize(1, [_summary("p", 0, ended="no report: x")]).code == INCONCLUSIVE


@pytest.mark.parametrize("code", [INCONCLUSIVE, SUITE_FAILED, INTERRUPTED, NONCONFORMANT])
def test_the_worst_run_counts(code: int) -> None:
    runs = [_summary("p", 0), _summary("p", 1, "not-exercised", code=code)]
    assert summary.summarize(2, runs).code == code


def test_failures_are_grouped_by_cause_with_the_smallest_seed(tmp_path: Path) -> None:
    """A cause of many runs is one row, with seed and command to repeat it."""
    runs = [_summary("p", 9, "fail"), _summary("p", 4, "fail"), _summary("q", 6, "fail")]
    whole = summary.summarize(4, [*runs, _summary("q", 1)])
    (group,) = whole.groups.values()
    assert (group.smallest, group.reproduce) == (4, "run --seed 4")
    assert group.seeds == {"p": [9, 4], "q": [6]}
    summary.write_page(whole, tmp_path / "index.html")
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "p: 2 of 2" in page and "q: 1 of 2" in page


def test_two_campaigns_are_compared() -> None:
    """A requirement that fails in the new campaign only is a regression."""
    old = summary.summarize(1, [_summary("p", 0)]).to_json()
    new = summary.summarize(1, [_summary("p", 0, "fail")]).to_json()
    assert summary.compare(old, new) == ["regression: p: a.b: pass > fail"]
    assert summary.compare(new, old) == ["change: p: a.b: fail > pass"]


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    distributed = pytest.importorskip("distributed")
    cluster = distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
    )
    with cluster, distributed.Client(cluster) as found:
        yield found


def _played(one: Task) -> task.Outcome:
    if one.seed == 1:
        raise OverflowError("this task breaks")
    return task.Outcome(one.id, 0, 0.1, "", "", "/tmp/x", b"")


def test_each_result_is_kept_and_a_lost_task_stays_open(
    client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the task whose worker fails is lost. A resumed campaign runs only that task."""
    monkeypatch.setattr(task, "run", _played)
    tasks = [Task(f"t-{seed}", "t", "x/y", seed, ()) for seed in range(8)]
    results = Results(tmp_path)
    results.prepare(tasks)
    lost: list[tuple[str, str]] = []

    def ended(one: Task, outcome: task.Outcome | None, why: str) -> None:
        if outcome is None:
            lost.append((one.id, why))
        else:
            results.keep(one, outcome)

    engine.play(client, tasks, ended)
    assert lost == [("t-1", "OverflowError: this task breaks")]
    assert [one.id for one in tasks if not results.has_ended(one)] == ["t-1"]
    assert len([*results.summaries(tasks)]) == 7
    assert not any(results.has_report(one) for one in tasks)  # a resumed campaign plays all again


def test_a_worker_and_the_scheduler_are_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The task of a killed worker is played again; results that arrived stay."""
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(task, "run", _dying)
    tasks = [Task(f"t-{seed}", "t", "x/y", seed, ()) for seed in range(6)]
    scheduler = subprocess.Popen(
        [sys.executable, "-c", _SCHEDULER], stdout=subprocess.PIPE, text=True, cwd=tmp_path
    )
    assert scheduler.stdout
    address = scheduler.stdout.readline().strip()
    done: list[str] = []

    def ended(one: Task, outcome: task.Outcome | None, why: str) -> None:
        assert outcome and not why
        done.append(one.id)
        if len(done) == 3:
            scheduler.kill()

    try:
        with distributed.Client(address, timeout="10s") as client:
            client.wait_for_workers(1, timeout=30)
            with pytest.raises(engine.ClusterLost):
                engine.play(client, tasks, ended)
    finally:
        scheduler.kill()
        scheduler.wait()
    assert 3 <= len(done) < 6 and (tmp_path / "tried").exists()


_SCHEDULER = """
import distributed, time
if __name__ == "__main__":
    cluster = distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None)
    print(cluster.scheduler_address, flush=True)
    time.sleep(300)
"""


def _dying(one: Task) -> task.Outcome:
    """Kill the worker at the first try of the first task."""
    tried = Path("tried")
    if not tried.exists():
        tried.touch()
        os.kill(os.getpid(), 9)
    return task.Outcome(one.id, 0, 0.1, "", "", "/tmp/x", b"")


def test_a_campaign_runs_is_not_begun_twice_and_resumes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A real campaign over a mock with one fault; what is deleted is played again."""
    pytest.importorskip("distributed")
    monkeypatch.chdir(tmp_path)
    Path("c.toml").write_text(
        "[campaign]\nexamples = 1\n[[program]]\nname = 'bad'\nrole = 'runtime/gamepad-sender'\n"
        "fault = ['axes-as-text']\n",
        encoding="utf-8",
    )
    assert cli.main(["campaign", "c.toml"]) == NONCONFORMANT
    whole = json.loads(Path("campaign/campaign.json").read_text())
    assert whole["done"] == whole["planned"] == 1
    assert whole["causes"][0]["requirements"] == ["gamepad.axes-numbers"]
    assert cli.main(["campaign", "c.toml"]) == USAGE
    Path("campaign/results/bad-0.json").unlink()
    assert cli.main(["campaign", "c.toml", "--resume"]) == NONCONFORMANT
    assert "1 of 1 runs done" in capsys.readouterr().out
