"""Faults of the server in trainer commands for the ball."""

from collections.abc import Callable
from math import hypot, nan
from typing import Any

from mocks.deviations import Fault, Subtle, Table, fault
from mocks.simspark.faults.server.bases import keeps, undoes, with_robots
from mocks.simspark.robot import Robot
from mocks.simspark.server import Server
from mocks.simspark.settings import Settings
from mocks.simspark.trainer import parameters
from mocks.simspark.world import World
from mocks.steps import Change, When, alter, before, instead, only, skip, then

BARE = When(lambda _, command: len(command) == 1)
WITHOUT_POS = When(
    lambda _, command: "vel" in (given := parameters(command)) and "pos" not in given
)


def pos(change: Callable[..., list[float]]) -> Change:
    """Put the ball at the place that a function makes of x, y and z."""
    return alter("ball_pos", lambda _, values: change(*values))


def vel(change: Callable[..., list[float]]) -> Change:
    """Give the ball the velocity that a function makes of x, y and z."""
    return alter("ball_vel", lambda _, values: change(*values))


def _relative(server: Server, values: list[float]) -> list[float]:
    x, y, z = values
    return [server.world.ball.x + x, server.world.ball.y + y, z]


def _added(server: Server, values: list[float]) -> list[float]:
    ball = server.world.ball
    x, y, z = values
    return [ball.vx + x, ball.vy + y, ball.vz + z]


def _pos_alone(_: Server, command: list[Any]) -> list[Any]:
    given = [item for item in command[1:] if item[:1] == ["pos"]]
    return ["ball", *given] if given else command


def _back(server: Server, pos: list[float]) -> Callable[[], None]:
    ball = server.world.ball
    x, y, z = ball.x, ball.y, ball.z
    return lambda: ball.place(x, y, z, server.world.settings.environment.BallRadius)


def _lose_robots_at_the_ball(server: Server) -> None:
    ball = server.world.ball
    for robot in server.world.robots:
        if (robot.x, robot.y) == (ball.x, ball.y):
            robot.place(nan, nan, robot.z)


def _move_along(server: Server) -> None:
    ball, radius = server.world.ball, server.world.settings.environment.FreeKickDistance
    for robot in server.world.robots:
        if hypot(robot.x - ball.x, robot.y - ball.y) < radius:
            robot.place(robot.x + radius, robot.y, robot.z)


def _centre_without_pos(server: Server, command: list[Any]) -> None:
    server.world.ball.x = server.world.ball.y = 0.0


FAULTS = Table(Server)

FAULTS["ball.pos"] = {
    "ball-stays": Fault("Does not move the ball by pos.", skip("ball_pos")),
    "relative-ball": Subtle(
        "Takes pos as relative to the position of the ball.", alter("ball_pos", _relative)
    ),
    "ball-on-own-half": Subtle(
        "Keeps the ball in the right half.", pos(lambda x, y, z: [abs(x), y, z])
    ),
    "ball-on-the-ground": Subtle(
        "Puts the ball on the ground, regardless of the commanded height.",
        pos(lambda x, y, z: [x, y, 0.0]),
    ),
    "ball-put-back": Subtle(
        "Puts the ball back after one state has shown it at its new position.",
        *undoes("ball_pos", _back),
    ),
}

FAULTS["ball.vel"] = {
    "velocities-in-whole-metres": Subtle(
        "Ignores the fractions of the ball's velocity.",
        vel(lambda *parts: [float(int(part)) for part in parts]),
    ),
    "velocity-centres": Subtle(
        "Puts the ball at the centre if a command has no position.",
        then("do_ball", _centre_without_pos, WITHOUT_POS),
    ),
    "ball-not-pushed": Fault("Does not give the ball a velocity.", skip("ball_vel")),
    "velocity-swapped": Subtle(
        "Swaps the x and y components of the velocity.", vel(lambda x, y, z: [y, x, z])
    ),
    "velocity-across-one-way": Subtle(
        "Ignores a velocity towards negative y.", vel(lambda x, y, z: [x, max(y, 0.0), z])
    ),
    "velocity-along-halved": Subtle(
        "Halves the velocity along x, so the ball rolls in another direction.",
        vel(lambda x, y, z: [x / 2, y, z]),
    ),
    "velocity-added": Subtle(
        "Adds the commanded velocity to the velocity of the ball.",
        alter("ball_vel", _added, lambda _, values: any(values)),
    ),
    "flat-velocity": Subtle("Ignores a velocity upwards.", vel(lambda x, y, z: [x, y, 0.0])),
}

FAULTS["ball.both"] = {
    "pos-or-vel": Fault(
        "Executes only pos if both pos and vel are given.", alter("do_ball", _pos_alone)
    ),
}

FAULTS["ball.neither"] = {
    "bare-ball-centres": Subtle(
        "Puts the ball at the centre if neither pos nor vel is given.",
        then("do_ball", "centre_ball", BARE),
    ),
    "bare-ball-stops": Subtle(
        "Stops the ball if neither pos nor vel is given.",
        alter("do_ball", lambda *_: ["ball", ["vel", "0", "0", "0"]], BARE),
    ),
}

FAULTS["ball.spin"] = {
    "spin-stays": Subtle(
        "Keeps the spin of the ball when its velocity is set.",
        keeps("ball_vel", "world.ball.spin", lambda old, new: old),
    ),
}

FAULTS["drop-ball.players-away"] = {
    "players-stay": Fault(
        "Does not move players away from a dropped ball.", skip("move_players_away")
    ),
    "away-in-one-direction": Subtle(
        "Moves all players near the ball by the free kick radius, in the same direction.",
        instead("move_players_away", _move_along),
    ),
    "one-of-each-team-away": Subtle(
        "Moves only the first player of each team away.",
        with_robots(
            "move_players_away", lambda robots: [*{r.side: r for r in robots[::-1]}.values()]
        ),
    ),
    "left-players-stay": Subtle(
        "Moves only the players of the right team away.",
        with_robots(
            "move_players_away",
            lambda robots: [robot for robot in robots if robot.side == "right"],
        ),
    ),
}

FAULTS["drop-ball.ball-stays"] = {
    "dropped-at-the-centre": Fault(
        "Drops the ball at the centre.", instead("bring_ball_back", "centre_ball")
    ),
}

FAULTS["drop-ball.back-on-the-field"] = {
    "dropped-off-the-field": Fault(
        "Does not bring a dropped ball back.", instead("do_drop_ball", "move_players_away")
    ),
    "dropped-off-one-side": Subtle(
        "Does not bring a dropped ball back from beyond the touch line at negative y.",
        only(
            "do_drop_ball",
            lambda server, _: (
                server.world.ball.y > -server.world.settings.environment.FieldWidth / 2
            ),
        ),
    ),
}

FAULTS["nodes.transform"] = {
    "away-in-no-direction": Subtle(
        "Divides by zero for a player to move away exactly at the ball.",
        before("move_players_away", _lose_robots_at_the_ball),
    ),
}


@fault("in-order-given", violates="ball.both", subtle=True)
class InOrderGiven(Server):
    """Executes pos and vel in the given order, so a later pos stops the ball."""

    def do_ball(self, command: list[Any]) -> None:
        for item in command[1:]:
            super().do_ball(["ball", item])


class _Divided(World):
    def _push(self, robot: Robot) -> None:
        super()._push(robot)
        if (robot.x, robot.y) == (self.ball.x, self.ball.y):
            self.ball.vx = nan


@fault("pushed-in-no-direction", violates="nodes.transform", subtle=True)
class PushedInNoDirection(Server):
    """Divides by zero if a player exactly at the position of the ball pushes it."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.world = _Divided(settings)
