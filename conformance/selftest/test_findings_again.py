"""What a run finds is found again in the transcripts that its report links."""

import pytest

from conformance.judging import recordings
from conformance.selftest.driving import Place

CONCLUDED = "expected "  # how a test's conclusion begins, which takes more than a transcript

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
    found = [
        finding
        for finding in done.report["findings"]
        if not finding["message"].startswith(CONCLUDED)
    ]
    assert done.verdict(requirement) in ("fail", "warn"), done.out
    assert found, done.out
    for finding in found:
        again = recordings.read(done.folder / finding["transcript"])
        said = {(one.requirement, one.message, one.event) for one in again.findings}
        assert (finding["requirement"], finding["message"], finding["event"]) in said
    for cause in done.report["causes"]:
        assert cause["transcript"]
        assert cause["reproduce"]
