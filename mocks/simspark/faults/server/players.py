"""Faults of the server in trainer commands for players, and in finding the named player."""

from collections.abc import Callable
from typing import Any

from mocks.deviations import Fault, Subtle, Table, fault
from mocks.simspark.agent_port import Agent
from mocks.simspark.faults.server.bases import for_all, undoes
from mocks.simspark.robot import Robot
from mocks.simspark.server import Server
from mocks.simspark.settings import Settings
from mocks.simspark.trainer import SIDES, Wrong, parameters
from mocks.steps import Change, Function, When, alter, before, instead, note, noted, put, skip, then

NAMELESS = When(lambda _, command: len(command) == 1)
"""If the command names no agent."""
MOVES = When(lambda _, command: "move" in parameters(command))
SETS_THE_BATTERY = When(lambda _, command: set(parameters(command)) == {"unum", "team", "battery"})
"""If the battery is the only operation of the command."""
OTHER = {"Left": "Right", "Right": "Left"}


def pos(change: Callable[..., list[Any]]) -> Change:
    """Put an agent elsewhere, by a function of the agent and x, y and z."""
    return alter("agent_pos", lambda _, robot, values: (robot, change(robot, *values)))


def move(change: Callable[..., list[Any]]) -> Change:
    """Move an agent, by a function of the agent, x, y, z and rotation."""
    return alter("agent_move", lambda _, robot, values: (robot, change(robot, *values)))


def selected_first(word: str) -> Change:
    """Use the selected agent, if any, instead of the named one, for a command."""

    def play(usual: Function, server: Server, command: list[Any]) -> Any:
        robot = usual(server, command)
        return (server.world.selected or robot) if command[0] == word else robot

    return Change("find_named_or_selected", play)


def selected_for_nobody(word: str) -> Change:
    """Use the selected agent if no agent has the name, for a command."""

    def play(usual: Function, server: Server, command: list[Any]) -> Any:
        try:
            return usual(server, command)
        except Wrong:
            if command[0] == word and server.world.selected:
                return server.world.selected
            raise

    return Change("find_named_or_selected", play)


def _named_by_number(server: Server, command: list[Any]) -> Robot | None:
    """Return the first agent with the number of a command, in either team."""
    unum = parameters(command).get("unum")
    return next((each for each in server.world.robots if unum == [str(each.unum)]), None)


def _first_of_team(server: Server, command: list[Any]) -> Robot | None:
    side = SIDES.get(str(parameters(command).get("team", [""])[0]))
    return next((each for each in server.world.robots if each.side == side), None)


def _any_number(server: Server, command: list[Any]) -> list[Any]:
    robot = _first_of_team(server, command)
    return [command[0], ["unum", str(robot.unum)], *command[1:]] if robot else command


def _back(server: Server, robot: Robot, values: list[Any]) -> Callable[[], None]:
    x, y, z = robot.x, robot.y, robot.z
    return lambda: robot.place(x, y, z)


def _sides_mixed_up(_: Server, given: dict[str, list[Any]]) -> dict[str, list[Any]]:
    return {**given, "team": [OTHER.get(str(name), str(name)) for name in given.get("team", ())]}


def _place_at_the_centre(server: Server, command: list[Any]) -> None:
    server.find_named(parameters(command)).place(0.0, 0.0, 0.35)


def _move_alone(_: Server, command: list[Any]) -> list[Any]:
    return [command[0], *(item for item in command if item[0] in ("unum", "team", "move"))]


def _one_digit(_: Server, command: list[Any]) -> list[Any]:
    return [["unum", item[1][:1]] if item[:1] == ["unum"] else item for item in command]


def _names_in_order(_: Server, command: list[Any]) -> list[Any]:
    word, number, team = command
    return [word, ["unum", *number[1:]], ["team", *team[1:]]]


def _select_first(server: Server, command: list[Any]) -> None:
    server.world.selected = server.world.robots[0] if server.world.robots else None


def _select_by_number(server: Server, command: list[Any]) -> None:
    server.world.selected = _named_by_number(server, command)


def _remove_last(server: Server, agent: Agent) -> None:
    server.world.remove(server.world.robots[-1])


def _was_removed(server: Server, agent: Agent) -> bool:
    robots = server.world.robots
    return agent.robot is not None and agent.robot not in robots and bool(robots)


def _close_up(server: Server, command: list[Any]) -> None:
    for side in SIDES.values():
        of_side = [robot for robot in server.world.robots if robot.side == side]
        for unum, robot in enumerate(sorted(of_side, key=lambda robot: robot.unum), 1):
            robot.unum = unum


def _remove_number(server: Server, command: list[Any]) -> None:
    unum = server.find_named_or_selected(command).unum
    for robot in [each for each in server.world.robots if each.unum == unum]:
        server.world.remove(robot)


def _remove_next_of_three(server: Server, command: list[Any]) -> None:
    robots, named = server.world.robots, server.find_named_or_selected(command)
    following = robots[(robots.index(named) + 1) % len(robots)]
    server.world.remove(following if len(robots) > 2 else named)


def _names_a_number_only(_: Server, command: list[Any]) -> bool:
    return {*parameters(command)} == {"unum"}


def _toggle(usual: Function, server: Server, command: list[Any]) -> None:
    before = server.world.selected
    usual(server, command)
    if server.world.selected is before:
        server.world.selected = None


def _reset_hinges(_: Server, robot: Robot, values: list[Any]) -> None:
    robot.angles[:] = [0.0] * len(robot.angles)
    robot.__post_init__()


FAULTS = Table(Server)

FAULTS["move-agent.pos"] = {
    "agents-stay": Fault("Does not move an agent by pos.", skip("agent_pos")),
    "relative-pos": Subtle(
        "Takes pos as relative to the position of the agent.",
        pos(lambda robot, x, y, z: [robot.x + float(x), robot.y + float(y), z]),
    ),
    "own-half-pos": Subtle(
        "Mirrors pos for an agent of the right team.",
        alter(
            "agent_pos",
            lambda _, robot, values: (robot, [-float(values[0]), -float(values[1]), values[2]]),
            lambda _, robot, values: robot.side == "right",
        ),
    ),
    "agents-on-the-ground": Subtle(
        "Puts an agent on the ground, regardless of the commanded height.",
        pos(lambda robot, x, y, z: [x, y, robot.z]),
    ),
    "agents-put-back": Subtle(
        "Puts an agent back after one state has shown it at its new position.",
        *undoes("agent_pos", _back),
    ),
}

FAULTS["move-agent.move"] = {
    "move-only-turns": Subtle(
        "Turns an agent by move, but does not move it.",
        move(lambda robot, x, y, z, turn: [robot.x, robot.y, robot.z, turn]),
    ),
}

FAULTS["move-agent.turn"] = {
    "move-does-not-turn": Subtle(
        "Does not turn an agent by move.",
        move(lambda robot, x, y, z, turn: [x, y, z, robot.heading]),
    ),
}

FAULTS["move-agent.right-one"] = {
    "sides-mixed-up": Subtle(
        "Takes Left for the right team, and Right for the left team.",
        alter("find_named", _sides_mixed_up),
    ),
    "moves-both-teams": Fault("Moves all agents.", for_all("agent_pos")),
    "numbers-of-one-digit": Subtle(
        "Reads only the first digit of an agent's number in the command agent.",
        alter("do_agent", _one_digit),
    ),
}

FAULTS["move-agent.no-operation"] = {
    "no-operation-centres": Subtle(
        "Puts an agent at the centre if the command has no operation.",
        then("do_agent", _place_at_the_centre, lambda _, command: len(command) == 3),
    ),
    "pos-turns": Subtle(
        "Turns an agent to its first direction by pos.",
        then("agent_pos", lambda _, robot, values: robot.place(robot.x, robot.y, robot.z, 0.0)),
    ),
    "pos-resets-hinges": Subtle(
        "Puts an agent into its first pose by pos, with all hinges at 0 degrees.",
        then("agent_pos", _reset_hinges),
    ),
    "battery-centres": Subtle(
        "Puts an agent at the centre if a command sets only its battery.",
        then("do_agent", _place_at_the_centre, SETS_THE_BATTERY),
    ),
}

FAULTS["move-agent.several-operations"] = {
    "first-operation": Subtle(
        "Executes only the first operation of a command.",
        alter("do_agent", lambda _, command: command[:4]),
    ),
    "move-alone": Subtle(
        "Executes only the move of a command that has a move.",
        alter("do_agent", _move_alone, MOVES),
    ),
}

FAULTS["move-agent.battery"] = {
    "battery-stays": Fault("Does not set the battery.", skip("agent_battery")),
    "battery-of-all": Subtle("Sets the battery of every agent.", for_all("agent_battery")),
}

FAULTS["select.named"] = {
    "selects-the-first": Subtle(
        "Selects the first agent, regardless of the named one.",
        instead("do_select", _select_first),
    ),
    "selected-until-a-kill": Subtle(
        "Selects no agent any more after the kill of any agent.",
        then("do_kill", put("world.selected", None)),
    ),
    "selected-until-another-comes": Subtle(
        "Selects no agent any more after a new agent has come.",
        then("create", put("world.selected", None)),
    ),
    "second-selection-undoes": Subtle(
        "Deselects an agent that is selected again.", Change("do_select", _toggle)
    ),
}

FAULTS["select.next"] = {
    "next-is-the-same": Subtle(
        "Keeps the selected agent selected if the command names none.",
        instead(
            "next_selected",
            lambda server: server.world.selected,
            lambda server: server.world.selected,
        ),
    ),
    "selects-by-number": Subtle(
        "Selects the first agent with the number if the team is missing.",
        then("do_select", _select_by_number, _names_a_number_only),
    ),
}

FAULTS["kill.named"] = {
    "kill-counts-twice": Subtle(
        "Removes the last robot if an agent without a robot leaves.",
        before("agent_left", _remove_last, _was_removed),
    ),
    "dies-of-kill": Subtle(
        "Executes no more commands after kill.",
        then("do_kill", note("has_killed")),
        skip("execute", noted("has_killed")),
    ),
    "kills-the-number": Subtle(
        "Removes the agents of both teams with the number.", instead("do_kill", _remove_number)
    ),
    "kills-none": Fault(
        "Puts the agent out of sight instead of removing it.",
        instead(
            "do_kill",
            lambda server, command: server.find_named_or_selected(command).place(0.0, 0.0, 100.0),
        ),
    ),
    "kills-the-next-of-three": Subtle(
        "Removes the robot after the named one if there are more than two robots.",
        instead("do_kill", _remove_next_of_three),
    ),
    "numbers-close-up": Subtle(
        "Gives the number of a removed agent to the next agent of its team.",
        then("do_kill", _close_up),
    ),
    "kills-any-number": Subtle(
        "Removes the first agent of a team, regardless of the number.",
        alter("do_kill", _any_number),
    ),
    "kills-the-selected-first": Subtle(
        "Removes the selected agent, if any, instead of the named one.", selected_first("kill")
    ),
    "kills-the-selected-for-nobody": Subtle(
        "Removes the selected agent if no agent has the name.", selected_for_nobody("kill")
    ),
    "names-in-order": Subtle(
        "Takes the first parameter of kill for the number, and the second for the team.",
        alter("do_kill", _names_in_order, lambda _, command: len(command) == 3),
    ),
}

FAULTS["kill.selected"] = {
    "kills-by-name-only": Fault("Does not remove the selected agent.", skip("do_kill", NAMELESS)),
}

FAULTS["repos.named"] = {
    "repos-any-number": Subtle(
        "Repositions the first agent of a team, regardless of the number.",
        alter("do_repos", _any_number),
    ),
    "repos-the-selected-first": Subtle(
        "Repositions the selected agent, if any, instead of the named one.",
        selected_first("repos"),
    ),
    "repos-the-selected-for-nobody": Subtle(
        "Repositions the selected agent if no agent has the name.", selected_for_nobody("repos")
    ),
}

FAULTS["repos.selected"] = {
    "repos-removes": Subtle(
        "Removes the selected agent instead of repositioning it.",
        instead("do_repos", Server.do_kill, NAMELESS),
    ),
    "repos-by-name-only": Fault(
        "Does not reposition the selected agent.", skip("do_repos", NAMELESS)
    ),
    "repos-by-number": Subtle(
        "Repositions no agent if the command has a number and no team.",
        skip("do_repos", _names_a_number_only),
    ),
}


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


@fault("repos-both", violates="repos.named", subtle=True)
class ReposBoth(Server):
    """Repositions the agents of both teams with the number."""

    def do_repos(self, command: list[Any]) -> None:
        for side in ("Left", "Right"):
            super().do_repos(["repos", command[1], ["team", side]] if command[1:] else command)


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


@fault("by-number-only", violates="move-agent.right-one", subtle=True)
class ByNumberOnly(Server):
    """Moves the first agent with the number, regardless of its team."""

    def do_agent(self, command: list[Any]) -> None:
        given, robot = parameters(command), _named_by_number(self, command)
        if robot and "pos" in given:
            self.agent_pos(robot, given["pos"])
        else:
            super().do_agent(command)


@fault("kills-by-team", violates="kill.selected", subtle=True)
class KillsByTeam(Server):
    """Removes the first agent of a team if the number is missing."""

    def do_kill(self, command: list[Any]) -> None:
        robot = None if "unum" in parameters(command) else _first_of_team(self, command)
        if robot:
            self.world.remove(robot)
        else:
            super().do_kill(command)
