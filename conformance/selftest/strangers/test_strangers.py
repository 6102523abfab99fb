"""The suite names the true cause of each mistake of small programs in several languages.

Each run takes seconds: a fixed sample runs by default, all with CONFORMANCE_STRANGERS=all.
"""

import os
from pathlib import Path

import pytest

from conformance.selftest.strangers import strangers
from conformance.selftest.strangers.strangers import Stranger, Switch

ALL = os.environ.get("CONFORMANCE_STRANGERS") == "all"
TABLE = strangers.table()
MOST_LINES = 150  # of a program, so that a reader understands the mistake at once


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the built programs; all workers of pytest-xdist share it."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    built = folder / "strangers"
    built.mkdir(exist_ok=True)
    return built


def program(stranger: Stranger, built: Path) -> Stranger:
    """The program, once it is built; skips the test if a tool is missing."""
    if not strangers.available(stranger):
        pytest.skip(f"{stranger.tool} is not installed")
    strangers.build(stranger, built)
    return stranger


def sampled(stranger: Stranger, switch: Switch) -> object:
    marks = [] if ALL or switch.sample else [pytest.mark.skip("CONFORMANCE_STRANGERS=all runs it")]
    return pytest.param(stranger, switch, id=f"{stranger.name}-{switch.name}", marks=marks)


@pytest.mark.parametrize("stranger", TABLE.values(), ids=TABLE)
@pytest.mark.skipif(not ALL, reason="CONFORMANCE_STRANGERS=all runs it")
def test_sound_program_is_conformant(stranger: Stranger, built: Path, tmp_path: Path) -> None:
    run = strangers.run(program(stranger, built), "", built, tmp_path)
    assert (run.code, strangers.violated(run.report)) == (0, {})


@pytest.mark.parametrize(
    ("stranger", "switch"),
    [sampled(each, switch) for each in TABLE.values() for switch in each.switches.values()],
)
def test_true_cause_is_named(
    stranger: Stranger, switch: Switch, built: Path, tmp_path: Path
) -> None:
    run = strangers.run(program(stranger, built), switch.name, built, tmp_path)
    wrong = strangers.wrong_verdicts(switch, run.report)
    assert wrong + strangers.wrong_causes(switch, run.report) == [], switch.says


def test_table_is_complete() -> None:
    """The table has as many mistakes of each kind as the measurement needs."""
    switches = [switch for each in TABLE.values() for switch in each.switches.values()]
    kinds = [switch.kind for switch in switches]
    least = {"death": 10, "closed": 10, "silence": 10, "pair": 5}
    assert {
        kind: kinds.count(kind) for kind, count in least.items() if kinds.count(kind) < count
    } == {}
    ended = [switch for switch in switches if switch.kind in ("death", "closed", "pair")]
    assert [switch.name for switch in ended if not switch.culprits] == []


def test_programs_are_short() -> None:
    ours = {"__init__.py", "strangers.py", "test_strangers.py"}
    everything = strangers.HERE.iterdir()
    sources = [
        each for each in everything if each.suffix in strangers.SOURCES and each.name not in ours
    ]
    long = {each.name for each in sources if len(each.read_text().splitlines()) >= MOST_LINES}
    assert long == set()
