"""A match that the suite plays on a server: a monitor, and an agent of each team."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass

from conformance.cases import check
from conformance.iut import Iut
from conformance.session import Session
from conformance.simspark.server.tester.agents import (
    LAST,
    TEAMS,
    Name,
    apart,
    name_of,
    next_number,
    playing,
)
from conformance.simspark.server.tester.monitors import Place, Watch, watching
from conformance.verdicts import Inconclusive, Violation

OWN = ("Lefts", "Rights")
"""How the teams call themselves, in the order in which they come."""
BESIDE = 0.8  # metres from where it was put that an agent may be by then, for it may fall over


@dataclass
class Match:
    """A monitor, and an agent of each team; with the same number, if the server allows that."""

    watch: Watch
    agents: dict[str, Session]
    names: dict[str, Name]
    """By team, as trainers call it: Left and Right."""
    called: dict[str, str]
    """By the same, how the teams call themselves."""

    @property
    def left(self) -> Name:
        """The agent of the left team."""
        return self.names["Left"]

    @property
    def right(self) -> Name:
        """The agent of the right team."""
        return self.names["Right"]

    async def put(self, team: str, place: Place, requirement: str = "move-agent.pos") -> None:
        """Put the agent of a team somewhere."""
        await self.watch.command(f"(agent {self.names[team]}(pos {place.x} {place.y} 0.4))")
        await self.watch.until(
            place.taken,
            f"show something at {place}, where the agent is put",
            requirement=requirement,
            now=lambda view: f"nearest to it is {place.nearest(view):.2f} m away",
            then=lambda view: place.taken(view, BESIDE),
        )

    async def placed(self) -> tuple[Place, Place]:
        """Put the agent of each team where nothing else is; where they are now.

        Raises Violation where the left one goes when the right one is put.
        """
        left, right = self.watch.vacant(-0.45, 0.35), self.watch.vacant(0.45, 0.25)
        await self.put("Left", left)
        await self.put("Right", right)
        await self.watch.settle()
        if not left.taken(self.watch.view, BESIDE):
            raise Violation(
                f"the left agent to stay at {left} when the right one is put at {right}",
                f"nothing is nearer to it than {left.nearest(self.watch.view):.2f} m",
                "move-agent.right-one",
            )
        return left, right

    async def left_goes(self, left: Place, right: Place) -> None:
        """The agent of the left team goes; where both had been put.

        Raises Violation where none is seen to go, or the one that had been put as the right one.
        """
        await self.agents["Left"].close()
        await self.watch.until(
            lambda view: left.free(view) or right.free(view),
            f"show no agent at {left} any more, when the left one goes",
            requirement="full.node-removed",
        )
        if right.free(self.watch.view):
            raise Violation(
                f"the left agent at {left}, where it was put",
                f"it was at {right}, where the right one was put: so it was seen when it went",
                "move-agent.right-one",
            )

    async def select_the_other(self, team: str) -> None:
        """Select the agent that is not of this team."""
        other = "Right" if team == "Left" else "Left"
        await self.watch.command(f"(select {self.names[other]})")

    def nobody(self, team: str) -> Name:
        """A player of a team that there is not, whose number has digits of one that there is."""
        return Name(1 if self.names[team].unum != 1 else LAST, team)

    def others(self, team: str) -> list[Name]:
        """All players of a team that there are not."""
        return [Name(unum, team) for unum in range(1, LAST + 1) if unum != self.names[team].unum]


async def numbers_shared(iut: Iut) -> bool:
    """Whether an agent is taken in by the number that one of the other team has.

    Raises Inconclusive where it is not by another one either.
    """
    async with iut.instance() as instance, playing(iut, instance, OWN[0], unum := LAST - 1):
        with contextlib.suppress(Inconclusive):
            async with playing(iut, instance, OWN[1], unum):
                return True
        async with playing(iut, instance, OWN[1]):
            return False


@contextlib.asynccontextmanager
async def match(iut: Iut) -> AsyncIterator[Match]:
    """A monitor and an agent of each team, in the play mode PlayOn, with the ball far off.

    Raises Violation where the monitor is not shown that they come, or they are on one side.
    """
    shared = await iut.once("numbers shared", lambda: numbers_shared(iut))
    async with iut.instance() as instance, watching(iut, instance) as watch:
        unum = next_number(iut, instance)
        async with playing(iut, instance, OWN[0], unum) as one:
            await watch.full("when an agent comes", more=True, requirement="full.node-added")
            async with playing(iut, instance, OWN[1], unum if shared else 0) as other:
                await watch.full(
                    "when another agent comes", more=True, requirement="full.node-added"
                )
                yield await _begun(watch, unum, one, other)


async def _begun(watch: Watch, unum: int, one: Session, other: Session) -> Match:
    """Let the game go on. Raises Violation where the agents are not one of each team."""
    names = [
        name_of(agent) or Name(unum, team) for agent, team in zip((one, other), TEAMS, strict=True)
    ]
    apart(*names)
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


async def leaves(watch: Watch, place: Place, command: str, whose: str) -> None:
    """Send a command and wait until no agent is at a place any more."""
    await watch.command(command)
    await watch.until(
        place.free,
        f"show no agent at {place}, where {whose} was, after {command}",
        now=lambda view: f"something is {place.nearest(view):.2f} m from there",
    )


async def stays(watch: Watch, place: Place, whose: str, after: str) -> None:
    """Raise Violation where an agent has left a place by now, where it is to stay."""
    await watch.settle()
    check(
        place.taken(watch.view, BESIDE),
        f"{whose} to stay at {place} after {after}",
        f"nothing is nearer to it than {place.nearest(watch.view):.2f} m",
    )
