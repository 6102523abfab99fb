"""What an IUT misses while the machine is busy is looked at twice."""

from types import SimpleNamespace
from typing import Any

import pytest

from conformance.judging.captures import Event
from conformance.running.doubt import CONFIRMED, Doubt
from conformance.running.patience import Patience
from conformance.selftest.test_machine import Crowded
from conformance.verdicts import Inconclusive, NotExercised, Violation

pytestmark = pytest.mark.asyncio

_EVENTS = (Event(0.1, "robot", b"something came"), Event(0.2, "robot", event="closed"))


async def held(
    doubt: Doubt, error: Exception | None, then: Exception | None = None, factor: float = 3.0
) -> tuple[Exception | None, int]:
    """How a test ends that ends like this at first, and like ``then`` later; and how often more."""
    times: list[None] = []

    async def hold_again() -> Exception | None:
        times.append(None)
        return then

    testbed = SimpleNamespace(patience=Patience(crowding=Crowded(factor)))
    session = SimpleNamespace(events=_EVENTS)
    iut: Any = SimpleNamespace(testbed=testbed, deciding="push.again", sessions=[session])
    return await doubt.settle(error, iut, hold_again), len(times)


@pytest.mark.parametrize("event", [None, 1])
async def test_what_is_not_missed_again_decides_nothing(event: int | None) -> None:
    missed = Violation("a push", "none came", event=event)
    undecided, times = await held(Doubt(), missed)
    assert isinstance(undecided, Inconclusive)
    assert "a push; none came" in str(undecided)
    assert times == 1


async def test_what_is_missed_again_stands() -> None:
    missed = Violation("a push", "none came")
    assert await held(Doubt(), missed, Violation("a push", "none came")) == (missed, 1)


async def test_what_fails_again_and_again_is_not_owed_to_the_machine() -> None:
    doubt, missed = Doubt(), Violation("a push", "none came")
    counts = [(await held(doubt, missed, missed))[1] for _ in range(CONFIRMED + 2)]
    assert counts == [1] * CONFIRMED + [0, 0]


@pytest.mark.parametrize(
    ("error", "factor"),
    [
        (None, 3.0),
        (NotExercised("no hook"), 3.0),
        (Violation("a push", "something else came", event=0), 3.0),
        (Violation("a push", "none came"), 1.0),
    ],
)
async def test_everything_else_is_looked_at_once(error: Exception | None, factor: float) -> None:
    assert await held(Doubt(), error, factor=factor) == (error, 0)
