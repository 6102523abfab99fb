"""The effects of trainer commands on the world."""

from collections.abc import Callable, Sequence
from math import hypot, isfinite
from typing import Any

from mocks.simspark.referee import Referee
from mocks.simspark.robot import Robot
from mocks.simspark.settings import PLAY_MODES
from mocks.simspark.world import World

SIDES = {"Left": "left", "Right": "right"}
GREATEST = 1e6  # metres, metres per second or degrees in commands; more is refused
BESIDE = 0.5  # metres outside the touch line, the place of a repositioned robot


class Wrong(ValueError):
    """A command that cannot be executed, with the reason."""


def numbers(values: Sequence[Any], count: int) -> list[float]:
    """Return `count` finite numbers. Raises Wrong if a value is not a number."""
    try:
        found = [float(value) for value in values[:count]]
    except (TypeError, ValueError):
        raise Wrong(f"{str(values)[:60]} are not numbers") from None
    if len(found) < count or not all(map(isfinite, found)):
        raise Wrong(f"{str(values)[:60]} are not {count} finite numbers")
    return found


def measures(values: Sequence[Any], count: int) -> list[float]:
    """Return `count` numbers up to GREATEST. Raises Wrong if a value is none."""
    found = numbers(values, count)
    if any(abs(value) > GREATEST for value in found):
        raise Wrong(f"{str(values)[:60]} are out of range")
    return found


def parameters(command: Sequence[Any]) -> dict[str, list[Any]]:
    """Return the parameters of a command by name. The first parameter of a name counts."""
    found: dict[str, list[Any]] = {}
    for item in command[1:]:
        if isinstance(item, list) and len(item) > 1 and isinstance(item[0], str):
            found.setdefault(item[0], item[1:])
    return found


class Trainer(Referee):
    """Executes commands. Each action raises Wrong if it cannot execute its command."""

    world: World
    full_wanted = False

    def execute(self, command: Any) -> None:
        """Execute one command. An error is only logged."""
        if not isinstance(command, list) or not command or not isinstance(command[0], str):
            self.complain(f"{str(command)[:60]} is not a command")
            return
        action = self.actions().get(command[0])
        try:
            if action is None:
                raise Wrong(f"there is no command {command[0]!r:.60}")
            action(command)
        except Wrong as wrong:
            self.complain(str(wrong))

    def complain(self, why: str) -> None:
        """Ignore an error. Subclasses log it."""

    def actions(self) -> dict[str, Callable[[list[Any]], None]]:
        return {
            "agent": self.do_agent,
            "ball": self.do_ball,
            "playMode": self.do_play_mode,
            "dropBall": self.do_drop_ball,
            "kickOff": self.do_kick_off,
            "select": self.do_select,
            "kill": self.do_kill,
            "repos": self.do_repos,
            "time": self.do_time,
            "score": self.do_score,
            "reqfullstate": self.do_full_state,
            "getAck": self.do_get_ack,
        }

    # Agents

    def find_named(self, given: dict[str, list[Any]]) -> Robot:
        """Return the robot named by unum and team."""
        if "unum" not in given or "team" not in given:
            raise Wrong("unum and team are required")
        (unum,) = numbers(given["unum"], 1)
        robot = self.world.find(int(unum), SIDES.get(str(given["team"][0]), ""))
        if robot is None:
            raise Wrong(f"there is no agent {int(unum)} of {given['team'][0]}")
        return robot

    def find_named_or_selected(self, command: list[Any]) -> Robot:
        given = parameters(command)
        if "unum" in given and "team" in given:
            return self.find_named(given)
        if self.world.selected is None:
            raise Wrong("no agent is selected")
        return self.world.selected

    def do_agent(self, command: list[Any]) -> None:
        given = parameters(command)
        robot = self.find_named(given)
        for name, action in (
            ("pos", self.agent_pos),
            ("move", self.agent_move),
            ("battery", self.agent_battery),
            ("temperature", self.agent_temperature),
        ):
            if name in given:
                action(robot, given[name])

    def agent_pos(self, robot: Robot, values: list[Any]) -> None:
        x, y, z = measures(values, 3)
        robot.place(x, y, z)

    def agent_move(self, robot: Robot, values: list[Any]) -> None:
        x, y, z, turn = measures(values, 4)
        robot.place(x, y, z, turn)

    def agent_battery(self, robot: Robot, values: list[Any]) -> None:
        (robot.battery,) = numbers(values, 1)

    def agent_temperature(self, robot: Robot, values: list[Any]) -> None:
        (robot.temperature,) = numbers(values, 1)

    def do_select(self, command: list[Any]) -> None:
        given = parameters(command)
        if given.get("unum") == ["-1"]:
            self.world.selected = None
        elif "unum" in given and "team" in given:
            self.world.selected = self.find_named(given)
        else:
            self.world.selected = self.next_selected()

    def next_selected(self) -> Robot | None:
        robots = sorted(self.world.robots, key=lambda robot: (robot.side, robot.unum))
        if not robots:
            return None
        if self.world.selected not in robots:
            return robots[0]
        return robots[(robots.index(self.world.selected) + 1) % len(robots)]

    def do_kill(self, command: list[Any]) -> None:
        self.world.remove(self.find_named_or_selected(command))

    def do_repos(self, command: list[Any]) -> None:
        robot = self.find_named_or_selected(command)
        own = -1 if robot.side == "left" else 1
        outside = self.world.settings.environment.FieldWidth / 2 + BESIDE
        beyond = -outside if self.world.ball.y > 0 else outside
        robot.place(own * 0.6 * (7 - robot.unum), beyond, robot.z)

    # The ball

    def do_ball(self, command: list[Any]) -> None:
        given = parameters(command)
        if "pos" in given:
            self.ball_pos(measures(given["pos"], 3))
        if "vel" in given:
            self.ball_vel(measures(given["vel"], 3))

    def ball_pos(self, pos: list[float]) -> None:
        x, y, z = pos
        self.world.ball.place(x, y, z, self.world.settings.environment.BallRadius)

    def ball_vel(self, vel: list[float]) -> None:
        ball = self.world.ball
        ball.vx, ball.vy, ball.vz = vel
        ball.spin = (0.0, 0.0)

    def do_drop_ball(self, command: list[Any]) -> None:
        self.bring_ball_back()
        self.move_players_away()
        self.world.become("PlayOn")

    def bring_ball_back(self) -> None:
        ball, environment = self.world.ball, self.world.settings.environment
        length, width = environment.FieldLength / 2, environment.FieldWidth / 2
        x, y = min(max(ball.x, -length), length), min(max(ball.y, -width), width)
        ball.place(x, y, 0.0, environment.BallRadius)

    def move_players_away(self) -> None:
        ball, radius = self.world.ball, self.world.settings.environment.FreeKickDistance
        for robot in self.world.robots:
            away = robot.x - ball.x, robot.y - ball.y
            distance = hypot(*away)
            if distance < radius:
                own = -1.0 if robot.side == "left" else 1.0
                share = (away[0] / distance, away[1] / distance) if distance > 0.01 else (own, 0.0)
                x, y = (radius + 0.1) * share[0], (radius + 0.1) * share[1]
                robot.place(ball.x + x, ball.y + y, robot.z)

    # The game

    def do_play_mode(self, command: list[Any]) -> None:
        if len(command) < 2 or command[1] not in PLAY_MODES:
            raise Wrong(f"there is no play mode {command[1:]!r:.60}")
        self.world.become(command[1])

    def do_kick_off(self, command: list[Any]) -> None:
        team = str(command[1]) if len(command) > 1 else ""
        if team == "None":
            self.kick_off(self.world.coin.choice(["left", "right"]))
        elif team in SIDES:
            self.kick_off(SIDES[team])
        else:
            raise Wrong(f"there is no team {team!r:.60}")

    def do_time(self, command: list[Any]) -> None:
        (time,) = numbers(command[1:], 1)
        if time < 0:
            raise Wrong("the time is negative")
        self.world.time = time

    def do_score(self, command: list[Any]) -> None:
        given = parameters(command)
        if "left" not in given or "right" not in given:
            raise Wrong("the scores of both teams are required")
        (left,), (right,) = numbers(given["left"], 1), numbers(given["right"], 1)
        if left < 0 or right < 0:
            raise Wrong("a score is negative")
        self.world.score = {"left": int(left), "right": int(right)}

    def do_full_state(self, command: list[Any]) -> None:
        self.full_wanted = True

    def do_get_ack(self, command: list[Any]) -> None:
        """Ignore getAck, an experimental feature that is disabled."""
