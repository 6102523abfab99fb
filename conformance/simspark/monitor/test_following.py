"""What a monitor makes of what it is told: values, play modes, the scene and where things are."""

import math
from typing import Any

import pytest

from conformance.cases import explore, in_one_loop, requirement
from conformance.iut import Iut
from conformance.simspark import drawn, pieces
from conformance.simspark.monitor.showing import connected, showing

pytestmark = in_one_loop


@requirement("monitors.understood")
@pytest.mark.parametrize("merged", [False, True], ids=["apart", "merged"])
async def test_introduction(iut: Iut, merged: bool) -> None:
    """It knows the environment and the state, whether they come apart or in one message."""
    async with connected(iut) as shown:
        await shown.introduce(merged)
        await shown.knows(
            time=0,
            half=1,
            score_left=0,
            score_right=0,
            play_mode="BeforeKickOff",
            environment={"FieldLength": 30, "GoalWidth": 2.1, "RuleHalfTime": 300},
        )
        await shown.tick(2)
        await shown.knows(time=0.08, half=1, play_mode="BeforeKickOff")


@requirement("monitors.understood")
async def test_what_does_not_come_stays(iut: Iut) -> None:
    """Of a partial state only what it brings changes, in whatever order it comes."""
    async with showing(iut) as shown:
        await shown.say(pieces.partial("(time 1)(score_left 2)", pieces.STILL))
        await shown.knows(time=1, score_left=2, score_right=0, half=1)
        await shown.say(pieces.partial("(score_right 3)(half 2)(time 2)", pieces.STILL))
        await shown.knows(time=2, score_left=2, score_right=3, half=2)
        await shown.say(pieces.partial("(time 3.5)", pieces.STILL))
        await shown.knows(time=3.5, score_left=2, score_right=3, half=2)
        await shown.say(pieces.partial("(time 1e-05)(score_left 0)", pieces.STILL))
        await shown.knows(time=0.00001, score_left=0, score_right=3)


@requirement("state.play-mode-known")
async def test_play_modes_are_those_that_were_sent(iut: Iut) -> None:
    """An index means the play mode at that place of the list, the first, the last, or another's."""
    async with showing(iut) as shown:
        for index in (3, len(pieces.MODES) - 1, 0):
            await shown.tick(more=f"(play_mode {index})")
            await shown.knows(play_mode=pieces.MODES[index])
    modes = ("Waiting", "Penalty", "Running", "Over")
    environment = pieces.ENVIRONMENT.replace(" ".join(pieces.MODES), " ".join(modes))
    async with connected(iut) as shown:
        await shown.say(pieces.full(environment, pieces.scene(0, 0)))
        await shown.say(pieces.full(pieces.state(0, mode=1), pieces.scene(0, 0)))
        await shown.knows(play_mode="Penalty")
        await shown.tick(more="(play_mode 3)")
        await shown.knows(play_mode="Over")


@requirement("header.partial-applied")
async def test_updates_are_applied(iut: Iut) -> None:
    """The ball is where the last update with a transform has put it."""
    async with showing(iut) as shown:
        await shown.knows("graph.poses-known", ball=[0, 0, 0.042])
        await shown.say(shown.partial(pieces.moved(1.5, -2.25)))
        await shown.tick(3)
        await shown.knows(ball=[1.5, -2.25, 0.042])
        typed = f"(nd TRF (SLT {pieces.UPRIGHT} -3 4 0.5 1 )(nd StaticMesh))"
        await shown.tick(graph=f"((nd TRF (nd Light))(nd TRF (nd StaticMesh)){typed})")
        await shown.knows(ball=[-3, 4, 0.5])
        await shown.tick()
        await shown.knows(ball=[-3, 4, 0.5])


@requirement("header.partial-applied")
async def test_updates_are_applied_by_place(iut: Iut) -> None:
    """Nodes are counted in their order: behind robots whose parts hang on each other."""
    async with connected(iut) as shown:
        ball = pieces.transform(1, 1, 0.042, pieces.BALL)
        graph = f"({pieces.robot(-1, 0)}{ball}{pieces.robot(2, 0, 2, 'Right')})"
        await shown.introduce(graph=graph)
        await shown.knows("graph.poses-known", ball=[1, 1, 0.042])
        empty, body = "(nd (nd)(nd (nd)))", pieces.update(5, 5, 0.35, "(nd)(nd (nd))")
        await shown.tick(graph=f"({body}(nd (nd)){empty})")
        await shown.knows(ball=[1, 1, 0.042], time=0.04)
        await shown.tick(graph=f"({empty}{pieces.update(2, 3, 0.1, '(nd)')}{body})")
        await shown.knows(ball=[2, 3, 0.1])


@requirement("header.partial-applied")
async def test_empty_nodes_hold_their_place(iut: Iut) -> None:
    """Nodes of which nothing is said count, at the top and below others."""
    async with connected(iut) as shown:
        below = f"(nd BN){pieces.FIELD}{pieces.transform(1, 1, 0.042, pieces.BALL)}"
        await shown.introduce(graph=f"((nd BN){pieces.transform(1, 0, 0, below)})")
        await shown.knows("graph.poses-known", ball=[2, 1, 0.042])
        for x, y in ((2, -3), (-4, 5)):
            moved = pieces.update(x, y, 0.042, "(nd)")
            await shown.tick(graph=f"((nd)(nd (nd)(nd){moved}))")
            await shown.knows(ball=[x + 1, y, 0.042])


@requirement("header.partial-applied")
async def test_a_full_graph_begins_anew(iut: Iut) -> None:
    """Another full graph, with more or fewer nodes, takes the place of the last one."""
    async with showing(iut) as shown:
        await shown.say(shown.partial(pieces.moved(1, 1)))
        await shown.say(pieces.full("(time 1)", pieces.scene(2, 2, more=pieces.robot(-1, 0))))
        await shown.knows("graph.poses-known", ball=[2, 2, 0.042])
        await shown.tick(graph=pieces.moved(3, 3, more="(nd (nd)(nd (nd)))"))
        await shown.knows(ball=[3, 3, 0.042])
        await shown.say(pieces.full("(time 2)", pieces.scene(4, 4)))
        await shown.knows("graph.poses-known", ball=[4, 4, 0.042])
        await shown.tick(graph=pieces.moved(5, 5))
        await shown.knows(ball=[5, 5, 0.042])


@requirement("graph.poses-known")
async def test_poses_are_products(iut: Iut) -> None:
    """Where the ball hangs on other transforms, its place is the product of all of them."""
    async with connected(iut) as shown:
        inner = pieces.transform(2, 0, 0.5, pieces.BALL)
        turned = pieces.transform(1, 1, 0, f"(nd BN {inner})", turned=pieces.QUARTER)
        await shown.introduce(graph=f"(nd BN (nd BN){turned})")
        await shown.knows(ball=[1, 3, 0.5])
        await shown.tick(graph=f"(nd (nd)(nd (nd {pieces.update(0, 1, 0.5, '(nd)')})))")
        await shown.knows("header.partial-applied", ball=[0, 1, 0.5])
        c, s = math.cos(0.5), math.sin(0.5)
        tilted = f"{c:.6g} {s:.6g} 0 0 {-s:.6g} {c:.6g} 0 0 0 0 1 0"
        outer = pieces.update(-1, 2, 0, "(nd (nd (nd)))", turned=tilted)
        await shown.tick(graph=f"(nd (nd){outer})")
        await shown.knows(ball=[-1 - s, 2 + c, 0.5])


@requirement("text.unknown-ignored")
async def test_unknown_parts(iut: Iut) -> None:
    """Parameters, values and leaves that it does not know are passed over."""
    async with connected(iut) as shown:
        fancy = "(nd SMN (setFancy 1 2)(load StdUnitBox)(sSc 1 1 1))"
        graph = pieces.scene(1, 2, more=f"(nd BN {fancy})")
        environment = f"(Gravity -9.81)(sponsor (name x) (level (gold))){pieces.ENVIRONMENT}(odd)"
        await shown.say(pieces.full(environment, graph))
        await shown.say(pieces.full(f"(wind 0.5 0 0){pieces.state(0)}(team_left A)", graph))
        await shown.tick(graph=pieces.moved(2, 1, more="(nd (nd))"), more="(foul 1 2 1 5)(new)")
        if shown.session.instance.upper.offers("state"):
            await shown.knows(ball=[2, 1, 0.042], play_mode="BeforeKickOff")
        await shown.follows("unknown parts")


@requirement("monitors.understood")
@explore(moves=drawn.moves())
async def test_any_course(iut: Iut, moves: list[drawn.Move]) -> None:
    """Whatever course a game takes, it knows the latest of everything."""
    async with showing(iut) as shown:
        known: dict[str, Any] = {"play_mode": "BeforeKickOff"}
        for move in moves:
            await shown.say(move.message(shown.time))
            known |= move.known()
        await shown.knows(**known)
