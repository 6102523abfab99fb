"""Tests of the data object in a robot's requests."""

from typing import Any

from conformance.cases import check, requirement
from conformance.iut import Iut
from conformance.openroberta.oracle import CONSTANT
from conformance.openroberta.robot.tester import LabTester, playing
from conformance.verdicts import NotExercised


async def conversation(tester: LabTester) -> None:
    """Let the robot register, push several times, and run a program between pushes."""
    push = await tester.repeats(await tester.link(), 1)
    await tester.run(push)


def presence_of(name: str) -> Any:
    """Return the test case for a mandatory field, which is a requirement of its own."""

    @requirement(f"data.{name}")
    async def test(iut: Iut) -> None:
        async with playing(iut) as tester:
            push = await tester.repeats(await tester.link(), 1)
            await tester.link_again(push)
            for asked in tester.asked:
                if name not in asked.data:
                    raise asked.violation(
                        f"{name} in the object of {asked.name}", "the field is missing"
                    )

    test.__doc__ = (
        f"Registrations and pushes have the field {name}, also after a second registration."
    )
    return test


test_firmwarename = presence_of("firmwarename")
test_robot = presence_of("robot")
test_macaddr = presence_of("macaddr")
test_cmd = presence_of("cmd")
test_firmwareversion = presence_of("firmwareversion")
test_token = presence_of("token")
test_brickname = presence_of("brickname")
test_battery = presence_of("battery")
test_menuversion = presence_of("menuversion")


@requirement("data.strings")
async def test_strings(iut: Iut) -> None:
    """All fields except the exit value are strings, in all requests of a session."""
    async with playing(iut) as tester:
        await conversation(tester)


@requirement("data.same-object")
async def test_same_object(iut: Iut) -> None:
    """The data object stays the same from the registration to the pushes after a program."""
    async with playing(iut) as tester:
        await conversation(tester)
        first = tester.asked[0]
        for asked in tester.asked[1:]:
            for name in ("token", *CONSTANT):
                before, after = first.data.get(name), asked.data.get(name)
                # A value of another type is an error of its own (data.strings).
                if isinstance(before, str) and isinstance(after, str) and before != after:
                    raise asked.violation(f"{name} {before!r} as before", f"received {after!r}")


@requirement("data.same-object")
async def test_same_object_after_an_abort(iut: Iut) -> None:
    """Requests after a second registration have the data object of that registration."""
    async with playing(iut) as tester:
        asked = await tester.next("Register", requirement="register.first")
        await asked.command("abort")
        again = await tester.wait_for("Register", within=tester.seconds("response"))
        if again is None:
            raise NotExercised("needs a robot that registers again by itself after an abort")
        await again.command("repeat")
        await tester.run(await tester.next("Push", requirement="register.then-push"))


@requirement("token.alphabet")
async def test_alphabet(iut: Iut) -> None:
    """The token of each registration consists of digits and letters, also after an abort."""
    async with playing(iut) as tester:
        asked = await tester.next("Register", requirement="register.first")
        for _ in range(3):
            token = asked.data.get("token")
            good = isinstance(token, str) and token.isascii() and token.isalnum()
            if not good:
                came = f"received {str(token)[:80]!r}"
                raise asked.violation("a token of digits and letters", came)
            await asked.command("abort")
            following = await tester.wait_for("Register", within=tester.seconds("response"))
            if following is None:
                return
            asked = following


@requirement("token.shown")
async def test_shown(iut: Iut) -> None:
    """The user sees the token of the registration, also after each abort."""
    async with playing(iut) as tester:
        asked = await tester.next("Register", requirement="register.first")
        for _ in range(3):
            answered = await tester.instance.upper("shown")
            token = asked.data.get("token")
            shown = str(answered.require_result("shown")).strip()
            check(shown == token, f"the token {token!r} to be shown", f"{shown[:80]!r} is shown")
            await asked.command("abort")
            following = await tester.wait_for("Register", within=tester.seconds("response"))
            if following is None:
                return
            asked = following


@requirement("token.random")
async def test_random(iut: Iut) -> None:
    """Two starts of the robot use different tokens."""
    if not iut.configuration.command:
        raise NotExercised("needs a robot that the suite can start twice; give its command")
    tokens = set()
    for _ in range(2):
        async with playing(iut) as tester:
            tokens.add(str((await tester.next("Register")).data.get("token")))
    check(len(tokens) == 2, "a new token at each start", f"received {min(tokens)!r} twice")


@requirement("exit.integer")
async def test_exit_value(iut: Iut) -> None:
    """The exit value is an integer in all requests that have it."""
    async with playing(iut) as tester:
        await conversation(tester)
        if not any("nepoexitvalue" in asked.data for asked in tester.asked):
            raise NotExercised("this robot sends no exit value, not even after a program")


@requirement("robustness.content-type")
async def test_content_type(iut: Iut) -> None:
    """Requests with JSON have a Content-Type that says so."""
    async with playing(iut) as tester:
        await conversation(tester)
