"""The minimal exchange: monitors command and see the effect, and a trainer names agents."""

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
    """Return the requirement that a server violates in the minimal exchange, or an empty string.

    Some violations are raised as Violation.
    """
    async with watching(iut) as watch:
        violated = await _of_one(iut, watch) or await _of_a_later(iut, watch)
        if violated:
            return violated
        try:
            await in_order(watch)
        except Violation:
            if watch.session.ended:  # because the later monitor disconnected
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
    """Check that a command without a name affects the agent selected by its name.

    Also checks that the agent named Left is the agent whose game state says left. Returns the
    violated requirement, or an empty string.
    """
    async with match(iut) as game:
        watch = game.watch
        left, right = await game.placed()

        async def goes(command: str) -> bool:
            await watch.command(command)
            return not await watch.never(right.free, watch.session.seconds("response"))

        await watch.command(f"(select {game.right})")
        if not await goes("(repos)"):
            # If the agent was selected, (kill) removes it, or (repos) has no effect even with its
            # name.
            selected = await goes("(kill)") or not await goes(f"(repos {game.right})")
            return "" if selected else "select.named"
        await game.put("Right", right)
        await game.left_goes(left, right)
    return ""


async def _of_one(iut: Iut, watch: Watch) -> str:
    """Check that further commands of a monitor have an effect.

    Returns the violated requirement, or an empty string.
    """
    try:
        await executes_at_once(watch)
        await watch.settle()
    except Violation as none:
        if none.requirement in (COMMANDS, KEEPS_SENDING):
            raise
        if not await watch.session.watch(*STATES, within=watch.session.left("response")):
            return KEEPS_SENDING
        # This monitor has already sent a command that lets the game begin; a later monitor has not.
        async with watching(iut, watch.session.instance, begins=False) as later:
            await later.settle()
        return COMMANDS
    return ""


async def _of_a_later(iut: Iut, watch: Watch) -> str:
    """Check that the first command of a later monitor has a visible effect.

    The earlier monitor `watch` must see the effect. Returns the violated requirement, or an empty
    string.
    """
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
