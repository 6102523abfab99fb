"""Faults of the server in serving agents."""

import asyncio
from typing import Any

from conformance.codec import Frame
from mocks.deviations import fault
from mocks.simspark.agent_port import BEFORE_PLAY, Agent
from mocks.simspark.robot import Robot
from mocks.simspark.server import Server

COMMANDS = ("score", "playMode", "time", "kickOff", "ball", "agent")


@fault("no-perceptors", violates="agents.perceptors")
class NoPerceptors(Server):
    """Sends no perceptors."""

    def tell_agents(self) -> None:
        pass


@fault("two-hundred-groups", violates="agents.perceptors", subtle=True)
class TwoHundredGroups(Server):
    """Stops after two hundred groups of perceptors."""

    def tell_agents(self) -> None:
        everybody = self.agents
        self.agents = [agent for agent in everybody if agent.sent < 200]
        super().tell_agents()
        self.agents = everybody


@fault("untold-where-play-rests", violates="agents.perceptors", subtle=True)
class UntoldWherePlayRests(Server):
    """Sends no perceptors during kick-offs, kick-ins and other kicks, and after the game."""

    def tell_agents(self) -> None:
        if self.world.mode in ("PlayOn", *BEFORE_PLAY):
            super().tell_agents()


@fault("fourth-agent-untold", violates="agents.perceptors", subtle=True)
class FourthAgentUntold(Server):
    """Sends no perceptors to its fourth agent."""

    def tell_agents(self) -> None:
        everybody = self.agents
        self.agents = [agent for agent in everybody if agent.number != 4]
        super().tell_agents()
        self.agents = everybody


@fault("speakers-untold", violates="agents.perceptors", subtle=True)
class SpeakersUntold(Server):
    """Stops sending perceptors to an agent after its first say."""

    def say(self, robot: Robot, text: str) -> None:
        super().say(robot, text)
        for agent in self.agents:
            agent.gone = agent.gone or agent.robot is robot


@fault("hinges-once", violates="agents.joints")
class HingesOnce(Server):
    """Sends the positions of the hinges only in the first group."""

    def perceptors(self, agent: Agent, robot: Robot, marks: list[Any]) -> str:
        text = super().perceptors(agent, robot, marks)
        return text if agent.cycles == 1 else text.replace("(HJ ", "(XJ ")


@fault("angles-with-commas", violates="agents.joints", subtle=True)
class AnglesWithCommas(Server):
    """Writes the angles of hinges with a decimal comma."""

    def perceive_hinges(self, robot: Robot) -> list[str]:
        return [hinge.replace(".", ",") for hinge in super().perceive_hinges(robot)]


@fault("hinges-of-the-first", violates="agents.joints", subtle=True)
class HingesOfTheFirst(Server):
    """Sends the positions of the hinges only to the first agent."""

    def perceptors(self, agent: Agent, robot: Robot, marks: list[Any]) -> str:
        text = super().perceptors(agent, robot, marks)
        return text if agent.number == 1 else text.replace("(HJ ", "(XJ ")


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


@fault("one-side", violates="agents.sides", subtle=True)
class OneSide(Server):
    """Puts the players of both teams on the left."""

    def initialise(self, agent: Agent, robot: Robot, values: list[Any]) -> None:
        super().initialise(agent, robot, values)
        robot.side = "left" if robot.side else ""


@fault("sides-by-name", violates="agents.sides", subtle=True)
class SidesByName(Server):
    """Puts a team on the left if its name precedes that of the left team."""

    def initialise(self, agent: Agent, robot: Robot, values: list[Any]) -> None:
        super().initialise(agent, robot, values)
        if robot.team < self.world.teams.get("left", ""):
            robot.side = "left"


@fault("numbers-of-both-teams", violates="agents.sides", subtle=True)
class NumbersOfBothTeams(Server):
    """Refuses an agent with a number that the other team uses."""

    def initialise(self, agent: Agent, robot: Robot, values: list[Any]) -> None:
        taken = {str(other.unum) for other in self.world.robots}
        if ["unum", values[1][1]] != values[1] or values[1][1] not in taken:
            super().initialise(agent, robot, values)


@fault("teams-of-eight-letters", violates="agents.sides", subtle=True)
class TeamsOfEightLetters(Server):
    """Keeps only eight letters of the name of a team."""

    def initialise(self, agent: Agent, robot: Robot, values: list[Any]) -> None:
        cut = [[v[0], v[1][:8]] if v[:1] == ["teamname"] else v for v in values]
        super().initialise(agent, robot, cut)


@fault("second-of-a-team-opposite", violates="agents.sides", subtle=True)
class SecondOfATeamOpposite(Server):
    """Puts every player of a team except the first on the other side."""

    def initialise(self, agent: Agent, robot: Robot, values: list[Any]) -> None:
        super().initialise(agent, robot, values)
        if any(other.team == robot.team for other in self.world.robots if other is not robot):
            robot.side = "left" if robot.side == "right" else "right"


@fault("words-cut-short", violates="agents.heard", subtle=True)
class WordsCutShort(Server):
    """Cuts said words to eight characters."""

    def say(self, robot: Robot, text: str) -> None:
        super().say(robot, text[:8])


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


@fault("stiff-last-hinge", violates="agents.every-hinge", subtle=True)
class StiffLastHinge(Server):
    """Turns all hinges except the last one."""

    def turn_hinge(self, robot: Robot, place: int, speed: float) -> None:
        if place < len(robot.speeds) - 1:
            super().turn_hinge(robot, place, speed)


@fault("stiff-hinges", violates="agents.effectors")
class StiffHinges(Server):
    """Turns no hinge."""

    def turn_hinge(self, robot: Robot, place: int, speed: float) -> None:
        pass


@fault("stiff-in-play", violates="agents.effectors", subtle=True)
class StiffInPlay(Server):
    """Turns no hinge while the ball is in play."""

    def turn_hinge(self, robot: Robot, place: int, speed: float) -> None:
        if self.world.mode != "PlayOn":
            super().turn_hinge(robot, place, speed)


@fault("speeds-in-whole-numbers", violates="agents.effectors", subtle=True)
class SpeedsInWholeNumbers(Server):
    """Ignores the fraction of a hinge's speed."""

    def turn_hinge(self, robot: Robot, place: int, speed: float) -> None:
        super().turn_hinge(robot, place, float(int(speed)))


@fault("hinges-hold-after-long", violates="agents.effectors", subtle=True)
class HingesHoldAfterLong(Server):
    """Turns no hinge of an agent after two hundred groups of perceptors."""

    def turn_hinge(self, robot: Robot, place: int, speed: float) -> None:
        agent = next(agent for agent in self.agents if agent.robot is robot)
        if agent.cycles < 200:
            super().turn_hinge(robot, place, speed)


@fault("first-effector-only", violates="agents.effectors", subtle=True)
class FirstEffectorOnly(Server):
    """Executes only the first effector of a message."""

    def hear_agent(self, agent: Agent, frame: Frame) -> None:
        for expression in frame.value[:1]:
            self.effect(agent, expression)


@fault("one-will", violates="agents.effectors", subtle=True)
class OneWill(Server):
    """Turns the hinges of all robots by the effectors of one agent."""

    def turn_hinge(self, robot: Robot, place: int, speed: float) -> None:
        for other in self.world.robots:
            super().turn_hinge(other, place, speed)


@fault("hinges-turn-one-way", violates="agents.effectors", subtle=True)
class HingesTurnOneWay(Server):
    """Ignores the sign of a hinge's speed."""

    def turn_hinge(self, robot: Robot, place: int, speed: float) -> None:
        super().turn_hinge(robot, place, abs(speed))


@fault("agents-command", violates="monitors.not-for-agents")
class AgentsCommand(Server):
    """Executes trainer commands of agents."""

    def effect(self, agent: Agent, expression: Any) -> None:
        if isinstance(expression, list) and expression and expression[0] in COMMANDS:
            self.execute(expression)
        else:
            super().effect(agent, expression)


@fault("agents-move-the-ball", violates="monitors.not-for-agents", subtle=True)
class AgentsMoveTheBall(Server):
    """Executes the command ball of agents."""

    def effect(self, agent: Agent, expression: Any) -> None:
        if isinstance(expression, list) and expression[:1] == ["ball"]:
            self.execute(expression)
        else:
            super().effect(agent, expression)


@fault("agents-kick-off", violates="monitors.not-for-agents", subtle=True)
class AgentsKickOff(Server):
    """Executes the commands playMode and kickOff of agents."""

    def effect(self, agent: Agent, expression: Any) -> None:
        if isinstance(expression, list) and expression[:1] in (["playMode"], ["kickOff"]):
            self.execute(expression)
        else:
            super().effect(agent, expression)


@fault("agents-set-the-time", violates="monitors.not-for-agents", subtle=True)
class AgentsSetTheTime(Server):
    """Executes the command time of agents."""

    def effect(self, agent: Agent, expression: Any) -> None:
        if isinstance(expression, list) and expression[:1] == ["time"]:
            self.execute(expression)
        else:
            super().effect(agent, expression)


@fault("perceptors-before-scene", violates="agents.perceptors", subtle=True)
class PerceptorsBeforeScene(Server):
    """Sends one group of perceptors to each agent that connects, before its scene message."""

    def new_agent(self) -> Agent:
        agent = super().new_agent()
        asyncio.get_running_loop().call_soon(self.greet, agent)
        return agent

    def greet(self, agent: Agent) -> None:
        agent.send(f"{self.perceive_time()}(GS (t 0.00) (pm BeforeKickOff))")
