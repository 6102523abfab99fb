"""Trainer commands that select, remove and reposition agents."""

import pytest

from conformance.cases import check, requirement
from conformance.iut import Iut
from conformance.simspark.server.tester.agents import name_of, play_agent
from conformance.simspark.server.tester.match import check_leaves, check_stays, match
from conformance.simspark.tester import expressions, leave
from conformance.simspark.view import View
from conformance.verdicts import Inconclusive, Violation

# Removing


async def _check_nobody_affected(iut: Iut, word: str) -> None:
    """Check that a command for an agent that does not exist affects no other agent.

    The selected agent is among the others.
    """
    async with match(iut) as game:
        places = await game.put_apart()
        await game.watch.command(f"(select {game.left})")
        for team in ("Left", "Right"):
            command = f"({word} {game.missing_player(team)})"
            await game.watch.command(command)
            for place in places:
                await check_stays(game.watch, place, "an agent with another number", command)


@requirement("kill.named")
@pytest.mark.parametrize("team", ["Left", "Right"])
async def test_kill(iut: Iut, team: str) -> None:
    """The named agent is removed, and the other agent stays, although it is selected."""
    async with match(iut) as game:
        places = dict(zip(("Left", "Right"), await game.put_apart(), strict=True))
        await game.select_other(team)
        command = f"(kill {game.names[team].reversed})"
        await check_leaves(game.watch, places.pop(team), command, "the agent")
        [(other, place)] = places.items()
        await check_stays(game.watch, place, f"the agent of {other}", "another agent was removed")
        await leave(game.agents[team])
        await check_stays(
            game.watch, place, f"the agent of {other}", "the removed agent disconnected"
        )


@requirement("kill.named")
async def test_kill_among_three(iut: Iut) -> None:
    """The named agent is removed, also if another agent of its team came after it.

    The agents that stay keep their names.
    """
    async with (
        match(iut) as game,
        play_agent(iut, game.watch.session.instance, "Lefts") as later,
    ):
        left, right = await game.put_apart()
        await check_leaves(game.watch, left, f"(kill {game.left})", "the agent")
        await check_stays(game.watch, right, "the agent of Right", "another agent was removed")
        for name in (name_of(later), game.right):
            if name:
                place = game.watch.find_vacant(-0.2, 0.55)
                await game.watch.command(f"(agent {name}(pos {place.x} {place.y} 0.4))")
                await game.watch.wait_until(
                    place.is_occupied,
                    f"show {name} at {place} after another is removed",
                )


@requirement("kill.named")
async def test_kill_nobody(iut: Iut) -> None:
    """A number that no agent of the team has removes no agent."""
    await _check_nobody_affected(iut, "kill")


HALVES = ("", "(unum {0.unum})", "(team {0.team})")
"""Names without number or team. An incomplete name counts as no name."""


@requirement("kill.selected")
@pytest.mark.parametrize("half", HALVES, ids=["no name", "no team", "no number"])
async def test_kill_the_selected(iut: Iut, half: str) -> None:
    """Without number or team, the selected agent is removed."""
    async with match(iut) as game:
        left, right = await game.put_apart()
        await game.watch.command(f"(select {game.right})")
        command = f"(kill {half.format(game.left)})"
        await check_leaves(game.watch, right, command, "the selected agent")
        await check_stays(game.watch, left, "the other agent", "the selected agent was removed")


@requirement("kill.named")
async def test_full_graph_after_a_kill(iut: Iut) -> None:
    """After kill, the full scene graph no longer contains the player."""
    async with match(iut) as game:
        left, _ = await game.put_apart()
        fulls = game.watch.view.fulls
        nodes = len(game.watch.view.poses)
        await check_leaves(game.watch, left, f"(kill {game.left})", "the agent")
        await game.watch.settle()
        now = len(game.watch.view.poses)
        check(
            game.watch.view.fulls > fulls and now < nodes,
            f"a full scene graph of fewer than {nodes} nodes",
            f"received {game.watch.view.fulls - fulls} full graphs; the scene has {now} nodes",
        )


@requirement("full.node-removed")
async def test_no_update_after_a_kill(iut: Iut) -> None:
    """After kill, no update has fewer nodes than the last full scene graph."""
    async with match(iut) as game:
        fulls = game.watch.view.fulls
        await game.watch.command(f"(kill {game.left})")
        await game.watch.settle()
        if game.watch.view.fulls > fulls:
            return
        for finding in game.watch.session.judge.findings:
            if finding.requirement == "header.partial-fits":
                expected = "a full scene graph after an agent was removed"
                came = f"received an update instead: {finding.message}"
                wrong = Violation(expected, came, event=finding.event)
                raise wrong.shown_in(game.watch.session)
        raise Inconclusive("kill does not change the scene (kill.named)")


# Selecting


@requirement("select.named")
async def test_select(iut: Iut) -> None:
    """The named agent is selected, so a command without a name affects it."""
    async with match(iut) as game:
        left, right = await game.put_apart()
        await game.watch.command(f"(select {game.right})")
        await check_leaves(game.watch, right, "(repos)", "the selected agent")
        await check_stays(game.watch, left, "the other agent", "(repos)")
        await game.watch.command(f"(select {game.missing_player('Left')})(repos)")
        await check_stays(
            game.watch, left, "an agent", "a selection of an unused number, and (repos)"
        )
        await game.watch.command(f"(select {game.left.reversed})")
        await check_leaves(game.watch, left, "(repos)", "the agent selected next")


@requirement("select.named")
async def test_select_while_another_goes(iut: Iut) -> None:
    """An agent stays selected when an agent that came earlier leaves."""
    async with match(iut) as game:
        left, right = await game.put_apart()
        await game.watch.command(f"(select {game.right})")
        await game.disconnect_left(left, right)
        await check_leaves(game.watch, right, "(repos)", "the selected agent")


@requirement("select.named")
async def test_select_while_another_is_removed(iut: Iut) -> None:
    """An agent stays selected when another agent is removed by its name."""
    async with match(iut) as game:
        left, right = await game.put_apart()
        await game.watch.command(f"(select {game.right})(kill {game.left})")
        await game.watch.wait_until(
            left.is_free, f"show no agent at {left} after its kill", requirement="kill.named"
        )
        await check_leaves(game.watch, right, "(repos)", "the selected agent")


@requirement("select.named")
async def test_select_twice(iut: Iut) -> None:
    """An agent that is selected again stays selected."""
    async with match(iut) as game:
        _, right = await game.put_apart()
        await game.watch.command(f"(select {game.right})")
        await game.watch.command(f"(select {game.right})")
        await check_leaves(game.watch, right, "(repos)", "the agent that was selected twice")


@requirement("select.named")
async def test_select_while_another_comes(iut: Iut) -> None:
    """An agent stays selected when another agent comes."""
    async with match(iut) as game:
        _, right = await game.put_apart()
        await game.watch.command(f"(select {game.right})")
        await game.watch.settle()
        async with play_agent(iut, game.watch.session.instance, "Lefts"):
            await check_leaves(game.watch, right, "(repos)", "the selected agent")


@requirement("robustness.several-clients")
async def test_select_one_that_goes(iut: Iut) -> None:
    """The server survives commands for a selected agent that has left.

    It also survives effectors of an agent whose robot was removed.
    """
    async with match(iut) as game:
        watch = game.watch
        await watch.command(f"(kill {game.right})")
        await watch.check_obeyed("the removal of an agent", "kill.named")
        for text in ("(he1 1)", "(say hello)", "(beam -2 1 0)"):
            await game.agents["Right"].send(expressions(text))
        await watch.check_obeyed("effectors of an agent whose robot was removed")
        await leave(game.agents["Right"])
        await watch.check_obeyed("the disconnect of an agent whose robot was removed")
        await watch.command(f"(select {game.left})")
        await leave(game.agents["Left"])
        try:
            await watch.wait_for_full("when an agent goes", more=False)
        except Violation as none:
            # The earlier command can have removed this agent instead.
            raise Inconclusive(str(none)) from None
        for text in ("(repos)", "(kill)", "(select)"):
            await watch.command(text)
            await watch.check_obeyed(f"{text} after the selected agent has left")
        await watch.session.assert_alive("commands for an agent that has left")


@requirement("select.next")
async def test_select_next(iut: Iut) -> None:
    """Without a name the next agent is selected. With two agents, this is the other agent."""
    async with match(iut) as game:
        left, right = await game.put_apart()
        await game.watch.command(f"(select {game.left})")
        await game.watch.command("(select)")
        await check_leaves(game.watch, right, "(repos)", "the next agent")
        # The requirement select.only-one decides if the first agent is still selected.
        if left.is_free(game.watch.view):
            await game.put("Left", left)
        await game.watch.command("(select)")
        await check_leaves(game.watch, left, "(repos)", "the next agent")


@requirement("select.next")
async def test_select_next_by_half_a_name(iut: Iut) -> None:
    """With only a number or only a team, the next agent is selected."""
    async with match(iut) as game:
        for half in HALVES[1:]:
            left, right = await game.put_apart()
            await game.watch.command(f"(select {game.left})")
            await game.watch.command(f"(select {half.format(game.left)})")
            await check_leaves(game.watch, right, "(repos)", "the next agent")
            if left.is_free(game.watch.view):
                await game.put("Left", left)


@requirement("select.only-one")
async def test_select_one_only(iut: Iut) -> None:
    """When another agent is selected, the first one is no longer selected."""
    async with match(iut) as game:
        left, right = await game.put_apart()
        await game.watch.command(f"(select {game.left})")
        await game.watch.command(f"(select {game.right})")
        await check_leaves(game.watch, right, "(kill)", "the agent selected last")
        await check_stays(game.watch, left, "the agent selected before", "(kill)")


# Repositioning


@requirement("repos.named")
@pytest.mark.parametrize("team", ["Left", "Right"])
async def test_repos(iut: Iut, team: str) -> None:
    """The named agent is repositioned and still exists; the selected agent stays."""
    async with match(iut) as game:
        places = dict(zip(("Left", "Right"), await game.put_apart(), strict=True))
        nodes = len(game.watch.view.poses)
        await game.select_other(team)
        await check_leaves(game.watch, places.pop(team), f"(repos {game.names[team]})", "the agent")
        for other, place in places.items():
            await check_stays(
                game.watch, place, f"the agent of {other}", "another agent was repositioned"
            )
        now = len(game.watch.view.poses)
        check(now == nodes, "the agent at another position", "it was removed")


@requirement("repos.named")
async def test_repos_nobody(iut: Iut) -> None:
    """A number that no agent of the team has moves no agent."""
    await _check_nobody_affected(iut, "repos")


@requirement("repos.selected")
async def test_repos_the_selected(iut: Iut) -> None:
    """Without number or team, only the selected agent is repositioned."""
    async with match(iut) as game:
        left, right = await game.put_apart()
        nodes = len(game.watch.view.poses)
        await game.watch.command(f"(select {game.right})")
        for half in HALVES:
            command = f"(repos {half.format(game.left)})"
            if right.is_free(game.watch.view):
                await game.put("Right", right)
            await check_leaves(game.watch, right, command, "the selected agent")
            await check_stays(game.watch, left, "the other agent", command)
            check(
                _count(game.watch.view) == nodes, "the agent at another position", "it was removed"
            )


def _count(view: View) -> int:
    return len(view.poses)
