"""Tests of updates: a robot fetches files, and pushes again only after a registration."""

from conformance.cases import requirement
from conformance.iut import Iut
from conformance.openroberta import message_names
from conformance.openroberta.robot.tester import LabTester, playing
from conformance.openroberta.robot.tester.exchange import POLLING, Exchange
from conformance.openroberta.updates import update_paths
from conformance.verdicts import Conclusion, NotExercised


async def update_robot(tester: LabTester, push: Exchange) -> None:
    """Send a robot update, and wait for its first request of a file.

    Raises Violation if the robot requests nothing or uses another method, and Late if the request
    comes after the timeout.
    """
    start = len(tester.others)
    await push.command("update")
    found = await tester.other_in_time("UpdateRequest", start, "update.gets")
    if found is None:
        raise push.violation("a GET below /rest/update/", "received none", "update.gets")
    method = found.message.value["method"]
    if method != "GET":
        raise found.violation("a file to be fetched by GET", f"received {method}", "update.gets")


@requirement("update.gets")
async def test_gets(iut: Iut) -> None:
    """After update, the robot fetches files by GET."""
    async with playing(iut) as tester:
        await update_robot(tester, await tester.link())


@requirement("update.gets")
async def test_gets_after_a_program(iut: Iut) -> None:
    """After pushes, a program and update, the robot fetches the files."""
    async with playing(iut) as tester:
        push = await tester.repeats(await tester.link(), 1)
        await update_robot(tester, await tester.run(push))


@requirement("update.all-files")
async def test_all_files(iut: Iut) -> None:
    """After update, the robot fetches each declared file, both times."""
    paths = update_paths(iut.configuration)
    if not paths:
        raise NotExercised(
            "needs the paths below /rest/update/ that this robot fetches: "
            "--set update_paths=v1/runtime,v1/ev3menu"
        )
    async with playing(iut) as tester:
        push = await tester.link()
        for _ in range(2):
            start = len(tester.others)
            await update_robot(tester, push)
            following = await tester.after_files(*POLLING)
            files = [entry for entry in tester.others[start:] if entry.name == "UpdateRequest"]
            fetched = [entry.message.value["path"] for entry in files]
            missing = [path for path in paths if message_names.UPDATE + path not in fetched]
            if following is not None and following.name != "Register":
                # A robot that pushes during its updates can fetch the other files later.
                raise _no_registration(following)
            if missing:
                raise push.violation(
                    "all declared files to be fetched", f"{missing[0]} was not fetched"
                )
            if following is None:
                return
            await following.command("repeat")
            push = await tester.next("Push", requirement="register.then-push")


@requirement("update.stops-pushing")
async def test_stops_pushing(iut: Iut) -> None:
    """After update, the next request at /rest/pushcmd is a registration, both times.

    The test passes if the robot does not come back.
    """
    async with playing(iut) as tester:
        push = await tester.link()
        for _ in range(2):
            await update_robot(tester, push)
            following = await tester.after_files(*POLLING)
            if following is None:
                return
            if following.name != "Register":
                raise _no_registration(following)
            await following.command("repeat")
            push = await tester.next("Push", requirement="register.then-push")


def _no_registration(instead: Exchange) -> Conclusion:
    came = f"received {instead.name}"
    return instead.violation("a registration after update", came, "update.stops-pushing")
