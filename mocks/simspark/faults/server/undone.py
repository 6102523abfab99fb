"""Faults of the server after a command: lost and reverted effects."""

from collections.abc import Callable
from typing import Any

from mocks.deviations import fault
from mocks.simspark.monitor_port import Monitor
from mocks.simspark.robot import Robot
from mocks.simspark.server import Server


class Undoing(Server):
    """Reverts a change after one state has shown it."""

    undo: Callable[[], None] | None = None

    def tell_monitors(self) -> None:
        super().tell_monitors()
        undo, self.undo = self.undo, None
        if undo:
            undo()


@fault("play-mode-undone", violates="play-mode.set", subtle=True)
class PlayModeUndone(Undoing):
    """Returns to the previous play mode after one state has shown the new one."""

    def do_play_mode(self, command: list[Any]) -> None:
        before = self.world.mode
        super().do_play_mode(command)
        self.undo = lambda: self.world.become(before)


@fault("ball-put-back", violates="ball.pos", subtle=True)
class BallPutBack(Undoing):
    """Puts the ball back after one state has shown it at its new position."""

    def ball_pos(self, pos: list[float]) -> None:
        ball = self.world.ball
        x, y, z, radius = ball.x, ball.y, ball.z, self.world.settings.environment.BallRadius
        super().ball_pos(pos)
        self.undo = lambda: ball.place(x, y, z, radius)


@fault("agents-put-back", violates="move-agent.pos", subtle=True)
class AgentsPutBack(Undoing):
    """Puts an agent back after one state has shown it at its new position."""

    def agent_pos(self, robot: Robot, values: list[Any]) -> None:
        x, y, z = robot.x, robot.y, robot.z
        super().agent_pos(robot, values)
        self.undo = lambda: robot.place(x, y, z)


@fault("time-undone", violates="time.set", subtle=True)
class TimeUndone(Undoing):
    """Returns to the previous time after one state has shown the new one."""

    def do_time(self, command: list[Any]) -> None:
        before = self.world.time
        super().do_time(command)
        self.undo = lambda: setattr(self.world, "time", before)


@fault("kick-off-clears-the-score", violates="score.set", subtle=True)
class KickOffClearsTheScore(Server):
    """Resets the score at every commanded kick-off."""

    def do_kick_off(self, command: list[Any]) -> None:
        super().do_kick_off(command)
        self.world.score = {"left": 0, "right": 0}


@fault("changes-taken-for-told", violates="state.partial", subtle=True)
class ChangesTakenForTold(Server):
    """Counts a change as sent to all monitors after sending it to a new monitor."""

    def welcome(self, monitor: Monitor) -> None:
        super().welcome(monitor)
        self.partial_state()
