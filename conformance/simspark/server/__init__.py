"""Test cases for a server: the suite plays its monitors, trainers and agents."""

from conformance.iut import Iut
from conformance.simspark.server.tester.commands import executes_at_once, in_order
from conformance.simspark.server.tester.monitors import TOLD, watching
from conformance.verdicts import Violation

SMOKE = "monitors.environment-first"


async def smoke(iut: Iut) -> None:
    """A monitor is sent the environment, the game state and the scene, and then further states."""
    async with watching(iut, begins=False) as watch:
        await watch.some(2)


async def basis(iut: Iut) -> str:
    """What it violates that executes a monitor's first command, and no further one.

    Or none of a later monitor, or one only once the next has come, or later than the next; or tells
    a later monitor nothing that changes; or whose updates do not show where the ball is, as its
    full graphs do.
    """
    async with iut.instance() as instance, watching(iut, instance) as watch:
        try:
            await executes_at_once(watch)
        except Violation as none:
            if none.requirement != "monitors.commands":
                # It let the game begin before: a later monitor has commanded nothing yet.
                async with watching(iut, instance, begins=False) as later:
                    await later.settle()
            return "monitors.commands"
        try:
            await watch.settle()
            before = watch.view.value("score_left")
            async with watching(iut, instance, begins=False) as later:
                await later.settle()
        except Violation:
            # Where the first monitor is told of it, the later one's was executed.
            untold = watch.never(
                lambda view: view.value("score_left") != before, watch.session.seconds("quiet")
            )
            return "monitors.commands" if await untold else TOLD
        await in_order(watch)
    async with watching(iut) as watch:
        for place in (watch.place(-0.3, 0.2), watch.place(0.4, -0.4)):
            await watch.command(f"(ball (pos {place.x} {place.y} {watch.radius})(vel 0 0 0))")
            await watch.settle()
        if await watch.only_in_full(place.taken, "the ball is not where it was put"):
            return "header.partial-carries-changes"
    return ""
