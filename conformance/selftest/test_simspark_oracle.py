"""The simspark oracle: its knowledge of scene graphs, and its memory."""

from pathlib import Path

import pytest

from conformance.definitions import locations, protocols
from conformance.judging import captures
from conformance.judging.captures import Capture
from conformance.judging.connections import judge_capture
from conformance.judging.judge import Judge
from conformance.simspark import messages, sexp
from conformance.simspark.clock import MAX_ENTRIES
from conformance.simspark.codec import encode
from conformance.simspark.nodes import LEAVES
from conformance.simspark.oracle import Conversation, Oracle
from conformance.simspark.scene import Scene
from conformance.simspark.sexp import read

FOLDER = locations.folder("captures", "simspark") or Path()
VIOLATIONS = sorted(FOLDER.glob("violation-*.jsonl"))
GOLDEN = sorted(set(FOLDER.glob("*.jsonl")) - set(VIOLATIONS))
PROTOCOL = protocols.load("simspark")


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


PLACE = "(SLT 1 0 0 0 0 1 0 0 0 0 1 0 1 2 3 1)"
LAMP = "(nd Light (setDiffuse 1 1 1 1)(setAmbient 1 1 1 1)(setSpecular 1 1 1 1))"


@pytest.mark.parametrize("root", ["", "nd BN"])
@pytest.mark.parametrize(
    ("full", "partial", "wrong"),
    [
        (f"(nd TRF {PLACE.replace('2', 'x')}{LAMP})", "", "x"),
        (f"(nd TRF {PLACE.replace('2 3', '3')}{LAMP})", "", PLACE.replace("2 3", "3")),
        (f"(nd TRF {PLACE}(nd BN)(nd SMN (load Foo)(sSc 1 1 1)(sMat a)))", "", "(load Foo)"),
        ("(nd BN foo)", "", "foo"),
        (f"(nd TRF {PLACE} (nd BN (nd Lamp)))", "", "(nd Lamp)"),
        (f"(nd BN)(nd TRF {PLACE}{LAMP})", "(nd)(nd (SLT 7)(nd))", "(SLT 7)"),
        (f"(nd BN)(nd TRF {PLACE}{LAMP})", "(nd)(nd (nd (nd)))", "(nd (nd))"),
        (f"(nd BN)(nd TRF {PLACE}{LAMP})", "(nd)(nd (nd Light))", "(nd Light)"),
    ],
)
def test_a_finding_leads_to_what_is_wrong_in_a_graph(
    full: str, partial: str, wrong: str, root: str
) -> None:
    below = root.removesuffix(" BN")
    texts = [f"((play_modes A))(RSG 0 1)({root}{LAMP}{full})"]
    texts += [f"((time 1))(RDS 0 1)({below}(nd){partial})"] if partial else []
    oracle = Oracle()
    found = [
        text[slice(*place)]
        for text in texts
        for finding in oracle.message("server", "FullState", read(text.encode()))
        if finding.path and (place := sexp.place(text.encode(), finding.path))
    ]
    assert found == [wrong]


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


def test_commands_are_not_kept_for_ever() -> None:
    """A forgotten command can explain one jump of the time, and no later jump."""
    conversation = Conversation()
    trainer, other = Oracle(conversation), Oracle(conversation)

    def shown(time: str) -> list[str]:
        state = [[["time", time]], ["RDS", "0", "1"], []]
        return [f.requirement for f in other.message("server", "PartialState", state)]

    shown("9")
    list(trainer.message("monitor", "Commands", [["time", "0"]]))
    for _ in range(2 * MAX_ENTRIES):
        list(trainer.message("monitor", "Commands", [["select"]]))
    assert conversation.commands.count == 2 * MAX_ENTRIES + 1
    assert len(conversation.commands.since(0)) == MAX_ENTRIES
    assert "state.time-goes-on" not in shown("0")
    assert "state.time-goes-on" not in shown("4")
    assert "state.time-goes-on" in shown("2")


@pytest.mark.parametrize("reset", [False, True])
def test_the_end_of_a_message_may_be_lost_by_a_reset(reset: bool) -> None:
    judge = Judge(PROTOCOL, ["agent"])
    [scene] = judge.decode("agent", b"\0\0\0\x09(scene f)\0\0\0\x08(in")
    judge.frame(0, "agent", scene)
    if reset:
        judge.reset("agent")
    for rest in judge.take_rest("agent"):
        judge.frame(1, "agent", rest)
    found = [finding.requirement for finding in judge.findings]
    assert found == ([] if reset else ["frame.length-prefix"])


@pytest.mark.parametrize("command", ["(time soon)", "(time ())", "(fly)"])
def test_a_time_that_is_none_may_be_taken_for_zero(command: str) -> None:
    judge = Judge(PROTOCOL, ["server"])
    state = "(half 1)(score_left 0)(score_right 0)(play_mode 0)"
    for sender, text in (
        ("server", "((play_modes A B))(RSG 0 1)()"),
        ("server", f"((time 20){state})(RSG 0 1)()"),
        ("monitor", command),
        ("server", "((time 0.02))(RDS 0 1)()"),
    ):
        for frame in judge.decode(sender, encode(read(text.encode()))):
            judge.frame(0, sender, frame)
    back = [f.message for f in judge.findings if f.requirement == "state.time-goes-on"]
    assert bool(back) == (command == "(fly)")


@pytest.mark.parametrize("command", ["(ball (pos nan 0 0))", "(ball (pos 1 0 0))"])
def test_a_trainer_may_put_the_ball_nowhere(command: str) -> None:
    """A server can show a place that is not finite if a trainer commanded it."""
    judge = Judge(PROTOCOL, ["server"])
    node = f"((nd TRF (SLT {messages.UPRIGHT} nan 0 0 1)))"
    for sender, text in (
        ("server", f"((play_modes A B))(RSG 0 1){node.replace('nan', '0')}"),
        ("server", f"({messages.state(0)})(RSG 0 1){node.replace('nan', '0')}"),
        ("monitor", command),
        ("server", f"((time 0.04))(RSG 0 1){node}"),
    ):
        for frame in judge.decode(sender, encode(read(text.encode()))):
            judge.frame(0, sender, frame)
    found = any(finding.requirement == "nodes.transform" for finding in judge.findings)
    assert found == ("nan" not in command)


@pytest.mark.parametrize(
    ("command", "found"),
    [("((time 5))", []), ("(((time) 5))", ["text.predicates"]), ("((()))", ["text.predicates"])],
)
def test_a_trainer_may_set_the_time_in_a_list_of_its_own(command: str, found: list[str]) -> None:
    judge = Judge(PROTOCOL, ["monitor"])
    [frame] = judge.decode("monitor", encode(read(command.encode())))
    judge.frame(0, "monitor", frame)
    assert [finding.requirement for finding in judge.findings] == found
