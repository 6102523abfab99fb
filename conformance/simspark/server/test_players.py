"""Trainer commands that move agents and set their properties."""

import contextlib
from collections.abc import Sequence
from math import dist, hypot

import pytest

from conformance.cases import check, requirement
from conformance.iut import Iut
from conformance.session import Session
from conformance.simspark.codec import PERCEPTORS
from conformance.simspark.server.tester.agents import (
    MAX_GROUPS,
    check_sides,
    check_turns,
    hinge_angle,
    name_of,
    play_agent,
    skip_received,
)
from conformance.simspark.server.tester.match import (
    OWN,
    ROBOT_SIZE,
    can_share_numbers,
    check_stays,
    match,
)
from conformance.simspark.tester import leave
from conformance.verdicts import Inconclusive, NotExercised
from conformance.wire import Message


@requirement("agents.sides")
async def test_sides(iut: Iut) -> None:
    """Every agent is on the side of its team.

    The names of the teams share a long prefix, and arrive in reverse alphabetical order. A server
    that runs already keeps the teams of other tests, so it gets no further names.
    """
    teams = OWN if iut.configuration.runs_already else ("RobotsOfTheRight", "RobotsOfTheLeft")
    async with (
        iut.instance() as instance,
        play_agent(iut, instance, teams[0]) as one,
        play_agent(iut, instance, teams[1]) as other,
    ):
        first, second = name_of(one), name_of(other)
        if first is None or second is None:
            raise NotExercised("the game state (GS) does not contain the side of an agent")
        check_sides(first, second)
        for team, side in zip(teams, (first.team, second.team), strict=True):
            async with play_agent(iut, instance, team) as another:
                came = name_of(another)
            check(
                came is not None and came.team == side,
                f"another agent of the same team on the side {side}",
                f"its game state (GS) says {came}",
            )


@requirement("agents.sides")
async def test_a_number_in_both_teams(iut: Iut) -> None:
    """The number of an agent is still free in the other team."""
    expected = "an agent to be accepted with a number that the other team uses"
    check(await can_share_numbers(iut), expected, "it is accepted only with another number")


@requirement("move-agent.pos")
@pytest.mark.parametrize(("along", "across"), [(-0.5, 0.4), (0.35, -0.45)])
async def test_agent_is_put(iut: Iut, along: float, across: float) -> None:
    """An agent is at the commanded position in field coordinates, in either half."""
    async with match(iut) as game:
        for team in ("Left", "Right"):
            place = game.watch.find_vacant(along, across)
            await game.put(team, place)
            along, across = -along + 0.1, across - 0.1


@requirement("move-agent.pos")
async def test_one_that_comes_again_is_put(iut: Iut) -> None:
    """An agent that left and came back with the same name can be moved."""
    async with match(iut) as game:
        gone, name = game.agents["Left"], game.left
        await leave(gone)
        await game.watch.wait_for_full(
            "when an agent goes", more=False, requirement="full.node-removed"
        )
        with contextlib.suppress(Inconclusive):
            # The server can reserve the number of the first agent. The specification does not
            # decide this.
            async with play_agent(iut, gone.instance, game.called["Left"], name.unum) as again:
                if name_of(again) == name:
                    await game.put("Left", game.watch.find_vacant(-0.45, 0.35))


@requirement("move-agent.pos")
async def test_agent_is_put_up(iut: Iut) -> None:
    """An agent that is put into the air is above the ground first."""
    async with match(iut) as game:
        place = game.watch.find_vacant(-0.4, 0.45)
        standing = max((pose[14] for pose in game.watch.view.poses), default=0.0)
        height = round(standing + 3, 2)
        await game.watch.command(f"(agent {game.right}(pos {place.x} {place.y} {height}))")
        await game.watch.wait_until(
            lambda view: any(
                hypot(pose[12] - place.x, pose[13] - place.y) < 0.5 and pose[14] > standing + 1
                for pose in view.poses
            ),
            f"show the agent in the air above {place}, at {height:g} m",
            now=lambda view: f"the nearest node is {place.distance(view):.2f} m from {place}",
        )


@requirement("move-agent.move")
async def test_agent_is_moved(iut: Iut) -> None:
    """The operation move puts the agent at the commanded position.

    Rotations differ, and the name has unum or team first.
    """
    async with match(iut) as game:
        for turn, names in ((0, str(game.left)), (-90, game.left.reversed)):
            place = game.watch.find_vacant(-0.3 + turn / 300, 0.4)
            await game.watch.command(f"(agent {names}(move {place.x} {place.y} 0.4 {turn}))")
            await game.watch.wait_until(
                place.is_occupied,
                f"show the agent at {place}",
                now=lambda view, place=place: f"nearest node: {place.distance(view):.2f} m away",  # type: ignore[misc]
            )


@requirement("move-agent.turn")
async def test_agent_is_turned(iut: Iut) -> None:
    """Two different rotations give two different orientations."""
    async with match(iut) as game:
        place = game.watch.place(-0.3, 0.4)
        seen = []
        for turn in (0, 90):
            await game.watch.command(f"(agent {game.left}(move {place.x} {place.y} 0.4 {turn}))")
            await game.watch.wait_until(
                place.is_occupied, "show the agent", requirement="move-agent.move"
            )
            await game.watch.settle()
            nodes = place.nodes_within(game.watch.view, 0.5)
            poses = game.watch.view.poses
            seen.append({number: poses[number][:11] for number in nodes})
        differs = any(
            max(abs(a - b) for a, b in zip(seen[0][n], seen[1][n], strict=True)) > 0.1
            for n in seen[0].keys() & seen[1].keys()
        )
        check(
            differs,
            "another orientation of the agent",
            "the orientation of every node is unchanged",
        )


@requirement("move-agent.right-one")
async def test_the_right_agent_is_moved(iut: Iut) -> None:
    """The command moves only the agent of the named team.

    Both teams have an agent with the same number, if the server accepts that.
    """
    async with match(iut) as game:
        left, right = await game.put_apart()
        elsewhere = game.watch.place(0.1, 0.6)
        await game.put("Right", elsewhere, "move-agent.right-one")
        await check_stays(game.watch, left, "the left agent", "a command for the right agent")
        await game.watch.wait_until(
            right.is_free, "show no agent at the former position of the right agent"
        )
        for nobody in game.missing_players("Left"):
            await game.watch.command(f"(agent {nobody}(pos {right.x} {right.y} 0.4))")
        await check_stays(game.watch, left, "the left agent", "commands for all other numbers")
        check(right.is_free(game.watch.view), "no agent moved by unused numbers", "an agent moved")


@requirement("move-agent.right-one")
async def test_the_agent_of_that_name_is_moved(iut: Iut) -> None:
    """The name Left means the agent whose game state says left."""
    async with match(iut) as game:
        if name_of(game.agents["Left"]) is None:
            raise NotExercised("the game state (GS) does not say which agent is on the left")
        await game.disconnect_left(*await game.put_apart())


@requirement("move-agent.no-operation")
async def test_no_operation(iut: Iut) -> None:
    """The command agent does not move the agent without an operation that moves."""
    async with match(iut) as game:
        left, right = await game.put_apart()
        for operation in ("", "(battery 50)", "(temperature 30)"):
            await game.watch.command(f"(agent {game.left}{operation})")
        stayed = await game.watch.is_still_false(
            # A robot without a controller can fall over.
            lambda view: (
                not (left.is_occupied(view, ROBOT_SIZE) and right.is_occupied(view, ROBOT_SIZE))
            ),
            2 * game.watch.session.seconds("quiet"),
        )
        check(stayed, f"the agents to stay at {left} and {right}", "one of them has moved")


@requirement("move-agent.no-operation")
async def test_pos_does_not_turn(iut: Iut) -> None:
    """The operation pos does not change the orientation of an agent."""
    async with match(iut) as game:
        watch, seen = game.watch, list[dict[int, Sequence[float]]]()
        for along, operation in ((-0.5, "move {} 0"), (-0.35, "move {} 90"), (-0.2, "pos {}")):
            place = watch.find_vacant(along, 0.4)
            text = operation.format(f"{place.x} {place.y} 0.4")
            await watch.command(f"(agent {game.left}({text}))")
            await watch.wait_until(
                place.is_occupied, "show the agent", requirement=f"move-agent.{text.split()[0]}"
            )
            # The first state decides, because a robot without a controller can fall over.
            poses = watch.view.poses
            seen.append({n: poses[n][:11] for n in place.nodes_within(watch.view, ROBOT_SIZE)})
        straight, turned, put = seen
        nodes = straight.keys() & turned.keys() & put.keys()
        turn = max((dist(straight[n], turned[n]) for n in nodes), default=0.0)
        if turn < 1.0:
            raise Inconclusive("the operation move does not turn the agent by 90 degrees")
        change = max(dist(turned[n], put[n]) for n in nodes)
        check(
            change < turn / 2,
            "the orientation of the agent to stay after pos without move",
            "the agent has turned",
        )


@requirement("move-agent.no-operation")
async def test_pos_does_not_turn_hinges(iut: Iut) -> None:
    """The operation pos does not change the angle of a hinge."""
    async with match(iut) as game:
        agent = game.agents["Left"]
        turn = await check_turns(iut, agent, 2.0)
        before = await hinge_angle(iut, agent)
        await game.put("Left", game.watch.find_vacant(-0.45, 0.35))
        after = await hinge_angle(iut, agent)
        # A robot without a controller can fall over, which can bend a hinge a little.
        check(
            abs(after - before) < abs(turn) / 2,
            f"the hinge to stay at {before:.1f} degrees after pos without effectors",
            f"it is at {after:.1f} degrees",
        )


def _value_felt(message: Message, name: str) -> float | None:
    """Return a value of the perceptor AgentState, such as battery or temp."""
    for perceptor in message.value:
        if perceptor[:1] == ["AgentState"]:
            for item in perceptor[1:]:
                if item[:1] == [name]:
                    with contextlib.suppress(ValueError):
                        return float(item[1])
    return None


async def _check_felt(agent: Session, name: str, value: float, command: str) -> None:
    """Raise Violation unless AgentState reports a value after a command.

    Raises NotExercised if it never reports a value of this name.
    """
    came = await _values_felt(agent, name, value)
    if not came:
        raise NotExercised(
            f"the robot has no perceptor AgentState with {name}; declare --set scene=FILE of a "
            "robot that has it"
        )
    is_there = abs(came[-1] - value) < 1.0
    check(is_there, f"{name} {value:g} after {command}", f"AgentState reports {came[-1]:g}")


async def _values_felt(agent: Session, name: str, value: float) -> list[float]:
    """Return the values of this name in AgentState, up to the awaited one or a timeout."""
    await skip_received(agent)
    groups = [message for message in agent.received if message.name in PERCEPTORS]
    came = [found for message in groups if (found := _value_felt(message, name)) is not None]
    count, left = len(groups), agent.countdown("response", "response")
    while came or count < MAX_GROUPS:
        message = await agent.wait_for(*PERCEPTORS, within=left)
        if message is None:
            break
        count += 1
        if (found := _value_felt(message, name)) is not None:
            came.append(found)
            if abs(found - value) < 1.0:
                break
    return came


@requirement("move-agent.battery")
async def test_battery(iut: Iut) -> None:
    """The battery of each agent has the commanded level, for both teams."""
    async with match(iut) as game:
        for team, level in (("Right", 42), ("Left", 73)):
            command = f"(agent {game.names[team]}(battery {level}))"
            await game.watch.command(command)
            await _check_felt(game.agents[team], "battery", level, command)
        await _check_felt(game.agents["Right"], "battery", 42, command)


@requirement("move-agent.temperature")
async def test_temperature(iut: Iut) -> None:
    """The temperature of each agent has the commanded value, for both teams."""
    async with match(iut) as game:
        for team, value in (("Right", 42), ("Left", 61)):
            command = f"(agent {game.names[team]}(temperature {value}))"
            await game.watch.command(command)
            came = await _values_felt(game.agents[team], "temp", value)
            if came and len({*came}) == 1 and abs(came[0] - value) >= 1.0:
                # The published server shows a constant temperature.
                raise Inconclusive(f"AgentState reports the temperature {came[0]:g} all the time")
            await _check_felt(game.agents[team], "temp", value, command)
        await _check_felt(game.agents["Right"], "temp", 42, command)


@requirement("move-agent.several-operations")
async def test_several_operations(iut: Iut) -> None:
    """All operations of one command are executed: the agent moves, and its battery is set."""
    async with match(iut) as game:
        for level, operations in (
            (55, "(battery 55)(pos {0.x} {0.y} 0.4)"),
            (66, "(move {0.x} {0.y} 0.4 0)(battery 66)"),
        ):
            place = game.watch.find_vacant(-0.5, 0.4)
            command = f"(agent {game.left}{operations.format(place)})"
            await game.watch.command(command)
            await game.watch.wait_until(
                place.is_occupied, f"show the agent at {place} after {command}"
            )
            await _check_felt(game.agents["Left"], "battery", level, command)
