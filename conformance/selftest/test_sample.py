"""The sample of a report: a run of the sample simulator gives the same again."""

from pathlib import Path
from typing import Any

import pytest

from conformance.selftest import sample as making

pytestmark = pytest.mark.skipif(
    not (making.ROOT / "pyproject.toml").is_file(), reason="installed without its checkout"
)


def test_the_sample_is_what_a_run_gives(sample: dict[str, Any], tmp_path: Path) -> None:
    """Everything is the same except times and the number of replays."""
    stored = making.comparable(sample)
    for name, value in making.comparable(making.play(tmp_path)).items():
        assert value == stored[name], f"{name}: run python -m conformance.selftest.sample"
    assert files(tmp_path) == files(making.FOLDER)


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_each_mistake_is_one_cause(sample: dict[str, Any]) -> None:
    """The causes are the three mistakes that the simulator's docstring names."""
    assert {cause["requirement"]: cause["kind"] for cause in sample["causes"]} == {
        "serial.base64": "content",
        "controller.uuid-replaces-raw": "end",
        "exit.closes-stream": "missing",
    }
    culprit = next(filter(None, (cause["culprit"] for cause in sample["causes"])))
    assert culprit["shown"] and culprit["message"] == "ControllerUpdate UUID"
    proven = [one["requirement"] for cause in sample["causes"] for one in cause["consequences"]]
    assert proven == ["controller.raw-replaces-uuid"]


def test_the_sample_is_small() -> None:
    size = sum(path.stat().st_size for path in making.FOLDER.rglob("*") if path.is_file())
    assert size < 600_000
    program = Path(making.__file__).with_name("sample_simulator.py")
    assert len(program.read_text("utf-8").splitlines()) < 150
