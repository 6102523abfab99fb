"""Faults of the server in finding the agent that a trainer names."""

from typing import Any

from mocks.deviations import fault
from mocks.simspark.agent_port import Agent
from mocks.simspark.robot import Robot
from mocks.simspark.server import Server
from mocks.simspark.settings import Settings


@fault("numbers-of-one-digit", violates="move-agent.right-one", subtle=True)
class NumbersOfOneDigit(Server):
    """Reads only the first digit of an agent's number in the command agent."""

    def do_agent(self, command: list[Any]) -> None:
        super().do_agent(
            [[*item[:1], item[1][:1]] if item[:1] == ["unum"] else item for item in command]
        )


@fault("names-of-the-first", violates="move-agent.pos", subtle=True)
class NamesOfTheFirst(Server):
    """Applies a name to the first agent that had it, not to the current one."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.first: dict[tuple[int, str], Robot] = {}

    def initialise(self, agent: Agent, robot: Robot, values: list[Any]) -> None:
        super().initialise(agent, robot, values)
        self.first.setdefault((robot.unum, robot.side), robot)

    def find_named(self, given: dict[str, list[Any]]) -> Robot:
        robot = super().find_named(given)
        return self.first[robot.unum, robot.side]


@fault("names-in-order", violates="kill.named", subtle=True)
class NamesInOrder(Server):
    """Takes the first parameter of kill for the number, and the second for the team."""

    def do_kill(self, command: list[Any]) -> None:
        given = command[1:]
        if len(given) == 2:
            given = [[key, *item[1:]] for key, item in zip(("unum", "team"), given, strict=True)]
        super().do_kill([command[0], *given])
