"""The judge of live traffic is bounded, isolated, and ends with its parent."""

import os
import select
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conformance.definitions import protocols
from conformance.exits import CONFORMANT, INCONCLUSIVE, NONCONFORMANT
from conformance.judging import captures, judge_queue
from conformance.judging.captures import Event
from conformance.judging.judge_queue import (
    Bench,
    JudgedTraffic,
    JudgeQueue,
    JudgeReport,
    PartyFinding,
    Unjudged,
)
from conformance.live.report import exit_code
from conformance.live.sides import sides
from conformance.live.watch import Watch, watch_session
from conformance.selftest.test_live import session

WRONG = b'{"Handshake": {}}\n'


def bench() -> Bench:
    loaded = protocols.load("vexide")
    return Bench(loaded, loaded.roles)


def broken() -> Bench:
    raise ValueError("this judge is never made")


def dying() -> Bench:
    made = bench()
    made.take = lambda events: os.abort()  # type: ignore[method-assign]
    return made


@pytest.mark.parametrize("separate", [True, False])
def test_a_finding_is_told_once_and_counted(separate: bool) -> None:
    reports: list[JudgeReport] = []
    judge = JudgeQueue(bench, reports.append, separate)
    for number in (1, 2):
        judge.connected(number, "stdio")
        judge.put(number, "simulator", WRONG)
        judge.put(number, "simulator", WRONG)
    judge.settle()
    found = [one.finding.message for one in reports if isinstance(one, PartyFinding)]
    assert found != []
    assert len(found) == len(set(found))
    judge.end()
    assert judge.results.messages["simulator"] == 4
    assert {one.times for one in judge.results.findings if one.finding.message == found[0]} == {4}


@pytest.mark.parametrize(
    ("make", "why"),
    [(broken, "ValueError: this judge is never made"), (dying, "ended by SIGABRT")],
)
def test_traffic_goes_on_without_a_judge_and_that_is_told_once(make: Any, why: str) -> None:
    reports: list[JudgeReport] = []
    judge = JudgeQueue(make, reports.append)
    judge.connected(1, "stdio")
    judge.settle()
    judge.put(1, "simulator", WRONG)
    judge.end()
    [lost] = reports
    assert isinstance(lost, Unjudged)
    assert lost.connection is None
    assert why in lost.why


def test_what_was_found_before_its_judge_was_killed_is_reported(tmp_path: Path) -> None:
    [side] = sides(protocols.load("vexide"))
    seen: list[PartyFinding] = []
    watch = Watch(session("vexide", side, tmp_path / "x"), seen.append, "stdio")
    with watch_session(watch):
        watch.passed(watch.connected(side), "simulator", WRONG)
        watch._queue.settle()
        watch._queue._bench._process.kill()  # type: ignore[union-attr]
        watch.passed(1, "simulator", WRONG)
    assert watch.results.findings == seen != []
    [unjudged] = watch.results.unjudged
    assert unjudged.connection is None and "ended by SIGKILL" in unjudged.why
    assert [event.data for event in captures.read(tmp_path / "x").events] == [None, WRONG]


def test_what_waits_to_be_judged_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge_queue, "BACKLOG", 10 * judge_queue.EVENT)
    reports: list[JudgeReport] = []
    judge = JudgeQueue(bench, reports.append)
    judge.connected(1, "stdio")
    judge.connected(2, "stdio")
    judge.put(2, "simulator", b" " * 20 * judge_queue.EVENT)
    judge.put(2, "simulator", WRONG)
    judge.put(1, "simulator", WRONG)
    judge.end()
    assert [one.connection for one in reports if isinstance(one, Unjudged)] == [2]
    assert {one.connection for one in reports if isinstance(one, PartyFinding)} == {1}


def test_connections_that_are_over_take_no_memory() -> None:
    judge = JudgeQueue(bench, lambda report: None, separate=False)
    for number in range(1, 10):
        judge.connected(number, "stdio")
        judge.put(number, None, event=judge_queue.CUT) if number % 2 else None
        for sender in ("simulator", "frontend"):
            judge.put(number, sender, event="closed")
        # Later traffic of this number belongs to no open connection.
        judge.put(number, "simulator", WRONG)
    judge.end()
    assert judge._open == {}
    assert judge._bench._made._open == {}  # type: ignore[union-attr]
    assert judge.results.messages["simulator"] == 0


def test_an_error_of_the_oracle_costs_one_connection_which_is_recorded_still(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    protocol = protocols.load("vexide")
    captures.Writer(tmp_path / "x", "vexide", "").close()
    judge = Bench(protocol, protocol.roles, tmp_path / "x")

    def message(self: Any, *_: Any) -> Any:
        raise ZeroDivisionError("oracle")

    def events(connection: int) -> list[Event]:
        begin = Event(1.5, None, event="connected", connection=connection)
        return [begin, Event(1.5, "simulator", WRONG, connection=connection)]

    with monkeypatch.context() as patch:
        patch.setattr(protocol.oracle.Oracle, "message", message)
        [unjudged] = judge.take(events(1))
    assert unjudged == Unjudged(1, 1.5, "judging failed: ZeroDivisionError: oracle")
    found = judge.take([Event(2.0, "simulator", WRONG, connection=1), *events(2)])
    assert {one.connection for one in found if isinstance(one, PartyFinding)} == {2}
    judge.end()
    assert len(captures.read(tmp_path / "x").events) == 5


def test_it_is_gone_when_whoever_started_it_was_killed() -> None:
    source = """
import time
from conformance.judging.judge_process import ProcessObject
made = ProcessObject(dict)
made.call("copy")
print(made._process.pid, flush=True)
time.sleep(600)
"""
    with subprocess.Popen([sys.executable, "-c", source], stdout=subprocess.PIPE) as process:
        assert process.stdout
        judge = int(process.stdout.readline())
        handle = os.pidfd_open(judge)
        process.kill()
    try:
        ended, _, _ = select.select([handle], [], [], 60)
        assert ended
    finally:
        os.close(handle)


def test_a_connection_that_is_not_judged_to_its_end_is_never_green() -> None:
    """Observers of shared memory never see everything, and name no connection."""
    shown = JudgedTraffic(messages={"server": 5})
    codes = {"server": {"exit_code": CONFORMANT}}
    shown.unjudged.append(Unjudged(None, 0.0, "changes between two observations"))
    assert exit_code(shown, codes) == CONFORMANT
    shown.unjudged.append(Unjudged(1, 1.5, "judging fell behind"))
    assert exit_code(shown, codes) == INCONCLUSIVE
    assert exit_code(shown, {"server": {"exit_code": NONCONFORMANT}}) == NONCONFORMANT
