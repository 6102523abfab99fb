"""A match on a server: a monitor, and an agent of each team."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass

from conformance.cases import check
from conformance.iut import Iut
from conformance.session import Session
from conformance.simspark.server.tester.agents import (
    MAX_UNUM,
    TEAMS,
    Name,
    check_sides,
    name_of,
    next_number,
    play_agent,
)
from conformance.simspark.server.tester.monitors import Place, Watch, watch_server
from conformance.simspark.tester import leave
from conformance.verdicts import Inconclusive, Violation

OWN = ("Lefts", "Rights")
"""The names of the teams, in the order in which they connect."""
ROBOT_SIZE = 0.8  # metres; a robot this near is at its place, because it can fall over


@dataclass
class Match:
    """A monitor and an agent of each team.

    Both agents have the same number, if the server accepts that.
    """

    watch: Watch
    agents: dict[str, Session]
    names: dict[str, Name]
    """The names of the agents in trainer commands, by team: Left and Right."""
    called: dict[str, str]
    """The names that the teams have given themselves, by team: Left and Right."""

    @property
    def left(self) -> Name:
        """The agent of the left team."""
        return self.names["Left"]

    @property
    def right(self) -> Name:
        """The agent of the right team."""
        return self.names["Right"]

    async def put(self, team: str, place: Place, requirement: str = "move-agent.pos") -> None:
        """Put the agent of a team at a place, and wait for the effect."""
        await self.watch.command(f"(agent {self.names[team]}(pos {place.x} {place.y} 0.4))")
        await self.watch.wait_until(
            place.is_occupied,
            f"show the agent at its commanded position {place}",
            requirement=requirement,
            now=lambda view: f"the nearest node is {place.distance(view):.2f} m away",
            then=lambda view: place.is_occupied(view, ROBOT_SIZE),
        )

    async def put_apart(self) -> tuple[Place, Place]:
        """Put the agent of each team at a vacant place, and return both places.

        Raises Violation if the left agent moves when the right one is moved.
        """
        left, right = self.watch.find_vacant(-0.45, 0.35), self.watch.find_vacant(0.45, 0.25)
        await self.put("Left", left)
        await self.put("Right", right)
        await self.watch.settle()
        if not left.is_occupied(self.watch.view, ROBOT_SIZE):
            raise Violation(
                f"the left agent to stay at {left} while the right agent moves to {right}",
                f"the nearest node is {left.distance(self.watch.view):.2f} m away",
                "move-agent.right-one",
            )
        return left, right

    async def disconnect_left(self, left: Place, right: Place) -> None:
        """Disconnect the agent of the left team, and check that this agent disappears.

        `left` and `right` are the positions of both agents. Raises Violation if no agent disappears
        from the scene, or the agent at `right` disappears.
        """
        await leave(self.agents["Left"])
        await self.watch.wait_until(
            lambda view: left.is_free(view) or right.is_free(view),
            f"no longer show an agent at {left}, after the left agent disconnected",
            requirement="full.node-removed",
        )
        if right.is_free(self.watch.view):
            raise Violation(
                f"the left agent at its commanded position {left}",
                f"it disappeared from {right}, the position of the right agent",
                "move-agent.right-one",
            )

    async def select_other(self, team: str) -> None:
        """Select the agent of the other team."""
        other = "Right" if team == "Left" else "Left"
        await self.watch.command(f"(select {self.names[other]})")

    def missing_player(self, team: str) -> Name:
        """Return the name of a player that does not exist.

        Its number shares digits with the number of the agent of the team.
        """
        return Name(1 if self.names[team].unum != 1 else MAX_UNUM, team)

    def missing_players(self, team: str) -> list[Name]:
        """Return the names of all players of a team that do not exist."""
        return [
            Name(unum, team) for unum in range(1, MAX_UNUM + 1) if unum != self.names[team].unum
        ]


async def can_share_numbers(iut: Iut) -> bool:
    """Return True if an agent is accepted with a number that the other team uses.

    Raises Inconclusive if it is not accepted with another number either.
    """
    async with iut.instance() as instance, play_agent(iut, instance, OWN[0], unum := MAX_UNUM - 1):
        with contextlib.suppress(Inconclusive):
            async with play_agent(iut, instance, OWN[1], unum):
                return True
        async with play_agent(iut, instance, OWN[1]):
            return False


@contextlib.asynccontextmanager
async def match(iut: Iut) -> AsyncIterator[Match]:
    """A monitor and an agent of each team during the game.

    The play mode is PlayOn, and the ball is far away. Raises Violation if the monitor does not see
    the agents come, or both are on one side.
    """
    shared = await iut.cached("numbers shared", lambda: can_share_numbers(iut))
    async with iut.instance() as instance, watch_server(iut, instance) as watch:
        unum = next_number(iut, instance)
        async with play_agent(iut, instance, OWN[0], unum) as one:
            await watch.wait_for_full(
                "when an agent comes", more=True, requirement="full.node-added"
            )
            async with play_agent(iut, instance, OWN[1], unum if shared else 0) as other:
                await watch.wait_for_full(
                    "when another agent comes", more=True, requirement="full.node-added"
                )
                yield await _start_match(watch, unum, one, other)


async def _start_match(watch: Watch, unum: int, one: Session, other: Session) -> Match:
    """Let the game begin. Raises Violation if both agents are on one side."""
    names = [
        name_of(agent) or Name(unum, team) for agent, team in zip((one, other), TEAMS, strict=True)
    ]
    check_sides(*names)
    await watch.settle()
    await watch.play()
    await watch.put_ball(watch.place(0.6, -0.8))
    teams = [name.team for name in names]
    return Match(
        watch,
        dict(zip(teams, (one, other), strict=True)),
        dict(zip(teams, names, strict=True)),
        dict(zip(teams, OWN, strict=True)),
    )


async def check_leaves(watch: Watch, place: Place, command: str, whose: str) -> None:
    """Send a command, and wait until no agent is at the place any more."""
    await watch.command(command)
    await watch.wait_until(
        place.is_free,
        f"show no agent at {place}, the position of {whose}, after {command}",
        now=lambda view: f"the nearest node is {place.distance(view):.2f} m away",
    )


async def check_stays(watch: Watch, place: Place, whose: str, after: str) -> None:
    """Raise Violation if an agent has left its place."""
    await watch.settle()
    check(
        place.is_occupied(watch.view, ROBOT_SIZE),
        f"{whose} to stay at {place} after {after}",
        f"the nearest node is {place.distance(watch.view):.2f} m away",
    )
