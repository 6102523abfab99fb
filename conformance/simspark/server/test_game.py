"""Trainer commands for play mode, kick-off, time and score; rules of halves."""

import contextlib
import re

import pytest

from conformance.cases import check, lasting, requirement
from conformance.iut import Iut
from conformance.simspark.codec import STATES
from conformance.simspark.server.tester.commands import SETTLING_STATES
from conformance.simspark.server.tester.monitors import CLOSE, Place, Watch, watch_server
from conformance.simspark.view import View
from conformance.verdicts import Inconclusive, NotExercised, Violation

OBSERVATION_TIME = 2.5  # seconds in which a score must not change by itself
OTHERS = ("(time 30)", "(kickOff Right)", "(playMode PlayOn)", "(dropBall)", "(ball (vel 1 0 0))")
"""Commands that do not concern the score."""


@requirement("play-mode.set")
async def test_every_play_mode(iut: Iut) -> None:
    """Each play mode of the list can be set, and its index shows.

    A play mode that a rule soon ends is left out.
    """
    async with watch_server(iut) as watch:
        if "PlayOn" in watch.view.play_modes:
            await watch.play()
        # Commands can be without effect after the end of the game, so GameOver comes last.
        for mode in sorted(watch.lasting_modes, key="GameOver".__eq__):
            index = watch.view.play_modes.index(mode)
            await watch.command(f"(playMode {mode})")
            await watch.wait_until(
                lambda view, index=index: view.value("play_mode") == index,  # type: ignore[misc]
                f"show play_mode {index} after (playMode {mode})",
                now=lambda view: f"play_mode is {view.state.get('play_mode')}",
            )


@requirement("play-mode.case")
async def test_case_of_play_modes(iut: Iut) -> None:
    """A play mode with a wrong case or a wrong letter count changes nothing."""
    async with watch_server(iut) as watch:
        modes = watch.view.play_modes
        for stays in watch.lasting_modes[:1] + [mode for mode in modes[1:] if mode == "PlayOn"]:
            await watch.play(stays)
            others = [mode for mode in modes[1:4] + modes[-2:] if mode != stays]
            if stays == "BeforeKickOff":
                # Meanwhile a rule can start the game.
                others = [mode for mode in others if mode in modes[-2:]]
            wrong = [
                text
                for mode in others
                for text in (mode.lower(), mode.upper(), mode.swapcase(), mode[:-1], f"{mode}s")
                if text not in modes
            ]
            wanted = (
                others if stays == "BeforeKickOff" else [mode for mode in modes if mode != stays]
            )
            for text in wrong:
                await watch.command(f"(playMode {text})")
            async with watch.blaming_errors():
                await watch.state()
            stayed = await watch.is_still_false(
                lambda view, wanted=wanted: view.play_mode in wanted,  # type: ignore[misc]
                2 * watch.session.seconds("quiet"),
            )
            check(
                stayed,
                f"the play mode to stay {stays} after {', '.join(wrong[:5])} and others",
                f"it became {watch.view.play_mode}",
            )


def _kick_off(watch: Watch, side: str) -> str:
    """Return the play mode for the kick-off of a side. Raises Inconclusive if the list has none."""
    for mode in watch.view.play_modes:
        if mode.lower().replace("_", "") == f"kickoff{side}":
            return mode
    raise Inconclusive(f"the server has no play mode for the kick-off of the {side} team")


async def _check_kick_off(watch: Watch, team: str, modes: list[str]) -> None:
    if "PlayOn" in watch.view.play_modes:
        await watch.play()
    await watch.command(f"(kickOff {team})")
    await watch.wait_until(
        lambda view: view.play_mode in modes,
        f"show the play mode {' or '.join(modes)} after (kickOff {team})",
        now=lambda view: f"the play mode is {view.play_mode}",
    )


@requirement("kick-off.left")
async def test_kick_off_left(iut: Iut) -> None:
    """The left team gets the kick-off, also immediately after the right team got it."""
    async with watch_server(iut) as watch:
        await _check_kick_off(watch, "Left", [_kick_off(watch, "left")])
        await watch.command("(kickOff Right)")
        await watch.settle()
        await _check_kick_off(watch, "Left", [_kick_off(watch, "left")])


@requirement("kick-off.right")
async def test_kick_off_right(iut: Iut) -> None:
    """The right team gets the kick-off, also immediately after the left team got it."""
    async with watch_server(iut) as watch:
        await _check_kick_off(watch, "Right", [_kick_off(watch, "right")])
        await watch.command("(kickOff Left)")
        await watch.settle()
        await _check_kick_off(watch, "Right", [_kick_off(watch, "right")])


async def _check_kick_off_of_the_second_half(iut: Iut, team: str) -> None:
    async with watch_server(iut) as watch:
        mode = _kick_off(watch, team.lower())
        if not await _second_half(watch):
            raise Inconclusive("the server does not go on to play in the second half")
        await _check_kick_off(watch, team, [mode])


@requirement("kick-off.left")
async def test_kick_off_left_in_the_second_half(iut: Iut) -> None:
    """The left team also gets the kick-off in the second half."""
    await _check_kick_off_of_the_second_half(iut, "Left")


@requirement("kick-off.right")
async def test_kick_off_right_in_the_second_half(iut: Iut) -> None:
    """The right team also gets the kick-off in the second half."""
    await _check_kick_off_of_the_second_half(iut, "Right")


@requirement("kick-off.none")
async def test_kick_off_by_a_coin(iut: Iut) -> None:
    """The command kickOff None gives the kick-off to one of the teams, each time."""
    async with watch_server(iut) as watch:
        for _ in range(4):
            modes = [_kick_off(watch, "left"), _kick_off(watch, "right")]
            await _check_kick_off(watch, "None", modes)


CYCLES = 0.1  # seconds that a time can lag: a clock counts cycles, or tenths of a second


@requirement("time.set")
async def test_time(iut: Iut) -> None:
    """The time takes any value that is set, in both halves.

    Values are later or earlier than the current time, whole or fractional, and 0.
    """
    async with watch_server(iut) as watch:
        half = watch.view.parameter("RuleHalfTime", 300.0)
        whole = int(0.7 * half)
        for time in (round(0.5 * half, 2), round(0.25 * half, 2), whole + 0.93, whole - 9.57, 0):
            short: list[str] = []

            def is_there(view: View, time: float = time, short: list[str] = short) -> bool:
                behind = time - view.clock
                if CYCLES < behind < 1:
                    short.append(view.state["time"])
                return -5 < behind <= CYCLES

            await watch.command(f"(time {time})")
            await watch.wait_until(
                is_there,
                f"show the time {time:g}",
                now=lambda view: f"the time is {view.state.get('time')}",
                then=is_there,
            )
            # A clock that shows whole seconds can lag by up to one second.
            check(
                all(text.isdecimal() for text in short),
                f"the time {time:g} at once",
                f"first received {', '.join(short[:3])}",
            )
        goes_on = await _second_half(watch)
        await watch.settle()
        check(
            watch.view.value("half") != 1 or watch.view.clock > half - 1,
            f"the time {half + 1:g}, or the second half",
            f"the time is {watch.view.state.get('time')} in the first half",
        )
        # Some servers begin the second half with a time of 0.
        if goes_on and watch.view.clock > half:
            time = 1.5 * half
            await watch.command(f"(time {time:g})")
            await watch.wait_until(
                lambda view: -5 < time - view.clock <= 0.01,
                f"show the time {time:g} in the second half",
                now=lambda view: f"the time is {view.state.get('time')}",
            )


@requirement("score.set")
async def test_score(iut: Iut) -> None:
    """Both scores take the values that are set, in any order: large values, and 0 again."""
    async with watch_server(iut) as watch:
        await _check_scores(watch, 2, 1, "(score (left 2)(right 1))")
        await _check_scores(watch, 0, 13, "(score (right 13)(left 0))")
        await _check_scores(watch, 300, 3, "(score (left 300)(right 3))")
        await _check_scores(watch, 0, 0, "(score (left 0) (right 0))")


@requirement("score.set")
@lasting
async def test_score_stays(iut: Iut) -> None:
    """A score stays as set while nobody plays, and after unrelated commands."""
    async with watch_server(iut) as watch:
        await _check_scores(watch, 2, 1, "(score (left 2)(right 1))")

        def has_changed(view: View) -> bool:
            return (view.value("score_left"), view.value("score_right")) != (2, 1)

        stays = await watch.is_still_false(has_changed, OBSERVATION_TIME)
        check(stays, "the score to stay 2 to 1", "it changed without a command")
        for text in OTHERS:
            await watch.command(text)
            await watch.wait_for_states(SETTLING_STATES)
            check(
                not has_changed(watch.view), "the score to stay 2 to 1", f"it changed after {text}"
            )


@requirement("score.set")
async def test_score_of_the_second_half(iut: Iut) -> None:
    """The score survives half-time. The teams can swap their sides with it."""
    async with watch_server(iut) as watch:
        await _check_scores(watch, 2, 1, "(score (left 2)(right 1))")
        if await _second_half(watch):
            score = watch.view.value("score_left"), watch.view.value("score_right")
            stays = sorted(score, key=str) == [1, 2]
            check(stays, "the score 2 to 1 in the second half", f"it is {score[0]} to {score[1]}")
            await _check_scores(watch, 4, 5, "(score (left 4)(right 5))")


async def _second_half(watch: Watch) -> bool:
    """Let the first half end. Return True if play goes on in the second half.

    If the game is over or interrupted, commands can be without effect.
    """
    await watch.play()
    await watch.command(f"(time {watch.view.parameter('RuleHalfTime', 300.0) + 1})")
    quiet = watch.session.seconds("quiet")
    if not await watch.is_still_false(lambda view: view.value("half") == 2, quiet):
        with contextlib.suppress(Violation):
            await watch.play()
    return watch.view.play_mode == "PlayOn"


async def _check_scores(watch: Watch, left: int, right: int, command: str) -> None:
    await watch.command(command)
    await watch.check_score(left, right, f" after {command}")


@requirement("ack.form")
async def test_answer_to_get_ack(iut: Iut) -> None:
    """An answer to getAck is optional. If it arrives, it has the cookie of the request."""
    async with watch_server(iut) as watch:
        await watch.command("(time 1)(getAck first)")
        await watch.command("((time 2)(getAck second_cookie))")
        async with watch.blaming_errors():
            await watch.check_obeyed("getAck", "robustness.unknown-commands")
        await watch.session.wait_for("Ack")
        await watch.check_obeyed("getAck")
        if not any(message.name == "Ack" for message in watch.session.received):
            raise NotExercised(NO_ACK)


NO_ACK = "the server does not answer getAck, which is an experimental feature"
NEXT = 2  # states; a server can have written one of them before the command arrived


@requirement("ack.after-the-command")
async def test_answer_after_the_command(iut: Iut) -> None:
    """After the answer to getAck, the next states show the effect of the command."""
    async with watch_server(iut) as watch:
        for goals in (3, 5, 8):
            seen = len(watch.session.received)
            await watch.command(f"(score (left {goals})(right 0))(getAck cookie_{goals})")
            if not await watch.session.wait_for("Ack", within="response"):
                raise NotExercised(NO_ACK)
            for message in watch.session.received[seen:]:
                if message.name in STATES:
                    watch.view.take(message.value)
            for _ in range(NEXT):
                if watch.view.value("score_left") != goals:
                    await watch.state()
            check(
                watch.view.value("score_left") == goals,
                f"the score {goals} to 0 in the states after the ack of its command",
                f"score_left is {watch.view.state.get('score_left')} {NEXT} states later",
            )


def _pause(watch: Watch, name: str, otherwise: float, max_wait: float) -> float:
    """Return a pause of the environment in seconds.

    Raises NotExercised if it is too long for the run.
    """
    pause = watch.view.parameter(name, otherwise)
    if pause > max_wait / 3:
        raise NotExercised(f"the {name} of {pause:g} s is too long to wait for")
    return pause


def _kicks(view: View, what: str) -> bool:
    return what in str(view.play_mode).lower().replace("_", "")


def _clock(watch: Watch) -> tuple[float, float]:
    """Return the time of the game and our own time, both in seconds."""
    return watch.view.clock, watch.session.now


def _seconds_since(watch: Watch, began: tuple[float, float]) -> float:
    """Return the seconds since `began` by the faster clock.

    A simulation need not run in real time.
    """
    return max(now - then for now, then in zip(_clock(watch), began, strict=True))


@requirement("environment.goal-pause")
@pytest.mark.parametrize("side", [1, -1])
async def test_pause_after_a_goal(iut: Iut, side: int) -> None:
    """After a goal on either side, a kick-off follows after RuleGoalPauseTime seconds."""
    async with watch_server(iut) as watch:
        pause = _pause(watch, "RuleGoalPauseTime", 3.0, iut.configuration.max_wait)
        await watch.play()
        before = watch.view.value("score_left"), watch.view.value("score_right")
        beyond = side * (watch.view.parameter("FieldLength", 18.0) / 2 + 0.2)
        await watch.command(f"(ball (pos {beyond} 0 {watch.radius})(vel {side * 0.5} 0 0))")

        def scored(view: View) -> bool:
            score = view.value("score_left"), view.value("score_right")
            return score != before or bool(
                re.match("goal_(left|right)", str(view.play_mode).lower())
            )

        try:
            await watch.wait_until(scored, "show a goal")
        except Violation as none:
            await watch.check_obeyed("a ball that rolled into the goal")
            raise Inconclusive(
                "the server does not count a goal of a ball that a trainer pushed"
            ) from none
        began = _clock(watch)
        await watch.wait_until(
            lambda view: _kicks(view, "kickoff"),
            f"show a kick-off after the pause of {pause:g} s",
            within=2 * pause + watch.session.seconds("response"),
            now=lambda view: f"the play mode is {view.play_mode}",
        )
        lasted = _seconds_since(watch, began)
        check(
            lasted > 0.6 * pause,
            f"a pause of {pause:g} s after a goal",
            f"the kick-off followed after {lasted:.2f} s",
        )


@requirement("environment.kick-in-pause")
@pytest.mark.parametrize("side", [1, -1])
async def test_pause_before_a_kick_in(iut: Iut, side: int) -> None:
    """After the ball has left the field, a kick-in follows after RuleKickInPauseTime seconds."""
    async with watch_server(iut) as watch:
        pause = _pause(watch, "RuleKickInPauseTime", 1.0, iut.configuration.max_wait)
        await watch.play()
        width = watch.view.parameter("FieldWidth", 12.0) / 2
        place = Place(watch.place(0.3, 0).x, side * (width - 0.2))
        await watch.put_ball(place)
        ball = place.nodes_within(watch.view, CLOSE)
        await watch.command(f"(ball (vel 0 {side * 2} 0))")

        def left(view: View) -> bool:
            poses = view.poses
            is_out = any(abs(poses[node][13]) > width for node in ball if node < len(poses))
            return _kicks(view, "kickin") or is_out

        try:
            await watch.wait_until(left, "show the ball leaving the field")
        except Violation as none:
            raise Inconclusive("the states do not show the ball leaving the field") from none
        began = _clock(watch)
        try:
            await watch.wait_until(
                lambda view: _kicks(view, "kickin"),
                f"show a kick-in after the pause of {pause:g} s",
                within=2 * pause + watch.session.seconds("response"),
            )
        except Violation as none:
            raise Inconclusive(
                "the server gives no kick-in for a ball that no player has touched"
            ) from none
        lasted = _seconds_since(watch, began)
        check(
            lasted > 0.6 * pause,
            f"a pause of {pause:g} s after the ball has left the field",
            f"the kick-in followed after {lasted:.2f} s",
        )


@requirement("environment.half-time")
async def test_second_half_lasts(iut: Iut) -> None:
    """The second half does not end when it begins.

    Its time begins with 0, or goes on from the end of the first half.
    """
    async with watch_server(iut) as watch:
        half = watch.view.parameter("RuleHalfTime", 300.0)
        await watch.play()
        await watch.command(f"(time {half + 1})")
        quiet = watch.session.seconds("quiet")
        if await watch.is_still_false(lambda view: view.value("half") == 2, 2 * quiet):
            raise Inconclusive("no second half follows the end of the first one")
        await watch.command("(playMode PlayOn)")
        lasts = await watch.is_still_false(lambda view: view.play_mode == "GameOver", 2 * quiet)
        shown = watch.view.state.get("time")
        check(lasts, "the second half to last its full time", f"it is over at the time {shown}")


@requirement("environment.half-time")
async def test_end_of_a_half(iut: Iut) -> None:
    """The first half ends at RuleHalfTime, and not earlier."""
    async with iut.instance() as instance, watch_server(iut, instance) as watch:
        half = watch.view.parameter("RuleHalfTime", 300.0)
        await watch.play()
        if watch.view.value("half") != 1:
            raise Inconclusive("the game does not begin with the first half")
        mode = watch.view.state.get("play_mode")

        def has_ended(view: View) -> bool:
            return view.value("half") != 1 or view.state.get("play_mode") != mode

        await watch.command(f"(time {half - 5})")
        early = not await watch.is_still_false(has_ended, watch.session.seconds("quiet"))
        check(not early, "the first half to last its full time", f"it ended 5 s before {half:g} s")
        await watch.command(f"(time {half - 0.1})")
        await watch.wait_until(
            lambda view: has_ended(view) or view.clock > half + 1,
            "show the time passing the end of the half",
            requirement="time.set",
            within=watch.session.seconds("response") + 1.5,
        )
        check(
            has_ended(watch.view),
            f"the first half to end at {half:g} s",
            f"the time is {watch.view.state.get('time')}, and half and play_mode are unchanged",
        )
        async with watch_server(iut, instance, begins=False) as later:
            now = later.view.value("half")
        await watch.state()
        quiet = watch.session.seconds("quiet")
        if await watch.is_still_false(lambda view: view.value("half") == now, quiet):
            shown = watch.view.value("half")
            if shown != 1:
                came = f"the later monitor received half {now}, and the first one half {shown}"
                raise Violation(f"half {shown} for a later monitor", came, "state.complete")
            came = f"half is still {shown}, and {now} for a later monitor"
            raise Violation("the new half in the states when it begins", came, "state.partial")


@requirement("state.partial")
async def test_score_while_the_time_stands(iut: Iut) -> None:
    """A score set before the kick-off is shown, although the time stands still."""
    async with watch_server(iut) as watch:
        await watch.play("BeforeKickOff")
        await watch.command("(score (left 21)(right 4))")
        if await watch.is_shown_only_in_full(
            lambda view: view.value("score_left") == 21,
            "the server does not change the score before the kick-off",
        ):
            raise Violation("the changed score in a partial state", "only a full state has it")
