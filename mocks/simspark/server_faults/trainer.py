"""Faults of the server in what it does upon the commands of a trainer."""

from typing import Any

from mocks.fault import fault
from mocks.simspark.monitor_port import Monitor
from mocks.simspark.robot import Robot
from mocks.simspark.server import Server
from mocks.simspark.settings import PLAY_MODES
from mocks.simspark.trainer import SIDES, Wrong, parameters


@fault("errors-returned", violates="trainer.errors-silent")
class ErrorsReturned(Server):
    """Answers a command that it cannot execute."""

    hearing: Monitor | None = None

    def hear_command(self, monitor: Monitor, expression: object) -> None:
        self.hearing = monitor
        super().hear_command(monitor, expression)

    def complain(self, why: str) -> None:
        if self.hearing:
            self.hearing.send("(error (unknown command))")


@fault("closes-upon-errors", violates="trainer.errors-silent", subtle=True)
class ClosesUponErrors(Server):
    """Closes the connection of a trainer who names a play mode that there is not."""

    def hear_command(self, monitor: Monitor, expression: object) -> None:
        super().hear_command(monitor, expression)
        if expression == ["playMode", "NoSuchMode"]:
            monitor.stream.close()


# Agents


@fault("agents-stay", violates="move-agent.pos")
class AgentsStay(Server):
    """Does not move an agent by pos."""

    def agent_pos(self, robot: Robot, values: list[Any]) -> None:
        pass


@fault("relative-pos", violates="move-agent.pos", subtle=True)
class RelativePos(Server):
    """Takes pos as relative to where the agent is."""

    def agent_pos(self, robot: Robot, values: list[Any]) -> None:
        x, y, z = values
        super().agent_pos(robot, [robot.x + float(x), robot.y + float(y), z])


@fault("own-half-pos", violates="move-agent.pos", subtle=True)
class OwnHalfPos(Server):
    """Takes pos from the side of the agent's team: mirrored for the right one."""

    def agent_pos(self, robot: Robot, values: list[Any]) -> None:
        x, y, z = map(float, values)
        own = -1 if robot.side == "right" else 1
        super().agent_pos(robot, [own * x, own * y, z])


@fault("agents-on-the-ground", violates="move-agent.pos", subtle=True)
class AgentsOnTheGround(Server):
    """Puts an agent on the ground, however high it is to be."""

    def agent_pos(self, robot: Robot, values: list[Any]) -> None:
        super().agent_pos(robot, [*values[:2], robot.z])


@fault("move-only-turns", violates="move-agent.move", subtle=True)
class MoveOnlyTurns(Server):
    """Only turns an agent by move."""

    def agent_move(self, robot: Robot, values: list[Any]) -> None:
        super().agent_move(robot, [robot.x, robot.y, robot.z, values[3]])


@fault("move-does-not-turn", violates="move-agent.turn", subtle=True)
class MoveDoesNotTurn(Server):
    """Does not turn an agent by move."""

    def agent_move(self, robot: Robot, values: list[Any]) -> None:
        super().agent_move(robot, [*values[:3], robot.heading])


@fault("by-number-only", violates="move-agent.right-one", subtle=True)
class ByNumberOnly(Server):
    """Moves the first agent of a number, whatever its team."""

    def do_agent(self, command: list[Any]) -> None:
        given = parameters(command)
        for robot in self.world.robots:
            if given.get("unum") == [str(robot.unum)] and "pos" in given:
                self.agent_pos(robot, given["pos"])
                return
        super().do_agent(command)


@fault("moves-both-teams", violates="move-agent.right-one")
class MovesBothTeams(Server):
    """Moves all agents."""

    def agent_pos(self, robot: Robot, values: list[Any]) -> None:
        for other in self.world.robots:
            super().agent_pos(other, values)


@fault("no-operation-centres", violates="move-agent.no-operation", subtle=True)
class NoOperationCentres(Server):
    """Puts an agent to the centre where no operation is given."""

    def do_agent(self, command: list[Any]) -> None:
        super().do_agent(command)
        if len(command) == 3:
            self.named(parameters(command)).place(0.0, 0.0, 0.35)


@fault("first-operation", violates="move-agent.several-operations", subtle=True)
class FirstOperation(Server):
    """Applies only the first operation of a command."""

    def do_agent(self, command: list[Any]) -> None:
        super().do_agent(command[:4])


@fault("battery-stays", violates="move-agent.battery")
class BatteryStays(Server):
    """Does not set the battery."""

    def agent_battery(self, robot: Robot, values: list[Any]) -> None:
        pass


# The ball


@fault("ball-stays", violates="ball.pos")
class BallStays(Server):
    """Does not move the ball by pos."""

    def ball_pos(self, pos: list[float]) -> None:
        pass


@fault("relative-ball", violates="ball.pos", subtle=True)
class RelativeBall(Server):
    """Takes pos as relative to where the ball is."""

    def ball_pos(self, pos: list[float]) -> None:
        x, y, z = pos
        super().ball_pos([self.world.ball.x + x, self.world.ball.y + y, z])


@fault("ball-on-own-half", violates="ball.pos", subtle=True)
class BallOnOwnHalf(Server):
    """Keeps the ball on the right half."""

    def ball_pos(self, pos: list[float]) -> None:
        super().ball_pos([abs(pos[0]), *pos[1:]])


@fault("ball-on-the-ground", violates="ball.pos", subtle=True)
class BallOnTheGround(Server):
    """Puts the ball on the ground, however high it is to be."""

    def ball_pos(self, pos: list[float]) -> None:
        super().ball_pos([*pos[:2], 0.0])


@fault("ball-not-pushed", violates="ball.vel")
class BallNotPushed(Server):
    """Does not give the ball a velocity."""

    def ball_vel(self, vel: list[float]) -> None:
        pass


@fault("velocity-swapped", violates="ball.vel", subtle=True)
class VelocitySwapped(Server):
    """Swaps the components of the velocity."""

    def ball_vel(self, vel: list[float]) -> None:
        super().ball_vel([vel[1], vel[0], vel[2]])


@fault("velocity-added", violates="ball.vel", subtle=True)
class VelocityAdded(Server):
    """Adds the velocity to that which the ball has."""

    def ball_vel(self, vel: list[float]) -> None:
        ball = self.world.ball
        x, y, z = vel
        still = not any(vel)
        super().ball_vel(vel if still else [ball.vx + x, ball.vy + y, ball.vz + z])


@fault("flat-velocity", violates="ball.vel", subtle=True)
class FlatVelocity(Server):
    """Never pushes the ball upwards."""

    def ball_vel(self, vel: list[float]) -> None:
        x, y, _ = vel
        super().ball_vel([x, y, 0.0])


@fault("pos-or-vel", violates="ball.both")
class PosOrVel(Server):
    """Heeds only pos where both are given."""

    def do_ball(self, command: list[Any]) -> None:
        given = [item for item in command[1:] if item[:1] == ["pos"]]
        super().do_ball(["ball", *given] if given else command)


@fault("in-order-given", violates="ball.both", subtle=True)
class InOrderGiven(Server):
    """Applies pos behind vel where that stands first, and so stops the ball again."""

    def do_ball(self, command: list[Any]) -> None:
        for item in command[1:]:
            super().do_ball(["ball", item])


@fault("bare-ball-centres", violates="ball.neither", subtle=True)
class BareBallCentres(Server):
    """Puts the ball to the centre where neither is given."""

    def do_ball(self, command: list[Any]) -> None:
        super().do_ball(command)
        if len(command) == 1:
            self.centre_ball()


@fault("players-stay", violates="drop-ball.players-away")
class PlayersStay(Server):
    """Does not move players away from a dropped ball."""

    def move_players_away(self) -> None:
        pass


@fault("left-players-stay", violates="drop-ball.players-away", subtle=True)
class LeftPlayersStay(Server):
    """Moves the players of the right team away only."""

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
    """Leaves a dropped ball where it is."""

    def do_drop_ball(self, command: list[Any]) -> None:
        self.move_players_away()


@fault("dropped-off-one-side", violates="drop-ball.back-on-the-field", subtle=True)
class DroppedOffOneSide(Server):
    """Leaves a dropped ball where it is beyond the lower touch line."""

    def do_drop_ball(self, command: list[Any]) -> None:
        if self.world.ball.y > -self.world.settings.environment.FieldWidth / 2:
            super().do_drop_ball(command)


# The game


@fault("last-play-mode-refused", violates="play-mode.set", subtle=True)
class LastPlayModeRefused(Server):
    """Does not know the last play mode of its list."""

    def do_play_mode(self, command: list[Any]) -> None:
        if command[1:2] == [PLAY_MODES[-1]]:
            raise Wrong("there is no such play mode")
        super().do_play_mode(command)


@fault("play-modes-stay", violates="play-mode.set")
class PlayModesStay(Server):
    """Sets no play mode but the one in which play goes on."""

    def do_play_mode(self, command: list[Any]) -> None:
        if command[1:2] == ["PlayOn"]:
            super().do_play_mode(command)


@fault("unknown-is-the-first", violates="play-mode.case", subtle=True)
class UnknownIsTheFirst(Server):
    """Sets the first play mode where it finds none of a name."""

    def do_play_mode(self, command: list[Any]) -> None:
        known = command[1:2] and command[1] in PLAY_MODES
        super().do_play_mode(command if known else [command[0], PLAY_MODES[0]])


@fault("any-case", violates="play-mode.case", subtle=True)
class AnyCase(Server):
    """Takes play modes in any letters."""

    def do_play_mode(self, command: list[Any]) -> None:
        by_lower = {mode.lower(): mode for mode in PLAY_MODES}
        super().do_play_mode([command[0], by_lower.get(str(command[-1]).lower(), "")])


@fault("left-kicks-off-once", violates="kick-off.left", subtle=True)
class LeftKicksOffOnce(Server):
    """Gives the left team one kick-off only."""

    given = 0

    def do_kick_off(self, command: list[Any]) -> None:
        self.given += command[1:] == ["Left"]
        super().do_kick_off(["kickOff", "Right"] if self.given > 1 else command)


@fault("right-never-kicks-off", violates="kick-off.right")
class RightNeverKicksOff(Server):
    """Gives the kick-off to the left team always."""

    def do_kick_off(self, command: list[Any]) -> None:
        super().do_kick_off(["kickOff", "Left"] if command[1:] == ["Right"] else command)


@fault("no-coin", violates="kick-off.none", subtle=True)
class NoCoin(Server):
    """Ignores a kick-off for None."""

    def do_kick_off(self, command: list[Any]) -> None:
        if command[1:] != ["None"]:
            super().do_kick_off(command)


@fault("no-pause-after-a-goal", violates="environment.goal-pause", subtle=True)
class NoPauseAfterAGoal(Server):
    """Kicks off a tenth of a second after a goal."""

    def goal_pause(self) -> float:
        return 0.1


@fault("endless-half", violates="environment.half-time")
class EndlessHalf(Server):
    """Does not end a half."""

    def judge_half(self) -> None:
        pass


@fault("half-too-short", violates="environment.half-time", subtle=True)
class HalfTooShort(Server):
    """Ends a half ten seconds too early."""

    def half_time(self) -> float:
        return super().half_time() - 10


@fault("time-stays", violates="time.set")
class TimeStays(Server):
    """Does not set the time."""

    def do_time(self, command: list[Any]) -> None:
        pass


@fault("time-in-whole-seconds", violates="time.set", subtle=True)
class TimeInWholeSeconds(Server):
    """Sets the time without its fraction."""

    def do_time(self, command: list[Any]) -> None:
        super().do_time([command[0], str(command[1]).partition(".")[0], *command[2:]])


@fault("time-only-forwards", violates="time.set", subtle=True)
class TimeOnlyForwards(Server):
    """Does not set the time back."""

    def do_time(self, command: list[Any]) -> None:
        before = self.world.time
        super().do_time(command)
        self.world.time = max(before, self.world.time)


@fault("score-in-order", violates="score.set", subtle=True)
class ScoreInOrder(Server):
    """Takes the first of two scores for the left team's."""

    def do_score(self, command: list[Any]) -> None:
        (_, first), (_, second) = command[1], command[2]
        super().do_score(["score", ["left", first], ["right", second]])


@fault("score-never-zero", violates="score.set", subtle=True)
class ScoreNeverZero(Server):
    """Does not set a score back to 0."""

    def do_score(self, command: list[Any]) -> None:
        before = dict(self.world.score)
        super().do_score(command)
        for side, goals in self.world.score.items():
            self.world.score[side] = goals or before[side]


@fault("other-cookie", violates="ack.form", subtle=True)
class OtherCookie(Server):
    """Answers getAck with a cookie of its own."""

    hearing: Monitor | None = None

    def hear_command(self, monitor: Monitor, expression: object) -> None:
        self.hearing = monitor
        super().hear_command(monitor, expression)

    def do_get_ack(self, command: list[Any]) -> None:
        if self.hearing:
            self.hearing.send("(ack done)")


# Selecting, removing, repositioning


@fault("selects-the-first", violates="select.named", subtle=True)
class SelectsTheFirst(Server):
    """Selects the first agent, whichever is named."""

    def do_select(self, command: list[Any]) -> None:
        self.world.selected = self.world.robots[0] if self.world.robots else None


@fault("next-is-the-same", violates="select.next", subtle=True)
class NextIsTheSame(Server):
    """Leaves the selected agent selected where none is named."""

    def next_selected(self) -> Robot | None:
        return self.world.selected or super().next_selected()


@fault("all-that-were-selected", violates="select.only-one", subtle=True)
class AllThatWereSelected(Server):
    """Keeps all agents selected that were once."""

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
    """Removes the agents of a number in both teams."""

    def do_kill(self, command: list[Any]) -> None:
        robot = self.named_or_selected(command)
        for other in list(self.world.robots):
            if other.unum == robot.unum:
                self.world.remove(other)


@fault("kills-none", violates="kill.named")
class KillsNone(Server):
    """Puts the agent that it is to remove out of sight."""

    def do_kill(self, command: list[Any]) -> None:
        self.named_or_selected(command).place(0.0, 0.0, 100.0)


@fault("kills-by-name-only", violates="kill.selected")
class KillsByNameOnly(Server):
    """Does not remove the selected agent."""

    def do_kill(self, command: list[Any]) -> None:
        self.world.remove(self.named(parameters(command)))


class AnyNumber(Server):
    """Can take the first agent of a team for the one that is named."""

    def any_of_the_team(self, command: list[Any]) -> list[Any]:
        side = SIDES.get(str(parameters(command).get("team", [""])[0]))
        for robot in self.world.robots:
            if robot.side == side:
                return [command[0], ["unum", str(robot.unum)], *command[1:]]
        return command


@fault("kills-any-number", violates="kill.named", subtle=True)
class KillsAnyNumber(AnyNumber):
    """Removes the first agent of a team, whatever the number."""

    def do_kill(self, command: list[Any]) -> None:
        super().do_kill(self.any_of_the_team(command))


@fault("repos-any-number", violates="repos.named", subtle=True)
class ReposAnyNumber(AnyNumber):
    """Repositions the first agent of a team, whatever the number."""

    def do_repos(self, command: list[Any]) -> None:
        super().do_repos(self.any_of_the_team(command))


@fault("repos-both", violates="repos.named", subtle=True)
class ReposBoth(Server):
    """Repositions the agents of a number in both teams."""

    def do_repos(self, command: list[Any]) -> None:
        for side in ("Left", "Right"):
            super().do_repos(["repos", command[1], ["team", side]] if command[1:] else command)


@fault("repos-removes", violates="repos.selected", subtle=True)
class ReposRemoves(Server):
    """Removes the selected agent instead of repositioning it."""

    def do_repos(self, command: list[Any]) -> None:
        if len(command) == 1:
            self.world.remove(self.named_or_selected(command))
        else:
            super().do_repos(command)


@fault("repos-by-name-only", violates="repos.selected")
class ReposByNameOnly(Server):
    """Does not reposition the selected agent."""

    def do_repos(self, command: list[Any]) -> None:
        if len(command) > 1:
            super().do_repos(command)
