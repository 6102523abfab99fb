"""An IUT that wraps all messages gets one finding; the contents are judged."""

import pytest

from conformance.selftest.driving import Place

WRAPPED = [
    ("runtime/gamepad-receiver", "wrapped-only", "receiver.form"),
    ("runtime/log-publisher", "wrapped", "log.form"),
    ("runtime/gamepad-sender", "wrapped", "gamepad.form"),
    ("runtime/update-publisher", "within-a-map", "update.form"),
]


@pytest.mark.parametrize(("role", "fault", "requirement"), WRAPPED)
def test_one_requirement_names_the_wrapper(
    role: str, fault: str, requirement: str, place: Place
) -> None:
    """In a whole run, only this requirement fails, and all others are exercised."""
    done = place.run(role, "--fault", fault)
    verdicts = {entry["id"]: entry["verdict"] for entry in done.report["requirements"]}
    unsound = {id_: verdict for id_, verdict in verdicts.items() if verdict != "pass"}
    assert unsound.pop(requirement) == "fail"
    assert set(unsound.values()) <= {"not-exercised"}
    assert sum(verdict == "pass" for verdict in verdicts.values()) >= 9
    assert len(done.report["causes"]) == 1
