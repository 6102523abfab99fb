"""Updates: the command, the files, and that a robot is gone until it registers again."""

from collections.abc import Mapping
from typing import Any

import pytest

from conformance.cases import check, requirement
from conformance.iut import Iut
from conformance.openroberta import naming
from conformance.openroberta.codec import content
from conformance.openroberta.lab.tester import RobotsTester, playing
from conformance.openroberta.lab.tester.programs import bytes_of
from conformance.openroberta.lab.tester.robot import Robot, new_token
from conformance.openroberta.naming import refuses
from conformance.openroberta.updates import update_paths
from conformance.openroberta.values import difference
from conformance.verdicts import Inconclusive, NotExercised
from conformance.wire import Message


async def updated(tester: RobotsTester) -> Robot:
    """A robot that was told update."""
    robot = await tester.linked()
    await robot.commanded("update", "Update", "update.command")
    return robot


@requirement("update.command")
async def test_command(iut: Iut) -> None:
    """When the user decides to update, the push that is held is answered with update."""
    async with playing(iut) as tester:
        await updated(tester)


@requirement("update.command")
async def test_command_after_a_program(iut: Iut) -> None:
    """An update is announced after a program was run as well, and to no other robot."""
    async with playing(iut) as tester:
        robot, other = await tester.linked(), await tester.linked()
        await robot.fetch()
        idle = await other.push()
        await robot.commanded("update", "Update", "update.command")
        message = await idle.session.watch("Update", "Abort", within=0)
        if message is not None:
            raise idle.wrong("nothing upon the update of another robot", message)


def paths(iut: Iut) -> list[str]:
    """The declared files. Raises NotExercised where there are none."""
    found = update_paths(iut.configuration)
    if not found:
        raise NotExercised(
            "needs the paths below /rest/update/ that the lab serves: "
            "--set update_paths=v1/runtime,v1/ev3menu"
        )
    return found


async def got(tester: RobotsTester, path: str) -> Message:
    """A file, as an unregistered robot gets it. Raises Violation where it does not come."""
    exchange = await tester.robot().ask(naming.UPDATE + path, None, method="GET")
    message = await exchange.answer(requirement="update.files")
    if message.name != "File":
        served = message.name == "Response" and "json" not in message.value
        raise exchange.violation("File", message, "update.filename" if served else "update.files")
    return message


async def own(tester: RobotsTester, path: str) -> Mapping[str, Any]:
    """A file as it is in the lab: name and base64; empty where that is not told."""
    try:
        told = await tester.user("update_file", path=path)
    except NotExercised:
        return {}
    if not isinstance(told, Mapping):
        raise Inconclusive(f"the operation 'update_file' answered {str(told)[:200]}, and no file")
    return told


@requirement("update.files")
async def test_files(iut: Iut) -> None:
    """Each file is served by GET to a robot that never registered; the second time the same."""
    async with playing(iut) as tester:
        for path in paths(iut):
            first, second = await got(tester, path), await got(tester, path)
            told = (await own(tester, path)).get("base64")
            # One that is empty may be meant to be, if that is told.
            filled = bool(content(first.value)) or told == ""
            check(filled, f"{path} to have contents", "an empty file came")
            check(content(first.value) == content(second.value), f"{path} twice", "two files came")
            if told:
                wanted = bytes_of(told, "update_file")
                check(content(second.value) == wanted, *difference(wanted, content(second.value)))


@requirement("update.filename")
async def test_filenames(iut: Iut) -> None:
    """Each file comes with its name in the header field Filename."""
    async with playing(iut) as tester:
        for path in paths(iut):
            file = await got(tester, path)
            name = file.value["headers"]["filename"].strip('" ')
            check(bool(name), f"a name in the Filename of {path}", "an empty one came", file.event)
            if told := (await own(tester, path)).get("name"):
                check(
                    name == told, f"the Filename {told!r} of {path}", f"{name!r} came", file.event
                )


OUTDATED = "0.0.0"  # no lab has an older version
_LAST = 99  # of a number in a version: what comes before 1.10.0 is 1.9.99


def just_older(version: str) -> list[str]:
    """Versions before this one, of which each is older from another of its numbers on."""
    if not all(part.isdecimal() for part in version.split(".")):
        return []
    numbers = [int(part) for part in version.split(".")]
    return [
        ".".join(map(str, [*numbers[:at], number - 1, *[_LAST] * (len(numbers) - at - 1)]))
        for at, number in enumerate(numbers)
        if number
    ]


@requirement("update.offered")
async def test_offered(iut: Iut) -> None:
    """An update is offered to the user of an outdated robot, and not to that of another."""
    current = iut.configuration.value("menu_version")
    if not current:
        raise NotExercised("needs the menu's version that the lab has: --set menu_version=1.3.0")
    async with playing(iut) as tester:
        for version in (OUTDATED, current, OUTDATED, *just_older(current)):
            robot = await tester.linked(menuversion=version)
            await robot.push()
            offered = (await tester.state(robot)).get("update")
            if offered is None and version == OUTDATED:
                raise NotExercised("needs an operation 'state' that tells update, true or false")
            expected = f"{'no update' if version == current else 'an update'} to be offered"
            shown = f"of menuversion {version}, where the lab has {current}"
            came = "one was offered" if offered else "none was"
            check(bool(offered) == (version != current), f"{expected} to a robot {shown}", came)


@requirement("update.disconnects")
async def test_disconnects(iut: Iut) -> None:
    """After update, nothing that the user does reaches that robot until it registers again."""
    async with playing(iut) as tester:
        robot = await updated(tester)
        exchange = await robot.push()
        message = await exchange.session.watch(within=tester.seconds("quiet"))
        if message and refuses(message.name, message.value):
            return
        if message is None and exchange.session.ended:
            return
        if await tester.offers("run"):
            await tester.upper("run", token=robot.token)
            message = message or await exchange.session.watch(
                "Download", within=tester.seconds("quiet")
            )
            if message is not None and message.name == "Download":
                raise exchange.wrong("no program after update", message)
        if await tester.offers("state"):
            seen = (await tester.state(robot))["state"]
            connected = seen in ("waiting", "running")
            check(not connected, "the robot not to be connected after update", f"it is {seen}")


@requirement("update.registers-again")
@pytest.mark.parametrize("token", ["same", "other"])
async def test_registers_again(iut: Iut, token: str) -> None:
    """After update, a robot can register, and is served as before."""
    async with playing(iut) as tester:
        robot = await updated(tester)
        if token == "other":
            robot.data["token"] = new_token()
        exchange = await robot.register()
        await exchange.taken()
        await robot.linked_by(exchange)
        await robot.commanded("run", "Download", "update.registers-again")
