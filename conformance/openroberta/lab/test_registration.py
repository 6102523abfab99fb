"""Tests of registrations: their hold, their end, and the link between token and robot."""

import asyncio

import pytest

from conformance.cases import check, lasting, requirement
from conformance.iut import Iut
from conformance.openroberta import message_names
from conformance.openroberta.codec import plain_content
from conformance.openroberta.lab.tester import RobotsTester, playing
from conformance.openroberta.lab.tester.exchange import EARLIEST, Exchange
from conformance.openroberta.lab.tester.programs import own_program
from conformance.openroberta.lab.tester.robot import Robot, new_token
from conformance.openroberta.lab.tester.timing import earliest_answer, late_after, latest_answers
from conformance.openroberta.lab.tester.unregistered import can_serve_unregistered
from conformance.openroberta.message_names import is_refusal
from conformance.verdicts import Inconclusive, NotExercised


@requirement("http.paths")
async def test_path_of_registrations(iut: Iut) -> None:
    """A registration at /rest/pushcmd is accepted and held."""
    async with playing(iut) as tester:
        exchange = await tester.robot().register()
        await exchange.assert_unanswered()


@requirement("register.held")
@lasting
async def test_held(iut: Iut) -> None:
    """None of five registrations is answered before 80 % of register_hold.

    If this is longer than --max-wait, an earlier answer still fails the test.
    """
    async with playing(iut) as tester:
        shortest = EARLIEST["register_hold"] * tester.seconds("register_hold")
        for exchange in [await tester.robot().register() for _ in range(5)]:
            await exchange.assert_silent(min(shortest, iut.configuration.max_wait))
        iut.skip_if_longer(shortest, "register_hold")


@requirement("register.aborted")
@lasting
async def test_aborted(iut: Iut) -> None:
    """A registration whose token is not entered is answered with abort after register_hold."""
    async with playing(iut) as tester:
        high, _ = latest_answers(tester, "register_hold")
        took = await time_until_abort(tester, await tester.robot().register())
        if took > high:
            took = await time_until_abort(tester, await tester.robot().register())
        if took > high:
            raise Inconclusive(
                f"expected abort within {high:.2f} s; received it after {took:.2f} s"
            )


async def time_until_abort(tester: RobotsTester, exchange: Exchange) -> float:
    """Return the seconds until a registration is aborted; raise Violation if it is not."""
    _, latest = latest_answers(tester, "register_hold")
    shortest = earliest_answer(tester, "register_hold")
    return await exchange.time_until(
        "Abort", shortest, latest, "register.aborted", early="register.held"
    )


@requirement("register.aborted")
@lasting
async def test_aborted_beside_a_link(iut: Iut) -> None:
    """A registration is answered with abort also if another robot is linked meanwhile."""
    async with playing(iut) as tester:
        latest_answers(tester, "register_hold")
        await tester.require_operation("pair")
        exchange = await tester.robot().register()
        await exchange.assert_unanswered()
        await tester.open_linked()
        await time_until_abort(tester, exchange)


@requirement("register.repeat")
async def test_repeat_when_entered(iut: Iut) -> None:
    """A registration is answered with repeat when the user enters its token."""
    async with playing(iut) as tester:
        for _ in range(2):
            await tester.open_linked()


@requirement("register.repeat")
async def test_repeat_in_lower_case(iut: Iut) -> None:
    """A registration is answered with repeat when the user enters its token in lower case."""
    async with playing(iut) as tester:
        for _ in range(2):
            await tester.open_linked(token=f"{new_token()[1:].lower()}q")


@requirement("register.repeat")
@lasting
async def test_repeat_late_in_its_time(iut: Iut) -> None:
    """A registration is answered with repeat if its token comes after half of register_hold."""
    async with playing(iut) as tester:
        latest_answers(tester, "register_hold")
        robot = tester.robot()
        exchange = await robot.register()
        await exchange.assert_silent(tester.seconds("register_hold") / 2)
        await robot.linked_by(exchange)


@requirement("register.not-unasked")
async def test_not_unasked(iut: Iut) -> None:
    """A robot that registers several times gets no repeat before its token is entered."""
    async with playing(iut) as tester:
        await tester.wait_until_awake()
        robot = tester.robot()
        for _ in range(3):
            exchange = await robot.register()
            message = await exchange.session.wait_for("Repeat", within=tester.seconds("quiet"))
            if message is not None:
                raise exchange.wrong("no repeat before its token was entered", message)
            await exchange.session.close()


@requirement("register.not-unasked")
async def test_not_unasked_after_abort(iut: Iut) -> None:
    """A token that registers again after an abort gets no repeat before it is entered."""
    async with playing(iut) as tester:
        robot = tester.robot()
        await time_until_abort(tester, await robot.register())
        exchange = await robot.register()
        message = await exchange.session.wait_for("Repeat", within=tester.seconds("quiet"))
        if message is not None:
            raise exchange.wrong("no repeat before its token was entered", message)


@requirement("register.retry")
@pytest.mark.parametrize("token", ["same", "other"])
@lasting
async def test_after_abort(iut: Iut, token: str) -> None:
    """After an abort, a registration with the same or another token is held again."""
    async with playing(iut) as tester:
        robot = tester.robot()
        await time_until_abort(tester, await robot.register())
        if token == "other":
            robot.data["token"] = new_token()
        exchange = await robot.register()
        shortest = earliest_answer(tester, "register_hold")
        if token == "same":
            await exchange.assert_silent(shortest)
            await exchange.session.close()
            exchange = await robot.register()
        await exchange.assert_silent(min(shortest, 3 * tester.seconds("quiet")))
        if await tester.offers("pair"):
            await robot.linked_by(exchange, None)


@requirement("register.retry")
async def test_after_a_lost_connection(iut: Iut) -> None:
    """A robot that loses its connection during a registration can register again."""
    async with playing(iut) as tester:
        await tester.wait_until_awake()
        robot = tester.robot()
        exchange = await robot.register()
        await exchange.assert_unanswered()
        await exchange.session.close()
        exchange = await robot.register()
        await exchange.assert_unanswered()
        if await tester.offers("pair"):
            await robot.linked_by(exchange, None)


@requirement("token.links")
async def test_token_of_nobody(iut: Iut) -> None:
    """Entering a token of no robot links nothing: the waiting robot goes on waiting."""
    async with playing(iut) as tester:
        robot = tester.robot()
        own = robot.token
        exchange = await robot.register()
        await exchange.assert_unanswered()
        for token in (new_token(), own[:-1], f"{own}5", f"1{own[1:]}"):
            await tester.run_operation("pair", token=token)
        message = await exchange.session.wait_for(within=tester.seconds("quiet"))
        if message is not None:
            raise exchange.wrong("no answer after the token of no robot", message)
        await robot.linked_by(exchange, None)


@requirement("token.links")
async def test_two_robots(iut: Iut) -> None:
    """Each of two robots receives only the commands for its own token."""
    await check_two_robots(iut)


@requirement("token.links")
async def test_two_robots_without_an_address(iut: Iut) -> None:
    """Two robots whose helper programs send no MAC address differ by their tokens alone."""
    await check_two_robots(iut, macaddr="usb")


async def check_two_robots(iut: Iut, **fields: str) -> None:
    """Raise Violation unless each of two robots receives only the commands for its own token."""
    async with playing(iut) as tester:
        first, second = tester.robot(**fields), tester.robot(**fields)
        waits = [await first.register(), await second.register()]
        await second.linked_by(waits[1], None)
        message = await waits[0].session.wait_for(within=0)
        if message is not None:
            raise waits[0].wrong("no answer after the token of another robot", message)
        await first.linked_by(waits[0], None)
        idle, result = None, None
        for chosen, other in ((second, first), (first, second), (second, first)):
            idle, result = await check_runs_alone(chosen, other, idle, result)


async def check_runs_alone(
    chosen: Robot, other: Robot, exchange: Exchange | None, others: object
) -> tuple[Exchange, object]:
    """Raise Violation unless a program for one robot reaches this robot only.

    `exchange` is an unanswered push of `chosen`; `others` is the last result of the operation 'run'
    for the other robot. Returns an unanswered push of the other robot, and the result of 'run' for
    `chosen`.
    """
    idle = await other.push()
    await idle.check_idle()
    result, file = await chosen.fetch(command=None, exchange=exchange)
    own_program(file, result, others)
    message = await idle.session.wait_for(*message_names.CALLS, within=0)
    if message is not None:
        raise idle.wrong("no command after an action on another robot", message)
    return idle, result


@requirement("token.links")
async def test_programs_of_two_robots(iut: Iut) -> None:
    """A robot receives the program for its own token, although another robot has one, too."""
    async with playing(iut) as tester:
        first, second = await tester.open_linked(), await tester.open_linked()
        (_, file), (_, others) = await first.fetch(command=None), await second.fetch(command=None)
        if plain_content(file.value) == plain_content(others.value):
            # The next program of the lab can differ.
            _, others = await second.fetch(command=None)
        again = await (await first.download()).unless_closed()
        if (
            again
            and again.name == "File"
            and plain_content(file.value) != plain_content(others.value)
        ):
            another = plain_content(again.value) == plain_content(others.value)
            check(
                not another,
                "the program of its own token",
                "received the program of another token",
                again.event,
            )
        strange = await (await tester.robot().download()).session.wait_for("File")
        check(strange is None, "no program for a token that was not registered", "received a file")
        # The requests of the first robot do not affect the second: it comes back after its program.
        exchange = await second.push()
        await exchange.check_idle()
        if refused := await exchange.session.wait_for("Refusal", within=0):
            raise exchange.wrong("no error after requests of another robot", refused)


@requirement("token.links")
@pytest.mark.parametrize(
    "fields", [{}, {"macaddr": "usb"}], ids=["with addresses", "without addresses"]
)
async def test_programs_at_a_time(iut: Iut, fields: dict[str, str]) -> None:
    """Two robots whose programs are announced before they fetch them receive each its own.

    Robots whose helper programs send no MAC address differ by their tokens alone.
    """
    async with playing(iut) as tester:
        robots = [await tester.open_linked(**fields), await tester.open_linked(**fields)]
        announced = [await robot.run_and_receive("run", "Download", None) for robot in robots]
        files = [await robot.file() for robot in robots]
        results = [await each.operation.result() for each in announced]
        for file, own, others in zip(files, results, reversed(results), strict=True):
            own_program(file, own, others)


@requirement("token.links")
async def test_case_of_tokens(iut: Iut) -> None:
    """Tokens that differ in one letter belong to different robots."""
    async with playing(iut) as tester:
        ends = new_token()[:7]
        robots = [tester.robot(token=f"{ends}{last}") for last in "AB"]
        waits = [await robot.register() for robot in robots]
        await robots[1].linked_by(waits[1], None)
        message = await waits[0].session.wait_for(within=tester.seconds("quiet"))
        if message is not None:
            raise waits[0].wrong("no answer after a token with another last letter", message)


@requirement("token.before-programs")
@pytest.mark.parametrize("known", [False, True], ids=["new", "known"])
async def test_run_before_the_token(iut: Iut, known: bool) -> None:
    """A program does not reach a robot whose token was not entered.

    This is also true for a robot that was linked before by another token.
    """
    async with playing(iut) as tester:
        await tester.require_operation("run")
        before = await tester.open_linked() if known else None
        robot = tester.robot(**({"macaddr": before.data["macaddr"]} if before else {}))
        exchange = await robot.register()
        await exchange.assert_unanswered()
        running = asyncio.create_task(tester.run_operation("run", token=robot.token))
        try:
            message = await exchange.session.wait_for(within=2 * tester.seconds("quiet"))
            if message is not None and message.name != "Abort":
                raise exchange.wrong("no answer before its token is entered", message)
            push = await robot.push()
            download = await push.session.wait_for("Download", within=tester.seconds("quiet"))
            if download is not None:
                raise push.wrong("no download before its token is entered", download)
            fetched = await (await robot.download()).session.wait_for(
                "File", within=tester.seconds("quiet")
            )
            check(fetched is None, "no program before the token is entered", "received a file")
        finally:
            running.cancel()


@requirement("token.in-time")
async def test_before_its_time(iut: Iut) -> None:
    """A token that was refused before its robot registers does not link that robot."""
    async with playing(iut) as tester:
        await tester.wait_until_awake()
        robot = tester.robot()
        if (await tester.run_operation("pair", token=robot.token)).ok:
            raise NotExercised("this lab takes the tokens of robots that have not registered")
        exchange = await robot.register()
        message = await exchange.session.wait_for("Repeat", within=tester.seconds("quiet"))
        if message is not None:
            raise exchange.wrong("no repeat after a refused token", message)


@requirement("token.in-time")
@pytest.mark.parametrize("entered", [True, False], ids=["entered", "not-entered"])
async def test_after_its_time(iut: Iut, entered: bool) -> None:
    """After the abort, neither the token nor the user's other actions reach the robot."""
    async with playing(iut) as tester:
        await tester.require_operation("pair")
        robot = tester.robot()
        await time_until_abort(tester, await robot.register())
        if entered:
            await tester.run_operation("pair", token=robot.token)
        push = await robot.push()
        for operation in ("run", "update"):
            if await tester.offers(operation):
                await tester.run_operation(operation, token=robot.token)
        message = await push.session.wait_for(
            *message_names.COMMANDS, within=late_after(tester, "push_hold")
        )
        if message is not None and message.name != "Abort":
            if message.name == "Repeat" and await can_serve_unregistered(tester):
                raise Inconclusive("the lab serves robots that never registered, too")
            raise push.wrong("an error or abort after the time for the token", message)
        fetched = await (await robot.download()).session.wait_for(
            "File", within=tester.seconds("quiet")
        )
        came = "received a file"
        check(fetched is None, "no program after the time for the token", came)


@requirement("robustness.registered-again")
@pytest.mark.parametrize("runs", [False, True], ids=["linked", "running"])
async def test_registered_again(iut: Iut, runs: bool) -> None:
    """A linked robot, or one that runs a program, registers again and is served."""
    async with playing(iut) as tester:
        robot = await tester.open_linked()
        if runs:
            await robot.fetch()
        await robot.link_again(None)
        await robot.run_and_receive("run", "Download", None)


@requirement("robustness.unknown-token")
@lasting
async def test_push_of_nobody(iut: Iut) -> None:
    """A push whose token is unknown, or still being registered, gets no command."""
    async with playing(iut) as tester:
        robot = tester.robot()
        await _assert_unserved(robot, "with an unknown token")
        waits = await robot.ask(message_names.PUSHCMD, robot.object("register"))
        await waits.assert_unanswered()
        await _assert_unserved(robot, "before its token is entered")


async def _assert_unserved(robot: Robot, which: str) -> None:
    """Raise Violation if a push of this robot gets a command."""
    exchange = await robot.push()
    message = await exchange.session.wait_for(within=late_after(robot.tester, "push_hold"))
    if message is not None and not is_refusal(message.name, message.value):
        raise exchange.violation(f"an error or abort {which}", message, None)


@requirement("register.repeat")
async def test_many_at_once(iut: Iut) -> None:
    """Five robots register at the same time; each is answered when its token is entered."""
    async with playing(iut) as tester:
        robots = [tester.robot() for _ in range(5)]
        first, *others = robots
        waits = [await first.register()]
        waits += await asyncio.gather(*(robot.register() for robot in others))
        for robot, exchange in reversed(list(zip(robots, waits, strict=True))):
            await robot.linked_by(exchange)
