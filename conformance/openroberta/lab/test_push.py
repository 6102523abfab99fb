"""Tests of pushes: their hold, their data, and lost pushes."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any

from conformance.cases import check, compared, lasting, requirement
from conformance.iut import Iut
from conformance.openroberta import message_names
from conformance.openroberta.lab.tester import RobotsTester, playing
from conformance.openroberta.lab.tester.exchange import Exchange, find_refusal
from conformance.openroberta.lab.tester.robot import Operation, Robot
from conformance.openroberta.lab.tester.timing import (
    earliest_answer,
    latest_answers,
    open_after_repeat,
)
from conformance.openroberta.values import same
from conformance.segmentation import split_at, whole
from conformance.verdicts import Inconclusive, NotExercised, Violation

TRIES = 3  # pushes; the quickest of them counts
REQUESTS = 5  # requests; one answered in time is enough


@requirement("push.answered")
@lasting
async def test_answered(iut: Iut) -> None:
    """Each of several pushes is answered with repeat at the end of push_hold."""
    async with playing(iut) as tester:
        high, latest = latest_answers(tester, "push_hold")
        robot = await tester.open_linked()
        took = []
        for _ in range(TRIES):
            exchange = await robot.push()
            took.append(await exchange.time_until("Repeat", 0, latest))
            if min(took) <= high and tester.seconds("push_hold") > 2:
                break
        if min(took) > high:
            what = f"the quickest of {len(took)} took {min(took):.2f} s"
            raise Inconclusive(f"expected repeat within {high:.2f} s; {what}")


@requirement("push.held")
@lasting
async def test_held(iut: Iut) -> None:
    """No push after another push is answered immediately while there is nothing to do."""
    async with playing(iut) as tester:
        shortest = earliest_answer(tester, "push_hold")
        _, latest = latest_answers(tester, "push_hold")
        robot = await open_after_repeat(tester)
        for _ in range(2 if tester.seconds("push_hold") > 2 else TRIES):
            exchange = await robot.push()
            await exchange.time_until("Repeat", shortest, latest)


@requirement("push.held")
@lasting
async def test_held_after_a_program(iut: Iut) -> None:
    """The second push after a program is held."""
    async with playing(iut) as tester:
        shortest = earliest_answer(tester, "push_hold")
        _, latest = latest_answers(tester, "push_hold")
        robot = await tester.open_linked()
        await robot.fetch()
        await (await robot.push()).time_until("Repeat", 0, latest)
        await (await robot.push()).time_until("Repeat", shortest, latest)


@requirement("push.held")
@lasting
async def test_held_while_another_robot_comes(iut: Iut) -> None:
    """A push is held although another robot registers and pushes."""
    async with playing(iut) as tester:
        shortest = earliest_answer(tester, "push_hold")
        _, latest = latest_answers(tester, "push_hold")
        robot = await open_after_repeat(tester)
        exchange = await robot.push()
        await (await tester.open_linked()).push()
        await exchange.time_until("Repeat", shortest, latest)


@requirement("push.own-time")
@lasting
async def test_held_for_two(iut: Iut) -> None:
    """The first pushes of two robots are held, each for its own period."""
    async with playing(iut) as tester:
        shortest = earliest_answer(tester, "push_hold")
        _, latest = latest_answers(tester, "push_hold")
        robots = [await tester.open_linked(), await tester.open_linked()]
        first = await robots[0].push()
        # The second push comes late in the period of the first: this offset is the point of the
        # test.
        await asyncio.sleep(tester.seconds("push_hold") * 0.7)
        second = await robots[1].push()
        for exchange in (first, second):
            await exchange.time_until("Repeat", shortest, latest, early=iut.requirement_id)


@requirement("push.own-time")
@lasting
async def test_own_time_after_a_program(iut: Iut) -> None:
    """A push after a program is held for a full period of its own."""
    async with playing(iut) as tester:
        shortest = earliest_answer(tester, "push_hold")
        _, latest = latest_answers(tester, "push_hold")
        robot = await tester.open_linked()
        before = await robot.push()
        if await before.session.wait_for(within=0.7 * tester.seconds("push_hold")):
            before = await robot.push()  # its period can be over
        await robot.fetch(exchange=before)
        push = await robot.push()
        await push.time_until("Repeat", shortest, latest, early=iut.requirement_id)


@requirement("commands.lab")
async def test_commands(iut: Iut) -> None:
    """Registrations and pushes are answered with commands of the protocol."""
    async with playing(iut) as tester:
        robot = await open_after_repeat(tester)
        if await tester.offers("run"):
            await robot.run_and_receive("run", "Download", None)


NAMED = (
    ("7.900", "Robi", False),
    ("0.1", 'Gr\u00f6\u00dfe "2" \\', False),
    ("8.25", "the B\u00e4r \U0001f43b of the second table from the left", True),
    ("6.5", "C3", False),
)
"""Voltages and names; True if characters beyond ASCII are written as JSON escapes, else as UTF-8.
"""


@requirement("push.seen")
async def test_battery_and_name(iut: Iut) -> None:
    """The user sees the battery's voltage and the robot's name of the last push.

    Two other robots with other values are linked, too.
    """
    async with playing(iut) as tester:
        robot = await link_among_others(tester)
        robot.headers = {"content-type": "application/json"}
        state = await tester.state(robot)
        if state.get("battery") is None and state.get("name") is None:
            raise NotExercised("needs an operation 'state' with the member battery or name")
        member = _member_of_name(robot, state)
        before = dict(robot.data)
        members = [key for key in ("battery", "name") if state.get(key) is not None]
        for battery, name, escaped in NAMED:
            robot.data |= {"battery": battery, member: name}
            exchange = await robot.ask(message_names.PUSHCMD, _write_push(robot, escaped))
            for key in members:
                wanted = {"battery": battery, "name": name}[key]
                seen = await tester.wait_for_state(robot, key, wanted, "response")
                if not same(seen, wanted):
                    expected = f"the user to see the {key} {wanted!r}"
                    # A lab that does not understand a name refuses every push with that name.
                    robot.data = before
                    raise Violation(
                        expected, f"the user sees {seen!r}", await _find_forgotten(robot)
                    )
            await exchange.session.close()


def _member_of_name(robot: Robot, state: Mapping[str, Any]) -> str:
    """Return the member that the lab uses as the robot's name: the specification allows two."""
    return "robot" if state.get("name") == robot.data["robot"] else "brickname"


def _write_push(robot: Robot, escaped: bool = False) -> bytes:
    """Return a push with its letters as JSON escapes, or in UTF-8."""
    return json.dumps(robot.object("push"), ensure_ascii=escaped).encode()


def _inside_letters(data: bytes) -> Sequence[bytes]:
    """Cut inside each letter of several bytes."""
    return split_at(at for at, byte in enumerate(data) if 0x80 <= byte < 0xC0)(data)


@requirement("http.segmentation")
async def test_name_in_pieces(iut: Iut) -> None:
    """A name is reported correctly if a letter of two bytes arrives in two segments."""
    async with playing(iut) as tester:
        robot = await tester.open_linked()
        robot.headers = {"content-type": "application/json"}
        state = await tester.state(robot)
        if state.get("name") is None:
            raise NotExercised("needs an operation 'state' with the member name")
        member = _member_of_name(robot, state)
        cuts = {"Gr\u00f6\u00dfe": (whole, "push.seen"), "B\u00e4r": (_inside_letters, None)}
        for name, (cut, about) in cuts.items():
            robot.data[member] = name
            exchange = await robot.ask(message_names.PUSHCMD, _write_push(robot), segmentation=cut)
            seen = await tester.wait_for_state(robot, "name", name, "response")
            if not same(seen, name):
                known = about or await _find_forgotten(robot)
                raise Violation(
                    f"the user to see the name {name!r}", f"the user sees {seen!r}", known
                )
            await exchange.session.close()


async def _find_forgotten(robot: Robot) -> str | None:
    """Return the requirement that forgetting a robot after a lost push violates, or None."""
    push = await robot.push()
    return "offline.no-disconnect" if await find_refusal(push.session) else None


@requirement("exit.shown")
async def test_exit_value(iut: Iut) -> None:
    """The user sees the exit value of the push after each of several programs."""
    async with playing(iut) as tester:
        robot, exchange = await link_among_others(tester), None
        for value in (143, 0, 2):
            await robot.fetch(exchange=exchange)
            robot.data["nepoexitvalue"] = value
            exchange = await robot.push()
            seen = await tester.wait_for_state(robot, "exitvalue", value, "response")
            if seen is None and value == 143:
                raise NotExercised("needs an operation 'state' with the member exitvalue")
            check(
                same(seen, value),
                f"the user to see the exit value {value}",
                f"the user sees {seen!r}",
            )


async def link_among_others(tester: RobotsTester) -> Robot:
    """Return the second of three linked robots."""
    return [await tester.open_linked() for _ in range(3)][1]


@requirement("offline.no-disconnect")
@lasting
async def test_lost_connection(iut: Iut) -> None:
    """The next push is served after a connection was lost during a push."""

    async def play(lost: bool) -> None:
        async with playing(iut) as tester:
            _, latest = latest_answers(tester, "push_hold")
            robot = await open_after_repeat(tester)
            for _ in range(2):
                exchange = await robot.push()
                if lost:
                    await _await_reading(exchange)
                    await exchange.session.close()
                else:
                    await exchange.time_until("Repeat", 0, latest)
            # Until now a lab may not have noticed the lost connection.
            await (await robot.push()).time_until("Repeat", 0, latest, iut.requirement_id)
            if await tester.offers("run"):
                await robot.run_and_receive("run", "Download", iut.requirement_id)

    await compared(iut, play, True, False, "push.answered")


async def _await_reading(push: Exchange) -> None:
    """Wait until the lab has surely read this push, before a newer push.

    A lab can use a thread for each request, and read them in any order.
    """
    seconds = push.session.seconds
    await push.assert_silent(min(seconds("push_hold") / 5, seconds("quiet")))


@requirement("robustness.side-by-side")
async def test_others_meanwhile(iut: Iut) -> None:
    """Requests of another robot are answered while a push is held, and not only afterwards."""
    async with playing(iut) as tester:
        _, latest = latest_answers(tester, "push_hold")
        robot = await tester.open_linked()
        for _ in range(REQUESTS):
            held = await robot.push()
            await _await_reading(held)
            other = tester.robot()
            asked = await other.ask(message_names.PUSHCMD, other.object("register", "token"))
            # Closing the connection is an answer, too.
            answer = await asked.session.wait_for(within=tester.seconds("response"))
            if (answer or asked.session.ended) and not held.session.unread_messages("Repeat"):
                return
            await held.time_until("Repeat", 0, latest)
        raise Violation(
            "a request of another robot to be answered while a push is held",
            f"none of {REQUESTS} was answered before the push",
        )


@requirement("robustness.repeated-push")
@lasting
async def test_program_for_a_lost_push(iut: Iut) -> None:
    """A program that is run just after a connection was lost is not lost."""
    async with playing(iut) as tester:
        robot = await open_after_repeat(tester)
        exchange = await robot.push()
        await _await_reading(exchange)
        await exchange.session.close()
        try:
            await robot.run_and_receive("run", "Download", "robustness.repeated-push")
        except Violation as none:
            none.requirement = await _find_forgotten(robot) or none.requirement
            raise
        await robot.file()


@requirement("robustness.repeated-push")
async def test_program_between_a_lost_push_and_the_next(iut: Iut) -> None:
    """A program that is run after a lost connection is announced with the next push."""
    async with playing(iut) as tester:
        _, latest = latest_answers(tester, "push_hold")
        robot = await open_after_repeat(tester)
        exchange = await robot.push()
        await _await_reading(exchange)
        await exchange.session.close()
        # The lab needs a moment to notice the loss.
        await asyncio.sleep(tester.seconds("quiet"))
        try:
            await _run_before_a_push(tester, robot, latest)
        except Violation as none:
            none.requirement = await _find_forgotten(robot) or none.requirement
            raise


@requirement("robustness.run-between-pushes")
async def test_run_between_pushes(iut: Iut) -> None:
    """A program that is run between two pushes is announced with the second push."""
    async with playing(iut) as tester:
        _, latest = latest_answers(tester, "push_hold")
        robot = await open_after_repeat(tester)
        await _run_before_a_push(tester, robot, latest)


async def _run_before_a_push(tester: RobotsTester, robot: Robot, latest: float) -> None:
    """Run a program while the robot does not push, and fetch it after the next push.

    Nothing is checked if the operation fails, because the user knows then that no program comes.
    """
    running = asyncio.create_task(tester.run_operation("run", token=robot.token))
    try:
        await asyncio.wait([running], timeout=tester.seconds("response"))
        if running.done() and not running.result().ok:
            return
        message = await (await robot.push()).session.wait_for("Download", "Refusal", within=latest)
    finally:
        running.cancel()
    announced = message is not None and message.name == "Download"
    check(
        announced,
        "Download in answer to the next push",
        f"received {message.name}" if message else "received none",
    )
    await robot.file()


@requirement("robustness.repeated-push")
@lasting
async def test_repeated_push(iut: Iut) -> None:
    """If a push comes twice, the robot receives the program, and both pushes are answered."""
    async with playing(iut) as tester:
        _, latest = latest_answers(tester, "push_hold")
        robot = await open_after_repeat(tester)
        pushes = []
        for _ in range(2):
            pushes.append(await robot.push())
            await _await_reading(pushes[-1])
        await tester.require_operation("run")
        doing = Operation(tester, "run", robot.token)
        # The robot reads both answers, so either can bring the command.
        answers = [await push.session.wait_for(within=latest) for push in pushes]
        for which, push, answer in zip(("older", "newer"), pushes, answers, strict=True):
            check(
                answer is not None or push.session.ended,
                f"the {which} push to be answered within {latest:.1f} s",
                "it is still held",
            )
        came = [answer.name for answer in answers if answer]
        if "Download" not in came:
            await doing.result()
        check(
            "Download" in came,
            "Download in answer to one of two pushes",
            f"received {' and '.join(came) or 'none'}",
        )
        await robot.file()
