"""The simspark mocks: as sound peers of each other, and the physics of their world."""

import asyncio
import re
import sys
from math import hypot
from pathlib import Path

import pytest

from conformance.benchmarks.simspark_reading import Nowhere
from conformance.definitions import protocols
from conformance.harness.links import free_port
from conformance.judging.judge import Judge
from conformance.selftest.driving import Place
from conformance.selftest.standing import DEADLINE, ask, mock
from conformance.simspark import messages
from conformance.simspark.sexp import read
from conformance.simspark.view import View
from mocks.simspark.agent_port import SEEN, Agent
from mocks.simspark.game import Game
from mocks.simspark.pitch import COLUMNS, ROWS, draw
from mocks.simspark.robot import PARTS
from mocks.simspark.server import Server
from mocks.simspark.settings import PLAY_MODES, Environment, Settings
from mocks.simspark.world import AXES


class RecordingStream(Nowhere):
    """A stream that keeps the written bytes."""

    def __init__(self) -> None:
        super().__init__()
        self.data: list[bytes] = []

    def write(self, data: bytes) -> None:
        self.data.append(data)


class Pitch:
    """A server in this process, with a monitor whose view is judged and updated."""

    def __init__(self, settings: Settings | None = None) -> None:
        self.server = Server(settings or Settings())
        self.stream = RecordingStream()
        self.view = View()
        self.judge = Judge(protocols.load("simspark"), ["server"])
        self.monitor = self.server.new_monitor()
        self.monitor.stream = self.stream
        self.monitor.opened()

    def agent(self, team: str = "Lefts", unum: int = 0) -> Agent:
        agent = self.server.new_agent()
        agent.stream = RecordingStream()
        agent.opened()
        self.act(agent, f"(scene nao.rsg)(init (unum {unum})(teamname {team}))")
        return agent

    def act(self, agent: Agent, text: str) -> None:
        for expression in read(text.encode()):
            self.server.effect(agent, expression)

    def command(self, text: str) -> None:
        for expression in read(text.encode()):
            self.server.execute(expression)

    def cycles(self, count: int = 4) -> View:
        for _ in range(count):
            self.server.cycle()
        for data in self.stream.data:
            for frame in self.judge.decode("server", data):
                self.judge.frame(None, "server", frame)
                self.view.take(frame.value)
        self.stream.data.clear()
        return self.view

    def seconds(self, seconds: float) -> View:
        return self.cycles(round(seconds * 50))


@pytest.mark.parametrize(
    ("settings", "warned"),
    [
        (Settings(), set()),
        (Settings(merged=True), {"monitors.apart"}),
        (Settings(rooted=True, lines=True), set()),
        (Settings(rooted=True, typed=True), {"header.updates-bare"}),
        (Settings(environment=Environment(FieldLength=9, FieldWidth=6), steps=1), set()),
    ],
    ids=["plain", "merged", "rooted", "typed", "other field"],
)
def test_a_match_is_sound(settings: Settings, warned: set[str]) -> None:
    pitch = Pitch(settings)
    agents = [pitch.agent(team) for team in ("Lefts", "Rights", "Lefts")]
    for agent in agents:
        pitch.act(agent, "(he1 1)(he2 -1)(lae2 0.5)(rae4 2)(lle4 -1)(rle6 1)(beam -2 1 45)(say hi)")
    pitch.cycles(20)
    pitch.command(
        "(playMode PlayOn)(ball (pos 1 1 1)(vel 3 1 2))(select (unum 1)(team Left))(kill)"
    )
    pitch.cycles(40)
    pitch.server.agent_left(agents[1])
    view = pitch.cycles(10)
    assert {finding.requirement for finding in pitch.judge.findings} == warned
    assert view.play_mode == "PlayOn"
    assert {"header.partial-fits", "nodes.light", "nodes.cylinder"} <= pitch.judge.exercised


def test_hinges_stop_at_their_limits() -> None:
    pitch = Pitch()
    agent = pitch.agent()
    assert agent.robot is not None
    for speed in (100, -100):
        pitch.act(agent, "".join(f"({part.effector} {speed})" for part in PARTS))
        pitch.seconds(2)
        for part, angle in zip(PARTS, agent.robot.angles, strict=True):
            assert angle == pytest.approx(part.high if speed > 0 else part.low)
    assert pitch.judge.findings == []


def test_sides_mirror_each_other() -> None:
    by_name = {part.perceptor: part for part in PARTS}
    assert len(PARTS) == len(by_name) == 22
    assert (by_name["raj2"].low, by_name["raj2"].high) == (-95, 1)
    assert (by_name["laj2"].low, by_name["laj2"].high) == (-1, 95)
    assert (by_name["llj3"].low, by_name["llj3"].high) == (-25, 100)


def test_a_goal_counts_and_the_other_team_kicks_off() -> None:
    pitch = Pitch(Settings(environment=Environment(RuleGoalPauseTime=1)))
    pitch.command("(playMode PlayOn)(ball (pos 14.9 0 0.1)(vel 5 0 0))")
    view = pitch.seconds(0.3)
    assert (view.play_mode, view.state["score_left"]) == ("Goal_Left", "1")
    assert pitch.seconds(0.5).play_mode == "Goal_Left"
    view = pitch.seconds(0.6)
    assert view.play_mode == "KickOff_Right"
    ball = view.ball()
    assert ball is not None and hypot(ball[0], ball[1]) < 0.01


def test_a_ball_over_the_line_is_kicked_in() -> None:
    pitch = Pitch()
    pitch.command("(playMode PlayOn)(ball (pos 3 9.9 0.1)(vel 0 5 0))")
    assert pitch.seconds(0.5).play_mode == "PlayOn"
    assert pitch.seconds(0.8).play_mode == "KickIn_Right"
    view = pitch.seconds(2)
    ball = view.ball()
    assert ball is not None and abs(ball[1]) <= 10.01
    pitch.command("(ball (vel -3 0 0))")
    assert pitch.seconds(2).play_mode == "PlayOn"


def test_halves_end() -> None:
    pitch = Pitch()
    pitch.command("(playMode PlayOn)(time 299.9)")
    view = pitch.seconds(0.3)
    assert (view.state["half"], view.play_mode) == ("2", "BeforeKickOff")
    pitch.command("(playMode PlayOn)(time 599.9)")
    assert pitch.seconds(0.3).play_mode == "GameOver"
    assert pitch.seconds(0.3).state["time"] == pitch.seconds(0.3).state["time"]


def test_players_of_both_teams_and_their_numbers() -> None:
    pitch = Pitch()
    robots = [pitch.agent(team).robot for team in ("A", "B", "A", "C")]
    assert [(r.unum, r.side) for r in robots if r] == [
        (1, "left"),
        (1, "right"),
        (2, "left"),
        (0, ""),
    ]
    taken = pitch.agent("A", 2).robot
    assert taken is not None and taken.unum == 0


def test_an_agent_sees_and_hears() -> None:
    pitch = Pitch()
    one, other = pitch.agent("A"), pitch.agent("B")
    pitch.command("(agent (unum 1)(team Left)(move -1 0 0.35 -90))")
    pitch.act(other, "(say hello)")
    pitch.cycles(1)
    perceptors = one.stream.data[-1]  # type: ignore[attr-defined]
    assert b"(hear B 0.00 " in perceptors and b"hello)" in perceptors
    assert b"(B (pol 1.1" in perceptors
    assert b"(G1R (pol 16.0" in perceptors
    assert b"(unum 1) (team left)" in perceptors
    assert b"self hello" in other.stream.data[-1]  # type: ignore[attr-defined]


def test_agents_see_each_other_and_without_noise() -> None:
    """Two agents face each other; each sees the other's head, twice in the same place."""
    pitch = Pitch()
    agents = [pitch.agent("A"), pitch.agent("B")]
    pitch.command("(agent (unum 1)(team Left)(move -1 0 0.35 -90))")
    pitch.command("(agent (unum 1)(team Right)(move 1 0 0.35 90))")
    looks: list[list[bytes]] = []
    for _ in range(2):
        pitch.cycles(SEEN)
        looks.append([])
        for agent in agents:
            groups: list[bytes] = agent.stream.data  # type: ignore[attr-defined]
            (seen,) = {look for group in groups for look in re.findall(rb"\(P .*?\)\)\)", group)}
            looks[-1].append(seen)
            groups.clear()
    assert looks[0] == [
        b"(P (team B) (id 1) (head (pol 2.00 0.00 0.86)))",
        b"(P (team A) (id 1) (head (pol 2.00 0.00 0.86)))",
    ]
    assert looks[0] == looks[1]


@pytest.mark.parametrize("environment", [Environment(), Environment(FieldLength=9, FieldWidth=6)])
def test_a_game_goes_through_all_play_modes(environment: Environment) -> None:
    pitch = Pitch(Settings(environment=environment))
    pitch.server.game = Game(environment)
    seen: list[str] = []
    for _ in range(70):
        mode = str(pitch.seconds(1).play_mode)
        if seen[-1:] != [mode]:
            seen.append(mode)
    assert {*seen} == {*PLAY_MODES}
    assert seen.index("Goal_Left") + 1 == seen.index("KickOff_Right")
    assert pitch.server.world.score == {"left": 1, "right": 1}
    assert seen.index("GameOver") < len(seen) - 1, "it begins anew"
    assert pitch.judge.findings == []


@pytest.mark.asyncio
async def test_all_three_play_together(tmp_path: Path) -> None:
    """An agent nods, a trainer plays its script, and the monitor draws the result."""
    agents, monitors = free_port(), free_port()
    script = tmp_path / "script"
    script.write_text(
        "- when: FullState\n  send: [[playMode, PlayOn]]\n"
        "- at: 0.1\n  send: [[score, [left, '2'], [right, '1']]]\n"
    )
    ports = ("--agent-port", str(agents), "--monitor-port", str(monitors))
    async with (
        mock("simspark/server", *ports),
        mock("simspark/agent", "--connect", f"127.0.0.1:{agents}", "--upper-tester") as agent,
    ):
        trainer = ("--connect", f"127.0.0.1:{monitors}", "--script", str(script), "--every", "0.3")
        async with mock("simspark/monitor", *trainer) as monitor:
            assert monitor.stdout is not None
            seen = b""
            while b"2:1, PlayOn" not in seen:
                line = await asyncio.wait_for(monitor.stdout.readline(), DEADLINE)
                assert line
                seen += line
            assert b"o" in seen and b"L" in seen
        state = (await ask(agent, "state"))["result"]
        assert "hj1" in state["hinges"]
        assert not (await ask(agent, "act"))["ok"]
        assert (await ask(agent, "act", effectors="(he1 0)"))["ok"]


def test_the_drawn_pitch() -> None:
    pitch = Pitch()
    pitch.agent("A")
    pitch.agent("B")
    pitch.command(
        "(agent (unum 1)(team Left)(pos -15 10 0.4))(agent (unum 1)(team Right)(pos 15 -10 1))"
    )
    pitch.command("(playMode PlayOn)(ball (pos 7.5 0 0))")
    rows = draw(pitch.cycles()).split("\n")
    assert len(rows) == ROWS + 2 and {len(row) for row in rows} == {COLUMNS + 2}
    assert rows[1][1] == "L" and rows[-2][-2] == "R" and "o" in rows[ROWS // 2 + 1]


def test_a_ball_spins_as_it_rolls_until_its_velocity_is_set() -> None:
    pitch = Pitch()
    pitch.command("(playMode PlayOn)(ball (vel 2 1 0))")
    pitch.seconds(0.5)
    ball = pitch.server.world.ball
    turned = ball.axes
    assert turned != AXES
    pitch.command("(ball (pos 0 0 3))")
    pitch.seconds(0.1)
    assert ball.axes != turned
    pitch.command("(ball (pos 0 0 3)(vel 0 0 0))")
    turned = ball.axes
    pitch.seconds(0.1)
    assert ball.axes == turned
    assert pitch.judge.findings == []


def test_a_mesh_without_a_name_is_no_ball() -> None:
    view = View()
    view.take(read(messages.full(messages.state(0), "(nd StaticMesh (load))").encode()))
    assert view.ball() is None


def test_an_agent_with_a_fixed_port(place: Place) -> None:
    """Tests that compare with a plain session run one session after the other."""
    address = f"127.0.0.1:{free_port()}"
    iut = [sys.executable, "-m", "mocks", "simspark/agent", "--connect", address]
    words = ("--listen", address, "--requirement", "robustness.empty-message")
    done = place.run("simspark/agent", *words, iut=iut)
    assert (done.code, done.verdict("robustness.empty-message")) == (0, "pass"), done.out
    assert set(done.tests.values()) == {"pass"}
