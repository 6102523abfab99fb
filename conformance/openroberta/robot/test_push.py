"""Tests of pushes: a robot pushes repeatedly, waits, and survives unusual answers."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from conformance.cases import check, compared, explore, lasting, requirement
from conformance.iut import Iut
from conformance.openroberta import strategies
from conformance.openroberta.codec import response
from conformance.openroberta.oracle import MAX_HELD
from conformance.openroberta.robot.tester import RESTART, playing
from conformance.openroberta.robot.tester.exchange import POLLING, Exchange
from conformance.openroberta.values import same
from conformance.verdicts import Violation


@requirement("push.again")
@pytest.mark.parametrize("times", [1, 10])
async def test_again(iut: Iut, times: int) -> None:
    """The robot pushes again each time that a push is answered with repeat."""
    async with playing(iut) as tester:
        await tester.repeats(await tester.link(), times)


@requirement("push.one-at-a-time")
async def test_one_at_a_time(iut: Iut) -> None:
    """No further push comes while a push is unanswered, at first and after programs."""
    async with playing(iut) as tester:
        push = await tester.link()
        for _ in range(3):
            # After a longer time, a robot can lawfully give up its push.
            window = min(tester.seconds("response"), tester.seconds("push_hold"))
            for _ in range(MAX_HELD):
                if await tester.wait_for("Push", within=window) is None:
                    break
            push = await tester.run(await tester.repeats(push, 1))


@requirement("push.at-once")
async def test_at_once(iut: Iut) -> None:
    """The next push comes within a second after repeat, early and late in a session.

    The quickest of three pushes counts.
    """
    async with playing(iut) as tester:
        push, took = await tester.link(), list[float]()
        while len(took) < 10 and (len(took) < 8 or min(took[-3:]) > 1):
            await push.command("repeat")
            answered = asyncio.get_running_loop().time()
            push = await tester.next("Push", within=RESTART, requirement="push.again")
            took.append(push.at - answered)
        for quickest in (min(took[:3]), min(took[-3:])):
            came = f"the quickest of three took {quickest:.1f} s"
            check(quickest <= 1, "a push within a second after repeat", came)


@requirement("push.at-once")
async def test_at_once_after_errors(iut: Iut) -> None:
    """The next push comes within a second after repeat, also if errors came before.

    The quickest of three pushes counts.
    """
    async with playing(iut) as tester:
        push, took = await tester.link(), list[float]()
        for _ in range(ERRORS):
            await push.refuse(500)
            push = await tester.next(
                "Push", "Register", within=RESTART, requirement="robustness.lost-answers"
            )
        for _ in range(4):
            await push.command("repeat")
            answered = asyncio.get_running_loop().time()
            push = await tester.next("Push", within=RESTART, requirement="push.again")
            took.append(push.at - answered)
        quickest = min(took[1:])
        came = f"after {ERRORS} errors the quickest of three took {quickest:.1f} s"
        check(quickest <= 1, "a push within a second after repeat", came)


@requirement("push.patient")
@pytest.mark.parametrize("earlier", [0, 1, 5], ids=["first", "second", "later"])
@lasting
async def test_patient(iut: Iut, earlier: int) -> None:
    """The robot waits for the answer to a push for the whole push_hold.

    The push is the first one, the second one, or one after a program.
    """
    async with playing(iut) as tester:
        patience = tester.seconds("push_hold")
        tester.iut.skip_if_longer(patience, "push_hold")
        push = await tester.repeats(await tester.link(), earlier)
        if earlier > 1:
            push = await tester.run(push)
        await push.check_waits(patience, f"the robot to wait {patience:g} s for its push")


ERRORS = 4  # answers with an error one after another, with a longer pause after each
LONG_NAME = 'the robot "Gr\u00f6\u00dfe 2" \\ and more that its user has called it by'


@requirement("push.fresh")
async def test_fresh(iut: Iut) -> None:
    """After a change of the battery's voltage, all later pushes have the new value."""
    await check_changes(iut, "battery", ["battery"], "7.9", "0.1", "9.3")


@requirement("push.fresh")
async def test_fresh_name(iut: Iut) -> None:
    """After a change of the robot's name, all later pushes have the new name.

    The specification does not say which of two members is the robot's name: both are accepted.
    """
    await check_changes(iut, "name", ["brickname", "robot"], "Robi", LONG_NAME)


async def check_changes(iut: Iut, operation: str, fields: list[str], *values: str) -> None:
    """Change a value by an operation, and check the next two pushes.

    The value must be in one of `fields`.
    """
    async with playing(iut) as tester:
        measures = iut.configuration.seconds("response")
        push = await tester.link()
        before = [push.data.get(field) for field in fields]
        for value in values:
            (await tester.instance.upper(operation, value=value)).require_result(operation)
            # A robot can measure its voltage from time to time, and not for each push.
            # The declared time, because a robot gives up its push after a longer one.
            push = await tester.wait_for("Push", within=measures) or push
            push = await tester.repeats(push, 1)
            assert_tells(push, fields, value)
            push = await tester.repeats(push, 1)
            # A new value has changed once more by itself, because a voltage sinks.
            if any(same(one, old) for one in values_of(push, fields) for old in before):
                assert_tells(push, fields, value)
            before.append(value)


def values_of(push: Exchange, fields: list[str]) -> list[Any]:
    """Return the values of these fields that the push contains."""
    return [push.data[field] for field in fields if field in push.data]


def assert_tells(push: Exchange, fields: list[str], value: str) -> None:
    """Raise Violation unless one of these fields has this value."""
    came = values_of(push, fields)
    if any(same(one, value) for one in came):
        return
    known = "data.strings" if None in came else None
    known = known if came else f"data.{fields[0]}"
    what = " and ".join(map(repr, came)) or "none"
    raise push.violation(f"the {' or '.join(fields)} {value!r}", f"received {what}", known)


@requirement("robustness.extra-members")
@explore(extra=strategies.members())
async def test_extra_members(iut: Iut, extra: dict[str, Any]) -> None:
    """Answers have members that the protocol does not define."""

    async def play(more: Sequence[dict[str, Any]]) -> None:
        async with playing(iut) as tester:
            asked = await tester.next("Register", requirement="register.first")
            await asked.answer(response(200, {}, {**more[0], "cmd": "repeat"}))
            push = await tester.next("Push")
            await push.answer(response(200, {}, {"cmd": "repeat", **more[1]}))
            push = await tester.next("Push")
            await push.answer(response(200, {}, {**more[2], "cmd": "download"}))
            await tester.program_request()

    plain: Sequence[dict[str, Any]] = [{}, {}, {}]

    def unusual(more: dict[str, Any]) -> Sequence[dict[str, Any]]:
        # The longest member comes first: a robot that reads only the beginning finds no command.
        long = {"message": "a program waits" * 20, **more}
        return [long, {**more, "subtype": "download"}, {"last": "abort", **more}]

    try:
        await compared(iut, play, unusual(extra), plain, "run.requests-file")
    except Violation as wrong:
        # A robot that cannot decode JSON escapes fails for that reason, not for the additional
        # member.
        if "\\" in json.dumps(extra) and await _is_holding(play(unusual({"response": "ok"}))):
            wrong.requirement = "robustness.escaped-letters"
        raise


@requirement("robustness.extra-members")
@pytest.mark.parametrize("length", [1 << 10, 1 << 12, (1 << 16) + 1])
async def test_long_answers(iut: Iut, length: int) -> None:
    """Answers have a member of so many bytes before and after the command."""
    async with playing(iut) as tester:
        push = await tester.link()
        for more in (
            {"message": "x" * length, "cmd": "repeat"},
            {"cmd": "repeat", "m": "y" * length},
        ):
            await push.answer(response(200, {}, more))
            push = await tester.next("Push")
        await push.answer(response(200, {}, {"message": "x" * length, "cmd": "download"}))
        await tester.program_request()


async def _is_holding(playing: Awaitable[None]) -> bool:
    try:
        await playing
    except Violation:
        return False
    return True


@requirement("commands.configuration")
async def test_configuration(iut: Iut) -> None:
    """The command configuration, which has no use yet, changes nothing."""
    async with playing(iut) as tester:
        push = await tester.link()
        await push.command("configuration")
        await tester.next("Push")


@requirement("robustness.unknown-command")
@pytest.mark.parametrize("cmd", ["stopprogram", "", None, 7, ["repeat"]], ids=repr)
async def test_unknown_command(iut: Iut, cmd: Any) -> None:
    """An unknown command, even one of a wrong type, does not stop the robot."""
    async with playing(iut) as tester:
        push = await tester.link()
        await push.answer(response(200, {}, {"cmd": cmd}))
        # The robot can take this answer for no answer, and register again.
        again = await tester.next("Push", "Register", within=("startup",))
        await again.command("repeat")
        await tester.next("Push", within=("startup",))


@requirement("robustness.abort-of-push")
async def test_abort(iut: Iut) -> None:
    """A robot whose push is answered with abort registers again or stops."""
    async with playing(iut) as tester:
        push = await tester.repeats(await tester.link(), 1)
        await push.command("abort")
        following = await tester.wait_for(*POLLING, within=tester.seconds("response"))
        if following is not None and following.name != "Register":
            raise following.violation("no push after abort", f"received {following.name}")


LOST: dict[str, Callable[[Exchange], Awaitable[None]]] = {
    "500": lambda push: push.refuse(500),
    "503": lambda push: push.refuse(503),
    "404": lambda push: push.refuse(404),
    "closed": lambda push: push.session.close(),
    "half": lambda push: push.raw(b"HTTP/1.1 200 OK\r\nContent-Length: 16\r\n\r\n{", ends=True),
    "text": lambda push: push.answer(response(200, {}, b"repeat")),
    "no HTTP": lambda push: push.raw(b"\x00\xff\r\n\r\n", ends=True),
}


@requirement("robustness.lost-answers")
@pytest.mark.parametrize("how", LOST)
async def test_lost_answers(iut: Iut, how: str) -> None:
    """A robot whose push gets an error or no answer tries again."""
    async with playing(iut) as tester:
        push = await tester.link()
        await LOST[how](push)
        lost = f"a push whose answer was lost ({how})"
        again = await tester.next("Push", "Register", within=RESTART, after=lost)
        await again.command("repeat")
        await tester.next("Push", within=RESTART)
