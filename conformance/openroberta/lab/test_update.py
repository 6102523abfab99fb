"""Tests of updates: the command, the files, and the disconnect until a new registration."""

from collections.abc import Mapping
from typing import Any

import pytest

from conformance.cases import check, requirement
from conformance.iut import Iut
from conformance.openroberta import message_names
from conformance.openroberta.codec import plain_content
from conformance.openroberta.lab.tester import GONE, RobotsTester, playing
from conformance.openroberta.lab.tester.exchange import Exchange
from conformance.openroberta.lab.tester.programs import bytes_of
from conformance.openroberta.lab.tester.robot import OUTDATED, Robot, new_token
from conformance.openroberta.message_names import is_refusal
from conformance.openroberta.updates import update_paths
from conformance.openroberta.values import difference
from conformance.verdicts import Inconclusive, NotExercised
from conformance.wire import Message


async def link_and_update(tester: RobotsTester) -> Robot:
    """Return a robot that received update; its menu is outdated, as a lab can require."""
    robot = await tester.open_linked(menuversion=OUTDATED)
    await robot.run_and_receive("update", "Update", "update.command")
    return robot


@requirement("update.command")
async def test_command(iut: Iut) -> None:
    """If the user decides to update, the unanswered push is answered with update."""
    async with playing(iut) as tester:
        await link_and_update(tester)


@requirement("update.command")
async def test_command_after_a_program(iut: Iut) -> None:
    """An update is announced after a program, too, and to no other robot."""
    async with playing(iut) as tester:
        robot, other = [await tester.open_linked(menuversion=OUTDATED) for _ in range(2)]
        try:
            await robot.fetch()
        except Inconclusive as refused:
            why = "needs a lab whose user can run programs on a robot with an outdated menu"
            raise NotExercised(why) from refused
        idle, waiting = await other.push(), await robot.push()
        await waiting.check_idle()
        await robot.run_and_receive("update", "Update", "update.command", waiting)
        message = await idle.session.wait_for("Update", "Abort", within=0)
        if message is not None:
            raise idle.wrong("no command after the update of another robot", message)


def paths(iut: Iut) -> list[str]:
    """Return the declared paths of files. Raises NotExercised if there are none."""
    found = update_paths(iut.configuration)
    if not found:
        raise NotExercised(
            "needs the paths below /rest/update/ that the lab serves: "
            "--set update_paths=v1/runtime,v1/ev3menu"
        )
    return found


async def fetch_file(tester: RobotsTester, path: str) -> Message:
    """Fetch a file as an unregistered robot. Raises Violation if the file does not come."""
    exchange = await tester.robot().ask(message_names.UPDATE + path, None, method="GET")
    message = await exchange.answer(requirement="update.files")
    if message.name != "File":
        served = message.name == "Response" and "json" not in message.value
        raise exchange.violation("File", message, "update.filename" if served else "update.files")
    return message


async def find_reported_file(tester: RobotsTester, path: str) -> Mapping[str, Any]:
    """Return name and base64 of a file as the lab reports them, if it does."""
    try:
        reported = await tester.require_result("update_file", path=path)
    except NotExercised:
        return {}
    if not isinstance(reported, Mapping):
        raise Inconclusive(
            f"expected a file from the operation 'update_file'; received {str(reported)[:200]}"
        )
    return reported


@requirement("update.files")
async def test_files(iut: Iut) -> None:
    """An unregistered robot can fetch each file by GET, twice with the same bytes."""
    async with playing(iut) as tester:
        for path in paths(iut):
            first, second = await fetch_file(tester, path), await fetch_file(tester, path)
            reported = (await find_reported_file(tester, path)).get("base64")
            # A file can be empty only if the lab reports it as empty.
            filled = bool(plain_content(first.value)) or reported == ""
            check(filled, f"{path} to have contents", "received an empty file")
            check(
                plain_content(first.value) == plain_content(second.value),
                f"the same bytes of {path} both times",
                "received different bytes",
            )
            if reported:
                wanted = bytes_of(reported, "update_file")
                check(
                    plain_content(second.value) == wanted,
                    *difference(wanted, plain_content(second.value)),
                )


@requirement("update.filename")
async def test_filenames(iut: Iut) -> None:
    """Each file comes with its name in the header field Filename."""
    async with playing(iut) as tester:
        for path in paths(iut):
            file = await fetch_file(tester, path)
            name = file.value["headers"]["filename"].strip('" ')
            check(
                bool(name),
                f"a name in the Filename of {path}",
                "received an empty name",
                file.event,
            )
            if reported := (await find_reported_file(tester, path)).get("name"):
                check(
                    name == reported,
                    f"the Filename {reported!r} of {path}",
                    f"received {name!r}",
                    file.event,
                )


_MAX_NUMBER = 99  # largest number in a version here: the version before 1.10.0 is then 1.9.99


def just_older(version: str) -> list[str]:
    """Return older versions, each of which differs at another number of this version."""
    if not all(part.isdecimal() for part in version.split(".")):
        return []
    numbers = [int(part) for part in version.split(".")]
    return [
        ".".join(map(str, [*numbers[:at], number - 1, *[_MAX_NUMBER] * (len(numbers) - at - 1)]))
        for at, number in enumerate(numbers)
        if number
    ]


@requirement("update.offered")
async def test_offered(iut: Iut) -> None:
    """An update is offered for a robot with an older menu, and for no other."""
    current = _current_version(iut)
    async with playing(iut) as tester:
        for version in (OUTDATED, current, OUTDATED, *just_older(current)):
            robot = await tester.open_linked(menuversion=version)
            await _check_offer(tester, robot, current)


@requirement("update.offered")
async def test_offered_to_one_of_two(iut: Iut) -> None:
    """An update is offered for an older robot, also if a current robot comes later."""
    current = _current_version(iut)
    async with playing(iut) as tester:
        versions = (OUTDATED, current)
        for robot in [await tester.open_linked(menuversion=version) for version in versions]:
            await _check_offer(tester, robot, current)


def just_newer(version: str) -> list[str]:
    """Return newer versions, each of which differs at another number of this version."""
    if not all(part.isdecimal() for part in version.split(".")):
        return []
    numbers = [int(part) for part in version.split(".")]
    return [
        ".".join(map(str, [*numbers[:at], number + 1, *[0] * (len(numbers) - at - 1)]))
        for at, number in enumerate(numbers)
    ]


@requirement("update.not-back")
async def test_not_offered_to_a_newer_robot(iut: Iut) -> None:
    """No update is offered for a robot with a newer menu."""
    current = _current_version(iut)
    async with playing(iut) as tester:
        await _check_offer(tester, await tester.open_linked(menuversion=OUTDATED), current)
        for version in just_newer(current):
            robot = await tester.open_linked(menuversion=version)
            await _check_offer(tester, robot, current, older=False)


@requirement("update.offered")
async def test_offered_again(iut: Iut) -> None:
    """The version counts with which a robot registers again after an update."""
    current = _current_version(iut)
    async with playing(iut) as tester:
        robot = await tester.open_linked(menuversion=OUTDATED)
        push = await _check_offer(tester, robot, current)
        for version in (OUTDATED, current):
            await robot.run_and_receive("update", "Update", "update.command", push)
            robot.data["menuversion"] = version
            await robot.link_again("update.registers-again")
            push = await _check_offer(tester, robot, current)


def _current_version(iut: Iut) -> str:
    """Return the declared version of the lab's menu. Raises NotExercised if there is none."""
    current = iut.configuration.value("menu_version")
    if not current:
        raise NotExercised("needs the version of the lab's menu: --set menu_version=1.3.0")
    return str(current)


async def _check_offer(
    tester: RobotsTester, robot: Robot, current: str, older: bool | None = None
) -> Exchange:
    """Raise Violation unless the lab offers an update exactly if the robot is older.

    Without `older`, a robot with another version than the lab's is older. Returns the robot's
    unanswered push.
    """
    version = robot.data["menuversion"]
    push = await robot.push()
    older = version != current if older is None else older
    offered = await tester.wait_for_state(robot, "update", older, "response")
    if offered is None and version == OUTDATED:
        raise NotExercised("needs an operation 'state' with the member update, true or false")
    expected = f"{'an' if older else 'no'} update to be offered"
    shown = f"to a robot with menuversion {version}; the lab has {current}"
    check(bool(offered) == older, f"{expected} {shown}", f"{'one' if offered else 'none'} was")
    return push


@requirement("update.disconnects")
async def test_disconnects(iut: Iut) -> None:
    """After update, the user's actions do not reach the robot until it registers again."""
    async with playing(iut) as tester:
        robot = await link_and_update(tester)
        exchange = await robot.push()
        message = await exchange.session.wait_for(within=tester.seconds("quiet"))
        if message and is_refusal(message.name, message.value):
            return
        if message is None and exchange.session.ended:
            return
        if await tester.offers("run"):
            await tester.run_operation("run", token=robot.token)
            message = message or await exchange.session.wait_for(
                "Download", within=tester.seconds("quiet")
            )
            if message is not None and message.name == "Download":
                raise exchange.wrong("no program after update", message)
        if await tester.offers("state"):
            seen = await tester.wait_for_state(robot, "state", GONE, "response")
            check(seen in GONE, "the robot not to be connected after update", f"it is {seen}")


@requirement("update.registers-again")
@pytest.mark.parametrize("token", ["same", "other"])
async def test_registers_again(iut: Iut, token: str) -> None:
    """After update, a robot can register and is served again."""
    async with playing(iut) as tester:
        robot = await link_and_update(tester)
        robot.data["menuversion"] = robot.current_version
        if token == "other":
            robot.data["token"] = new_token()
            exchange = await robot.register()
            await exchange.assert_unanswered()
            await robot.linked_by(exchange, None)
        else:
            await robot.link_again(None)
        await robot.run_and_receive("run", "Download", "update.registers-again")
