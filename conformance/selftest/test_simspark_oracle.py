"""The simspark codec and oracle on golden sessions, which are sound, and on violations, named."""

from pathlib import Path

import pytest

from conformance import captures, locate, protocols, recordings
from conformance.captures import Capture
from conformance.judge import judge_capture
from conformance.simspark.codec import Decoder, encode
from conformance.simspark.nodes import LEAVES
from conformance.simspark.oracle import Oracle
from conformance.simspark.scene import Scene

FOLDER = locate.folder("captures", "simspark") or Path()
ALL = sorted(FOLDER.glob("*.jsonl"))
GOLDEN = [path for path in ALL if not path.name.startswith("violation-")]
VIOLATIONS = [path for path in ALL if path.name.startswith("violation-")]
PROTOCOL = protocols.load("simspark")


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_golden_captures_are_sound(path: Path) -> None:
    read = recordings.read(path)
    assert read.findings == ()
    assert read.contradictions == ()
    assert set(read.capture.requirements) <= PROTOCOL.requirements.keys()


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_values_are_written_and_read_again(path: Path) -> None:
    for event in captures.read(path).events:
        if event.message is not None:
            [frame] = Decoder().feed(encode(event.value))
            assert (frame.name, frame.value) == (event.message, event.value)
            if event.data and b" " not in event.data[4:] and b"\n" not in event.data:
                assert encode(event.value) == event.data


@pytest.mark.parametrize("path", VIOLATIONS, ids=lambda path: path.stem)
def test_violations_are_named(path: Path) -> None:
    capture = captures.read(path)
    found = [f.requirement for f in judge_capture(PROTOCOL, capture, [str(capture.iut)]).findings]
    assert capture.extra["violates"] in found
    others = [role for role in PROTOCOL.roles if role != capture.iut]
    assert judge_capture(PROTOCOL, capture, others).findings == []


def test_every_kind_of_leaf_has_a_violation() -> None:
    shown = {captures.read(path).extra["violates"] for path in VIOLATIONS}
    leaves = {leaf.requirement for known in LEAVES.values() for leaf in known.values()}
    assert leaves - {"graph.leaves"} <= shown
    assert shown <= PROTOCOL.requirements.keys()


def test_what_a_session_exercises() -> None:
    judge = judge_capture(PROTOCOL, captures.read(FOLDER / "session-monitor.jsonl"), ["server"])
    wanted = {"monitors.state-second", "header.partial-fits", "state.play-mode", "nodes.light"}
    assert wanted <= judge.exercised
    assert judge.exercised <= PROTOCOL.requirements.keys()


def _graphs(capture: Capture) -> list[tuple[str, list[object]]]:
    return [
        (event.message, event.value[2])
        for event in capture.events
        if event.message in ("Environment", "FullState", "PartialState")
    ]


@pytest.mark.parametrize("path", [p for p in GOLDEN if "four" not in p.name], ids=lambda p: p.stem)
def test_the_schemas_of_nodes_know_what_the_oracle_knows(path: Path) -> None:
    """Sound nodes fit the schemas: whole and in their usual order, or as updates."""
    update = PROTOCOL.schemas.schema("nodes/update.json")
    for kind, graph in _graphs(captures.read(path)):
        for node in graph if graph[:1] != ["nd"] else [graph]:
            if kind == "PartialState":
                assert update.errors(node) == []


def test_a_deep_graph_takes_no_stack() -> None:
    graph: list[object] = []
    for _ in range(100_000):
        graph = ["nd", "BN", graph] if graph else ["nd", "BN"]
    assert len(Scene(graph).poses()) == 100_000


def test_a_time_that_a_trainer_sets_back_may_go_back_once() -> None:
    oracle = Oracle()
    list(oracle.message("monitor", "Commands", [["time", "1"]]))
    found = []
    for time in ("5", "1", "0.5"):
        state = [[["time", time]], ["RDS", "0", "1"], []]
        found += [f.requirement for f in oracle.message("server", "PartialState", state)]
    assert "state.time-goes-on" in found
