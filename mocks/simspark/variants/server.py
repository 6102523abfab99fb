"""Lawful variants of the server for agents, trainers and the game."""

import re
from ctypes import c_float
from dataclasses import replace
from typing import Any

from conformance.codec import Frame
from conformance.simspark.scene import number
from mocks.deviations import Table, Variant, variant
from mocks.simspark.agent_port import Agent
from mocks.simspark.connection import Connection
from mocks.simspark.faults.server.bases import keeps
from mocks.simspark.monitor_port import HEADER_FULL, Monitor
from mocks.simspark.robot import BY_EFFECTOR, PARTS, Robot
from mocks.simspark.server import Server
from mocks.simspark.settings import Settings
from mocks.simspark.variants.bases import has
from mocks.steps import alter, before, call, instead, noted, only, put, returning, skip, then

BEFORE_AND_AFTER = ("BeforeKickOff", "GameOver")
LEAST = -(1 << 31)
NAMES = {f"m{part.perceptor}": part.effector for part in PARTS}
"""The effectors of hinges, by other names."""
PLAIN = re.compile(r"-?[0-9]+([.][0-9]+)?")


def _with_small_field(_: Server, usual: Settings) -> Settings:
    field = replace(usual.environment, FieldLength=18, FieldWidth=12, FreeKickDistance=1.3)
    return replace(usual, environment=field)


def _with_wait(usual: Settings, seconds: float) -> Settings:
    return replace(usual, environment=replace(usual.environment, WaitBeforeKickOff=seconds))


def _is_due(server: Server) -> bool:
    """Return True if the wait before the kick-off is over, with or without agents."""
    world = server.world
    wait = world.settings.environment.WaitBeforeKickOff
    return world.mode == "BeforeKickOff" and world.now - world.since >= wait


def _other_name(_: Server, agent: Agent, robot: Robot, word: str, values: list[Any]) -> Any:
    known = word[:2] == "he" or word not in BY_EFFECTOR
    return agent, robot, NAMES.get(word, word if known else ""), values


def _close_agents(server: Server) -> None:
    for agent in server.agents:
        agent.close()


def _is_executable(server: Server, command: Any) -> bool:
    waits = server.world.mode in BEFORE_AND_AFTER
    return not waits or command[:1] in (["playMode"], ["kickOff"])


def _is_no_time(_: Server, command: list[Any]) -> bool:
    return len(command) > 1 and number(command[1]) is None


def _is_long(_: Server, connection: Connection, frame: Frame) -> bool:
    return len(frame.raw) > 20_000


def _in_tenths(_: Server, command: list[Any]) -> list[Any]:
    time = number(command[1]) if len(command) > 1 else None
    return command if time is None else [command[0], f"{int(10 * time) / 10}", *command[2:]]


def _single(_: Server, values: list[float]) -> list[float]:
    return [c_float(value).value for value in values]


def _in_radians(_: Server, robot: Robot, values: list[Any]) -> Any:
    return robot, [*values[:3], str(float(values[3]) * 57.29578)]


def _of_32_bits(_: Any, score: dict[str, int]) -> dict[str, int]:
    return {team: goals if goals < -LEAST else LEAST for team, goals in score.items()}


def _is_on_the_field(server: Server) -> bool:
    return abs(server.world.ball.x) < server.world.settings.environment.FieldLength / 2


def _has_odd_numbers(_: Server, command: Any) -> bool:
    texts = _texts(command)
    return any(re.match(r"[-+.]?[0-9]", text) and not PLAIN.fullmatch(text) for text in texts)


def _texts(part: Any) -> list[str]:
    if isinstance(part, list):
        return [text for item in part for text in _texts(item)]
    return [str(part)]


def _in_reverse(_: Server, monitor: Monitor, frame: Frame) -> tuple[Monitor, Frame]:
    return monitor, replace(frame, value=frame.value[::-1])


def _stop_hinges(server: Server) -> None:
    for robot in server.world.robots:
        robot.speeds = [0.0] * len(robot.speeds)


VARIANTS = Table(Server)

VARIANTS["frame.length-prefix"] = {
    "refuses-long-messages": Variant(
        "Closes a connection after a message of more than 20,000 bytes.",
        instead("hear_agent", lambda _, agent, frame: agent.close(), _is_long),
        instead("hear_monitor", lambda _, monitor, frame: monitor.close(), _is_long),
    ),
}

VARIANTS["text.order"] = {
    "commands-in-reverse": Variant(
        "Executes the commands of a message in reverse order.",
        alter("hear_monitor", _in_reverse, lambda _, monitor, frame: isinstance(frame.value, list)),
    ),
}

VARIANTS["time.set"] = {
    "time-in-tenths": Variant(
        "Keeps the time that is set in whole tenths of a second.",
        alter("do_time", _in_tenths),
    ),
}

VARIANTS["robustness.unknown-commands"] = {
    "stops-at-an-error": Variant(
        "Ignores the rest of a message after a wrong command or effector.",
        before("hear_monitor", put("wrong", False)),
        before("hear_agent", put("wrong", False)),
        before("complain", put("wrong", True)),
        before("complain_of_effector", put("wrong", True)),
        skip("hear_command", noted("wrong")),
        skip("effect", noted("wrong")),
    ),
}

VARIANTS["agents.effectors"] = {
    "effectors-of-one-cycle": Variant(
        "Applies an effector in a single cycle, so a hinge stops until the next effector.",
        then("cycle", _stop_hinges),
    ),
}

VARIANTS["agents.every-hinge"] = {
    "effectors-of-other-names": Variant(
        "Names the effectors of arms and legs by an m and the hinge.",
        alter("use_effector", _other_name),
    ),
}

VARIANTS["agents.joints"] = {
    "angles-before-names": Variant(
        "Writes the angle of a hinge before its name.",
        returning(
            "perceptors",
            lambda text: re.sub(r"\(HJ (\(n [^)]*\)) (\(ax [^)]*\))\)", r"(HJ \2 \1)", text),
        ),
    ),
}

VARIANTS["monitors.not-for-agents"] = {
    "later-in-the-game": Variant(
        "Has a game whose clock begins at 76 s.", then("__init__", put("world.time", 76.0))
    ),
}

VARIANTS["play-mode.set"] = {
    "starts-at-once": Variant(
        "Starts the game at once, without any wait before the kick-off.",
        alter("__init__", lambda _, usual: _with_wait(usual, 0.0)),
        then("__init__", call("kick_off", "left")),
        before("judge", call("kick_off", "left"), _is_due),
    ),
}

VARIANTS["play-mode.case"] = {
    "starts-soon": Variant(
        "Starts the game after a wait of 0.5 s before the kick-off.",
        alter("__init__", lambda _, usual: _with_wait(usual, 0.5)),
        before("judge", call("kick_off", "left"), _is_due),
    ),
}

VARIANTS["agents.perceptors"] = {
    "bare-times": Variant(
        "Writes the time as a plain number, and has a perceptor for the ball.",
        returning(
            "perceptors",
            lambda text: re.sub(r"\(time \(now ([^)]*)\)\)", r"(time \1)(ball 1 2)", text),
        ),
    ),
    "no-game-state": Variant(
        "Has no perceptor GS, so agents do not receive their number and side.",
        instead("perceive_game", lambda *_: ""),
    ),
    "nameless-game-state": Variant(
        "Omits number and side in the perceptor GS.",
        returning("perceive_game", lambda text: re.sub(r" ?\((unum|team) [^)]*\)", "", text)),
    ),
    "lets-agents-go-after-the-game": Variant(
        "Closes the connections of all agents after the game.",
        then("tell_agents", _close_agents, lambda server: server.world.mode == "GameOver"),
    ),
}

VARIANTS["agents.sides"] = {
    "first-team-on-the-right": Variant(
        "Puts the first team on the right.",
        then("__init__", put("world.sides", ("right", "left"))),
    ),
}

VARIANTS["agents.heard"] = {
    "deaf-robots": Variant(
        "Has robots that hear nothing.", instead("perceive_words", lambda *_: [])
    ),
}

VARIANTS["trainer.no-effect-in-some-modes"] = {
    "commands-in-play-only": Variant(
        "Executes only playMode and kickOff before and after the game.",
        only("execute", _is_executable),
    ),
}

VARIANTS["trainer.errors-silent"] = {
    "times-that-are-none-are-0": Variant(
        "Takes other words than numbers for the time 0, as the published server does.",
        alter("do_time", lambda *_: ["time", "0"], _is_no_time),
    ),
}

VARIANTS["robustness.empty-message"] = {
    "keeps-alive": Variant(
        "Sends an empty message to each monitor after every fifth message.",
        then(
            "tell_monitor",
            lambda _, monitor, pairs, scene: monitor.send(""),
            lambda _, monitor, pairs, scene: monitor.sent % 5 == 0,
        ),
    ),
}

VARIANTS["monitors.environment-first"] = {
    "environment-again": Variant(
        "Sends the environment again before each full game state.",
        before(
            "tell_monitor",
            lambda server, monitor, pairs, scene: server.send_environment(monitor),
            lambda _, monitor, pairs, scene: scene.startswith(HEADER_FULL),
        ),
    ),
}

VARIANTS["monitors.rate"] = {
    "faster-than-the-world": Variant("Runs three times as fast as real time.", has(pace=3.0)),
}

VARIANTS["move-agent.turn"] = {
    "turns-in-radians": Variant(
        "Reads the rotation of move in radians.", alter("agent_move", _in_radians)
    ),
}

VARIANTS["move-agent.temperature"] = {
    "one-temperature": Variant(
        "Sets the battery instead of the temperature, as the published server does.",
        instead(
            "agent_temperature",
            lambda server, robot, values: server.agent_battery(robot, values),
        ),
    ),
}

VARIANTS["robustness.unknown-commands"] = {
    "single-precision": Variant(
        "Reads numbers in single precision, in which large numbers are infinite.",
        alter("ball_pos", _single),
        alter("ball_vel", _single),
    ),
}

VARIANTS["environment.kick-in-pause"] = {
    "kicks-in-at-once": Variant(
        "Switches to the kick-in at once and then waits, as the published server does.",
        instead("kick_in_pause", lambda _: 0.0),
    ),
}

VARIANTS["environment.goal-pause"] = {
    "no-goals-of-trainers": Variant(
        "Counts no goal of a ball that no agent has kicked.", only("judge_ball", _is_on_the_field)
    ),
}

VARIANTS["environment.parameters"] = {
    "small-field": Variant(
        "Has the field of the specification's example.", alter("__init__", _with_small_field)
    ),
}

VARIANTS["ball.spin"] = {
    "ball-without-axes": Variant(
        "Sends the ball without rotation.",
        then("__init__", put("world.ball.turn", lambda: None)),
    ),
}

VARIANTS["state.values"] = {
    "scores-of-32-bits": Variant(
        "Keeps a score in a signed 32-bit number; a larger score becomes the least number.",
        keeps("do_score", "world.score", _of_32_bits),
    ),
}

VARIANTS["text.numbers"] = {
    "plain-numbers": Variant(
        "Executes only commands whose numbers have the forms of the examples.",
        skip("execute", _has_odd_numbers),
    ),
}


@variant("perceptors-after-init", of="agents.perceptors")
class PerceptorsAfterInit(Server):
    """Sends perceptors only to agents after their init."""

    def tell_agents(self) -> None:
        everybody = self.agents
        self.agents = [agent for agent in everybody if agent.robot is None or agent.robot.unum]
        super().tell_agents()
        self.agents = everybody


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
class ACommandASlowState(ACommandAState):
    """Executes one message of each monitor before each state, with seven states per second."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(replace(settings, steps=7))


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


@variant("as-great-as-it-is-told", of="robustness.odd-numbers")
class AsGreatAsItIsTold(Server):
    """Puts robots at the coordinates of a command, finite or not."""

    def agent_pos(self, robot: Robot, values: list[Any]) -> None:
        try:
            x, y, z = map(float, values)
        except ValueError:
            return
        robot.place(x, y, z)
