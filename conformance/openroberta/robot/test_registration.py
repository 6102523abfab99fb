"""How a robot registers: what it waits for, and what it makes of the answer."""

import pytest

from conformance.cases import each_of, in_one_loop, requirement
from conformance.iut import Iut
from conformance.openroberta.robot.tester import playing
from conformance.openroberta.robot.tester.exchange import POLLING

pytestmark = in_one_loop


@requirement("register.first")
async def test_first(iut: Iut) -> None:
    """The first that comes at /rest/pushcmd is a registration, and nothing until its answer."""
    async with playing(iut) as tester:
        asked = await tester.next("Register")
        other = await tester.watch("Push", "DownloadRequest", within=2 * tester.seconds("quiet"))
        if other is not None:
            raise other.violation("nothing before the registration is answered", "it came")
        await asked.command("repeat")
        await tester.next("Push", requirement="register.then-push")


@each_of("http.paths", "http.post", "http.json")
async def test_requests(iut: Iut, statement: str) -> None:
    """Registration, pushes and the request for a program are a POST of JSON to their paths."""
    async with playing(iut) as tester:
        push = await tester.link()
        await tester.run(push)


@requirement("http.messages")
async def test_messages(iut: Iut) -> None:
    """All that comes in a whole conversation are messages of HTTP."""
    async with playing(iut) as tester:
        push = await tester.run(await tester.link())
        await push.command("update")
        await tester.other("UpdateRequest", within=tester.seconds("response"))


@requirement("commands.robot")
async def test_commands(iut: Iut) -> None:
    """The commands are register and push, from the registration to the end of a program."""
    async with playing(iut) as tester:
        push = await tester.repeats(await tester.link(), 1)
        await tester.run(push)
        for asked in tester.asked:
            if asked.data.get("cmd") not in ("register", "push"):
                came = f"{asked.data.get('cmd')!r} came"
                requirement_ = "run.download-push" if asked.name == "DownloadRequest" else None
                raise asked.violation("register or push", came, requirement_)


@requirement("register.patient")
async def test_patient(iut: Iut) -> None:
    """The robot waits for the answer to its registration as long as a lab may hold it.

    And so it does after an abort, if it registers again then. Where that is too long for a test, it
    is seen at least that it waits longer than for a push.
    """
    async with playing(iut) as tester:
        patience, limit = tester.seconds("register_hold"), iut.configuration.max_wait
        seconds = patience if patience <= limit else min(2 * tester.seconds("push_hold"), limit)
        asked = await tester.next("Register", requirement="register.first")
        expected = f"the robot to wait {patience:g} s for its registration"
        await asked.waits(seconds, expected)
        tester.worth(patience, "register_hold")
        await asked.command("abort")
        again = await tester.watch(*POLLING, within=tester.seconds("response"))
        if again is None:
            return
        if again.name != "Register":
            came = f"{again.name} came"
            raise again.violation("a registration after abort", came, "register.after-abort")
        await again.waits(seconds, f"{expected} after an abort")
        await again.command("repeat")
        await tester.next("Push", requirement="register.then-push")


@requirement("register.after-abort")
@pytest.mark.parametrize("times", [1, 3])
async def test_after_abort(iut: Iut, times: int) -> None:
    """A robot whose registration was aborted, be it thrice, registers again or stops."""
    async with playing(iut) as tester:
        asked = await tester.next("Register", requirement="register.first")
        for _ in range(times):
            await asked.command("abort")
            within = tester.seconds("response")
            following = await tester.watch(*POLLING, within=within)
            if following is None:
                return
            if following.name != "Register":
                raise following.violation("a registration after abort", f"{following.name} came")
            asked = following
        await asked.command("repeat")
        await tester.next("Push", requirement="register.then-push")


@requirement("register.then-push")
async def test_then_push(iut: Iut) -> None:
    """A robot whose registration was answered with repeat pushes, with the very same object."""
    async with playing(iut) as tester:
        push = await tester.link()
        first = tester.asked[0]
        if push.data.get("token") != first.data.get("token"):
            came = f"{push.data.get('token')!r} came"
            raise push.violation(f"the token {first.data.get('token')!r}", came, "data.same-object")


@requirement("robustness.no-storm")
@pytest.mark.parametrize("answer", ["abort", "error"])
async def test_no_storm(iut: Iut, answer: str) -> None:
    """A robot that is refused, again and again, takes its time between two tries."""
    window, most = 0.5, 25
    async with playing(iut) as tester:
        asked = await tester.next("Register", requirement="register.first")
        until = asked.at + window
        count = 0
        while asked is not None and asked.at < until:
            count += 1
            if count > most:
                break
            await (asked.command("abort") if answer == "abort" else asked.refuse(500))
            following = await tester.watch(*POLLING, within=max(until - asked.at, 0.05))
            if following is None:
                break
            asked = following
        if count > most:
            came = f"{count} came in {asked.at - until + window:.2f} s"
            raise asked.violation(f"at most {most} registrations within {window:g} s", came)
