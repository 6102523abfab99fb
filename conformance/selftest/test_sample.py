"""The sample of a report: a run of the sample simulator gives the same again."""

from pathlib import Path
from typing import Any

import pytest

from conformance.selftest import sample as making

TRIES = 3  # runs until one is like the stored run; a single run is enough on a calm machine

pytestmark = pytest.mark.skipif(
    not (making.ROOT / "pyproject.toml").is_file(), reason="installed without its checkout"
)


def test_the_sample_is_what_a_run_gives(sample: dict[str, Any], tmp_path: Path) -> None:
    """Everything is the same except times and the number of replays."""
    stored = making.comparable(sample)
    # An experiment on a busy machine can take too long to decide, so a run has further tries.
    for number in range(TRIES):
        folder = tmp_path / str(number)
        folder.mkdir()
        fresh = making.comparable(making.play(folder))
        if fresh == stored:
            break
    for name, value in fresh.items():
        assert value == stored[name], f"{name}: run python -m conformance.selftest.sample"
    assert files(folder) == files(making.FOLDER)


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_each_mistake_is_one_cause(sample: dict[str, Any]) -> None:
    """The causes are the three mistakes that the simulator's docstring names."""
    assert {cause["requirement"]: cause["kind"] for cause in sample["causes"]} == {
        "serial.base64": "content",
        "controller.raw-replaces-uuid": "end",
        "exit.closes-stream": "missing",
    }
    culprit = next(filter(None, (cause["culprit"] for cause in sample["causes"])))
    assert culprit["shown"] and culprit["message"] == "ControllerUpdate"
    proven = [one["requirement"] for cause in sample["causes"] for one in cause["consequences"]]
    assert proven == ["controller.uuid-replaces-raw"]


def test_the_sample_is_small() -> None:
    size = sum(path.stat().st_size for path in making.FOLDER.rglob("*") if path.is_file())
    assert size < 600_000
    program = Path(making.__file__).with_name("sample_simulator.py")
    assert len(program.read_text("utf-8").splitlines()) < 150
