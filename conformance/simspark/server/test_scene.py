"""The scene graphs for monitors: full graphs at the right time, and updates."""

import asyncio
import contextlib
from math import hypot

import pytest

from conformance.cases import check, each_of, requirement
from conformance.iut import Iut
from conformance.simspark.codec import encode, frame
from conformance.simspark.server.tester.agents import (
    Name,
    check_turns,
    hinge_angle,
    name_of,
    play_agent,
)
from conformance.simspark.server.tester.match import match
from conformance.simspark.server.tester.monitors import (
    CLOSE,
    KEEPS_SENDING,
    Place,
    Watch,
    check_served_together,
    watch_server,
)
from conformance.simspark.tester import expressions, judge_one_session, leave
from conformance.simspark.view import View
from conformance.verdicts import Inconclusive, NotExercised, Violation

FAR = 1.0  # metres that no node moves by itself from one state to the next
ROLLING = 3.0  # seconds in which a slow ball rolls far enough
SLIGHTLY = 0.05  # metres; smaller movements need not be in an update
TURNS = 3  # times; a server can process the two events in different cycles
ASIDE = 0.15  # metres; a movement that monitors can see
AFTER_START = 20  # states, in which a server that has started late adds its first nodes
ONLY_IN_FULL = "only a full scene graph shows it"


# The full scene graph


@requirement("full.node-added")
async def test_full_when_agents_come(iut: Iut) -> None:
    """When agents come, each monitor receives the full scene graph."""
    async with (
        iut.instance() as instance,
        watch_server(iut, instance) as one,
        watch_server(iut, instance) as other,
        play_agent(iut, instance, "Lefts"),
    ):
        for watch in (one, other):
            await watch.wait_for_full("when an agent comes", more=True)
            await watch.settle()
        async with play_agent(iut, instance, "Rights"):
            for watch in (one, other):
                await watch.wait_for_full("when a second agent comes", more=True)


@requirement("full.node-added")
async def test_full_when_agents_take_turns(iut: Iut) -> None:
    """When one agent comes while another goes, the full scene graph comes, too.

    The number of nodes can then be the same as before.
    """
    async with (
        iut.instance() as instance,
        watch_server(iut, instance) as watch,
        contextlib.AsyncExitStack() as playing_on,
    ):
        present = await playing_on.enter_async_context(play_agent(iut, instance))
        await watch.wait_for_full("when an agent comes", more=True)
        for _ in range(TURNS):
            coming = await playing_on.enter_async_context(iut.connect(instance, channel="agent"))
            await watch.settle()
            fulls = watch.view.fulls
            await coming.send(expressions(f"(scene {iut.configuration.value('scene')})"))
            await present.close()
            await watch.wait_until(
                lambda view, fulls=fulls: view.fulls > fulls,  # type: ignore[misc]
                "contain a full scene graph when one agent comes and another goes",
                now=lambda _: "received only updates",
            )
            present = coming


@requirement("full.node-removed")
async def test_full_when_agents_go(iut: Iut) -> None:
    """When an agent leaves, each monitor receives the full scene graph.

    First the first agent leaves, then the last one.
    """
    async with (
        iut.instance() as instance,
        watch_server(iut, instance) as one,
        watch_server(iut, instance) as other,
        contextlib.AsyncExitStack() as playing_on,
    ):
        agents = []
        for team in ("Lefts", "Rights"):
            agents += [await playing_on.enter_async_context(play_agent(iut, instance, team))]
            for watch in (one, other):
                await watch.wait_for_full(
                    "when an agent comes", more=True, requirement="full.node-added"
                )
                await watch.settle()
        for agent in agents:
            await leave(agent)
            for watch in (one, other):
                await watch.wait_for_full("when an agent goes", more=False)
                await watch.settle()


@requirement("full.node-removed")
async def test_full_when_a_robot_without_team_goes(iut: Iut) -> None:
    """When an agent disconnects before its init, its robot disappears."""
    async with (
        iut.instance() as instance,
        watch_server(iut, instance) as watch,
        iut.connect(instance, channel="agent") as agent,
    ):
        before = watch.view.nodes
        await agent.send(expressions(f"(scene {iut.configuration.value('scene')})"))
        if await watch.is_still_false(
            lambda view: view.nodes > before, watch.session.seconds("response")
        ):
            raise NotExercised("this server adds a robot to the scene only after its init")
        await watch.settle()
        await leave(agent)
        await watch.wait_for_full("when an agent goes before its init", more=False)


@requirement("full.node-removed")
@pytest.mark.parametrize("inside", [False, True], ids=["reset", "reset-inside-a-message"])
async def test_full_when_an_agent_breaks_off(iut: Iut, inside: bool) -> None:
    """When an agent resets its connection, the full scene graph comes too."""
    async with (
        iut.instance() as instance,
        watch_server(iut, instance) as watch,
        play_agent(iut, instance) as agent,
    ):
        await watch.wait_for_full("when an agent comes", more=True, requirement="full.node-added")
        await watch.settle()
        if inside:
            await agent.send_bytes(frame(b"(syn)")[:-2])
        await agent.break_off()
        await watch.wait_for_full("when an agent breaks off", more=False)


@requirement("full.new-client")
async def test_full_for_a_later_client(iut: Iut) -> None:
    """A later monitor receives the complete scene of that moment, and can follow updates."""
    async with iut.instance() as instance, watch_server(iut, instance) as first:
        async with play_agent(iut, instance) as agent, watch_server(iut, instance) as second:
            await first.settle()
            await second.settle()
            nodes = first.view.nodes, second.view.nodes
            check(
                nodes[0] == nodes[1],
                "the same scene for a monitor that has come later",
                f"it has {nodes[1]} nodes, and {nodes[0]} nodes for the first monitor",
            )
            await leave(agent)
            await second.wait_for_full(
                "when an agent goes", more=False, requirement="full.node-removed"
            )
        async with watch_server(iut, instance) as third:
            await third.wait_for_states(2)


@requirement("full.on-request")
async def test_full_on_request(iut: Iut) -> None:
    """Every monitor that requests the full scene graph receives it."""
    async with (
        iut.instance() as instance,
        watch_server(iut, instance) as first,
        watch_server(iut, instance) as second,
    ):
        await second.wait_for_states(3)
        for watch in (second, first, second):
            await watch.settle()
            fulls = watch.view.fulls
            await watch.command("(reqfullstate)")
            await watch.wait_until(
                lambda view, fulls=fulls: view.fulls > fulls,  # type: ignore[misc]
                "contain the full scene graph on request",
                now=lambda _: "received only updates",
            )
            await watch.wait_for_states(2)


async def _match(iut: Iut) -> None:
    async with iut.instance() as instance, watch_server(iut, instance) as watch:
        await watch.wait_for_states(2)
        await watch.begin()
        async with play_agent(iut, instance, "Lefts") as agent:
            await agent.send([["he1", "1.5"], ["lae1", "1"], ["rle4", "-2"]])
            await watch.settle()
            async with play_agent(iut, instance, "Rights") as other:
                await other.send([["he2", "0.5"], ["lle6", "1"]])
                await watch.settle()
                await watch.command("(ball (vel 1 1 2))")
                await watch.wait_for_states(8)
            await watch.command("(reqfullstate)")
            await watch.wait_for_states(4)
        await watch.settle()


EARLY = (0.0, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8)
"""Seconds from the first accepted connection of a server to the connection of a monitor."""


@requirement("header.partial-fits")
@pytest.mark.parametrize("seconds", EARLY)
async def test_an_early_monitor(iut: Iut, seconds: float) -> None:
    """Updates fit the full graph also for a monitor that connects while the server starts."""
    # With sockets, no server is used that was started ahead.
    async with (
        iut.instance(sockets=True) as instance,
        iut.connect(instance, channel="agent") as first,
    ):
        await first.until_closed(seconds)
        async with watch_server(iut, instance, begins=False) as watch:
            await watch.wait_for_states(AFTER_START)


@each_of("state.structure", "header.full-is-complete", "header.partial-fits", "header.updates-bare")
async def test_graphs_of_a_match(iut: Iut, statement: str) -> None:
    """While agents come, act and leave, full graphs are complete and updates fit them."""
    await judge_one_session(iut, "match", _match, fails=KEEPS_SENDING)


async def _play_movements(iut: Iut) -> None:
    async with (
        iut.instance() as instance,
        watch_server(iut, instance) as watch,
        play_agent(iut, instance) as agent,
    ):
        await agent.send([["he1", "1.5"], ["he2", "-1"], ["lae1", "1"], ["rle4", "-2"]])
        await watch.begin()
        place = watch.place(-0.3, 0.2)
        name = name_of(agent) or Name(1, "Left")
        await watch.command(f"(agent {name}(move {place.x} {place.y} 0.4 33))")
        await watch.command("(ball (vel 1 1 2))")
        await watch.wait_for_states(12)
        await watch.settle()
        # A player exactly at the position of the ball pushes it, or is pushed, in no defined
        # direction.
        there = f"(pos {place.x} {place.y} 0.4)"
        onto = encode(expressions(f"(ball {there}(vel 0 0 0))(agent {name}{there})"))
        for more in (b"", encode(expressions("(dropBall)"))):
            await watch.session.send_bytes(onto + more)
            await watch.settle()


@each_of(
    "graph.nodes",
    "graph.types",
    "graph.leaves",
    "nodes.transform",
    "nodes.matrix-by-columns",
    "nodes.matrix-rigid",
)
async def test_nodes_of_a_match(iut: Iut, statement: str) -> None:
    """All nodes are well-formed, also while an agent moves and touches the ball."""
    await judge_one_session(iut, "moving", _play_movements, fails=KEEPS_SENDING)


async def _kinds(iut: Iut) -> None:
    async with (
        iut.instance() as instance,
        watch_server(iut, instance) as watch,
        play_agent(iut, instance, "Lefts"),
        play_agent(iut, instance, "Rights"),
    ):
        await watch.settle()
        await watch.command("(reqfullstate)")
        await watch.wait_for_states(3)


@each_of(
    "nodes.geometry-has-no-children",
    "nodes.mesh",
    "nodes.predefined",
    "nodes.cylinder",
    "nodes.visible",
    "nodes.materials",
    "nodes.materials-given",
    "nodes.light",
    "nodes.base",
)
async def test_kinds_of_nodes(iut: Iut, statement: str) -> None:
    """All nodes of a scene with agents are well-formed, for every type of node."""
    await judge_one_session(iut, "kinds", _kinds, fails=KEEPS_SENDING)


@requirement("header.partial-carries-changes")
async def test_a_moving_hinge_is_seen(iut: Iut) -> None:
    """When a hinge turns, updates show it."""
    async with (
        iut.instance() as instance,
        watch_server(iut, instance) as watch,
        play_agent(iut, instance) as agent,
    ):
        await hinge_angle(iut, agent)
        await watch.settle()
        before = list(watch.view.scene.locals) if watch.view.scene else []
        fulls = watch.view.fulls
        await check_turns(iut, agent, 2.0, " during the game")

        def has_turned(view: View) -> bool:
            now = view.scene.locals if view.scene else []
            return len(now) == len(before) and any(
                max(abs(a - b) for a, b in zip(old[:11], new[:11], strict=True)) > 0.05
                for old, new in zip(before, now, strict=True)
            )

        if not any(message.name == "PartialState" for message in watch.session.received):
            raise Inconclusive("the server sends only full scene graphs and no updates")
        try:
            await watch.wait_until(
                has_turned, "show the hinge turning", now=lambda _: "no node turned"
            )
        except Violation:
            await watch.command("(reqfullstate)")
            if await watch.is_still_false(has_turned, watch.session.seconds("response")):
                raise NotExercised("the scene does not show the hinges of the robot") from None
            raise
        check(
            watch.view.fulls == fulls,
            "an update that shows the turn",
            "received a full scene graph for it",
        )


@requirement("header.partial-carries-changes")
@pytest.mark.parametrize("steps", [1, 20])
async def test_a_small_move_is_seen(iut: Iut, steps: int) -> None:
    """When the ball moves a little, updates show its new position.

    The ball moves at once or in small steps.
    """
    async with watch_server(iut) as watch:
        begin = watch.find_vacant(0.37, -0.42)
        aside = Place(round(begin.x + ASIDE, 2), begin.y)
        await watch.command(f"(ball (pos {begin.x} {begin.y} {watch.radius})(vel 0 0 0))")
        await _check_updated(watch, begin, CLOSE)
        for step in range(1, steps + 1):
            at = f"{begin.x + ASIDE * step / steps:.4f} {begin.y} {watch.radius}"
            await watch.command(f"(ball (pos {at})(vel 0 0 0))")
            await watch.state()
        await _check_updated(watch, aside, ASIDE / 2)


@requirement("header.partial-carries-changes")
async def test_a_rise_is_seen(iut: Iut) -> None:
    """When the ball is put straight up, updates show it in the air."""
    async with watch_server(iut) as watch:
        place = watch.find_vacant(0.37, -0.42)
        await watch.put_ball(place)
        up = f"(ball (pos {place.x} {place.y} 2.5))"

        def high(view: View) -> bool:
            return any(view.poses[node][14] > ASIDE for node in place.nodes_within(view, CLOSE))

        await watch.command(up)
        if await watch.is_shown_only_in_full(
            high, "the ball is not in the air, its commanded position", up
        ):
            raise Violation(f"updates to show the ball in the air above {place}", ONLY_IN_FULL)


async def _check_updated(watch: Watch, place: Place, within: float) -> None:
    """Raise Violation if only a full scene graph shows the ball at a place."""
    otherwise = f"the ball is not at its commanded position {place}"
    if await watch.is_shown_only_in_full(lambda view: place.is_occupied(view, within), otherwise):
        raise Violation(f"updates to show the ball at {place}", ONLY_IN_FULL)


@requirement("header.partial-carries-changes")
async def test_every_monitor_sees_what_moves(iut: Iut) -> None:
    """Each monitor sees the new position of the ball, regardless of which monitor moved it."""
    async with (
        iut.instance() as instance,
        watch_server(iut, instance) as one,
        watch_server(iut, instance) as other,
        watch_server(iut, instance) as third,
    ):
        await one.begin()
        for watch in (one, other, third):
            await watch.wait_for_states(2)
        place = third.find_vacant(0.37, -0.42)
        await third.command(f"(ball (pos {place.x} {place.y} {third.radius}))")
        times: list[tuple[float, float]] = []
        blind: list[Violation] = []

        async def follow(watch: Watch) -> None:
            try:
                times.extend(
                    await watch.wait_for_each(
                        [place.is_occupied],
                        f"show the ball at {place} to each of three monitors",
                        lambda view: f"the nearest node is {place.distance(view):.2f} m away",
                    )
                )
            except Violation as none:
                blind.append(none)

        async with asyncio.TaskGroup() as group:
            for watch in (third, one, other):
                group.create_task(follow(watch))
        if blind:
            first = blind[0]
            about = first.requirement or ("ball.pos" if len(blind) == 3 else None)
            raise Violation(first.expected, first.came, about) from first
        check_served_together(times, f"the ball at {place}")


@requirement("header.partial-carries-changes")
async def test_updates_add_up(iut: Iut) -> None:
    """The poses after all updates equal the poses of the next full scene graph."""
    async with match(iut) as game:
        watch = game.watch
        await game.put("Left", watch.find_vacant(-0.4, 0.5))
        await game.put("Right", watch.find_vacant(0.5, 0.4))
        await watch.settle()
        await _check_updates_add_up(watch, FAR)


@requirement("header.partial-carries-changes")
async def test_updates_of_a_slow_ball_add_up(iut: Iut) -> None:
    """A ball that rolls slowly is where the updates show it, also after some seconds."""
    async with watch_server(iut) as watch:
        await watch.play()
        await watch.put_ball(watch.place(-0.2, 0.1))
        await watch.settle()
        await watch.command("(ball (vel 0.08 0.05 0))")
        await watch.is_still_false(lambda _: False, ROLLING)
        await _check_updates_add_up(watch, SLIGHTLY)


async def _check_updates_add_up(watch: Watch, most: float) -> None:
    """Check that a full scene graph shows no node further than ``most`` metres from the updates."""
    updated, fulls = watch.view.poses, watch.view.fulls
    await watch.command("(reqfullstate)")

    def full(view: View) -> bool:
        nonlocal updated
        if view.fulls > fulls:
            return True
        updated = view.poses
        return False

    await watch.wait_until(
        full, "contain the full scene graph on request", requirement="full.on-request"
    )
    now = watch.view.poses
    if len(now) != len(updated):
        raise Inconclusive(f"the number of nodes changed from {len(updated)} to {len(now)}")
    away = [hypot(b[12] - a[12], b[13] - a[13]) for a, b in zip(updated, now, strict=True)]
    check(
        max(away) < most,
        "all nodes at the positions of the updates",
        f"node {away.index(max(away))} is {max(away):.2f} m away from it",
    )


@requirement("graph.poses")
async def test_poses_are_products(iut: Iut) -> None:
    """The position of the ball is the product of all transforms above it."""
    async with watch_server(iut) as watch:
        await watch.play()
        place = watch.find_vacant(0.42, -0.36)
        await watch.command(f"(ball (pos {place.x} {place.y} {watch.radius})(vel 0 0 0))")

        def near(x: float, y: float) -> bool:
            return abs(x - place.x) < CLOSE and abs(y - place.y) < CLOSE

        def somewhere(view: View) -> bool:
            own = view.scene.locals if view.scene else []
            return any(near(local[12], local[13]) for local in own) or place.is_occupied(view)

        try:
            await watch.wait_until(somewhere, "show the ball", requirement="ball.pos")
        finally:
            shown = watch.view
        check(
            place.is_occupied(shown),
            f"the product of the transforms down to the ball to be at {place}",
            "only its own transform is at that position",
        )
