"""The rules of the game: consequences of the ball's position, and durations of play modes."""

from mocks.simspark.settings import CYCLE
from mocks.simspark.world import World

STILL = ("BeforeKickOff", "GameOver")
"""The play modes in which the time of the game stops."""
RESTARTS = 15.0  # seconds for a kick-off, kick-in, corner or goal kick; then play continues
MOVED = 0.5  # metres that the ball must move to end a restart


class Referee:
    """Applies the rules after each cycle."""

    world: World

    def opponent_of(self, side: str) -> str:
        return "right" if side == "left" else "left"

    def judge(self) -> None:
        world = self.world
        if world.mode not in STILL:
            world.time += CYCLE
            self.judge_half()
        mode = world.mode
        lasted = world.now - world.since
        environment = world.settings.environment
        if mode == "BeforeKickOff":
            self.centre_ball()
            if not world.robots:
                world.since = world.now
            elif lasted > environment.WaitBeforeKickOff:
                self.kick_off("left" if world.half == 1 else "right")
        elif mode == "PlayOn":
            self.inside = max(self.inside, world.since)
            self.judge_ball()
        elif mode.startswith("Goal_"):
            if lasted >= self.goal_pause():
                self.kick_off(self.opponent_of(mode.removeprefix("Goal_").lower()))
        elif mode != "GameOver":
            self.judge_restart(lasted)

    def goal_pause(self) -> float:
        return self.world.settings.environment.RuleGoalPauseTime

    def judge_half(self) -> None:
        world = self.world
        if world.time < world.half * self.half_time():
            return
        if world.half == 1:
            world.half = 2
            world.become("BeforeKickOff")
        else:
            world.become("GameOver")

    def half_time(self) -> float:
        return self.world.settings.environment.RuleHalfTime

    def centre_ball(self) -> None:
        world = self.world
        world.ball.place(0.0, 0.0, 0.0, world.settings.environment.BallRadius)

    def kick_off(self, side: str) -> None:
        self.centre_ball()
        self.world.become(f"KickOff_{side.capitalize()}")

    def judge_ball(self) -> None:
        """Check if the ball has left the field, and where."""
        world, ball = self.world, self.world.ball
        environment = world.settings.environment
        length, width = environment.FieldLength / 2, environment.FieldWidth / 2
        behind = "right" if ball.x > 0 else "left"
        if abs(ball.x) > length + environment.BallRadius:
            if abs(ball.y) < environment.GoalWidth / 2 and ball.z < environment.GoalHeight:
                scorer = self.opponent_of(behind)
                world.score[scorer] += 1
                world.become(f"Goal_{scorer.capitalize()}")
            elif world.toucher == behind:
                world.become(f"corner_kick_{self.opponent_of(behind)}")
            else:
                world.become(f"goal_kick_{behind}")
        elif abs(ball.y) > width + environment.BallRadius:
            if world.now - self.inside >= self.kick_in_pause():
                world.become(f"KickIn_{self.opponent_of(world.toucher).capitalize()}")
            return
        self.inside = world.now

    inside = 0.0
    """The simulation time in seconds at which the ball was last between the touch lines."""

    def kick_in_pause(self) -> float:
        return self.world.settings.environment.RuleKickInPauseTime

    def judge_restart(self, lasted: float) -> None:
        """End a restart after the ball has moved, or after a time limit."""
        world = self.world
        if lasted < 2 * CYCLE:
            self.spot = self.restart_spot()
        pause = world.settings.environment.RuleKickInPauseTime
        if not world.mode.startswith("KickOff") and lasted < pause:
            return
        moved = abs(world.ball.x - self.spot[0]) + abs(world.ball.y - self.spot[1]) > MOVED
        if lasted >= 2 * CYCLE and ((moved and lasted > pause + 2 * CYCLE) or lasted > RESTARTS):
            world.become("PlayOn")
        elif moved:
            world.ball.place(*self.spot, 0.0, world.settings.environment.BallRadius)

    def restart_spot(self) -> tuple[float, float]:
        world, ball = self.world, self.world.ball
        environment = world.settings.environment
        length, width = environment.FieldLength / 2, environment.FieldWidth / 2
        if world.mode.startswith("corner"):
            return (length if ball.x > 0 else -length, width if ball.y > 0 else -width)
        if world.mode.startswith("goal_kick"):
            return ((length - 1) * (1 if ball.x > 0 else -1), 0.0)
        return min(max(ball.x, -length), length), min(max(ball.y, -width), width)

    spot = (0.0, 0.0)
