"""What a trainer does to agents: moves them, and sets what they have."""

import contextlib
from math import hypot

import pytest

from conformance.cases import check, requirement
from conformance.iut import Iut
from conformance.session import Session
from conformance.simspark.server.tester.agents import (
    ENOUGH,
    PERCEPTORS,
    apart,
    name_of,
    passed_over,
    playing,
)
from conformance.simspark.server.tester.match import BESIDE, match, numbers_shared, stays
from conformance.verdicts import Inconclusive, NotExercised
from conformance.wire import Message


@requirement("agents.sides")
async def test_sides(iut: Iut) -> None:
    """Two teams are on two sides, and another agent of a team is on the side of its team.

    The names of the teams begin alike, for long, and come against the alphabet.
    """
    teams = ("RobotsOfTheRight", "RobotsOfTheLeft")
    async with (
        iut.instance() as instance,
        playing(iut, instance, teams[0]) as one,
        playing(iut, instance, teams[1]) as other,
    ):
        first, second = name_of(one), name_of(other)
        if first is None or second is None:
            raise NotExercised("agents are not told on which side they are")
        apart(first, second)
        for team, side in zip(teams, (first.team, second.team), strict=True):
            async with playing(iut, instance, team) as another:
                came = name_of(another)
            check(
                came is not None and came.team == side,
                f"another agent of a team on its side, {side}",
                f"it is told that it is {came}",
            )


@requirement("agents.sides")
async def test_a_number_in_both_teams(iut: Iut) -> None:
    """The number that an agent of one team has is free in the other team."""
    expected = "an agent to be taken in by a number that one of the other team has"
    check(await numbers_shared(iut), expected, "it is by another number only")


@requirement("move-agent.pos")
@pytest.mark.parametrize(("along", "across"), [(-0.5, 0.4), (0.35, -0.45)])
async def test_agent_is_put(iut: Iut, along: float, across: float) -> None:
    """An agent is where it was put, in either half, in coordinates of the field."""
    async with match(iut) as game:
        for team in ("Left", "Right"):
            place = game.watch.vacant(along, across)
            await game.put(team, place)
            along, across = -along + 0.1, across - 0.1


@requirement("move-agent.pos")
async def test_one_that_comes_again_is_put(iut: Iut) -> None:
    """Where an agent has gone, and another has come under its name, that one is put somewhere."""
    async with match(iut) as game:
        gone, name = game.agents["Left"], game.left
        await gone.close()
        await game.watch.full("when an agent goes", more=False, requirement="full.node-removed")
        with contextlib.suppress(Inconclusive):
            # Its number may be kept for it, which the specification does not say.
            async with playing(iut, gone.instance, game.called["Left"], name.unum) as again:
                if name_of(again) == name:
                    await game.put("Left", game.watch.vacant(-0.45, 0.35))


@requirement("move-agent.pos")
async def test_agent_is_put_up(iut: Iut) -> None:
    """Into the air as well: then it is above the ground, until it has fallen."""
    async with match(iut) as game:
        place = game.watch.vacant(-0.4, 0.45)
        standing = max((pose[14] for pose in game.watch.view.poses), default=0.0)
        height = round(standing + 3, 2)
        await game.watch.command(f"(agent {game.right}(pos {place.x} {place.y} {height}))")
        await game.watch.until(
            lambda view: any(
                hypot(pose[12] - place.x, pose[13] - place.y) < 0.5 and pose[14] > standing + 1
                for pose in view.poses
            ),
            f"show the agent in the air above {place}, at {height:g} m",
            now=lambda view: f"nearest to {place} is {place.nearest(view):.2f} m away",
        )


@requirement("move-agent.move")
async def test_agent_is_moved(iut: Iut) -> None:
    """move puts it there as well, however it is turned, whichever of unum and team is first."""
    async with match(iut) as game:
        for turn, names in ((0, str(game.left)), (-90, game.left.reversed)):
            place = game.watch.vacant(-0.3 + turn / 300, 0.4)
            await game.watch.command(f"(agent {names}(move {place.x} {place.y} 0.4 {turn}))")
            await game.watch.until(
                place.taken,
                f"show the agent at {place}",
                now=lambda view, place=place: f"nearest is {place.nearest(view):.2f} m away",  # type: ignore[misc]
            )


@requirement("move-agent.turn")
async def test_agent_is_turned(iut: Iut) -> None:
    """Two rotations leave it turned differently."""
    async with match(iut) as game:
        place = game.watch.place(-0.3, 0.4)
        seen = []
        for turn in (0, 90):
            await game.watch.command(f"(agent {game.left}(move {place.x} {place.y} 0.4 {turn}))")
            await game.watch.until(place.taken, "show the agent", requirement="move-agent.move")
            await game.watch.settle()
            nodes = place.around(game.watch.view, 0.5)
            poses = game.watch.view.poses
            seen.append({number: poses[number][:11] for number in nodes})
        differs = any(
            max(abs(a - b) for a, b in zip(seen[0][n], seen[1][n], strict=True)) > 0.1
            for n in seen[0].keys() & seen[1].keys()
        )
        check(differs, "the agent to be turned differently", "every node is turned as before")


@requirement("move-agent.right-one")
async def test_the_right_agent_is_moved(iut: Iut) -> None:
    """Of two agents of the same number only that of the named team is moved."""
    async with match(iut) as game:
        left, right = await game.placed()
        elsewhere = game.watch.place(0.1, 0.6)
        await game.put("Right", elsewhere, "move-agent.right-one")
        await stays(game.watch, left, "the left agent", "the right one was moved")
        await game.watch.until(right.free, "show nobody where the right agent was")
        for nobody in game.others("Left"):
            await game.watch.command(f"(agent {nobody}(pos {right.x} {right.y} 0.4))")
        await stays(game.watch, left, "the left agent", "all other numbers were to be moved")
        check(right.free(game.watch.view), "no agent to be moved", "one was")


@requirement("move-agent.right-one")
async def test_the_agent_of_that_name_is_moved(iut: Iut) -> None:
    """The agent that is told that it is on the left is the one that Left names: there it goes."""
    async with match(iut) as game:
        if name_of(game.agents["Left"]) is None:
            return  # Which of them is on the left is not told.
        await game.left_goes(*await game.placed())


@requirement("move-agent.no-operation")
async def test_no_operation(iut: Iut) -> None:
    """Without an operation the agent stays as it is."""
    async with match(iut) as game:
        left, right = await game.placed()
        await game.watch.command(f"(agent {game.left})")
        stayed = await game.watch.never(
            # A robot that nobody controls may fall over.
            lambda view: not (left.taken(view, BESIDE) and right.taken(view, BESIDE)),
            2 * game.watch.session.seconds("quiet"),
        )
        check(stayed, f"the agents to stay at {left} and {right}", "one of them is gone")


def _battery(message: Message) -> float | None:
    for perceptor in message.value:
        if perceptor[:1] == ["AgentState"]:
            for item in perceptor[1:]:
                if item[:1] == ["battery"]:
                    with contextlib.suppress(ValueError):
                        return float(item[1])
    return None


async def _battery_is(agent: Session, level: float, command: str) -> None:
    await passed_over(agent)
    groups = [message for message in agent.received if message.name in PERCEPTORS]
    came = [found for message in groups if (found := _battery(message)) is not None]
    count, left = len(groups), agent.left("response", "response")
    while came or count < ENOUGH:
        message = await agent.watch(*PERCEPTORS, within=left)
        if message is None:
            break
        count += 1
        if (found := _battery(message)) is not None:
            came.append(found)
            if abs(found - level) < 1.0:
                return
    if not came:
        raise NotExercised(
            "the robot has no perceptor AgentState; declare --set scene=FILE of one that has"
        )
    check(False, f"the battery at {level:g} after {command}", f"it is at {came[-1]:g}")


@requirement("move-agent.battery")
async def test_battery(iut: Iut) -> None:
    """The level of the battery is what was set, for the agent of one team and then the other."""
    async with match(iut) as game:
        for team, level in (("Right", 42), ("Left", 73)):
            command = f"(agent {game.names[team]}(battery {level}))"
            await game.watch.command(command)
            await _battery_is(game.agents[team], level, command)
        await _battery_is(game.agents["Right"], 42, command)


@requirement("move-agent.several-operations")
async def test_several_operations(iut: Iut) -> None:
    """All operations of one command are applied: the agent is elsewhere, and its battery is set."""
    async with match(iut) as game:
        for level, operations in (
            (55, "(battery 55)(pos {0.x} {0.y} 0.4)"),
            (66, "(move {0.x} {0.y} 0.4 0)(battery 66)"),
        ):
            place = game.watch.vacant(-0.5, 0.4)
            command = f"(agent {game.left}{operations.format(place)})"
            await game.watch.command(command)
            await game.watch.until(place.taken, f"show the agent at {place} after {command}")
            await _battery_is(game.agents["Left"], level, command)
