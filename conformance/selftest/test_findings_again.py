"""What a run finds is found again in the transcripts that its report links, and when repeated."""

import shlex

import pytest

from conformance.proving.evidence import unshown
from conformance.selftest.driving import Place

FAULTS = [
    ("vexide/simulator", "battery-after-exited", "exit.nothing-after"),
    ("simspark/agent", "bare-effectors", "text.predicates"),
    ("deltarobot/server", "curve-length-in-points", "frame.variable-length"),
    ("openroberta/robot", "third-push-poll", "commands.robot"),
    ("runtime/log-publisher", "warn", "log.level-words"),
]


@pytest.mark.parametrize(("role", "fault", "requirement"), FAULTS)
def test_check_finds_it_again(role: str, fault: str, requirement: str, place: Place) -> None:
    """Every finding of the judge is at its event in its transcript, in the same words."""
    done = place.run(role, "--fault", fault, "--requirement", requirement)
    assert done.verdict(requirement) in ("fail", "warn"), done.out
    assert done.report["findings"], done.out
    assert [*unshown(done.report, done.folder)] == []
    [cause] = [cause for cause in done.report["causes"] if cause["requirement"] == requirement]
    again = place.conformance(*shlex.split(cause["reproduce"])[1:], "--report", str(done.folder))
    assert again.verdict(requirement) == done.verdict(requirement)


def test_what_should_have_come_next_shows_nothing_yet(place: Place) -> None:
    """A client that stays where it is to close violates that behind the last event there was."""
    requirement = "handshake.closes-wrong-magic"
    done = place.run("deltarobot/client", "--fault", "any-magic", "--requirement", requirement)
    assert done.report["problems"] == []
    assert done.verdict(requirement) == "warn", done.out
