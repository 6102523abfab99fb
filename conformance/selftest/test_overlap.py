"""The number of test cases that run in parallel."""

import asyncio
import itertools
from pathlib import Path

import pytest

from conformance.configuration import Configuration
from conformance.definitions import protocols
from conformance.evidence import Evidence, Kind, Result
from conformance.running import machine, overlap, smoke
from conformance.running.overlap import Width
from conformance.running.smoke import Smoke
from conformance.running.testbed import Testbed
from conformance.verdicts import Verdict

TESTS = 40


def widths(monkeypatch: pytest.MonkeyPatch, width: Width, *idle: float) -> list[int]:
    """Return the number of running tests at each start, for given idle shares."""
    shares = itertools.chain([0.0], idle, itertools.repeat(idle[-1]))
    spent = zip(itertools.accumulate(shares), itertools.count(), strict=False)
    monkeypatch.setattr(machine, "_idle_ticks", lambda: next(spent))
    monkeypatch.setattr(machine, "MEASURE_INTERVAL", 0.0)
    monkeypatch.setattr(machine, "core_count", lambda: 2)
    under_way: set[int] = set()
    started: list[int] = []
    seen: list[int] = []

    async def test(number: int) -> None:
        started.append(number)
        under_way.add(number)
        seen.append(len(under_way))
        for _ in range(TESTS):
            await asyncio.sleep(0)
        under_way.remove(number)

    tests = [lambda number=number: test(number) for number in range(TESTS)]
    most = asyncio.run(overlap.overlap(tests, width, lambda: False))
    assert started == list(range(TESTS)), "in their order"
    assert most == max(seen)
    return seen


def test_more_are_under_way_while_the_machine_is_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = widths(monkeypatch, Width(2, most=6), 0.9)
    assert seen[:2] == [1, 2]
    assert max(seen) == 6


def test_fewer_again_once_it_is_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = widths(monkeypatch, Width(2, most=6), 0.9, 0.9, 0.0)
    assert max(seen) == 6
    assert seen[-1] <= 3


@pytest.mark.parametrize("width", [Width(3), Width(1, "its address is fixed")])
def test_as_many_as_declared(monkeypatch: pytest.MonkeyPatch, width: Width) -> None:
    assert max(widths(monkeypatch, width, 1.0)) == width.tests


def test_no_other_is_started_once_there_is_reason_to_stop() -> None:
    done: list[int] = []

    async def test(number: int) -> None:
        done.append(number)

    tests = [lambda number=number: test(number) for number in range(TESTS)]
    asyncio.run(overlap.overlap(tests, Width(2), lambda: len(done) >= 4))
    assert done == [0, 1, 2, 3]


@pytest.mark.parametrize(("share", "reached"), [(0.9, 8), (0.0, 4)])
def test_tests_that_only_wait_leave_their_places_to_others(
    monkeypatch: pytest.MonkeyPatch, share: float, reached: int
) -> None:
    """The width doubles if no core is idle, and grows further otherwise."""
    spent = zip(itertools.count(0, share), itertools.count(), strict=False)
    monkeypatch.setattr(machine, "_idle_ticks", lambda: next(spent))
    under_way: set[int] = set()
    most: list[int] = []

    async def test(number: int) -> None:
        under_way.add(number)
        most.append(len(under_way))
        await asyncio.sleep(0.3)
        under_way.remove(number)

    tests = [lambda number=number: test(number) for number in range(8)]
    asyncio.run(overlap.overlap(tests, Width(2, most=6), lambda: False, lambda: len(under_way)))
    assert max(most) == reached
    most.clear()
    asyncio.run(overlap.overlap(tests, Width(2), lambda: False, lambda: len(under_way)))
    assert max(most) == 2


def played(*violated: str, ends: bool = False, exclusive_names: str = "") -> Smoke:
    """Return a smoke session with these violations; ``ends``: it is inconclusive."""
    facts = tuple(Evidence(Kind.VIOLATION, name, "seen", judged=True) for name in violated)
    verdict = Verdict.INCONCLUSIVE if ends else Verdict.PASS
    return Smoke(
        Result("smoke", "", "", verdict, evidence=facts), True, frozenset(exclusive_names.split())
    )


@pytest.mark.parametrize(
    ("alone", "together", "disturb"),
    [
        (played(), [played(), played()], False),
        (played(), [played(exclusive_names="a b"), played(exclusive_names="c")], False),
        (played(), [played(exclusive_names="a b"), played(exclusive_names="b")], True),
        (played(), [played(), played(ends=True)], True),
        (played(), [played(), played("ready.once", ends=True)], True),
        (played("ready.once"), [played(), played("ready.once", ends=True)], False),
        (played("ready.once"), [played(), played("ready.once", "log.each", ends=True)], True),
    ],
)
def test_violations_of_one_session_do_not_show_that_two_disturb_each_other(
    monkeypatch: pytest.MonkeyPatch, alone: Smoke, together: list[Smoke], disturb: bool
) -> None:
    async def play(testbed: Testbed, folder: Path) -> Smoke:
        return together.pop()

    monkeypatch.setattr(smoke, "play", play)
    testbed = Testbed(Configuration(protocols.role("vexide/simulator"), command=("true",)))
    assert bool(asyncio.run(overlap.width(testbed, TESTS, alone)).why) == disturb
