"""A match that the suite plays on a server: a monitor, and an agent of each team."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass

from conformance.iut import Iut
from conformance.session import Session
from conformance.simspark.server.tester.agents import playing
from conformance.simspark.server.tester.monitors import Watch, watching


@dataclass
class Match:
    """A monitor, and the agent 1 of each team."""

    watch: Watch
    left: Session
    right: Session


@contextlib.asynccontextmanager
async def match(iut: Iut) -> AsyncIterator[Match]:
    """A monitor and an agent of each team, in the play mode PlayOn, with the ball far off."""
    async with (
        iut.instance() as instance,
        watching(iut, instance) as watch,
        playing(iut, instance, "Lefts") as left,
        playing(iut, instance, "Rights") as right,
    ):
        await watch.settle()
        await watch.play()
        await watch.put_ball(watch.place(0.6, -0.8))
        yield Match(watch, left, right)
