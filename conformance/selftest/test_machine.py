"""The load of the machine, and its effect on deadlines."""

import asyncio
import time
from pathlib import Path

import pytest

from conformance.running import machine
from conformance.running.timeouts import BUSY_FACTOR, MAX_STRETCH, OWN_DELAY, Timeouts


@pytest.fixture
def scheduled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "schedstat"
    file.write_text("1000000000 5000000000 7\n")
    monkeypatch.setattr(machine, "_SCHEDSTAT", file)
    monkeypatch.setattr(machine, "_MIN_INTERVAL", 0.0)
    return file


def test_crowding_is_how_long_we_waited_for_what_we_computed(scheduled: Path) -> None:
    crowding = machine.Crowding()
    scheduled.write_text("1100000000 5300000000 9\n")
    assert crowding.factor() == 4.0
    scheduled.write_text("1100000001 9900000000 9\n")
    assert crowding.factor() == 4.0, "too little was computed to know more"
    scheduled.write_text("1200000000 5300000000 9\n")
    assert crowding.factor() == 1.0


def test_where_the_system_does_not_tell_it_is_the_load(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "_SCHEDSTAT", tmp_path / "none")
    monkeypatch.setattr(machine, "_MIN_INTERVAL", 0.0)
    monkeypatch.setattr("os.getloadavg", lambda: (6.0, 0.0, 0.0))
    monkeypatch.setattr(machine, "core_count", lambda: 2)
    assert machine.Crowding().factor() == 3.0
    monkeypatch.setattr("os.getloadavg", lambda: (0.5, 0.0, 0.0))
    assert machine.Crowding().factor() == 1.0


@pytest.mark.parametrize(("idle", "lost"), [(0, 6.0), (1000, 0.0)])
def test_what_is_lost_is_what_programs_stood_in_line_for_while_no_core_was_idle(
    idle: int, lost: float, scheduled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = 100.0
    spent = (0, 0)
    monkeypatch.setattr("time.monotonic", lambda: clock)
    monkeypatch.setattr(machine, "_idle_ticks", lambda: spent)
    monkeypatch.setattr("os.getloadavg", lambda: (0.0, 0.0, 0.0))
    crowding = machine.Crowding()
    scheduled.write_text("1100000000 5300000000 9\n")
    clock, spent = 108.0, (idle, 1000)
    assert crowding.lost() == lost, "three quarters of eight seconds, unless cores were idle"


def test_what_is_lost_in_a_moment_is_not_spread_over_a_long_wait(
    scheduled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = 100.0
    monkeypatch.setattr("time.monotonic", lambda: clock)
    crowding = machine.Crowding()
    for lost in (0.0, 0.4, 0.0, 0.0, 0.1, 0.1, 0.1):
        clock += machine.LOSS_WINDOW
        crowding.add_lost(lost)
    assert crowding.worst_loss(100.0, clock) == pytest.approx(0.4)
    assert crowding.worst_loss(101.0, clock) == pytest.approx(0.1)
    assert crowding.worst_loss(100.0, 100.6) == 0.0


class Crowded(machine.Crowding):
    def __init__(self, factor: float, lost: float = 0.0) -> None:
        self._factor, self._lost = factor, lost

    def factor(self) -> float:
        return self._factor

    def add_lost(self, seconds: float) -> None:
        self._lost += seconds


def test_a_deadline_is_longer_by_what_the_machine_takes_meanwhile() -> None:
    crowding = Crowded(BUSY_FACTOR, lost=7.0)
    timeouts = Timeouts(crowding=crowding)
    seconds = timeouts.growing_timeout(2.0)
    assert seconds() == 2.0, "what was lost before is no matter"
    crowding.add_lost(1.5)
    assert seconds() == 3.5
    crowding.add_lost(1000.0)
    assert seconds() == 2.0 * MAX_STRETCH


def test_a_suite_that_was_kept_from_its_work_knows_that_it_was_late() -> None:
    timeouts = Timeouts(crowding=Crowded(1.0))

    async def kept() -> None:
        looking = asyncio.create_task(timeouts.watch_clock())
        await asyncio.sleep(0)
        time.sleep(3 * OWN_DELAY)  # noqa: ASYNC251  blocking the loop is the purpose
        await asyncio.wait({looking}, timeout=OWN_DELAY)
        looking.cancel()

    seconds = timeouts.growing_timeout(2.0)
    asyncio.run(kept())
    assert timeouts.crowding.lost() > OWN_DELAY
    assert seconds() > 2.0
    assert timeouts.slowdown == 1.0, "nobody says that programs were slow"


@pytest.mark.parametrize(
    ("factor", "seconds"),
    [(1.0, 2.0), (BUSY_FACTOR - 0.1, 2.0), (3.0, 6.0), (100.0, 2.0 * MAX_STRETCH)],
)
def test_a_busy_machine_leaves_an_iut_more_time_to_react(factor: float, seconds: float) -> None:
    timeouts = Timeouts(crowding=Crowded(factor))
    assert timeouts.seconds("response", 2.0) == seconds
    assert timeouts.slowdown == seconds / 2
    # A period of the protocol is declared for the IUT, so the machine's load does not stretch it.
    assert timeouts.seconds("push_hold", 2.0) == 2.0
