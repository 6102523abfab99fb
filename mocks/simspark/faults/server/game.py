"""Faults of the server in trainer commands for the game, and in its rules."""

from collections.abc import Callable
from typing import Any

from mocks.deviations import Fault, Subtle, Table, fault
from mocks.simspark.faults.server.bases import SECOND_HALF, keeps, undoes, wants
from mocks.simspark.server import Server
from mocks.simspark.settings import PLAY_MODES
from mocks.steps import Change, after, alter, call, instead, only, returning, since, skip, then

LEFT, RIGHT, NOBODY = ["kickOff", "Left"], ["kickOff", "Right"], ["kickOff", "None"]
BY_LOWER = {mode.lower(): mode for mode in PLAY_MODES}


def play_mode(change: Callable[[str], str | None]) -> Change:
    """Set the play mode that a function makes of the commanded one."""
    return alter("do_play_mode", lambda _, command: [command[0], change(str(command[-1]))])


def _begun(text: str) -> str | None:
    return next((mode for mode in PLAY_MODES if mode.startswith(text)), None)


def _whole_seconds(_: Server, command: list[Any]) -> list[Any]:
    return [command[0], str(command[1]).partition(".")[0], *command[2:]]


def _rounded_time(_: Server, command: list[Any]) -> list[Any]:
    try:
        return [command[0], str(round(float(command[1]))), *command[2:]]
    except (ValueError, TypeError, OverflowError):
        return command


def _ordered_score(_: Server, command: list[Any]) -> list[Any]:
    (_, first), (_, second) = command[1], command[2]
    return ["score", ["left", first], ["right", second]]


def _mode_before(server: Server, command: list[Any]) -> Callable[[], None]:
    mode = server.world.mode
    return lambda: server.world.become(mode)


def _time_before(server: Server, command: list[Any]) -> Callable[[], None]:
    time = server.world.time
    return lambda: setattr(server.world, "time", time)


def _cut_time(server: Server, command: list[Any]) -> None:
    server.world.time %= server.half_time()


def _add_goal(server: Server) -> None:
    server.world.score["left"] += 1


def _clear_score(server: Server, *_: Any) -> None:
    server.world.score = {"left": 0, "right": 0}


FAULTS = Table(Server)

FAULTS["play-mode.set"] = {
    "last-play-mode-refused": Subtle(
        "Refuses the last play mode of its list.",
        skip("do_play_mode", wants(["playMode", PLAY_MODES[-1]])),
    ),
    "play-modes-stay": Fault(
        "Sets only the play mode PlayOn.", only("do_play_mode", wants(["playMode", "PlayOn"]))
    ),
    "play-mode-undone": Subtle(
        "Returns to the previous play mode after one state has shown the new one.",
        *undoes("do_play_mode", _mode_before),
    ),
}

FAULTS["play-mode.case"] = {
    "unknown-is-the-first": Subtle(
        "Sets the first play mode for an unknown name.",
        play_mode(lambda mode: mode if mode in PLAY_MODES else PLAY_MODES[0]),
    ),
    "any-case": Subtle(
        "Accepts play modes in any upper or lower case.",
        play_mode(lambda mode: BY_LOWER.get(mode.lower(), "")),
    ),
    "beginnings-of-play-modes": Subtle(
        "Accepts the beginning of a play mode's name.", play_mode(_begun)
    ),
}

FAULTS["kick-off.left"] = {
    "left-kicks-off-once": Subtle(
        "Gives the left team only one kick-off.",
        alter("do_kick_off", lambda *_: RIGHT, since(wants(LEFT) & after(1))),
    ),
    "left-is-right-after-half-time": Subtle(
        "Gives the kick-off of the left team to the right team in the second half.",
        alter("do_kick_off", lambda *_: RIGHT, wants(LEFT) & SECOND_HALF),
    ),
}

FAULTS["kick-off.right"] = {
    "right-never-kicks-off": Fault(
        "Always gives the kick-off to the left team.",
        alter("do_kick_off", lambda *_: LEFT, wants(RIGHT)),
    ),
    "right-is-left-after-half-time": Subtle(
        "Gives the kick-off of the right team to the left team in the second half.",
        alter("do_kick_off", lambda *_: LEFT, wants(RIGHT) & SECOND_HALF),
    ),
}

FAULTS["kick-off.none"] = {
    "no-coin": Subtle("Ignores kickOff None.", skip("do_kick_off", wants(NOBODY))),
}

FAULTS["environment.goal-pause"] = {
    "no-pause-after-a-goal": Subtle(
        "Gives the kick-off 0.1 s after a goal.", instead("goal_pause", lambda _: 0.1)
    ),
    "no-pause-after-a-goal-of-the-right": Subtle(
        "Gives the kick-off 0.1 s after a goal of the right team.",
        instead("goal_pause", lambda _: 0.1, lambda server: server.world.mode == "Goal_Right"),
    ),
    "kick-off-instead-of-a-goal": Subtle(
        "Counts a goal and gives the kick-off in the same cycle, without a goal mode.",
        then(
            "judge_ball",
            call("kick_off", "left"),
            lambda server: server.world.mode.startswith("Goal_"),
        ),
    ),
}

FAULTS["environment.kick-in-pause"] = {
    "short-pause-before-a-kick-in": Subtle(
        "Gives the kick-in 0.1 s after the ball has left the field.",
        instead("kick_in_pause", lambda _: 0.1),
    ),
}

FAULTS["environment.half-time"] = {
    "endless-half": Fault("Does not end a half.", skip("judge_half")),
    "second-half-skipped": Subtle(
        "Ends the second half at the time at which the first half ends.",
        returning("half_time", lambda time: time / 2, SECOND_HALF),
    ),
    "half-too-short": Subtle(
        "Ends a half ten seconds too early.", returning("half_time", lambda time: time - 10)
    ),
}

FAULTS["time.set"] = {
    "time-stays": Fault("Does not set the time.", skip("do_time")),
    "time-in-whole-seconds": Subtle(
        "Ignores the fraction of the time.", alter("do_time", _whole_seconds)
    ),
    "time-rounded": Subtle(
        "Rounds the time to the nearest whole second.", alter("do_time", _rounded_time)
    ),
    "time-never-zero": Subtle(
        "Ignores a time of 0.", only("do_time", lambda _, command: float(command[1]))
    ),
    "time-only-forwards": Subtle(
        "Does not set the time back.", keeps("do_time", "world.time", max)
    ),
    "time-within-a-half": Subtle(
        "Sets the time modulo the length of a half in the second half.",
        then("do_time", _cut_time, SECOND_HALF),
    ),
    "time-undone": Subtle(
        "Returns to the previous time after one state has shown the new one.",
        *undoes("do_time", _time_before),
    ),
}

FAULTS["score.set"] = {
    "score-in-order": Subtle(
        "Takes the first of the two scores for that of the left team.",
        alter("do_score", _ordered_score),
    ),
    "scores-of-seven-bits": Subtle(
        "Keeps only seven bits of a score.",
        keeps(
            "do_score",
            "world.score",
            lambda _, score: {side: goals & 127 for side, goals in score.items()},
        ),
    ),
    "score-runs": Fault(
        "Gives the left team a goal every fifth cycle.",
        then("cycle", _add_goal, lambda server: server.cycles % 5 == 0),
    ),
    "score-creeps": Subtle(
        "Gives the left team a goal every two seconds.",
        then("cycle", _add_goal, lambda server: server.cycles % 100 == 0),
    ),
    "score-never-zero": Subtle(
        "Does not set a score back to 0.",
        keeps(
            "do_score",
            "world.score",
            lambda old, score: {side: goals or old[side] for side, goals in score.items()},
        ),
    ),
    "score-changes-sides": Subtle(
        "Swaps the commanded scores of the teams in the second half.",
        keeps(
            "do_score",
            "world.score",
            lambda _, score: {"left": score["right"], "right": score["left"]},
            SECOND_HALF,
        ),
    ),
    "kick-off-clears-the-score": Subtle(
        "Resets the score at every commanded kick-off.", then("do_kick_off", _clear_score)
    ),
}


@fault("score-of-a-half", violates="score.set", subtle=True)
class ScoreOfAHalf(Server):
    """Begins the second half with a score of 0."""

    def judge_half(self) -> None:
        half = self.world.half
        super().judge_half()
        if self.world.half != half:
            _clear_score(self)
