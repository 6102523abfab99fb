"""Registrations: how long they are held, how they end, and whom a token links with whom."""

import asyncio
import base64

import pytest

from conformance.cases import check, in_one_loop, requirement
from conformance.iut import Iut
from conformance.openroberta import naming
from conformance.openroberta.codec import content
from conformance.openroberta.lab.held import Held
from conformance.openroberta.lab.stage import Robot, Stage, new_token, staged
from conformance.openroberta.lab.timing import after, at_least, at_most
from conformance.verdicts import Inconclusive

pytestmark = in_one_loop


@requirement("http.paths")
async def test_path_of_registrations(iut: Iut) -> None:
    """A registration at /rest/pushcmd is taken, and held."""
    async with staged(iut) as stage:
        held = await stage.robot().register()
        await held.taken()


@requirement("register.held")
async def test_held(iut: Iut) -> None:
    """Neither of two registrations is answered before four fifths of its time are over."""
    async with staged(iut) as stage:
        shortest = at_least(stage, "register_hold")
        for held in [await stage.robot().register(), await stage.robot().register()]:
            await held.silent(shortest)


@requirement("register.aborted")
async def test_aborted(iut: Iut) -> None:
    """A registration whose token nobody enters is answered with abort when its time is over."""
    async with staged(iut) as stage:
        high, _ = at_most(stage, "register_hold")
        took = await aborted(stage, await stage.robot().register())
        if took > high:
            took = await aborted(stage, await stage.robot().register())
        if took > high:
            raise Inconclusive(f"expected abort within {high:.2f} s; it came after {took:.2f} s")


async def aborted(stage: Stage, held: Held) -> float:
    """Seconds until a registration is aborted, late or not. Raises Violation where it is not."""
    _, latest = at_most(stage, "register_hold")
    return await held.between("Abort", at_least(stage, "register_hold"), latest)


@requirement("register.repeat")
async def test_repeat_when_entered(iut: Iut) -> None:
    """When its token is entered, a registration is answered with repeat at once."""
    async with staged(iut) as stage:
        for _ in range(2):
            await stage.linked()


@requirement("register.repeat")
async def test_repeat_late_in_its_time(iut: Iut) -> None:
    """The same where the token is entered when half of the time is over."""
    async with staged(iut) as stage:
        at_most(stage, "register_hold")
        robot = stage.robot()
        held = await robot.register()
        await held.silent(stage.seconds("register_hold") / 2)
        await robot.linked_by(held)


@requirement("register.not-unasked")
async def test_not_unasked(iut: Iut) -> None:
    """However often a robot registers, it gets no repeat before its token was entered."""
    async with staged(iut) as stage:
        await stage.awake()
        robot = stage.robot()
        for _ in range(3):
            held = await robot.register()
            message = await held.session.watch("Repeat", within=stage.seconds("quiet"))
            if message is not None:
                raise held.wrong("no repeat before its token was entered", message)
            await held.session.close()


@requirement("register.not-unasked")
async def test_not_unasked_after_abort(iut: Iut) -> None:
    """Nor does it after an abort, with the same token."""
    async with staged(iut) as stage:
        robot = stage.robot()
        await aborted(stage, await robot.register())
        held = await robot.register()
        message = await held.session.watch("Repeat", within=stage.seconds("quiet"))
        if message is not None:
            raise held.wrong("no repeat before its token was entered", message)


@requirement("register.retry")
@pytest.mark.parametrize("token", ["same", "other"])
async def test_after_abort(iut: Iut, token: str) -> None:
    """After an abort, a registration with the same token or another is held as if it were new."""
    async with staged(iut) as stage:
        robot = stage.robot()
        await aborted(stage, await robot.register())
        if token == "other":
            robot.data["token"] = new_token()
        held = await robot.register()
        shortest = at_least(stage, "register_hold")
        if token == "same":
            await held.silent(shortest)
            await held.session.close()
            held = await robot.register()
        await held.silent(min(shortest, 3 * stage.seconds("quiet")))
        if stage.offers("pair"):
            await robot.linked_by(held)


@requirement("register.retry")
async def test_after_a_lost_connection(iut: Iut) -> None:
    """A robot that loses its connection while it registers can do so again with its token."""
    async with staged(iut) as stage:
        await stage.awake()
        robot = stage.robot()
        held = await robot.register()
        await held.taken()
        await held.session.close()
        held = await robot.register()
        await held.taken()
        if stage.offers("pair"):
            await robot.linked_by(held)


@requirement("token.links")
async def test_token_of_nobody(iut: Iut) -> None:
    """A token that no robot has links nobody: the robot that waits goes on waiting."""
    async with staged(iut) as stage:
        robot = stage.robot()
        own = robot.token
        held = await robot.register()
        await held.taken()
        for token in (new_token(), own[:-1], f"{own}5", f"1{own[1:]}"):
            await stage.upper("pair", token=token)
        message = await held.session.watch(within=stage.seconds("quiet"))
        if message is not None:
            raise held.wrong("no answer upon the token of somebody else", message)
        await robot.linked_by(held)


@requirement("token.links")
async def test_two_robots(iut: Iut) -> None:
    """Of two robots of one kind, each gets what is done with its token, and nothing else."""
    async with staged(iut) as stage:
        first, second = stage.robot(), stage.robot()
        waits = [await first.register(), await second.register()]
        await second.linked_by(waits[1], None)
        message = await waits[0].session.watch(within=0)
        if message is not None:
            raise waits[0].wrong("no answer upon the token of another robot", message)
        await first.linked_by(waits[0], None)
        idle = None
        for chosen, other in ((second, first), (first, second), (second, first)):
            idle = await runs_alone(stage, chosen, other, idle)


async def runs_alone(stage: Stage, chosen: Robot, other: Robot, held: Held | None) -> Held:
    """Raise Violation unless a program that is run for one robot wakes it and not the other.

    `held` is a push of the one that waits already; the result is that of the other.
    """
    idle = await other.push()
    told, file = await chosen.fetch(command=None, held=held)
    if isinstance(told, dict) and isinstance(told.get("base64"), str):
        own = told["base64"] == base64.b64encode(content(file.value)).decode()
        check(own, "the program that was run for its token", "another came", file.event)
    message = await idle.session.watch("Download", "Update", "Abort", within=0)
    if message is not None:
        raise idle.wrong("nothing upon what is done to another robot", message)
    return idle


@requirement("token.links")
async def test_programs_of_two_robots(iut: Iut) -> None:
    """A robot that fetches a program with its token gets its own, although another has one."""
    async with staged(iut) as stage:
        first, second = await stage.linked(), await stage.linked()
        (_, file), (_, others) = await first.fetch(), await second.fetch()
        if content(file.value) == content(others.value):
            # The next one may be another.
            _, others = await second.fetch()
        again = await (await first.download()).answer()
        if content(file.value) != content(others.value) and again.name == "File":
            same = content(again.value) == content(file.value)
            check(same, "the program of its own token", "another came", again.event)
        strange = await (await stage.robot().download()).session.watch("File")
        check(strange is None, "no program for a token that nobody registered", "a file came")
        # The other one has its own, whatever this one asks for: it comes back when it has run it.
        message = await (await second.push()).session.watch("Download", "Refusal")
        check(
            message is None,
            "a robot that has fetched its program to push as before",
            f"{message.name if message else ''} came",
        )


@requirement("token.links")
async def test_case_of_tokens(iut: Iut) -> None:
    """Tokens that differ in one letter are of different robots."""
    async with staged(iut) as stage:
        ends = new_token()[:7]
        robots = [stage.robot(token=f"{ends}{last}") for last in "AB"]
        waits = [await robot.register() for robot in robots]
        await robots[1].linked_by(waits[1])
        message = await waits[0].session.watch(within=stage.seconds("quiet"))
        if message is not None:
            raise waits[0].wrong("no answer upon a token that ends otherwise", message)


@requirement("token.before-programs")
async def test_run_before_the_token(iut: Iut) -> None:
    """Running a program on a robot whose token was not entered does not reach it."""
    async with staged(iut) as stage:
        robot = stage.robot()
        held = await robot.register()
        await held.taken()
        running = asyncio.create_task(stage.upper("run", token=robot.token))
        try:
            message = await held.session.watch(within=2 * stage.seconds("quiet"))
            if message is not None and message.name != "Abort":
                raise held.wrong("no answer while its token was not entered", message)
            push = await robot.push()
            told = await push.session.watch("Download", "Repeat", within=stage.seconds("quiet"))
            if told is not None:
                raise push.wrong("no command while its token was not entered", told)
            fetched = await (await robot.download()).session.watch(
                "File", within=stage.seconds("quiet")
            )
            check(fetched is None, "no program before the token was entered", "a file came")
        finally:
            running.cancel()


@requirement("robustness.unknown-token")
async def test_push_of_nobody(iut: Iut) -> None:
    """A push whose token nobody registered, or whose registration is held, gets no command."""
    async with staged(iut) as stage:
        robot = stage.robot()
        held = await robot.push()
        message = await held.session.watch(within=after(stage, "push_hold"))
        check(
            message is None or message.name in ("Refusal", "Abort"),
            "an error or abort upon a push of nobody",
            f"{message.name if message else ''} came",
        )
        waits = await robot.ask(naming.PUSHCMD, robot.object("register"))
        await waits.taken()


@requirement("register.repeat")
async def test_many_at_once(iut: Iut) -> None:
    """Five robots register at once, and each is answered when its token is entered."""
    async with staged(iut) as stage:
        robots = [stage.robot() for _ in range(5)]
        waits = [await robot.register() for robot in robots]
        for robot, held in reversed(list(zip(robots, waits, strict=True))):
            await robot.linked_by(held)
