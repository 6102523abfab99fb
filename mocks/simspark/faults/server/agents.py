"""Faults of the server in serving agents."""

import asyncio
from collections.abc import Callable
from typing import Any

from conformance.codec import Frame
from mocks.deviations import Fault, Subtle, Table, fault
from mocks.simspark.agent_port import BEFORE_PLAY, Agent
from mocks.simspark.faults.server.bases import stop_perceptors, temporarily
from mocks.simspark.robot import Robot
from mocks.simspark.server import Server
from mocks.steps import Change, alter, instead, only, returning, skip, then

COMMANDS = ("score", "playMode", "time", "kickOff", "ball", "agent")


def executes(*words: str) -> Change:
    """Execute these trainer commands of agents."""

    def is_command(_: Server, agent: Agent, expression: Any) -> bool:
        return isinstance(expression, list) and bool(expression) and expression[0] in words

    return instead("effect", lambda server, agent, command: server.execute(command), is_command)


def only_tell(holds: Callable[[Agent], bool]) -> Change:
    """Send perceptors only to agents for which a function is true."""
    return temporarily(
        "tell_agents", "agents", lambda agents: [agent for agent in agents if holds(agent)]
    )


def _is_young(server: Server, robot: Robot, place: int, speed: float) -> bool:
    return next(agent for agent in server.agents if agent.robot is robot).cycles < 200


def _put_left(_: Server, agent: Agent, robot: Robot, values: list[Any]) -> None:
    robot.side = "left" if robot.side else ""


def _put_left_by_name(server: Server, agent: Agent, robot: Robot, values: list[Any]) -> None:
    if robot.team < server.world.teams.get("left", ""):
        robot.side = "left"


def _cut_name(_: Server, agent: Agent, robot: Robot, values: list[Any]) -> Any:
    return agent, robot, [[v[0], v[1][:8]] if v[:1] == ["teamname"] else v for v in values]


def _put_second_opposite(server: Server, agent: Agent, robot: Robot, values: list[Any]) -> None:
    if any(other.team == robot.team for other in server.world.robots if other is not robot):
        robot.side = "left" if robot.side == "right" else "right"


def _is_taken(server: Server, agent: Agent, robot: Robot, values: list[Any]) -> bool:
    taken = {str(other.unum) for other in server.world.robots}
    return bool(["unum", values[1][1]] == values[1] and values[1][1] in taken)


def _turn_all(server: Server, robot: Robot, place: int, speed: float) -> None:
    for each in server.world.robots:
        Server.turn_hinge(server, each, place, speed)


def _execute_first(server: Server, agent: Agent, frame: Frame) -> None:
    for expression in frame.value[:1]:
        server.effect(agent, expression)


FAULTS = Table(Server)

FAULTS["agents.perceptors"] = {
    "two-hundred-groups": Subtle(
        "Stops after two hundred groups of perceptors.",
        only_tell(lambda agent: agent.sent < 200),
    ),
    "fourth-agent-untold": Subtle(
        "Sends no perceptors to its fourth agent.", only_tell(lambda agent: agent.number != 4)
    ),
    "no-perceptors": Fault("Sends no perceptors.", skip("tell_agents")),
    "untold-where-play-rests": Subtle(
        "Sends no perceptors during kick-offs, kick-ins and other kicks, and after the game.",
        only("tell_agents", lambda server: server.world.mode in ("PlayOn", *BEFORE_PLAY)),
    ),
    "speakers-untold": Subtle(
        "Stops sending perceptors to an agent after its first say.",
        then("say", stop_perceptors),
    ),
}

FAULTS["agents.joints"] = {
    "hinges-once": Fault(
        "Sends the positions of the hinges only in the first group.",
        returning(
            "perceptors",
            lambda text: text.replace("(HJ ", "(XJ "),
            lambda _, agent, robot, marks: agent.cycles != 1,
        ),
    ),
    "angles-with-commas": Subtle(
        "Writes the angles of hinges with a decimal comma.",
        returning("perceive_hinges", lambda hinges: [each.replace(".", ",") for each in hinges]),
    ),
    "hinges-of-the-first": Subtle(
        "Sends the positions of the hinges only to the first agent.",
        returning(
            "perceptors",
            lambda text: text.replace("(HJ ", "(XJ "),
            lambda _, agent, robot, marks: agent.number != 1,
        ),
    ),
}

FAULTS["agents.sides"] = {
    "one-side": Subtle(
        "Puts the players of both teams on the left.", then("initialise", _put_left)
    ),
    "sides-by-name": Subtle(
        "Puts a team on the left if its name precedes that of the left team.",
        then("initialise", _put_left_by_name),
    ),
    "numbers-of-both-teams": Subtle(
        "Refuses an agent with a number that the other team uses.", skip("initialise", _is_taken)
    ),
    "teams-of-eight-letters": Subtle(
        "Keeps only eight letters of the name of a team.", alter("initialise", _cut_name)
    ),
    "second-of-a-team-opposite": Subtle(
        "Puts every player of a team except the first on the other side.",
        then("initialise", _put_second_opposite),
    ),
}

FAULTS["agents.heard"] = {
    "words-cut-short": Subtle(
        "Cuts said words to eight characters.",
        alter("say", lambda _, robot, text: (robot, text[:8])),
    ),
}

FAULTS["agents.every-hinge"] = {
    "stiff-last-hinge": Subtle(
        "Turns all hinges except the last one.",
        skip("turn_hinge", lambda _, robot, place, speed: place >= len(robot.speeds) - 1),
    ),
}

FAULTS["agents.effectors"] = {
    "hinges-hold-after-long": Subtle(
        "Turns no hinge of an agent after two hundred groups of perceptors.",
        only("turn_hinge", _is_young),
    ),
    "stiff-hinges": Fault("Turns no hinge.", skip("turn_hinge")),
    "stiff-in-play": Subtle(
        "Turns no hinge while the ball is in play.",
        skip("turn_hinge", lambda server, *_: server.world.mode == "PlayOn"),
    ),
    "speeds-in-whole-numbers": Subtle(
        "Ignores the fraction of a hinge's speed.",
        alter("turn_hinge", lambda _, robot, place, speed: (robot, place, float(int(speed)))),
    ),
    "first-effector-only": Subtle(
        "Executes only the first effector of a message.", instead("hear_agent", _execute_first)
    ),
    "one-will": Subtle(
        "Turns the hinges of all robots by the effectors of one agent.",
        instead("turn_hinge", _turn_all),
    ),
    "hinges-turn-one-way": Subtle(
        "Ignores the sign of a hinge's speed.",
        alter("turn_hinge", lambda _, robot, place, speed: (robot, place, abs(speed))),
    ),
}

FAULTS["monitors.not-for-agents"] = {
    "agents-command": Fault("Executes trainer commands of agents.", executes(*COMMANDS)),
    "agents-move-the-ball": Subtle("Executes the command ball of agents.", executes("ball")),
    "agents-kick-off": Subtle(
        "Executes the commands playMode and kickOff of agents.", executes("playMode", "kickOff")
    ),
    "agents-set-the-time": Subtle("Executes the command time of agents.", executes("time")),
}


@fault("hinges-of-the-first-after-long", violates="agents.effectors", subtle=True)
class HingesOfTheFirstAfterLong(Server):
    """Sends the hinges of the first agent to all agents after a hundred groups."""

    def perceptors(self, agent: Agent, robot: Robot, marks: list[Any]) -> str:
        own = robot.hinges
        if agent.cycles > 100 and (first := self.agents[0].robot):
            robot.hinges = first.hinges
        text = super().perceptors(agent, robot, marks)
        robot.hinges = own
        return text


@fault("echoes", violates="agents.heard", subtle=True)
class Echoes(Server):
    """Repeats everything that was ever said in every group."""

    def tell_agents(self) -> None:
        said = list(self.said)
        super().tell_agents()
        self.said += said


@fault("only-ones-own-words", violates="agents.heard", subtle=True)
class OnlyOnesOwnWords(Server):
    """Lets an agent hear only its own words."""

    def perceptors(self, agent: Agent, robot: Robot, marks: list[Any]) -> str:
        everything = self.said
        self.said = [each for each in everything if each[0] is robot]
        text = super().perceptors(agent, robot, marks)
        self.said = everything
        return text


@fault("perceptors-before-scene", violates="agents.perceptors", subtle=True)
class PerceptorsBeforeScene(Server):
    """Sends one group of perceptors to each agent that connects, before its scene message."""

    def new_agent(self) -> Agent:
        agent = super().new_agent()
        asyncio.get_running_loop().call_soon(self.greet, agent)
        return agent

    def greet(self, agent: Agent) -> None:
        agent.send(f"{self.perceive_time()}(GS (t 0.00) (pm BeforeKickOff))")
