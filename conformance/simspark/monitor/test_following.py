"""The knowledge of a monitor: values, play modes, the scene, and positions."""

import contextlib
import math
from collections.abc import Sequence
from typing import Any

from conformance.cases import compared, explore, requirement
from conformance.iut import Iut
from conformance.simspark import messages, strategies
from conformance.simspark.monitor.tester import Tester, connect_monitor, introduce_monitor
from conformance.simspark.tester import FORMS_OF_NUMBERS
from conformance.verdicts import NotExercised, Violation

MESSAGE_COUNT = 250  # messages, as the published server sends them in ten seconds
ONE_BY_ONE = 25  # messages; enough to notice a monitor that loses a few of them


@requirement("monitors.understood")
async def test_for_long(iut: Iut) -> None:
    """After ten seconds of a simulation, the monitor still knows the latest state."""
    async with introduce_monitor(iut) as tester:
        await tester.tick(MESSAGE_COUNT)
        # A monitor can read one message in each of its frames.
        tester.backlog = tester.time
        await tester.check_known(time=tester.time)
        await tester.say(messages.full(messages.state(tester.time), messages.scene(2, 1)))
        await tester.check_known_if_reported(requirement="header.full-applied", ball=[2, 1, 0.042])


@requirement("monitors.understood")
async def test_one_by_one(iut: Iut) -> None:
    """The monitor takes each of many states that arrive one by one.

    Some values are in only one of the states.
    """
    async with introduce_monitor(iut) as tester:
        for goals in range(ONE_BY_ONE):
            await tester.tick(more=f"(score_left {goals + 60})")
            await tester.check_known(score_left=goals + 60, time=tester.time)


@requirement("monitors.understood")
async def test_introduction(iut: Iut) -> None:
    """The monitor knows the environment and the state after the introduction."""
    async with connect_monitor(iut) as tester:
        await tester.introduce()
        await _check_introduction(tester)


async def _check_introduction(tester: Tester) -> None:
    await tester.check_known(
        time=0,
        half=1,
        score_left=0,
        score_right=0,
        environment={"FieldLength": 30, "GoalWidth": 2.1, "RuleHalfTime": 300},
    )
    await tester.tick(2)
    await tester.check_known(time=0.08, half=1)
    await _check_mode(tester, "BeforeKickOff")


async def _check_mode(tester: Tester, mode: str) -> None:
    """Raise Violation unless the monitor knows the play mode, if it reports play modes."""
    with contextlib.suppress(NotExercised):
        await tester.check_known("state.play-mode-known", play_mode=mode)


@requirement("monitors.understood")
async def test_negative_numbers(iut: Iut) -> None:
    """The monitor knows a ball at negative coordinates."""

    async def play(sign: int) -> None:
        async with connect_monitor(iut) as tester:
            tester.knows_signs = True
            await tester.introduce(graph=messages.scene(3, 2 * sign))
            await tester.tick()
            await tester.check_known(ball=[3, 2 * sign, 0.042], time=tester.time)
            await tester.tick(graph=messages.moved(0.5 * sign, 0.25 * sign))
            await tester.check_known(ball=[0.5 * sign, 0.25 * sign, 0.042])

    await compared(iut, play, -1, 1, "graph.poses-known")


@requirement("text.numbers")
async def test_forms_of_numbers(iut: Iut) -> None:
    """The monitor knows times and coordinates that are written in any usual form."""

    async def play(forms: Sequence[str]) -> None:
        async with introduce_monitor(iut) as tester:
            for number, time in zip(forms, TIMES, strict=True):
                turned = f"(SLT {messages.UPRIGHT} {number} 2 0.5 1 )"
                graph = f"((nd (nd))(nd (nd))(nd {turned}(nd)))"
                await tester.say(messages.partial(f"(time {time})", graph))
                await tester.check_known(time=float(time), ball=[float(number), 2, 0.5])

    plain = [f"{float(number):g}" for number in FORMS_OF_NUMBERS]
    await compared(iut, play, FORMS_OF_NUMBERS, plain, "header.partial-applied")


TIMES = tuple(f"{number}" for number in range(11, 11 + len(FORMS_OF_NUMBERS)))
"""Times of states, all different."""
FORMS_OF_TIMES = (
    *("2.5e+00", "0.35E1", "450e-2", "5500000000000000000001e-21", "+6.5", "07.5", "8."),
    "9.500000000000000000000000000001",
)
"""Ways to write a time that goes on."""


@requirement("text.numbers")
async def test_forms_of_times(iut: Iut) -> None:
    """The monitor knows times that are written in any usual form."""

    async def play(forms: Sequence[str]) -> None:
        async with introduce_monitor(iut) as tester:
            for time in forms:
                await tester.say(messages.partial(f"(time {time})", messages.STILL))
                await tester.check_known(time=float(time))

    plain = [f"{float(time):g}" for time in FORMS_OF_TIMES]
    await compared(iut, play, FORMS_OF_TIMES, plain, "monitors.understood")


@requirement("monitors.published-forms")
async def test_introduction_in_one_list(iut: Iut) -> None:
    """The monitor knows environment and state if both are in one list."""

    async def play(merged: bool) -> None:
        async with connect_monitor(iut) as tester:
            await tester.introduce(merged=merged)
            await _check_introduction(tester)

    await compared(iut, play, True, False, "monitors.understood")


@requirement("monitors.published-forms")
async def test_types_in_updates(iut: Iut) -> None:
    """The monitor applies updates in which nodes keep their types."""

    async def play(types: tuple[str, str, str]) -> None:
        transform, light, mesh = types
        async with introduce_monitor(iut) as tester:
            moved = f"(nd{transform} (SLT {messages.UPRIGHT} -3 4 0.5 1 )(nd{mesh}))"
            graph = f"((nd{transform} (nd{light}))(nd{transform} (nd{mesh})){moved})"
            await tester.tick(graph=graph, more="(score_left 5)")
            await tester.check_known(ball=[-3, 4, 0.5], score_left=5)

    typed = (" TRF", " Light", " StaticMesh")
    await compared(iut, play, typed, ("", "", ""), "header.partial-applied")


@requirement("monitors.published-forms")
async def test_meshes_in_another_order(iut: Iut) -> None:
    """The monitor accepts meshes with visibility before the model, and meshes without materials."""
    async with connect_monitor(iut) as tester:
        ball = "(nd StaticMesh (setVisible 1) (load models/soccerball.obj) (sSc 0.1 0.1 0.1))"
        post = "(nd SMN (setVisible 0)(setTransparent)(load StdCapsule 0.01 0.1)(sSc 1 1 1))"
        graph = f"({messages.transform(2, -1, 0.1, ball)}{messages.transform(0, 0, 0, post)})"
        await tester.introduce(graph=graph)
        await tester.tick(graph="((nd (nd))(nd (nd)))")
        await tester.check_known(ball=[2, -1, 0.1], time=tester.time)


@requirement("text.numbers")
async def test_exponents(iut: Iut) -> None:
    """The monitor accepts numbers with an exponent."""

    async def play(written: tuple[str, str]) -> None:
        small, time = written
        async with introduce_monitor(iut) as tester:
            turned = f"1 0 0 0 0 1 -{small} 0 0 {small} 1 0"
            moved = f"(nd (SLT {turned} {small} 2 0.042 1 )(nd))"
            graph = f"((nd (nd))(nd (nd)){moved})"
            await tester.say(messages.partial(f"(time {time})(score_left 3)", graph))
            await tester.check_known(time=12.5, score_left=3, ball=[0, 2, 0.042])

    await compared(iut, play, ("1e-05", "1.25e+01"), ("0.00001", "12.5"), "header.partial-applied")


@requirement("monitors.understood")
async def test_what_does_not_come_stays(iut: Iut) -> None:
    """A partial state changes only the values that it contains, in any order."""
    async with introduce_monitor(iut) as tester:
        await tester.say(messages.partial("(time 1)(score_left 2)", messages.STILL))
        await tester.check_known(time=1, score_left=2, score_right=0, half=1)
        await tester.say(messages.partial("(score_right 3)(half 2)(time 2)", messages.STILL))
        await tester.check_known(time=2, score_left=2, score_right=3, half=2)
        await tester.say(messages.partial("(time 3.5)", messages.STILL))
        await tester.check_known(time=3.5, score_left=2, score_right=3, half=2)
        await tester.say(messages.partial("(time 4)(score_left 0)", messages.STILL))
        await tester.check_known(time=4, score_left=0, score_right=3)
        # A partial state can also precede a full scene graph.
        await tester.say(messages.full("(time 5)", messages.scene(0, 0)))
        await tester.check_known(time=5, score_left=0, score_right=3, half=2)
        great = "(time 1234)(score_left 300)(score_right 301)"
        await tester.say(messages.partial(great, messages.STILL))
        await tester.check_known(time=1234, score_left=300, score_right=301)
        # A trainer can set the time and the score back.
        for time in (2.5, 0):
            await tester.say(messages.partial(f"(time {time})(score_left 1)", messages.STILL))
            await tester.check_known(time=time, score_left=1, score_right=301)
        # The time stands still before and after the game.
        for goals in (7, 3):
            await tester.say(messages.partial(f"(time 0)(score_left {goals})", messages.STILL))
            await tester.check_known(time=0, score_left=goals, score_right=301)


@requirement("state.play-mode-known")
async def test_play_modes_are_those_that_were_sent(iut: Iut) -> None:
    """The monitor looks up a play mode index in the list that the server sent."""
    async with introduce_monitor(iut) as tester:
        for index in (3, len(messages.MODES) - 1, 0):
            await tester.tick(more=f"(play_mode {index})")
            await tester.check_known(play_mode=messages.MODES[index], time=tester.time)
    short, long = ("Waiting", "Penalty", "Running", "Over"), (*messages.MODES, "Penalty", "Over")
    for modes in (short, long):
        environment = messages.ENVIRONMENT.replace(" ".join(messages.MODES), " ".join(modes))
        async with connect_monitor(iut) as tester:
            await tester.say(messages.full(environment, messages.scene(0, 0)))
            await tester.say(messages.full(messages.state(0, mode=1), messages.scene(0, 0)))
            await tester.check_known(play_mode=modes[1])
            await tester.tick(more=f"(play_mode {len(modes) - 1})")
            await tester.check_known(play_mode=modes[-1], time=tester.time)


@requirement("header.partial-applied")
async def test_updates_are_applied(iut: Iut) -> None:
    """The ball is at the position of its last transform in an update."""
    async with introduce_monitor(iut) as tester:
        await tester.check_known("graph.poses-known", ball=[0, 0, 0.042])
        await tester.say(tester.partial(messages.moved(1.5, -2.25)))
        await tester.tick(3)
        await tester.check_known(ball=[1.5, -2.25, 0.042])
        await tester.tick()
        await tester.check_known(ball=[1.5, -2.25, 0.042])
        for step in (0.04, 0.08):
            await tester.tick(graph=messages.moved(1.5 + step, -2.25))
        await tester.check_known(ball=[1.58, -2.25, 0.042])


@requirement("header.partial-applied")
async def test_updates_are_applied_by_place(iut: Iut) -> None:
    """The monitor counts nodes in their order, including the nested parts of robots."""
    async with connect_monitor(iut) as tester:
        ball = messages.transform(1, 1, 0.042, messages.BALL)
        graph = f"({messages.robot(-1, 0)}{ball}{messages.robot(2, 0, 2, 'Right')})"
        await tester.introduce(graph=graph)
        await tester.check_known("graph.poses-known", ball=[1, 1, 0.042])
        empty, body = "(nd (nd)(nd (nd)))", messages.update(5, 5, 0.35, "(nd)(nd (nd))")
        await tester.tick(graph=f"({body}(nd (nd)){empty})")
        await tester.check_known(ball=[1, 1, 0.042], time=0.04)
        await tester.tick(graph=f"({empty}{messages.update(2, 3, 0.1, '(nd)')}{body})")
        await tester.check_known(ball=[2, 3, 0.1])


EMPTY = messages.transform(4, 4, 0)
"""A transform without child nodes."""


@requirement("header.partial-applied")
async def test_empty_nodes_hold_their_place(iut: Iut) -> None:
    """Empty nodes in an update count for every type of node.

    Nested nodes and hidden nodes count too.
    """
    async with connect_monitor(iut) as tester:
        others = f"{EMPTY}{messages.LIGHT}{messages.FIELD}{messages.POLE}"
        below = f"{others}{messages.transform(1, 1, 0.042, messages.BALL)}"
        await tester.introduce(graph=f"({EMPTY}{messages.transform(1, 0, 0, below)})")
        await tester.check_known("graph.poses-known", ball=[2, 1, 0.042])
        for x, y, field in ((2, -3, ""), (-4, 5, ""), (0, 1, " (setVisible 0)"), (3, 2, "")):
            moved = messages.update(x, y, 0.042, "(nd)")
            await tester.tick(graph=f"((nd)(nd (nd)(nd)(nd{field})(nd){moved}))")
            await tester.check_known(ball=[x + 1, y, 0.042])


@requirement("header.partial-applied")
async def test_an_update_of_a_mesh(iut: Iut) -> None:
    """An update of the visibility of a mesh changes nothing else of the mesh."""
    async with introduce_monitor(iut) as tester:
        for x in (1, 2):
            visible = messages.update(x, 2, 0.042, "(nd (setVisible 1))")
            await tester.tick(graph=f"((nd (nd))(nd (nd)){visible})")
            await tester.check_known(ball=[x, 2, 0.042])
        await tester.tick(graph=messages.moved(3, 1))
        await tester.check_known(ball=[3, 1, 0.042])


@requirement("header.full-applied")
async def test_a_full_graph_begins_anew(iut: Iut) -> None:
    """A new full graph, with more or fewer nodes, replaces the previous one."""
    async with introduce_monitor(iut) as tester:
        await tester.say(tester.partial(messages.moved(1, 1)))
        # A robot precedes all earlier nodes.
        graph = f"({messages.robot(-1, 0)}{messages.scene(2, 2)[1:]}"
        await tester.say(messages.full("(time 1)", graph))
        await tester.check_known(ball=[2, 2, 0.042])
        await tester.tick(graph=f"((nd (nd)(nd (nd))){messages.moved(3, 3)[1:]}")
        await tester.check_known("header.partial-applied", ball=[3, 3, 0.042])
        await tester.say(messages.full("(time 2)", messages.scene(4, 4)))
        await tester.check_known(ball=[4, 4, 0.042])
        await tester.tick(graph=messages.moved(5, 5))
        await tester.check_known("header.partial-applied", ball=[5, 5, 0.042])


@requirement("graph.poses-known")
async def test_poses_are_products(iut: Iut) -> None:
    """The position of the ball is the product of all transforms above it."""
    async with connect_monitor(iut) as tester:
        inner = messages.transform(2, 0, 0.5, messages.BALL)
        turned = messages.transform(1, 1, 0, inner, turned=messages.CYCLE)
        await tester.introduce(graph=f"({EMPTY}{turned})")
        await tester.check_known(ball=[1.5, 3, 0])
        await tester.tick(graph=f"((nd)(nd {messages.update(0, 1, 0.5, '(nd)')}))")
        await tester.check_known("header.partial-applied", ball=[1.5, 1, 1])
    async with connect_monitor(iut) as tester:
        inner = messages.transform(2, 0, 0.5, messages.BALL)
        turned = messages.transform(1, 1, 0, inner, turned=messages.QUARTER)
        await tester.introduce(graph=f"({EMPTY}{turned})")
        await tester.check_known(ball=[1, 3, 0.5])
    async with connect_monitor(iut) as tester:
        inner = messages.transform(0, 1, 0.5, messages.BALL)
        tilted, ball = _tilt(0.3)
        outer = messages.transform(-1, 2, 0, inner, turned=tilted)
        await tester.introduce(graph=f"({EMPTY}{outer})")
        await tester.check_known(ball=ball)
        tilted, ball = _tilt(0.5)
        outer = messages.update(-1, 2, 0, "(nd (nd))", turned=tilted)
        await tester.tick(graph=f"((nd){outer})")
        await tester.check_known("header.partial-applied", ball=ball)


@requirement("nodes.base-kept")
async def test_base_nodes(iut: Iut) -> None:
    """The monitor knows nodes below base nodes, and counts base nodes in updates."""

    async def play(kind: str) -> None:
        async with connect_monitor(iut) as tester:
            # An empty transform node has no effect on poses, like a base node.
            begin = {"BN": "(nd BN ", "TRF": f"(nd TRF (SLT {messages.UPRIGHT} 0 0 0 1 )"}[kind]
            inner = messages.transform(2, 1, 0.5, messages.BALL)
            below = f"{begin}){begin}{begin}{inner}))"
            outer = messages.transform(1, 1, 0, below)
            await tester.introduce(graph=f"({begin}){outer})")
            await tester.check_known(ball=[3, 2, 0.5])
            moved = messages.update(4, 1, 0.5, "(nd)")
            await tester.tick(graph=f"((nd)(nd (nd)(nd (nd {moved}))))")
            await tester.check_known(ball=[5, 2, 0.5])

    await compared(iut, play, "BN", "TRF", "header.partial-applied")


def _tilt(angle: float) -> tuple[str, list[float]]:
    """Return a rotation by `angle` radians, and the resulting position of the ball in metres.

    The ball is 1 m along the y axis of a transform at (-1, 2).
    """
    c, s = math.cos(angle), math.sin(angle)
    return f"{c:.6g} {s:.6g} 0 0 {-s:.6g} {c:.6g} 0 0 0 0 1 0", [-1 - s, 2 + c, 0.5]


@requirement("graph.poses-known")
async def test_a_full_pitch(iut: Iut) -> None:
    """The monitor knows the ball after the nodes of all robots of a match."""
    limbs = messages.transform(0.1, 0, 0, messages.POLE) * 22, "(nd (nd))" * 22
    ball = messages.transform(1, 2, 0.042, messages.BALL)
    robots = "".join(messages.transform(n - 11, n % 5, 0.35, limbs[0]) for n in range(22))

    async def play(full: bool) -> None:
        """Send the pitch. If it is not ``full``, blanks give the message the same length."""
        async with connect_monitor(iut) as tester:
            graph = f"({robots if full else ''}{ball})"
            for pairs in (messages.ENVIRONMENT, messages.state(0)):
                data = tester.long(len(robots), messages.full(pairs, graph))
                await tester.session.send_bytes(data)
            await tester.check_known(ball=[1, 2, 0.042])
            still = f"(nd {limbs[1]})" * 22 if full else ""
            await tester.tick(graph=f"({still}{messages.update(3, 4, 0.042, '(nd)')})")
            await tester.check_known("header.partial-applied", ball=[3, 4, 0.042])

    await compared(iut, play, True, False, "frame.length-prefix")


@requirement("graph.poses-known")
async def test_a_long_path(iut: Iut) -> None:
    """The monitor applies each transform of a path of 40 transforms."""
    async with connect_monitor(iut) as tester:
        graph = messages.BALL
        for _ in range(40):
            graph = messages.transform(0.5, 0, 0, graph)
        await tester.introduce(graph=f"({graph})")
        await tester.check_known(ball=[20, 0, 0])


@requirement("text.unknown-ignored")
async def test_unknown_parts(iut: Iut) -> None:
    """The monitor ignores unknown parameters, values and leaves."""

    async def play(unknown: bool) -> None:
        def perhaps(text: str) -> str:
            return text if unknown else ""

        async with connect_monitor(iut) as tester:
            fancy = f"(nd SMN {perhaps('(setFancy 1 2)')}(load StdUnitBox)(sSc 1 1 1))"
            graph = messages.scene(1, 2, more=messages.transform(0, 0, 0, fancy))
            long = "x" * 1000
            odd = perhaps(f"(Gravity -9.81)(sponsor (name {long}) (level (gold)))()")
            environment = f"{odd}{messages.ENVIRONMENT}{perhaps('(odd)')}"
            await tester.say(messages.full(environment, graph))
            state = f"{perhaps('(wind 0.5 0 0)')}{messages.state(0)}{perhaps('(team_left A)')}"
            await tester.say(messages.full(state, graph))
            moved = messages.moved(2, 1, more="(nd (nd))")
            await tester.tick(graph=moved, more=perhaps("(foul 1 2 1 5)(team_right B)(new)"))
            await tester.check_known_if_reported(ball=[2, 1, 0.042], play_mode="BeforeKickOff")
            # The next messages are about the usual scene.
            await tester.say(messages.full(messages.state(tester.time), messages.scene(2, 1)))
            await tester.check_continues("unknown parts")

    await compared(iut, play, True, False, "header.partial-applied")


@requirement("monitors.understood")
@explore(moves=strategies.moves())
async def test_any_course(iut: Iut, moves: list[strategies.Move]) -> None:
    """After any course of a game, the monitor knows the latest value of everything."""
    async with introduce_monitor(iut) as tester:
        known: dict[str, Any] = {"play_mode": "BeforeKickOff"}
        about = "graph.poses-known"
        for move in moves:
            await tester.say(move.message(tester.time))
            known |= move.values()
            if move.full or move.ball:
                about = "header.full-applied" if move.full else "header.partial-applied"
        ball, mode = known.pop("ball", None), known.pop("play_mode")
        await tester.check_known(time=tester.time, **known)
        try:
            await _check_mode(tester, mode)
        except Violation as lost:
            # The monitor can have missed the state, although it can find play modes in the list.
            await tester.tick(more=f"(play_mode {messages.MODES.index(mode)})")
            await _check_mode(tester, mode)
            raise Violation(lost.expected, lost.came, "monitors.understood") from lost
        if ball:
            await tester.check_known_if_reported(requirement=about, ball=ball)


@requirement("text.numbers")
async def test_forms_of_whole_numbers(iut: Iut) -> None:
    """The monitor knows scores that are written in any usual form."""

    async def play(forms: Sequence[str]) -> None:
        async with introduce_monitor(iut) as tester:
            for goals in forms:
                await tester.tick(more=f"(score_left {goals})")
                await tester.check_known(score_left=float(goals), time=tester.time)

    plain = [f"{float(goals):g}" for goals in WHOLE]
    await compared(iut, play, WHOLE, plain, "monitors.understood")


WHOLE = ("13.0", "14.", "+15", "016", "1.7e1", "1800e-2")
"""Ways to write a whole number."""


@requirement("header.partial-applied")
async def test_nodes_below_updated_nodes(iut: Iut) -> None:
    """The monitor applies the updates of a node and of its child nodes together."""
    async with connect_monitor(iut) as tester:
        inner = messages.transform(2, 0, 0.5, messages.BALL)
        await tester.introduce(graph=f"({EMPTY}{messages.transform(1, 1, 0, inner)})")
        await tester.check_known("graph.poses-known", ball=[3, 1, 0.5])
        moved = messages.update(3, 1, 0.25, "(nd)")
        await tester.tick(graph=f"((nd){messages.update(0, 2, 0, moved)})")
        await tester.check_known(ball=[3, 3, 0.25])
