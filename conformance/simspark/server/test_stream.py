"""The first messages to a monitor, and the game states that follow."""

import statistics
from itertools import pairwise

from conformance.cases import check, each_of, lasting, requirement
from conformance.iut import Iut
from conformance.simspark.codec import ENVIRONMENT_KEYS, STATES, frame
from conformance.simspark.server.tester.commands import SETTLING_STATES, check_execution_at_once
from conformance.simspark.server.tester.match import match
from conformance.simspark.server.tester.monitors import check_served_together, watch_server
from conformance.simspark.tester import judge_one_session, repeat_for
from conformance.simspark.view import View
from conformance.verdicts import Inconclusive, Violation

INTRODUCTION = 3  # messages: the introduction of a monitor and the first update
COMING = (11, 12, 13)  # goals set while another monitor connects
DURATION = 5.0  # seconds; the published server sends 125 states in this time
LONG_COMMAND = 700  # bytes; a hundred commands of this size exceed the range of a 16-bit counter
BY_THEN = 110  # states that a server has sent by then, unless the machine is busy


async def _introduction(iut: Iut) -> None:
    async with iut.instance() as instance, watch_server(iut, instance, begins=False) as first:
        await first.wait_for_states(3)
        async with watch_server(iut, instance, begins=False) as second:
            await second.wait_for_states(3)
            await second.begin()
            await second.settle()


@each_of(
    "monitors.environment-first",
    "monitors.state-second",
    "monitors.apart",
    "environment.structure",
    "environment.pairs",
    "environment.numbers",
    "environment.play-modes",
    "state.structure",
    "state.complete",
    "state.values",
    "header.form",
    "header.name",
)
async def test_introduction(iut: Iut, statement: str) -> None:
    """Each monitor, first or later, receives the complete introduction, then the changes."""
    await judge_one_session(iut, "introduction", _introduction)


@requirement("state.complete")
async def test_state_for_a_later_monitor(iut: Iut) -> None:
    """A later monitor receives the current state of the game."""
    async with iut.instance() as instance, watch_server(iut, instance) as first:
        time = round(0.3 * first.view.parameter("RuleHalfTime", 300.0))
        await first.command(f"(time {time})")
        await first.check_obeyed("another monitor", "score.set")
        now = first.view
        async with watch_server(iut, instance, begins=False) as later:
            shown = later.view
            for key in ("score_left", "score_right", "half", "play_mode"):
                check(
                    shown.value(key) == now.value(key),
                    f"{key} {now.state.get(key)} in the first state for a later monitor",
                    f"received {shown.state.get(key)}",
                )
            check(
                shown.clock >= now.clock,
                f"the time {now.state.get('time')} in the first state for a later monitor",
                f"received {shown.state.get('time')}",
            )


@requirement("environment.parameters")
async def test_parameters(iut: Iut) -> None:
    """The environment has all parameters of the specification."""
    async with watch_server(iut, begins=False) as watch:
        known = set(watch.view.environment)
        missing = sorted(ENVIRONMENT_KEYS - known - {"play_modes"})
        check(not missing, "all of the parameters", f"missing: {', '.join(missing)}")


@requirement("monitors.keeps-sending")
@lasting
async def test_states_keep_coming(iut: Iut) -> None:
    """States keep coming without a request, after commands and over a long time.

    A monitor that connects after this time also receives the complete introduction.
    """
    async with iut.instance() as instance, watch_server(iut, instance, begins=False) as watch:
        await watch.wait_for_states(12)
        await watch.command("(time 1)")
        await watch.wait_for_states(12)
        await repeat_for(watch.session, DURATION, BY_THEN, watch.state)
        async with watch_server(iut, instance, begins=False) as later:
            await later.wait_for_states(2)


@requirement("monitors.keeps-sending")
async def test_states_keep_coming_to_all(iut: Iut) -> None:
    """Each of several monitors receives states, also after one of them has left."""
    async with iut.instance() as instance, watch_server(iut, instance, begins=False) as one:
        async with watch_server(iut, instance, begins=False) as other:
            await other.wait_for_states(8)
            await one.wait_for_states(8)
        async with watch_server(iut, instance, begins=False) as third:
            await third.wait_for_states(8)
        await one.begin()
        await one.settle()
        await one.wait_for_states(8)


@requirement("monitors.rate")
async def test_rate(iut: Iut) -> None:
    """The typical time between two states is at most the declared one."""
    async with watch_server(iut, begins=False) as watch:
        most = watch.session.seconds("monitor")
        for _ in range(3):
            times = [(await watch.state()).at for _ in range(9)]
            usual = statistics.median(b - a for a, b in pairwise(times))
            if usual <= most:
                return
        check(False, f"a state every {most:g} s", f"received a state every {usual:.3f} s")


@requirement("state.partial")
async def test_every_monitor_is_told_what_changes(iut: Iut) -> None:
    """Each monitor receives a change, regardless of which monitor caused it."""
    async with (
        iut.instance() as instance,
        watch_server(iut, instance) as one,
        watch_server(iut, instance) as other,
        watch_server(iut, instance) as third,
    ):
        # The second score has the same sum as the first.
        for left, right in ((3, 5), (5, 3)):
            await third.command(f"(score (left {left})(right {right}))")
            score = (
                lambda view, left=left: view.value("score_left") == left,
                lambda view, right=right: view.value("score_right") == right,
            )
            what = f"the score {left} to {right}"
            to = f"show {what} to each of three monitors"
            times = [
                time
                for watch in (third, other, one)
                for time in await watch.wait_for_each(score, to, lambda view: str(view.state))
            ]
            check_served_together(times, what)


@requirement("state.partial")
async def test_what_changes_with_the_scene_is_told(iut: Iut) -> None:
    """A monitor receives a change that happens when a player is removed."""
    async with match(iut) as game:
        watch = game.watch

        def score(view: View) -> tuple[float | None, float | None]:
            return view.value("score_left"), view.value("score_right")

        await watch.settle()
        await watch.command(f"(kill {game.left})(score (left 6)(right 7))")
        if await watch.is_still_false(
            lambda view: score(view) == (6, 7), watch.session.seconds("response")
        ):
            async with watch_server(iut, watch.session.instance, begins=False) as later:
                others = score(later.view)
            if others != (6, 7):
                raise Inconclusive("the score that was set with kill has no effect (score.set)")
            came = "only a later monitor received it"
            raise Violation("the score 6 to 7 in the states after kill", came)


@requirement("state.partial")
async def test_what_changes_as_another_comes_is_told(iut: Iut) -> None:
    """A monitor receives a change that happens while another monitor connects.

    The published server sometimes loses such a change, so the test accepts the loss of some
    changes.
    """
    async with iut.instance() as instance, watch_server(iut, instance) as watch:
        shown = set[float | None]()
        for goals in COMING:
            await watch.command(f"(score (left {goals})(right 7))")
            async with iut.connect(instance, channel="monitor") as other:
                for _ in range(INTRODUCTION + 1):
                    await other.expect(*STATES)
            await watch.wait_for_states(SETTLING_STATES)
            shown.add(watch.view.value("score_left"))
        check(
            not shown.isdisjoint(COMING),
            "the new score in the states, although another monitor connects",
            f"score_left was none of {COMING}",
        )


@requirement("state.play-mode")
async def test_play_mode_is_an_index(iut: Iut) -> None:
    """play_mode is always an index into the list that was sent.

    A later monitor receives the same list and the same index.
    """
    async with iut.instance() as instance, watch_server(iut, instance) as watch:
        for mode in (watch.view.play_modes[-1], watch.view.play_modes[0]):
            await watch.command(f"(playMode {mode})")
            await watch.wait_for_states(4)
        async with watch_server(iut, instance, begins=False) as later:
            views = watch.view, later.view
        one, other = (f"play_mode {v.state['play_mode']} is {v.play_mode}" for v in views)
        if watch.view.value("play_mode") == later.view.value("play_mode"):
            check(one == other, f"{one} for all monitors", f"{other} for a later monitor")


@requirement("state.time-goes-on")
@lasting
async def test_time_does_not_run_back(iut: Iut) -> None:
    """The time never goes back in the course of a game."""
    async with watch_server(iut) as watch:
        await watch.begin()
        await watch.wait_for_states(25)


@requirement("monitors.commands")
async def test_a_command_counts_by_itself(iut: Iut) -> None:
    """A command has its effect without any bytes after it."""
    async with watch_server(iut) as watch:
        await check_execution_at_once(watch)


@requirement("monitors.commands")
async def test_several_monitors_command(iut: Iut) -> None:
    """Each of several monitors can command, and still receives states."""
    async with (
        iut.instance() as instance,
        watch_server(iut, instance) as one,
        watch_server(iut, instance) as other,
    ):
        for watch, witness in ((one, other), (other, one), (one, other)):
            await watch.state()
            try:
                await watch.check_obeyed("commands of another monitor")
            except Violation as violation:
                shown = [each.view.value("score_left") for each in (watch, witness)]
                if shown[0] != shown[1]:
                    # The command has its effect, which only one monitor receives.
                    violation.requirement = "state.partial"
                raise
            await watch.wait_for_states(2)
        await other.session.send_bytes(frame(b"(time 1)".ljust(LONG_COMMAND)))
        await other.check_obeyed(f"a command of {LONG_COMMAND} bytes", "frame.length-prefix")
        for last in range(20, 101, 20):
            for time in range(last - 20, last):
                other.waiting += 1
                await other.session.send_bytes(frame(f"(time {time})".ljust(LONG_COMMAND).encode()))
            await other.check_obeyed(f"{last} commands of {LONG_COMMAND} bytes")
