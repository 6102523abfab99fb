"""Faults of the server in trainer commands for the ball."""

from math import nan
from typing import Any

from mocks.deviations import fault
from mocks.simspark.robot import Robot
from mocks.simspark.server import Server
from mocks.simspark.settings import Settings
from mocks.simspark.world import World

# The ball


@fault("velocities-in-whole-metres", violates="ball.vel", subtle=True)
class VelocitiesInWholeMetres(Server):
    """Ignores the fractions of the ball's velocity."""

    def ball_vel(self, vel: list[float]) -> None:
        super().ball_vel([float(int(part)) for part in vel])


@fault("ball-stays", violates="ball.pos")
class BallStays(Server):
    """Does not move the ball by pos."""

    def ball_pos(self, pos: list[float]) -> None:
        pass


@fault("relative-ball", violates="ball.pos", subtle=True)
class RelativeBall(Server):
    """Takes pos as relative to the position of the ball."""

    def ball_pos(self, pos: list[float]) -> None:
        x, y, z = pos
        super().ball_pos([self.world.ball.x + x, self.world.ball.y + y, z])


@fault("ball-on-own-half", violates="ball.pos", subtle=True)
class BallOnOwnHalf(Server):
    """Keeps the ball in the right half."""

    def ball_pos(self, pos: list[float]) -> None:
        super().ball_pos([abs(pos[0]), *pos[1:]])


@fault("ball-on-the-ground", violates="ball.pos", subtle=True)
class BallOnTheGround(Server):
    """Puts the ball on the ground, regardless of the commanded height."""

    def ball_pos(self, pos: list[float]) -> None:
        super().ball_pos([*pos[:2], 0.0])


@fault("ball-not-pushed", violates="ball.vel")
class BallNotPushed(Server):
    """Does not give the ball a velocity."""

    def ball_vel(self, vel: list[float]) -> None:
        pass


@fault("velocity-swapped", violates="ball.vel", subtle=True)
class VelocitySwapped(Server):
    """Swaps the x and y components of the velocity."""

    def ball_vel(self, vel: list[float]) -> None:
        super().ball_vel([vel[1], vel[0], vel[2]])


@fault("velocity-across-one-way", violates="ball.vel", subtle=True)
class VelocityAcrossOneWay(Server):
    """Ignores a velocity towards negative y."""

    def ball_vel(self, vel: list[float]) -> None:
        super().ball_vel([vel[0], max(vel[1], 0.0), vel[2]])


@fault("velocity-along-halved", violates="ball.vel", subtle=True)
class VelocityAlongHalved(Server):
    """Halves the velocity along x, so the ball rolls in another direction."""

    def ball_vel(self, vel: list[float]) -> None:
        super().ball_vel([vel[0] / 2, *vel[1:]])


@fault("velocity-added", violates="ball.vel", subtle=True)
class VelocityAdded(Server):
    """Adds the commanded velocity to the velocity of the ball."""

    def ball_vel(self, vel: list[float]) -> None:
        ball = self.world.ball
        x, y, z = vel
        still = not any(vel)
        super().ball_vel(vel if still else [ball.vx + x, ball.vy + y, ball.vz + z])


@fault("flat-velocity", violates="ball.vel", subtle=True)
class FlatVelocity(Server):
    """Ignores a velocity upwards."""

    def ball_vel(self, vel: list[float]) -> None:
        x, y, _ = vel
        super().ball_vel([x, y, 0.0])


@fault("pos-or-vel", violates="ball.both")
class PosOrVel(Server):
    """Executes only pos if both pos and vel are given."""

    def do_ball(self, command: list[Any]) -> None:
        given = [item for item in command[1:] if item[:1] == ["pos"]]
        super().do_ball(["ball", *given] if given else command)


@fault("in-order-given", violates="ball.both", subtle=True)
class InOrderGiven(Server):
    """Executes pos and vel in the given order, so a later pos stops the ball."""

    def do_ball(self, command: list[Any]) -> None:
        for item in command[1:]:
            super().do_ball(["ball", item])


@fault("bare-ball-centres", violates="ball.neither", subtle=True)
class BareBallCentres(Server):
    """Puts the ball at the centre if neither pos nor vel is given."""

    def do_ball(self, command: list[Any]) -> None:
        super().do_ball(command)
        if len(command) == 1:
            self.centre_ball()


@fault("bare-ball-stops", violates="ball.neither", subtle=True)
class BareBallStops(Server):
    """Stops the ball if neither pos nor vel is given."""

    def do_ball(self, command: list[Any]) -> None:
        super().do_ball(command if len(command) > 1 else ["ball", ["vel", "0", "0", "0"]])


@fault("players-stay", violates="drop-ball.players-away")
class PlayersStay(Server):
    """Does not move players away from a dropped ball."""

    def move_players_away(self) -> None:
        pass


@fault("left-players-stay", violates="drop-ball.players-away", subtle=True)
class LeftPlayersStay(Server):
    """Moves only the players of the right team away."""

    def move_players_away(self) -> None:
        robots = self.world.robots
        self.world.robots = [robot for robot in robots if robot.side == "right"]
        super().move_players_away()
        self.world.robots = robots


@fault("dropped-at-the-centre", violates="drop-ball.ball-stays")
class DroppedAtTheCentre(Server):
    """Drops the ball at the centre."""

    def bring_ball_back(self) -> None:
        self.centre_ball()


@fault("dropped-off-the-field", violates="drop-ball.back-on-the-field")
class DroppedOffTheField(Server):
    """Does not bring a dropped ball back."""

    def do_drop_ball(self, command: list[Any]) -> None:
        self.move_players_away()


@fault("dropped-off-one-side", violates="drop-ball.back-on-the-field", subtle=True)
class DroppedOffOneSide(Server):
    """Does not bring a dropped ball back from beyond the touch line at negative y."""

    def do_drop_ball(self, command: list[Any]) -> None:
        if self.world.ball.y > -self.world.settings.environment.FieldWidth / 2:
            super().do_drop_ball(command)


@fault("spin-stays", violates="ball.spin", subtle=True)
class SpinStays(Server):
    """Keeps the spin of the ball when its velocity is set."""

    def ball_vel(self, vel: list[float]) -> None:
        spin = self.world.ball.spin
        super().ball_vel(vel)
        self.world.ball.spin = spin


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


@fault("away-in-no-direction", violates="nodes.transform", subtle=True)
class AwayInNoDirection(Server):
    """Divides by zero for a player to move away exactly at the ball."""

    def move_players_away(self) -> None:
        ball = self.world.ball
        for robot in self.world.robots:
            if (robot.x, robot.y) == (ball.x, ball.y):
                robot.place(nan, nan, robot.z)
        super().move_players_away()
