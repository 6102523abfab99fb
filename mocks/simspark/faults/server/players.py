"""Faults of the server in trainer commands for players."""

from typing import Any

from mocks.deviations import fault
from mocks.simspark.agent_port import Agent
from mocks.simspark.robot import Robot
from mocks.simspark.server import Server
from mocks.simspark.trainer import SIDES, Wrong, parameters

# Agents


@fault("agents-stay", violates="move-agent.pos")
class AgentsStay(Server):
    """Does not move an agent by pos."""

    def agent_pos(self, robot: Robot, values: list[Any]) -> None:
        pass


@fault("relative-pos", violates="move-agent.pos", subtle=True)
class RelativePos(Server):
    """Takes pos as relative to the position of the agent."""

    def agent_pos(self, robot: Robot, values: list[Any]) -> None:
        x, y, z = values
        super().agent_pos(robot, [robot.x + float(x), robot.y + float(y), z])


@fault("own-half-pos", violates="move-agent.pos", subtle=True)
class OwnHalfPos(Server):
    """Mirrors pos for an agent of the right team."""

    def agent_pos(self, robot: Robot, values: list[Any]) -> None:
        x, y, z = map(float, values)
        own = -1 if robot.side == "right" else 1
        super().agent_pos(robot, [own * x, own * y, z])


@fault("agents-on-the-ground", violates="move-agent.pos", subtle=True)
class AgentsOnTheGround(Server):
    """Puts an agent on the ground, regardless of the commanded height."""

    def agent_pos(self, robot: Robot, values: list[Any]) -> None:
        super().agent_pos(robot, [*values[:2], robot.z])


@fault("move-only-turns", violates="move-agent.move", subtle=True)
class MoveOnlyTurns(Server):
    """Turns an agent by move, but does not move it."""

    def agent_move(self, robot: Robot, values: list[Any]) -> None:
        super().agent_move(robot, [robot.x, robot.y, robot.z, values[3]])


@fault("move-does-not-turn", violates="move-agent.turn", subtle=True)
class MoveDoesNotTurn(Server):
    """Does not turn an agent by move."""

    def agent_move(self, robot: Robot, values: list[Any]) -> None:
        super().agent_move(robot, [*values[:3], robot.heading])


@fault("by-number-only", violates="move-agent.right-one", subtle=True)
class ByNumberOnly(Server):
    """Moves the first agent with the number, regardless of its team."""

    def do_agent(self, command: list[Any]) -> None:
        given = parameters(command)
        for robot in self.world.robots:
            if given.get("unum") == [str(robot.unum)] and "pos" in given:
                self.agent_pos(robot, given["pos"])
                return
        super().do_agent(command)


@fault("sides-mixed-up", violates="move-agent.right-one", subtle=True)
class SidesMixedUp(Server):
    """Takes Left for the right team, and Right for the left team."""

    def find_named(self, given: dict[str, list[Any]]) -> Robot:
        other = {"Left": "Right", "Right": "Left"}
        team = [other.get(str(name), str(name)) for name in given.get("team", ())]
        return super().find_named({**given, "team": team})


@fault("moves-both-teams", violates="move-agent.right-one")
class MovesBothTeams(Server):
    """Moves all agents."""

    def agent_pos(self, robot: Robot, values: list[Any]) -> None:
        for other in self.world.robots:
            super().agent_pos(other, values)


@fault("no-operation-centres", violates="move-agent.no-operation", subtle=True)
class NoOperationCentres(Server):
    """Puts an agent at the centre if the command has no operation."""

    def do_agent(self, command: list[Any]) -> None:
        super().do_agent(command)
        if len(command) == 3:
            self.find_named(parameters(command)).place(0.0, 0.0, 0.35)


@fault("first-operation", violates="move-agent.several-operations", subtle=True)
class FirstOperation(Server):
    """Executes only the first operation of a command."""

    def do_agent(self, command: list[Any]) -> None:
        super().do_agent(command[:4])


@fault("move-alone", violates="move-agent.several-operations", subtle=True)
class MoveAlone(Server):
    """Executes only the move of a command that has a move."""

    def do_agent(self, command: list[Any]) -> None:
        alone = [item for item in command if item[0] in ("unum", "team", "move")]
        super().do_agent([command[0], *alone] if "move" in parameters(command) else command)


@fault("battery-stays", violates="move-agent.battery")
class BatteryStays(Server):
    """Does not set the battery."""

    def agent_battery(self, robot: Robot, values: list[Any]) -> None:
        pass


@fault("battery-of-all", violates="move-agent.battery", subtle=True)
class BatteryOfAll(Server):
    """Sets the battery of every agent."""

    def agent_battery(self, robot: Robot, values: list[Any]) -> None:
        for each in self.world.robots:
            super().agent_battery(each, values)


# Selecting, removing, repositioning


@fault("selects-the-first", violates="select.named", subtle=True)
class SelectsTheFirst(Server):
    """Selects the first agent, regardless of the named one."""

    def do_select(self, command: list[Any]) -> None:
        self.world.selected = self.world.robots[0] if self.world.robots else None


@fault("selects-the-first-for-nobody", violates="select.named", subtle=True)
class SelectsTheFirstForNobody(Server):
    """Selects the first agent if no agent has the name."""

    def do_select(self, command: list[Any]) -> None:
        try:
            super().do_select(command)
        except Wrong:
            self.world.selected = self.world.robots[0]


@fault("selects-a-place", violates="select.named", subtle=True)
class SelectsAPlace(Server):
    """Remembers the index of the selected agent, which changes when an earlier agent leaves."""

    place = 0

    def do_select(self, command: list[Any]) -> None:
        super().do_select(command)
        if self.world.selected:
            self.place = self.world.robots.index(self.world.selected)

    def find_named_or_selected(self, command: list[Any]) -> Robot:
        self.world.selected = dict(enumerate(self.world.robots)).get(self.place)
        return super().find_named_or_selected(command)


@fault("kill-counts-twice", violates="kill.named", subtle=True)
class KillCountsTwice(Server):
    """Removes the last robot if an agent without a robot leaves."""

    def agent_left(self, agent: Agent) -> None:
        if agent.robot and agent.robot not in self.world.robots and self.world.robots:
            self.world.remove(self.world.robots[-1])
        super().agent_left(agent)


@fault("next-is-the-same", violates="select.next", subtle=True)
class NextIsTheSame(Server):
    """Keeps the selected agent selected if the command names none."""

    def next_selected(self) -> Robot | None:
        return self.world.selected or super().next_selected()


@fault("all-that-were-selected", violates="select.only-one", subtle=True)
class AllThatWereSelected(Server):
    """Keeps all agents selected that were selected once."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.chosen: list[Robot] = []

    def do_select(self, command: list[Any]) -> None:
        super().do_select(command)
        self.chosen += [self.world.selected] if self.world.selected else []

    def do_kill(self, command: list[Any]) -> None:
        super().do_kill(command)
        if len(command) == 1:
            for robot in self.chosen:
                self.world.remove(robot)


@fault("kills-the-number", violates="kill.named", subtle=True)
class KillsTheNumber(Server):
    """Removes the agents of both teams with the number."""

    def do_kill(self, command: list[Any]) -> None:
        robot = self.find_named_or_selected(command)
        for other in list(self.world.robots):
            if other.unum == robot.unum:
                self.world.remove(other)


@fault("kills-none", violates="kill.named")
class KillsNone(Server):
    """Puts the agent out of sight instead of removing it."""

    def do_kill(self, command: list[Any]) -> None:
        self.find_named_or_selected(command).place(0.0, 0.0, 100.0)


@fault("kills-the-next-of-three", violates="kill.named", subtle=True)
class KillsTheNextOfThree(Server):
    """Removes the robot after the named one if there are more than two robots."""

    def do_kill(self, command: list[Any]) -> None:
        robots, named = self.world.robots, self.find_named_or_selected(command)
        behind = robots[(robots.index(named) + 1) % len(robots)]
        self.world.remove(behind if len(robots) > 2 else named)


@fault("kills-by-name-only", violates="kill.selected")
class KillsByNameOnly(Server):
    """Does not remove the selected agent."""

    def do_kill(self, command: list[Any]) -> None:
        self.world.remove(self.find_named(parameters(command)))


class AnyNumber(Server):
    """Base class: can take the first agent of a team for the named one."""

    def find_in_team(self, command: list[Any]) -> list[Any]:
        side = SIDES.get(str(parameters(command).get("team", [""])[0]))
        for robot in self.world.robots:
            if robot.side == side:
                return [command[0], ["unum", str(robot.unum)], *command[1:]]
        return command


@fault("kills-any-number", violates="kill.named", subtle=True)
class KillsAnyNumber(AnyNumber):
    """Removes the first agent of a team, regardless of the number."""

    def do_kill(self, command: list[Any]) -> None:
        super().do_kill(self.find_in_team(command))


@fault("repos-any-number", violates="repos.named", subtle=True)
class ReposAnyNumber(AnyNumber):
    """Repositions the first agent of a team, regardless of the number."""

    def do_repos(self, command: list[Any]) -> None:
        super().do_repos(self.find_in_team(command))


@fault("repos-both", violates="repos.named", subtle=True)
class ReposBoth(Server):
    """Repositions the agents of both teams with the number."""

    def do_repos(self, command: list[Any]) -> None:
        for side in ("Left", "Right"):
            super().do_repos(["repos", command[1], ["team", side]] if command[1:] else command)


@fault("repos-removes", violates="repos.selected", subtle=True)
class ReposRemoves(Server):
    """Removes the selected agent instead of repositioning it."""

    def do_repos(self, command: list[Any]) -> None:
        if len(command) == 1:
            self.world.remove(self.find_named_or_selected(command))
        else:
            super().do_repos(command)


@fault("repos-by-name-only", violates="repos.selected")
class ReposByNameOnly(Server):
    """Does not reposition the selected agent."""

    def do_repos(self, command: list[Any]) -> None:
        if len(command) > 1:
            super().do_repos(command)


class SelectedFirst(Server):
    """Base class: uses the selected agent, if any, instead of the named one."""

    first = ""

    def find_named_or_selected(self, command: list[Any]) -> Robot:
        robot = super().find_named_or_selected(command)
        return (self.world.selected or robot) if command[0] == self.first else robot


@fault("kills-the-selected-first", violates="kill.named", subtle=True)
class KillsTheSelectedFirst(SelectedFirst):
    """Removes the selected agent, if any, instead of the named one."""

    first = "kill"


@fault("repos-the-selected-first", violates="repos.named", subtle=True)
class ReposTheSelectedFirst(SelectedFirst):
    """Repositions the selected agent, if any, instead of the named one."""

    first = "repos"


class SelectedForNobody(Server):
    """Base class: uses the selected agent if no agent has the name."""

    word = ""

    def find_named_or_selected(self, command: list[Any]) -> Robot:
        try:
            return super().find_named_or_selected(command)
        except Wrong:
            if command[0] == self.word and self.world.selected:
                return self.world.selected
            raise


@fault("kills-the-selected-for-nobody", violates="kill.named", subtle=True)
class KillsTheSelectedForNobody(SelectedForNobody):
    """Removes the selected agent if no agent has the name."""

    word = "kill"


@fault("repos-the-selected-for-nobody", violates="repos.named", subtle=True)
class ReposTheSelectedForNobody(SelectedForNobody):
    """Repositions the selected agent if no agent has the name."""

    word = "repos"


# Incomplete names


@fault("kills-by-team", violates="kill.selected", subtle=True)
class KillsByTeam(Server):
    """Removes the first agent of a team if the number is missing."""

    def do_kill(self, command: list[Any]) -> None:
        given = parameters(command)
        team = SIDES.get(str(given["team"][0])) if "team" in given and "unum" not in given else None
        robot = next((each for each in self.world.robots if each.side == team), None)
        if robot:
            self.world.remove(robot)
        else:
            super().do_kill(command)


@fault("repos-by-number", violates="repos.selected", subtle=True)
class ReposByNumber(Server):
    """Repositions no agent if the command has a number and no team."""

    def do_repos(self, command: list[Any]) -> None:
        if {*parameters(command)} != {"unum"}:
            super().do_repos(command)


@fault("selects-by-number", violates="select.next", subtle=True)
class SelectsByNumber(Server):
    """Selects the first agent with the number if the team is missing."""

    def do_select(self, command: list[Any]) -> None:
        super().do_select(command)
        given = parameters(command)
        if {*given} == {"unum"}:
            numbered = [each for each in self.world.robots if str(each.unum) == given["unum"][0]]
            self.world.selected = numbered[0] if numbered else None
