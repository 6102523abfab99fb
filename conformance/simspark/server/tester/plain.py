"""The plainest exchange: monitors command, and are told of it; then a trainer names agents."""

from conformance.iut import Iut
from conformance.simspark.server.tester.commands import executes_at_once, in_order
from conformance.simspark.server.tester.match import match
from conformance.simspark.server.tester.monitors import (
    COMMANDS,
    KEEPS_SENDING,
    TOLD,
    Watch,
    watching,
)
from conformance.simspark.view import STATES
from conformance.verdicts import Violation


async def basis(iut: Iut) -> str:
    """What a server violates in it; else empty. Raises the Violation as well."""
    async with watching(iut) as watch:
        violated = await _of_one(iut, watch) or await _of_a_later(iut, watch)
        if violated:
            return violated
        try:
            await in_order(watch)
        except Violation:
            if watch.session.ended:  # as it was not before the later one went away
                return KEEPS_SENDING
            raise
    async with watching(iut) as watch:
        for place in (watch.place(-0.3, 0.2), watch.place(0.4, -0.4)):
            await watch.command(f"(ball (pos {place.x} {place.y} {watch.radius})(vel 0 0 0))")
            await watch.settle()
        if await watch.only_in_full(place.taken, "the ball is not where it was put"):
            return "header.partial-carries-changes"
    return await _of_names(iut)


async def _of_names(iut: Iut) -> str:
    """Whether a command without a name is for the agent that was selected by its name.

    And whether that is the agent which is told so: where it was put is nobody once it has gone.
    """
    async with match(iut) as game:
        watch = game.watch
        left, right = await game.placed()

        async def goes(command: str) -> bool:
            await watch.command(command)
            return not await watch.never(right.free, watch.session.seconds("response"))

        await watch.command(f"(select {game.right})")
        if not await goes("(repos)"):
            # It is selected where repos alone is for nobody, or is so by its name as well.
            selected = await goes("(kill)") or not await goes(f"(repos {game.right})")
            return "" if selected else "select.named"
        await game.put("Right", right)
        await game.left_goes(left, right)
    return ""


async def _of_one(iut: Iut, watch: Watch) -> str:
    """Whether further commands of a monitor have an effect, as the first ones of others have."""
    try:
        await executes_at_once(watch)
        await watch.settle()
    except Violation as none:
        if none.requirement in (COMMANDS, KEEPS_SENDING):
            raise
        if not await watch.session.watch(*STATES, within=watch.session.left("response")):
            return KEEPS_SENDING
        # It let the game begin before: a later monitor has commanded nothing yet.
        async with watching(iut, watch.session.instance, begins=False) as later:
            await later.settle()
        return COMMANDS
    return ""


async def _of_a_later(iut: Iut, watch: Watch) -> str:
    """Whether the first command of a later monitor has an effect, of which that one is told."""
    before = watch.view.value("score_left")
    try:
        async with watching(iut, watch.session.instance, begins=False) as later:
            await later.settle()
    except Violation:
        quiet = watch.session.seconds("quiet")
        if await watch.never(lambda view: view.value("score_left") != before, quiet):
            return COMMANDS
        return TOLD
    return ""
