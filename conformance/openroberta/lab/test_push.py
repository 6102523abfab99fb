"""Pushes: how long they are held, what the lab takes from them, and lost ones."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any

from conformance.cases import check, compared, lasting, requirement
from conformance.iut import Iut
from conformance.openroberta import naming
from conformance.openroberta.lab.tester import RobotsTester, playing
from conformance.openroberta.lab.tester.exchange import Exchange, refusal
from conformance.openroberta.lab.tester.robot import Robot
from conformance.openroberta.lab.tester.timing import at_least, at_most
from conformance.openroberta.values import same
from conformance.segmentation import split_at, whole
from conformance.verdicts import Inconclusive, NotExercised, Violation

TRIES = 3  # pushes of which the quickest counts
MEANWHILE = 5  # requests of which one answered in time is enough


@requirement("push.answered")
@lasting
async def test_answered(iut: Iut) -> None:
    """Each of several pushes is answered with repeat when its period is over."""
    async with playing(iut) as tester:
        high, latest = at_most(tester, "push_hold")
        robot = await tester.linked()
        took = []
        for _ in range(TRIES):
            exchange = await robot.push()
            took.append(await exchange.between("Repeat", 0, latest))
            if min(took) <= high and tester.seconds("push_hold") > 2:
                break
        if min(took) > high:
            what = f"the quickest of {len(took)} came after {min(took):.2f} s"
            raise Inconclusive(f"expected repeat within {high:.2f} s; {what}")


@requirement("push.held")
@lasting
async def test_held(iut: Iut) -> None:
    """No push is answered at once while there is nothing to do, neither the first nor a later."""
    async with playing(iut) as tester:
        shortest = at_least(tester, "push_hold")
        _, latest = at_most(tester, "push_hold")
        robot = await tester.linked()
        for _ in range(2 if tester.seconds("push_hold") > 2 else TRIES):
            exchange = await robot.push()
            await exchange.between("Repeat", shortest, latest)


@requirement("push.held")
@lasting
async def test_held_for_two(iut: Iut) -> None:
    """The pushes of two robots are held side by side, each for its own period."""
    async with playing(iut) as tester:
        shortest = at_least(tester, "push_hold")
        _, latest = at_most(tester, "push_hold")
        robots = [await tester.linked(), await tester.linked()]
        first = await robots[0].push()
        # The second comes late in the time of the first: the pause is what is tried.
        await asyncio.sleep(tester.seconds("push_hold") * 0.7)
        second = await robots[1].push()
        for exchange in (first, second):
            await exchange.between("Repeat", shortest, latest)


@requirement("push.held")
@lasting
async def test_held_after_a_program(iut: Iut) -> None:
    """A push after a program is held for its own time, not for what was left of the one before."""
    async with playing(iut) as tester:
        shortest = at_least(tester, "push_hold")
        _, latest = at_most(tester, "push_hold")
        robot = await tester.linked()
        before = await robot.push()
        if await before.session.watch(within=0.7 * tester.seconds("push_hold")):
            before = await robot.push()  # its time may be shorter
        await robot.fetch(exchange=before)
        await (await robot.push()).between("Repeat", shortest, latest)


@requirement("commands.lab")
async def test_commands(iut: Iut) -> None:
    """Registrations and pushes are answered with the commands that there are."""
    async with playing(iut) as tester:
        _, latest = at_most(tester, "push_hold")
        robot = await tester.linked()
        await (await robot.push()).between("Repeat", 0, latest)
        if await tester.offers("run"):
            await robot.commanded("run", "Download", None)


NAMED = (
    ("7.900", "Robi", False),
    ("0.1", 'Gr\u00f6\u00dfe "2" \\', False),
    ("8.25", "the B\u00e4r \U0001f43b of the second table from the left", True),
    ("6.5", "C3", False),
)
"""Voltages and names, and whether what is beyond ASCII is written as escapes, or as it is."""


@requirement("push.seen")
async def test_battery_and_name(iut: Iut) -> None:
    """The user sees the battery's voltage and the robot's name as they were pushed last.

    And these are its own, though other robots have others.
    """
    async with playing(iut) as tester:
        robot = await among_others(tester)
        robot.headers = {"content-type": "application/json"}
        told = await tester.state(robot)
        if told.get("battery") is None and told.get("name") is None:
            raise NotExercised("needs an operation 'state' that tells battery or name")
        member = _member_of_name(robot, told)
        before = dict(robot.data)
        tells = [key for key in ("battery", "name") if told.get(key) is not None]
        for battery, name, escaped in NAMED:
            robot.data |= {"battery": battery, member: name}
            exchange = await robot.ask(naming.PUSHCMD, _written(robot, escaped))
            for key in tells:
                wanted = {"battery": battery, "name": name}[key]
                seen = await tester.becomes(robot, key, wanted, "response")
                if not same(seen, wanted):
                    expected = f"the {key} {wanted!r} to be seen"
                    # With a name that it may not understand it would refuse any push.
                    robot.data = before
                    raise Violation(expected, f"{seen!r} is", await _gone_with_a_push(robot))
            await exchange.session.close()


def _member_of_name(robot: Robot, told: Mapping[str, Any]) -> str:
    """The member that the lab takes for the robot's name: the text does not say which of two."""
    return "robot" if told.get("name") == robot.data["robot"] else "brickname"


def _written(robot: Robot, escaped: bool = False) -> bytes:
    """A push with its letters as escapes, or as they are, in UTF-8."""
    return json.dumps(robot.object("push"), ensure_ascii=escaped).encode()


def _inside_letters(data: bytes) -> Sequence[bytes]:
    """Cut inside each letter of several bytes."""
    return split_at(at for at, byte in enumerate(data) if 0x80 <= byte < 0xC0)(data)


@requirement("http.segmentation")
async def test_name_in_pieces(iut: Iut) -> None:
    """A name is seen as it is where a letter of two bytes arrives in two pieces."""
    async with playing(iut) as tester:
        robot = await tester.linked()
        robot.headers = {"content-type": "application/json"}
        told = await tester.state(robot)
        if told.get("name") is None:
            raise NotExercised("needs an operation 'state' that tells the name")
        member = _member_of_name(robot, told)
        cuts = {"Gr\u00f6\u00dfe": (whole, "push.seen"), "B\u00e4r": (_inside_letters, None)}
        for name, (cut, about) in cuts.items():
            robot.data[member] = name
            exchange = await robot.ask(naming.PUSHCMD, _written(robot), segmentation=cut)
            seen = await tester.becomes(robot, "name", name, "response")
            if not same(seen, name):
                known = about or await _gone_with_a_push(robot)
                raise Violation(f"the name {name!r} to be seen", f"{seen!r} is", known)
            await exchange.session.close()


async def _gone_with_a_push(robot: Robot) -> str | None:
    """What a lab violates that serves a robot no more, a push of which was lost; else None."""
    push = await robot.push()
    return "offline.no-disconnect" if await refusal(push.session) else None


@requirement("exit.shown")
async def test_exit_value(iut: Iut) -> None:
    """The user sees the exit value that a push brings after each of several programs."""
    async with playing(iut) as tester:
        robot, exchange = await among_others(tester), None
        for value in (143, 0, 2):
            await robot.fetch(exchange=exchange)
            robot.data["nepoexitvalue"] = value
            exchange = await robot.push()
            seen = await tester.becomes(robot, "exitvalue", value, "response")
            if seen is None and value == 143:
                raise NotExercised("needs an operation 'state' that tells exitvalue")
            check(same(seen, value), f"the exit value {value} to be seen", f"{seen!r} is")


async def among_others(tester: RobotsTester) -> Robot:
    """A robot that is linked after one other, and before another."""
    return [await tester.linked() for _ in range(3)][1]


@requirement("offline.no-disconnect")
async def test_lost_connection(iut: Iut) -> None:
    """After a connection that was lost while its push was held, the next push is served."""

    async def play(lost: bool) -> None:
        async with playing(iut) as tester:
            _, latest = at_most(tester, "push_hold")
            robot = await tester.linked()
            for _ in range(2):
                exchange = await robot.push()
                if lost:
                    await _taken(exchange)
                    await exchange.session.close()
                else:
                    await exchange.between("Repeat", 0, latest)
            # Until then a lab may not have noticed what was lost.
            await (await robot.push()).between("Repeat", 0, latest, iut.deciding)
            if await tester.offers("run"):
                await robot.commanded("run", "Download", iut.deciding)

    await compared(iut, play, True, False, "push.answered")


async def _taken(push: Exchange) -> None:
    """Wait until a lab has surely taken it, be it by a thread for each: the next one is newer."""
    seconds = push.session.seconds
    await push.silent(min(seconds("push_hold") / 5, seconds("quiet")))


@requirement("robustness.side-by-side")
async def test_others_meanwhile(iut: Iut) -> None:
    """What another robot asks is answered while a push is held, and not only behind that."""
    async with playing(iut) as tester:
        _, latest = at_most(tester, "push_hold")
        robot = await tester.linked()
        for _ in range(MEANWHILE):
            held = await robot.push()
            await _taken(held)
            other = tester.robot()
            asked = await other.ask(naming.PUSHCMD, other.object("register", "token"))
            # To close the connection is an answer, too.
            answer = await asked.session.watch(within=tester.seconds("response"))
            if (answer or asked.session.ended) and not held.session.ahead("Repeat"):
                return
            await held.between("Repeat", 0, latest)
        raise Violation(
            "a request of another robot to be answered while a push is held",
            f"none of {MEANWHILE} was answered before the push",
        )


@requirement("robustness.repeated-push")
async def test_program_for_a_lost_push(iut: Iut) -> None:
    """A program that is run just after a connection was lost is not lost with it."""
    async with playing(iut) as tester:
        robot = await tester.linked()
        exchange = await robot.push()
        await _taken(exchange)
        await exchange.session.close()
        try:
            await robot.commanded("run", "Download", "robustness.repeated-push")
        except Violation as none:
            none.requirement = await _gone_with_a_push(robot) or none.requirement
            raise
        await robot.file()


@requirement("robustness.run-between-pushes")
async def test_run_between_pushes(iut: Iut) -> None:
    """A program that is run between two pushes comes with the second one."""
    async with playing(iut) as tester:
        _, latest = at_most(tester, "push_hold")
        robot = await tester.linked()
        await (await robot.push()).between("Repeat", 0, latest)
        running = asyncio.create_task(tester.upper("run", token=robot.token))
        try:
            await asyncio.wait([running], timeout=tester.seconds("response"))
            if running.done() and not running.result().ok:
                return  # its user knows
            message = await (await robot.push()).session.watch("Download", "Refusal", within=latest)
        finally:
            running.cancel()
        told = message is not None and message.name == "Download"
        check(told, "Download upon the next push", message.name if message else "none came")
        await robot.file()


@requirement("robustness.repeated-push")
async def test_repeated_push(iut: Iut) -> None:
    """Where a push comes twice, the program reaches its robot, and both are answered."""
    async with playing(iut) as tester:
        _, latest = at_most(tester, "push_hold")
        robot = await tester.linked()
        pushes = []
        for _ in range(2):
            pushes.append(await robot.push())
            await _taken(pushes[-1])
        await tester.needs("run")
        await tester.user("run", token=robot.token)
        # Its robot reads both, so either may bring it.
        answers = [await push.session.watch(within=latest) for push in pushes]
        for which, push, answer in zip(("older", "newer"), pushes, answers, strict=True):
            check(
                answer is not None or push.session.ended,
                f"the {which} push to be answered within {latest:.1f} s",
                "it is still held",
            )
        came = [answer.name for answer in answers if answer]
        check(
            "Download" in came,
            "Download as the answer to one of two pushes",
            f"{' and '.join(came) or 'none'} came",
        )
        await robot.file()
