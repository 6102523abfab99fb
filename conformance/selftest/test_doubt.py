"""What an IUT misses while the machine is busy is looked at twice."""

from types import SimpleNamespace
from typing import Any

import pytest

from conformance.judging.captures import Event
from conformance.running.doubt import CONFIRMED, LOST, Doubt
from conformance.verdicts import Hindered, NotExercised, Violation

_EVENTS = (Event(0.1, "robot", b"something came"), Event(0.2, "robot", event="closed"))


def iut(denied: bool = False) -> Any:
    """What a test has seen of an IUT."""
    session = SimpleNamespace(events=_EVENTS, denied=denied)
    return SimpleNamespace(sessions=[session], concluded=lambda error, sessions: error, remark="")


@pytest.mark.parametrize("event", [None, 1])
def test_what_is_missed_on_a_busy_machine_is_doubted(event: int | None) -> None:
    assert Doubt().arises(Violation("a push", "none came", event=event), iut(), LOST)


@pytest.mark.parametrize(
    ("error", "lost"),
    [
        (None, LOST),
        (NotExercised("no hook"), LOST),
        (Violation("a push", "something else came", event=0), LOST),
        (Violation("a push", "something else came", event=7), LOST),
        (Violation("a push", "none came"), LOST / 2),
    ],
)
def test_nothing_else_is(error: Exception | None, lost: float) -> None:
    assert not Doubt().arises(error, iut(), lost)


def test_what_an_iut_has_denied_until_the_last_is_not_owed_to_the_machine() -> None:
    assert not Doubt().arises(Violation("a value", "another"), iut(denied=True), LOST)


def test_what_fails_again_and_again_is_not_owed_to_the_machine() -> None:
    doubt, missed = Doubt(), Violation("a push", "none came")
    for _ in range(CONFIRMED):
        assert doubt.lasts
        assert doubt.arises(missed, iut(), LOST)
        doubt.settle(missed, missed, iut())
    assert not doubt.lasts
    assert not doubt.arises(missed, iut(), LOST)


def test_a_test_that_holds_then_says_that_it_did_not_at_first() -> None:
    again = iut()
    Doubt().settle(Violation("a push", "none came"), None, again)
    assert again.remark.startswith("expected a push; none came; tested again")


def test_what_another_test_was_in_the_way_of_is_held_again_by_itself() -> None:
    doubt, hindered = Doubt(), Hindered("it may wait for a lock of another program")
    assert doubt.arises(hindered, iut(), lost=0)
    assert doubt.few(hindered, at_a_time=4) == 1
    again = iut()
    doubt.settle(hindered, Violation("an answer", "none came"), again)
    assert doubt.lasts == CONFIRMED, "that says nothing of the machine"
    assert "tested again, by itself" in again.remark
