"""Faults of the server in trainer commands for the game."""

from typing import Any

from mocks.deviations import fault
from mocks.simspark.server import Server
from mocks.simspark.settings import PLAY_MODES
from mocks.simspark.trainer import Wrong

# The game


@fault("last-play-mode-refused", violates="play-mode.set", subtle=True)
class LastPlayModeRefused(Server):
    """Refuses the last play mode of its list."""

    def do_play_mode(self, command: list[Any]) -> None:
        if command[1:2] == [PLAY_MODES[-1]]:
            raise Wrong("there is no such play mode")
        super().do_play_mode(command)


@fault("play-modes-stay", violates="play-mode.set")
class PlayModesStay(Server):
    """Sets only the play mode PlayOn."""

    def do_play_mode(self, command: list[Any]) -> None:
        if command[1:2] == ["PlayOn"]:
            super().do_play_mode(command)


@fault("unknown-is-the-first", violates="play-mode.case", subtle=True)
class UnknownIsTheFirst(Server):
    """Sets the first play mode for an unknown name."""

    def do_play_mode(self, command: list[Any]) -> None:
        known = command[1:2] and command[1] in PLAY_MODES
        super().do_play_mode(command if known else [command[0], PLAY_MODES[0]])


@fault("any-case", violates="play-mode.case", subtle=True)
class AnyCase(Server):
    """Accepts play modes in any upper or lower case."""

    def do_play_mode(self, command: list[Any]) -> None:
        by_lower = {mode.lower(): mode for mode in PLAY_MODES}
        super().do_play_mode([command[0], by_lower.get(str(command[-1]).lower(), "")])


@fault("beginnings-of-play-modes", violates="play-mode.case", subtle=True)
class BeginningsOfPlayModes(Server):
    """Accepts the beginning of a play mode's name."""

    def do_play_mode(self, command: list[Any]) -> None:
        begun = [mode for mode in PLAY_MODES if mode.startswith(str(command[-1]))]
        super().do_play_mode([command[0], *begun[:1]])


@fault("left-kicks-off-once", violates="kick-off.left", subtle=True)
class LeftKicksOffOnce(Server):
    """Gives the left team only one kick-off."""

    given = 0

    def do_kick_off(self, command: list[Any]) -> None:
        self.given += command[1:] == ["Left"]
        super().do_kick_off(["kickOff", "Right"] if self.given > 1 else command)


@fault("right-never-kicks-off", violates="kick-off.right")
class RightNeverKicksOff(Server):
    """Always gives the kick-off to the left team."""

    def do_kick_off(self, command: list[Any]) -> None:
        super().do_kick_off(["kickOff", "Left"] if command[1:] == ["Right"] else command)


@fault("no-coin", violates="kick-off.none", subtle=True)
class NoCoin(Server):
    """Ignores kickOff None."""

    def do_kick_off(self, command: list[Any]) -> None:
        if command[1:] != ["None"]:
            super().do_kick_off(command)


@fault("no-pause-after-a-goal", violates="environment.goal-pause", subtle=True)
class NoPauseAfterAGoal(Server):
    """Gives the kick-off 0.1 s after a goal."""

    def goal_pause(self) -> float:
        return 0.1


@fault("no-pause-after-a-goal-of-the-right", violates="environment.goal-pause", subtle=True)
class NoPauseAfterAGoalOfTheRight(Server):
    """Gives the kick-off 0.1 s after a goal of the right team."""

    def goal_pause(self) -> float:
        return 0.1 if self.world.mode == "Goal_Right" else super().goal_pause()


@fault("kick-off-instead-of-a-goal", violates="environment.goal-pause", subtle=True)
class KickOffInsteadOfAGoal(Server):
    """Counts a goal and gives the kick-off in the same cycle, without a goal mode."""

    def judge_ball(self) -> None:
        super().judge_ball()
        if self.world.mode.startswith("Goal_"):
            self.kick_off("left")


@fault("short-pause-before-a-kick-in", violates="environment.kick-in-pause", subtle=True)
class ShortPauseBeforeAKickIn(Server):
    """Gives the kick-in 0.1 s after the ball has left the field."""

    def kick_in_pause(self) -> float:
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
    """Ignores the fraction of the time."""

    def do_time(self, command: list[Any]) -> None:
        super().do_time([command[0], str(command[1]).partition(".")[0], *command[2:]])


@fault("time-never-zero", violates="time.set", subtle=True)
class TimeNeverZero(Server):
    """Ignores a time of 0."""

    def do_time(self, command: list[Any]) -> None:
        if float(command[1]):
            super().do_time(command)


@fault("time-only-forwards", violates="time.set", subtle=True)
class TimeOnlyForwards(Server):
    """Does not set the time back."""

    def do_time(self, command: list[Any]) -> None:
        before = self.world.time
        super().do_time(command)
        self.world.time = max(before, self.world.time)


@fault("time-within-a-half", violates="time.set", subtle=True)
class TimeWithinAHalf(Server):
    """Sets the time modulo the length of a half in the second half."""

    def do_time(self, command: list[Any]) -> None:
        super().do_time(command)
        if self.world.half == 2:
            self.world.time %= self.half_time()


@fault("score-in-order", violates="score.set", subtle=True)
class ScoreInOrder(Server):
    """Takes the first of the two scores for that of the left team."""

    def do_score(self, command: list[Any]) -> None:
        (_, first), (_, second) = command[1], command[2]
        super().do_score(["score", ["left", first], ["right", second]])


@fault("scores-of-seven-bits", violates="score.set", subtle=True)
class ScoresOfSevenBits(Server):
    """Keeps only seven bits of a score."""

    def do_score(self, command: list[Any]) -> None:
        super().do_score(command)
        self.world.score = {side: goals & 127 for side, goals in self.world.score.items()}


@fault("score-runs", violates="score.set")
class ScoreRuns(Server):
    """Gives the left team a goal every fifth cycle."""

    every = 5

    def cycle(self) -> None:
        super().cycle()
        self.world.score["left"] += self.cycles % self.every == 0


@fault("score-creeps", violates="score.set", subtle=True)
class ScoreCreeps(ScoreRuns):
    """Gives the left team a goal every two seconds."""

    every = 100


@fault("score-never-zero", violates="score.set", subtle=True)
class ScoreNeverZero(Server):
    """Does not set a score back to 0."""

    def do_score(self, command: list[Any]) -> None:
        before = dict(self.world.score)
        super().do_score(command)
        for side, goals in self.world.score.items():
            self.world.score[side] = goals or before[side]


@fault("score-changes-sides", violates="score.set", subtle=True)
class ScoreChangesSides(Server):
    """Swaps the commanded scores of the teams in the second half."""

    def do_score(self, command: list[Any]) -> None:
        super().do_score(command)
        if self.world.half == 2:
            goals = self.world.score
            goals["left"], goals["right"] = goals["right"], goals["left"]


@fault("score-of-a-half", violates="score.set", subtle=True)
class ScoreOfAHalf(Server):
    """Begins the second half with a score of 0."""

    def judge_half(self) -> None:
        half = self.world.half
        super().judge_half()
        if self.world.half != half:
            self.world.score = dict.fromkeys(self.world.score, 0)
