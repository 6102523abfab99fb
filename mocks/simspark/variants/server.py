"""Lawful variants of the server for agents, trainers and the game."""

import re
from ctypes import c_float
from dataclasses import replace
from typing import Any

from conformance.codec import Frame
from conformance.simspark.scene import number
from mocks.deviations import variant
from mocks.simspark.agent_port import Agent
from mocks.simspark.connection import Connection
from mocks.simspark.monitor_port import HEADER_FULL, Monitor
from mocks.simspark.robot import BY_EFFECTOR, PARTS, Robot
from mocks.simspark.server import Server
from mocks.simspark.settings import Settings
from mocks.simspark.variants.settings import OtherSettings

# Agents


@variant("perceptors-after-init", of="agents.perceptors")
class PerceptorsAfterInit(Server):
    """Sends perceptors only to agents after their init."""

    def tell_agents(self) -> None:
        everybody = self.agents
        self.agents = [agent for agent in everybody if agent.robot is None or agent.robot.unum]
        super().tell_agents()
        self.agents = everybody


@variant("effectors-of-other-names", of="agents.every-hinge")
class EffectorsOfOtherNames(Server):
    """Names the effectors of arms and legs by an m and the hinge."""

    def use_effector(self, agent: Agent, robot: Robot, word: str, values: list[Any]) -> None:
        known = {f"m{part.perceptor}": part.effector for part in PARTS}
        named = known.get(word, word if word[:2] == "he" or word not in BY_EFFECTOR else "")
        super().use_effector(agent, robot, named, values)


@variant("slow-creation", of="agents.perceptors")
class SlowCreation(Server):
    """Needs 0.3 s to create a robot, and loses messages of the agent until then."""

    CYCLES = 15

    def effect(self, agent: Agent, expression: Any) -> None:
        agent.memory.setdefault("asked", self.cycles)
        if expression[:1] == ["scene"]:
            agent.memory["scene"] = expression
        elif agent.robot is not None:
            super().effect(agent, expression)

    def tell_agents(self) -> None:
        for agent in self.agents:
            scene = agent.memory.get("scene")
            if scene and self.cycles - agent.memory["asked"] == self.CYCLES:
                super().effect(agent, scene)
        super().tell_agents()


@variant("hears-now-and-then", of="agents.effectors")
class HearsNowAndThen(Server):
    """Executes messages of agents only every tenth cycle."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.waiting: list[tuple[Agent, Frame]] = []

    def hear_agent(self, agent: Agent, frame: Frame) -> None:
        self.waiting.append((agent, frame))

    def cycle(self) -> None:
        if self.cycles % 10 == 0:
            for agent, frame in self.waiting:
                super().hear_agent(agent, frame)
            self.waiting.clear()
        super().cycle()


@variant("a-command-a-state", of="robustness.empty-message")
class ACommandAState(Server):
    """Executes one message of each monitor before each state."""

    def hear_monitor(self, monitor: Monitor, frame: Frame) -> None:
        monitor.memory.setdefault("waiting", []).append(frame)

    def tell_monitors(self) -> None:
        for monitor in self.monitors:
            if waiting := monitor.memory.get("waiting"):
                super().hear_monitor(monitor, waiting.pop(0))
        super().tell_monitors()


@variant("a-command-a-slow-state", of="monitors.commands")
class ACommandASlowState(ACommandAState, OtherSettings):
    """Executes one message of each monitor before each state, with seven states per second."""

    def settings(self, usual: Settings) -> Settings:
        return replace(usual, steps=7)


@variant("a-message-each", of="agents.perceptors")
class AMessageEach(Server):
    """Sends each perceptor of a group in a message of its own."""

    def perceptors(self, agent: Agent, robot: Robot, marks: list[Any]) -> str:
        text = super().perceptors(agent, robot, marks)
        *others, last = text.replace(")(", ")\0(").split("\0")
        whole = ""
        for part in others:
            whole += part
            if whole.count("(") == whole.count(")"):
                agent.send(whole)
                whole = ""
        return whole + last


@variant("angles-before-names", of="agents.joints")
class AnglesBeforeNames(Server):
    """Writes the angle of a hinge before its name."""

    def perceptors(self, agent: Agent, robot: Robot, marks: list[Any]) -> str:
        text = super().perceptors(agent, robot, marks)
        return re.sub(r"\(HJ (\(n [^)]*\)) (\(ax [^)]*\))\)", r"(HJ \2 \1)", text)


@variant("no-game-state", of="agents.perceptors")
class NoGameState(Server):
    """Has no perceptor GS, so agents do not receive their number and side."""

    def perceive_game(self, agent: Agent, robot: Robot) -> str:
        return ""


@variant("nameless-game-state", of="agents.perceptors")
class NamelessGameState(Server):
    """Omits number and side in the perceptor GS."""

    def perceive_game(self, agent: Agent, robot: Robot) -> str:
        return re.sub(r" ?\((unum|team) [^)]*\)", "", super().perceive_game(agent, robot))


@variant("first-team-on-the-right", of="agents.sides")
class FirstTeamOnTheRight(Server):
    """Puts the first team on the right."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.world.sides = "right", "left"


@variant("lets-agents-go-after-the-game", of="agents.perceptors")
class LetsAgentsGoAfterTheGame(Server):
    """Closes the connections of all agents after the game."""

    def tell_agents(self) -> None:
        super().tell_agents()
        if self.world.mode == "GameOver":
            for agent in self.agents:
                agent.close()


@variant("gives-up-who-does-not-read", of="robustness.slow-monitor")
class GivesUpWhoDoesNotRead(Server):
    """Closes the connection of a client that does not read, inside a message."""

    def encode(self, text: str, connection: Connection) -> bytes:
        data = super().encode(text, connection)
        if not connection.stream.is_behind:
            return data
        connection.write(data[: len(data) // 2])
        connection.close()
        return b""


@variant("deaf-robots", of="agents.heard")
class DeafRobots(Server):
    """Has robots that hear nothing."""

    def perceive_words(self, robot: Robot) -> list[str]:
        return []


# Trainers


@variant("commands-in-play-only", of="trainer.no-effect-in-some-modes")
class CommandsInPlayOnly(Server):
    """Executes only playMode and kickOff before and after the game."""

    def execute(self, command: Any) -> None:
        waits = self.world.mode in ("BeforeKickOff", "GameOver")
        if not waits or command[:1] in (["playMode"], ["kickOff"]):
            super().execute(command)


@variant("times-that-are-none-are-0", of="trainer.errors-silent")
class TimesThatAreNoneAre0(Server):
    """Takes other words than numbers for the time 0, as the published server does."""

    def do_time(self, command: list[Any]) -> None:
        wrong = len(command) > 1 and number(command[1]) is None
        super().do_time(["time", "0"] if wrong else command)


@variant("selects-several", of="select.only-one")
class SelectsSeveral(Server):
    """Selects one more agent each time, and removes and repositions all selected agents."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.chosen: list[Robot] = []

    def do_select(self, command: list[Any]) -> None:
        super().do_select(command)
        self.chosen += [self.world.selected] if self.world.selected else []

    def do_kill(self, command: list[Any]) -> None:
        super().do_kill(command)
        for robot in self.chosen if len(command) == 1 else ():
            self.world.remove(robot)

    def do_repos(self, command: list[Any]) -> None:
        selected = self.world.selected
        for robot in self.chosen if len(command) == 1 else ():
            self.world.selected = robot
            super().do_repos(command)
        self.world.selected = selected
        super().do_repos(command)


@variant("acknowledges", of="ack.form")
class Acknowledges(Server):
    """Answers getAck."""

    hearing: Monitor | None = None

    def hear_command(self, monitor: Monitor, expression: Any) -> None:
        self.hearing = monitor
        wrapped = isinstance(expression, list) and expression and isinstance(expression[0], list)
        for command in expression if wrapped else [expression]:
            super().hear_command(monitor, command)

    def do_get_ack(self, command: list[Any]) -> None:
        if self.hearing and len(command) > 1:
            self.hearing.send(f"(ack {command[1]})")


@variant("keeps-alive", of="robustness.empty-message")
class KeepsAlive(Server):
    """Sends an empty message to each monitor after every fifth message."""

    def tell_monitor(self, monitor: Monitor, pairs: list[str], scene: str) -> None:
        super().tell_monitor(monitor, pairs, scene)
        if monitor.sent % 5 == 0:
            monitor.send("")


@variant("environment-again", of="monitors.environment-first")
class EnvironmentAgain(Server):
    """Sends the environment again before each full game state."""

    def tell_monitor(self, monitor: Monitor, pairs: list[str], scene: str) -> None:
        if scene.startswith(HEADER_FULL):
            self.send_environment(monitor)
        super().tell_monitor(monitor, pairs, scene)


@variant("full-to-the-asker", of="full.on-request")
class FullToTheAsker(Server):
    """Sends a requested full graph only to the monitor that requested it."""

    hearing: Monitor | None = None

    def hear_command(self, monitor: Monitor, expression: Any) -> None:
        self.hearing = monitor
        super().hear_command(monitor, expression)

    def do_full_state(self, command: list[Any]) -> None:
        if self.hearing:
            self.send_full(self.hearing)


@variant("turns-in-radians", of="move-agent.turn")
class TurnsInRadians(Server):
    """Reads the rotation of move in radians."""

    def agent_move(self, robot: Robot, values: list[Any]) -> None:
        super().agent_move(robot, [*values[:3], str(float(values[3]) * 57.29578)])


@variant("single-precision", of="robustness.unknown-commands")
class SinglePrecision(Server):
    """Reads numbers in single precision, in which large numbers are infinite."""

    def ball_pos(self, pos: list[float]) -> None:
        super().ball_pos([c_float(value).value for value in pos])

    def ball_vel(self, vel: list[float]) -> None:
        super().ball_vel([c_float(value).value for value in vel])


# The game


@variant("kicks-in-at-once", of="environment.kick-in-pause")
class KicksInAtOnce(Server):
    """Switches to the kick-in at once and then waits, as the published server does."""

    def kick_in_pause(self) -> float:
        return 0.0


@variant("no-goals-of-trainers", of="environment.goal-pause")
class NoGoalsOfTrainers(Server):
    """Counts no goal of a ball that no agent has kicked."""

    def judge_ball(self) -> None:
        if abs(self.world.ball.x) < self.world.settings.environment.FieldLength / 2:
            super().judge_ball()


@variant("ball-without-axes", of="ball.spin")
class BallWithoutAxes(Server):
    """Sends the ball without rotation."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.world.ball.turn = lambda: None  # type: ignore[method-assign]


@variant("small-field", of="environment.parameters")
class SmallField(OtherSettings):
    """Has the field of the specification's example."""

    def settings(self, usual: Settings) -> Settings:
        field = replace(usual.environment, FieldLength=18, FieldWidth=12, FreeKickDistance=1.3)
        return replace(usual, environment=field)


@variant("faster-than-the-world", of="monitors.rate")
class FasterThanTheWorld(OtherSettings):
    """Runs three times as fast as real time."""

    def settings(self, usual: Settings) -> Settings:
        return replace(usual, pace=3.0)


@variant("scores-of-32-bits", of="state.values")
class ScoresOf32Bits(Server):
    """Keeps a score in a signed 32-bit number; a larger score becomes the least number."""

    def do_score(self, command: list[Any]) -> None:
        super().do_score(command)
        least = -(1 << 31)
        goals = self.world.score
        self.world.score = {team: n if n < -least else least for team, n in goals.items()}


@variant("one-temperature", of="move-agent.temperature")
class OneTemperature(Server):
    """Sets the battery instead of the temperature, as the published server does."""

    def agent_temperature(self, robot: Robot, values: list[Any]) -> None:
        self.agent_battery(robot, values)


@variant("plain-numbers", of="text.numbers")
class PlainNumbers(Server):
    """Executes only commands whose numbers have the forms of the examples."""

    def execute(self, command: Any) -> None:
        texts = [str(part) for part in _list_atoms(command)]
        if not any(re.match(r"[-+.]?[0-9]", text) and not _PLAIN.fullmatch(text) for text in texts):
            super().execute(command)


_PLAIN = re.compile(r"-?[0-9]+([.][0-9]+)?")


def _list_atoms(part: Any) -> list[str]:
    if isinstance(part, list):
        return [atom for item in part for atom in _list_atoms(item)]
    return [str(part)]


@variant("as-great-as-it-is-told", of="robustness.odd-numbers")
class AsGreatAsItIsTold(Server):
    """Puts robots at the coordinates of a command, finite or not."""

    def agent_pos(self, robot: Robot, values: list[Any]) -> None:
        try:
            x, y, z = map(float, values)
        except ValueError:
            return
        robot.place(x, y, z)
