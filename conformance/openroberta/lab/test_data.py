"""Tests of data objects with missing or additional fields."""

import contextlib
import json
from collections.abc import Collection
from functools import partial
from typing import Any

from conformance.cases import check, compared, explore, lasting, requirement
from conformance.iut import Iut
from conformance.openroberta import strategies
from conformance.openroberta.codec import encode
from conformance.openroberta.lab.tester import RobotsTester, playing
from conformance.openroberta.lab.tester.exchange import (
    EARLIEST,
    Exchange,
    assert_refused,
    find_refusal,
)
from conformance.openroberta.lab.tester.robot import Robot, new_token
from conformance.openroberta.lab.tester.timing import latest_answers, open_after_repeat
from conformance.openroberta.lab.tester.unregistered import can_serve_unregistered, is_serving
from conformance.openroberta.message_names import DOWNLOAD, MANDATORY, PUSHCMD
from conformance.openroberta.values import same
from conformance.verdicts import Inconclusive, Violation


async def assert_lack_refused(robot: Robot, cmd: str, name: str) -> None:
    """Raise Violation unless a request without this field is answered with an error."""
    await assert_refused(partial(robot.ask, PUSHCMD, robot.object(cmd, name)))


def refusal_of(name: str) -> Any:
    """Return the test case for a mandatory field, which is a requirement of its own."""

    @requirement(f"refuses.{name}")
    async def test(iut: Iut) -> None:
        async with playing(iut) as tester:
            await assert_lack_refused(tester.robot(), "register", name)
            if await tester.offers("pair"):
                linked = await tester.open_linked()
                with contextlib.suppress(Violation, Inconclusive):
                    # If the lab accepts pushes without this field, too, the first push is the
                    # evidence.
                    await assert_lack_refused(linked, "push", "firmwarename")
                await assert_lack_refused(linked, "push", name)
                await assert_lack_refused(tester.robot(), "register", name)

    test.__doc__ = (
        f"Registrations and pushes without {name} get an error, also while another robot is linked."
    )
    return test


test_without_firmwarename = refusal_of("firmwarename")
test_without_robot = refusal_of("robot")
test_without_macaddr = refusal_of("macaddr")
test_without_cmd = refusal_of("cmd")
test_without_firmwareversion = refusal_of("firmwareversion")
test_without_token = refusal_of("token")
test_without_brickname = refusal_of("brickname")
test_without_battery = refusal_of("battery")
test_without_menuversion = refusal_of("menuversion")


@requirement("refuses.thrown-away")
@lasting
async def test_thrown_away(iut: Iut) -> None:
    """A registration without a field has no effect. A correct one with that token is held."""
    async with playing(iut) as tester:
        robot = tester.robot()
        for name in ("robot", "battery", "menuversion"):
            exchange = await robot.ask(PUSHCMD, robot.object("register", name))
            await exchange.check_refused(f"refuses.{name}")
        if await tester.offers("pair"):
            entered = await tester.run_operation("pair", token=robot.token)
            check(
                # Some labs serve robots without a registration. Then a served push shows nothing.
                not await is_serving(tester, robot) or await can_serve_unregistered(tester),
                "no registration by a request without a field",
                f"{robot.token} could push (token {'entered' if entered.ok else 'not entered'})",
            )
        if await tester.offers("pair"):
            await robot.link_again(None)
        else:
            await (await robot.register()).assert_unanswered()


@requirement("refuses.thrown-away")
@lasting
async def test_thrown_away_while_pushing(iut: Iut) -> None:
    """A push without a field does not affect its robot: the next push is served.

    The lab does not use its values, and the unanswered push stays unanswered.
    """
    await compared(iut, partial(_check_thrown_away, iut), True, False, "push.answered")


async def _check_thrown_away(iut: Iut, wrong: bool) -> None:
    """Raise Violation unless a push is served, after another push without a field if `wrong`."""
    async with playing(iut) as tester:
        robot = await open_after_repeat(tester)
        waits = await robot.push()
        early = EARLIEST["push_hold"] * tester.seconds("push_hold")
        # The lab must refuse the other push before it has to answer the first push.
        soon = min(early / 4, tester.seconds("quiet"))
        message = await waits.session.wait_for(within=soon)
        if message is not None:
            raise waits.wrong("no immediate answer", message, "push.held")
        if not wrong:
            await assert_still_served(tester, robot, waits)
            return
        battery = robot.data["battery"]
        lacking = {**robot.object("push", "firmwarename"), "battery": "1.5"}
        await (await robot.ask(PUSHCMD, lacking)).check_refused("refuses.firmwarename")
        held = waits.session.now - waits.asked < early
        message = await waits.session.wait_for(within=tester.seconds("quiet"))
        if message is not None and message.at - waits.asked < early:
            raise waits.wrong("no answer after another push that is refused", message)
        if await tester.offers("state"):
            seen = (await tester.state(robot)).get("battery", battery)
            check(
                not same(seen, "1.5"),
                f"the user to see the battery {battery!r}",
                f"the user sees {seen!r}",
            )
        try:
            await assert_still_served(tester, robot, waits if message is None else None)
        except Violation as unserved:
            # The refused push is the reason for every other wrong answer to a push.
            unserved.requirement = None
            raise
        if not held:
            raise Inconclusive(
                "the hold of the push ended before another push was refused; a longer "
                "push_hold would show whether the refusal ends the hold"
            )


async def assert_still_served(
    tester: RobotsTester, robot: Robot, exchange: Exchange | None = None
) -> None:
    """Raise Violation unless a registered robot is still served.

    `exchange` is a push of the robot that is already unanswered.
    """
    if await tester.offers("run"):
        await robot.run_and_receive("run", "Download", None, exchange)
    else:
        _, latest = latest_answers(tester, "push_hold")
        await (exchange or await robot.push()).time_until("Repeat", 0, latest)


@requirement("refuses.download")
async def test_download_without_a_field(iut: Iut) -> None:
    """A request for a program without a field gets an error. A whole one does not."""

    async def play(lacking: Collection[str]) -> None:
        async with playing(iut) as tester:
            robot = await tester.open_linked()
            await robot.run_and_receive("run", "Download", "run.command")
            for name in lacking:
                await assert_refused(partial(robot.ask, DOWNLOAD, robot.object("push", name)))
            try:
                await robot.file()
            except Violation as wrong:
                wrong.requirement = "refuses.thrown-away" if lacking else wrong.requirement
                raise

    await compared(iut, play, MANDATORY, (), "run.bytes")


@requirement("exit.optional")
async def test_exit_value_at_registration(iut: Iut) -> None:
    """Registrations and first pushes are accepted with and without an exit value."""
    async with playing(iut) as tester:
        for value in (None, 0, 143):
            robot = tester.robot(nepoexitvalue=value)
            exchange = await robot.register()
            await exchange.assert_unanswered()
            if await tester.offers("pair"):
                await robot.linked_by(exchange, None)
                push = await robot.push()
                if refusal := await find_refusal(push.session):
                    raise push.failed("the first push to be accepted", refusal)


LENGTHS = (16, 1 << 10, 1 << 12, (1 << 16) + 1)
"""Bytes of an additional member; bodies with them exceed the usual sizes of buffers."""


@requirement("robustness.extra-members")
async def test_extra_members(iut: Iut) -> None:
    """Members that the protocol does not define have no effect, with any value."""
    extra: dict[str, Any] = {
        "runtimeversion": "2.0",
        "subtype": None,
        "response": {"a": [1, {}]},
        "": "",
        "last": {"cmd": "push", "token": new_token(), "battery": None},
    }
    async with playing(iut) as tester:
        paired = await tester.offers("pair")
        for length in LENGTHS:
            robot = tester.robot(**{**extra, "log": "x" * length})
            exchange = await robot.register()
            await exchange.assert_held(f"a registration with a member of {length} bytes to be held")
            if paired:
                await robot.linked_by(exchange, None)
        if paired:
            await assert_still_served(tester, robot)


@requirement("http.json")
@explore(fields=strategies.robots())
async def test_any_robot(iut: Iut, fields: dict[str, str]) -> None:
    """A robot with any name and version, in any script, can register."""
    async with playing(iut) as tester:
        robot = tester.robot(**fields)
        exchange = await robot.register()
        if await tester.offers("pair"):
            await robot.linked_by(exchange, None)
        else:
            await exchange.assert_unanswered()


VERSIONS = (200, 900)
"""Characters of a firmwareversion; published robots send the text of /proc/version."""


@requirement("http.json")
async def test_long_version(iut: Iut) -> None:
    """A robot with a long text as firmwareversion can register and push."""
    async with playing(iut) as tester:
        paired = await tester.offers("pair")
        for length in VERSIONS:
            robot = tester.robot(firmwareversion="Linux " + "4" * (length - 6))
            exchange = await robot.register()
            expected = f"a registration with a firmwareversion of {length} characters to be held"
            await exchange.assert_held(expected)
            if paired:
                await robot.linked_by(exchange)
        if paired:
            await assert_still_served(tester, robot)


@requirement("http.json")
async def test_json_in_another_spelling(iut: Iut) -> None:
    """JSON is accepted with white space, in any order, in UTF-8 or escaped."""
    async with playing(iut) as tester:
        robot = tester.robot(brickname="Gr\u00f6\u00dfe \u673a 1/2")
        data = robot.object("register")
        spelt = [(name, json.dumps(data[name], ensure_ascii=False)) for name in reversed(data)]
        fields = [f'  "{name}" :\t{text}' for name, text in spelt]
        body = "{\r\n" + ",\n".join(fields) + "\n}\n"
        body = body.replace("\u00f6", "\\u00F6").replace("/", "\\/")
        value = tester.request("POST", PUSHCMD, {"content-type": "application/json"}, body.encode())
        session = await tester.connection()
        await session.send_bytes(encode(value))
        exchange = Exchange(session, "Register")
        await exchange.assert_held("the registration to be held")
        if await tester.offers("pair"):
            await robot.linked_by(exchange, None)


MALFORMED = {
    "nothing": b"",
    "a brace": b"{",
    "text": b"hello",
    "an array": b"[]",
    "a string": b'"register"',
    "null": b"null",
    "half an object": b'{"cmd":"register"',
    "no UTF-8": b"\xff\xfe{}",
}


@requirement("robustness.malformed")
async def test_malformed(iut: Iut) -> None:
    """A body other than a JSON object gets an error. The next robot is served."""
    async with playing(iut) as tester:
        for body in MALFORMED.values():
            robot = tester.robot()
            robot.headers = {"content-type": "application/json"}
            await assert_refused(partial(robot.ask, PUSHCMD, body))
        exchange = await tester.robot().register()
        await exchange.assert_held("a robot to be served after bodies that are not JSON objects")
