"""Updates: the command, the files, and that a robot is gone until it registers again."""

import pytest

from conformance.cases import check, in_one_loop, requirement
from conformance.iut import Iut
from conformance.openroberta import naming
from conformance.openroberta.codec import content
from conformance.openroberta.lab.stage import Robot, Stage, new_token, staged
from conformance.session import Message
from conformance.verdicts import NotExercised

pytestmark = in_one_loop


async def updated(stage: Stage) -> Robot:
    """A robot that was told update."""
    robot = await stage.linked()
    await robot.told("update", "Update", "update.command")
    return robot


@requirement("update.command")
async def test_command(iut: Iut) -> None:
    """When the user decides to update, the push that is held is answered with update."""
    async with staged(iut) as stage:
        await updated(stage)


@requirement("update.command")
async def test_command_after_a_program(iut: Iut) -> None:
    """So it is after a program was run, and not for another robot."""
    async with staged(iut) as stage:
        robot, other = await stage.linked(), await stage.linked()
        await robot.fetch()
        idle = await other.push()
        await robot.told("update", "Update", "update.command")
        message = await idle.session.watch("Update", "Abort", within=0)
        if message is not None:
            raise idle.wrong("nothing upon the update of another robot", message)


def paths(iut: Iut) -> list[str]:
    """The declared files. Raises NotExercised where there are none."""
    declared = [path.strip(" /") for path in iut.configuration.value("update_paths").split(",")]
    found = [path for path in declared if path]
    if not found:
        raise NotExercised(
            "needs the paths below /rest/update/ that the lab serves: "
            "--set update_paths=v1/runtime,v1/ev3menu"
        )
    return found


async def got(stage: Stage, path: str) -> Message:
    """A file, as a robot gets it that nobody knows. Raises Violation where it does not come."""
    held = await stage.robot().ask(naming.UPDATE + path, None, method="GET")
    return await held.answer("File")


@requirement("update.files")
async def test_files(iut: Iut) -> None:
    """Each file is served by GET to a robot that never registered; the second time the same."""
    async with staged(iut) as stage:
        for path in paths(iut):
            first, second = await got(stage, path), await got(stage, path)
            check(bool(content(first.value)), f"{path} to have contents", "an empty file came")
            check(content(first.value) == content(second.value), f"{path} twice", "two files came")


@requirement("update.filename")
async def test_filenames(iut: Iut) -> None:
    """Each file comes with its name in the header field Filename."""
    async with staged(iut) as stage:
        for path in paths(iut):
            file = await got(stage, path)
            name = file.value["headers"]["filename"].strip('" ')
            check(bool(name), f"a name in the Filename of {path}", "an empty one came", file.event)


@requirement("update.disconnects")
async def test_disconnects(iut: Iut) -> None:
    """After update, nothing that the user does reaches that robot until it registers again."""
    async with staged(iut) as stage:
        robot = await updated(stage)
        held = await robot.push()
        message = await held.session.watch(within=stage.seconds("quiet"))
        if message is not None and message.name in ("Refusal", "Abort"):
            return
        if stage.offers("run"):
            ran = await stage.upper("run", token=robot.token)
            message = message or await held.session.watch("Download", within=stage.seconds("quiet"))
            if message is not None and message.name == "Download":
                raise held.wrong("no program after update", message)
            check(not ran.ok, "no program to be run after update", "the user could run one")
        if stage.offers("state"):
            seen = (await stage.state(robot))["state"]
            connected = seen in ("waiting", "running")
            check(not connected, "the robot not to be connected after update", f"it is {seen}")


@requirement("update.registers-again")
@pytest.mark.parametrize("token", ["same", "other"])
async def test_registers_again(iut: Iut, token: str) -> None:
    """After update, a robot can register, and is served as before."""
    async with staged(iut) as stage:
        robot = await updated(stage)
        if token == "other":
            robot.data["token"] = new_token()
        held = await robot.register()
        await held.taken()
        await robot.linked_by(held)
        await robot.told("run", "Download", "update.registers-again")
