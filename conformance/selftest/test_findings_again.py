"""Findings of a run are found again in its transcripts, and in a repeated run."""

import shlex

import pytest

from conformance.proving.evidence import unshown_findings
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
    """Every finding of the judge is at its event in the transcript, word for word."""
    done = place.run(role, "--fault", fault, "--requirement", requirement)
    assert done.verdict(requirement) in ("fail", "warn"), done.out
    assert done.report["findings"], done.out
    assert [*unshown_findings(done.report, done.folder)] == []
    [cause] = [cause for cause in done.report["causes"] if cause["requirement"] == requirement]
    again = place.conformance(*shlex.split(cause["reproduce"])[1:], "--report", str(done.folder))
    assert again.verdict(requirement) == done.verdict(requirement)


def test_check_tells_what_a_test_has_concluded(place: Place) -> None:
    """A test's own conclusion is in the transcript; the command repeats any test id."""
    words = ("--fault", "first-240-lines", "--requirement", "touch.point")
    done = place.run("vexide/frontend", *words)
    [cause] = done.report["causes"]
    check = place.conformance("check", str(done.folder / cause["transcript"]))
    assert (
        check.code,
        "touch.point (by its test): expected a command with a touch" in check.out,
    ) == (0, True)
    shown = place.conformance("show", str(done.folder / cause["transcript"]))
    assert "✗ touch.point (should): expected a command with a touch" in shown.out
    again = place.conformance(*shlex.split(cause["reproduce"])[1:], "--report", str(done.folder))
    assert again.tests == {"smoke": "pass", cause["tests"][0]: "warn"}


def test_what_should_have_come_next_shows_nothing_yet(place: Place) -> None:
    """A client that should close and stays violates the requirement after the last event."""
    requirement = "handshake.closes-wrong-magic"
    done = place.run("deltarobot/client", "--fault", "any-magic", "--requirement", requirement)
    assert done.report["problems"] == []
    assert done.verdict(requirement) == "warn", done.out


def test_a_direction_that_is_always_wrong_says_nothing_of_floats(place: Place) -> None:
    """The direction is blamed if the simplest exercise shows the error, too."""
    words = ("--fault", "current-is-desired", "-k", "floats_of_progress or current_direction")
    done = place.run("deltarobot/client", *words)
    assert done.verdict("progress.current-direction") == "fail"
    assert done.verdict("frame.floats") == "inconclusive"
    assert [cause["requirement"] for cause in done.report["causes"]] == [
        "progress.current-direction"
    ]
