"""Tests that a lab understands all forms of HTTP, and survives other bytes."""

from collections.abc import Sequence
from functools import partial

import pytest

from conformance.cases import check, compared, lasting, requirement, send_with_pause
from conformance.iut import Iut
from conformance.many_clients import visit_often
from conformance.openroberta import message_names
from conformance.openroberta.codec import Spelling, chunks, encode, title_case, with_a_blank
from conformance.openroberta.codings import coding_of
from conformance.openroberta.lab.tester import RobotsTester, playing
from conformance.openroberta.lab.tester.exchange import Exchange, assert_refused, find_refusal
from conformance.openroberta.lab.tester.robot import Robot
from conformance.segmentation import Segmentation, byte_by_byte, in_halves, split_at, whole
from conformance.verdicts import Inconclusive, NotExercised, Violation

_LENGTH_REQUIRED = 411
# a lab that ignores the body must not read the body as the next request
_ONCE = {"Connection": "close"}

TLS_HELLO = bytes.fromhex(
    "16030100c8010000c40303" + "5a" * 32 + "0000" + "0004130113020100" + "00" * 40
)


async def assert_served(tester: RobotsTester, robot: Robot, after: str) -> None:
    """Raise Violation unless a robot can register, and be linked if possible."""
    exchange = await robot.register()
    await exchange.assert_held(f"a robot to be served after {after}")
    if await tester.offers("pair"):
        await robot.linked_by(exchange, None)


async def play_whole_session(tester: RobotsTester) -> None:
    """Let a robot be refused, and then be linked and fetch a program if possible."""
    robot = tester.robot()
    exchange = await robot.ask(message_names.PUSHCMD, robot.object("register", "token"))
    await exchange.check_refused("refuses.token")
    if await tester.offers("pair"):
        await robot.link()
        if await tester.offers("run"):
            await robot.fetch()


@requirement("http.messages")
async def test_messages(iut: Iut) -> None:
    """All answers of a whole session are valid HTTP."""
    async with playing(iut) as tester:
        await play_whole_session(tester)


SPELLINGS: Sequence[Spelling] = (
    lambda name, text: f"{name.lower()}: {text}",
    lambda name, text: f"{name.upper()}: {text}",
    lambda name, text: f"{name.title().swapcase()}: {text}",
    lambda name, text: f"{name.title()}:{text}",
    lambda name, text: f"{name.title()}:  \t{text}",
)
"""Spellings of a header field. None has white space after the value (see the requirement)."""


@requirement("http.header-names")
async def test_header_names(iut: Iut) -> None:
    """Header names are in any case, and any white space precedes the values."""
    await _check_registrations(iut, SPELLINGS)


@requirement("http.header-names")
async def test_names_of_rarer_fields(iut: Iut) -> None:
    """Connection and Transfer-Encoding mean the same in each spelling as in the usual one."""
    await _check_rarer_fields(iut, SPELLINGS)


@requirement("robustness.trailing-blanks")
async def test_trailing_blanks(iut: Iut) -> None:
    """A blank at the end of each header value changes nothing."""
    await _check_registrations(iut, [with_a_blank])
    await _check_rarer_fields(iut, [with_a_blank])


async def _check_registrations(iut: Iut, spellings: Sequence[Spelling]) -> None:
    """Raise Violation unless registrations in these spellings are held."""
    async with playing(iut) as tester:
        for spell in spellings:
            robot = tester.robot()
            value = tester.request("POST", message_names.PUSHCMD, {}, robot.object("register"))
            spelt = ", ".join(repr(spell(*field)) for field in value["headers"].items())
            session = await tester.connection()
            await session.send_bytes(encode(value, spell))
            exchange = Exchange(session, "Register")
            await exchange.assert_held(f"the registration with {spelt} to be held")
            if await tester.offers("pair"):
                await robot.linked_by(exchange, None)


async def _check_rarer_fields(iut: Iut, spellings: Sequence[Spelling]) -> None:
    """Raise Violation unless fields in these spellings mean the same as in title case."""
    async with playing(iut) as tester:
        for sends in (_is_closing, _holds_chunks):
            if not await sends(tester, title_case):
                continue
            for spell in spellings:
                spelt = repr(
                    spell("connection" if sends is _is_closing else "transfer-encoding", "…")
                )
                expected = f"{spelt} to mean the same as in title case"
                check(await sends(tester, spell), expected, "it does not")


async def _is_closing(tester: RobotsTester, spell: Spelling) -> bool:
    """Return True if the lab closes the connection as this spelling of Connection requests."""
    data = tester.robot().object("register", "token")
    value = tester.request("POST", message_names.PUSHCMD, {"connection": "close"}, data)
    session = await tester.connection()
    await session.send_bytes(encode(value, spell))
    return await session.until_closed("response")


async def _holds_chunks(tester: RobotsTester, spell: Spelling) -> bool:
    """Return True if the lab holds a registration whose chunks this spelling announces."""
    fields = {"transfer-encoding": "chunked", "connection": "close"}
    value = tester.request("POST", message_names.PUSHCMD, fields, tester.robot().object("register"))
    session = await tester.connection()
    await session.send_bytes(encode(value, spell))
    return not await find_refusal(session)


@requirement("robustness.codings")
async def test_codings(iut: Iut) -> None:
    """No answer is compressed for a robot that accepts only the coding identity."""
    async with playing(iut) as tester:
        await play_whole_session(tester)
        for session in iut.sessions:
            for message in session.received:
                if coding := coding_of(message.value.get("headers", {})):
                    expected = "an answer without a content coding, as Accept-Encoding says"
                    came = f"received {message.name} with the coding {coding}"
                    raise Violation(expected, came, event=message.event).shown_in(session)


@requirement("robustness.charset")
async def test_charset(iut: Iut) -> None:
    """A registration whose Content-Type names a character set is held."""
    async with playing(iut) as tester:
        for named in ("application/json; charset=utf8", "application/json;charset=UTF-8"):
            robot = tester.robot()
            robot.headers = {"content-type": named}
            await assert_served(tester, robot, f"the Content-Type {named}")


@requirement("http.persistence")
async def test_one_connection(iut: Iut) -> None:
    """A robot uses the same connection for all requests while the lab keeps it open."""
    async with playing(iut) as tester:
        robot = tester.robot()
        robot.keeps = True
        for requirement_ in ("refuses.battery", None):
            data = tester.robot().object("register", "battery")
            exchange = await robot.ask(message_names.PUSHCMD, data)
            await exchange.check_refused(requirement_)
        exchange = await robot.register()
        await exchange.assert_unanswered()
        if await tester.offers("pair"):
            await robot.linked_by(exchange, None)
            if await tester.offers("run"):
                await robot.run_and_receive("run", "Download", None)


@requirement("http.persistence")
async def test_closing(iut: Iut) -> None:
    """A robot that asks to close each connection gets its answer, and the lab closes."""
    async with playing(iut) as tester:
        robot = tester.robot()
        for version, asks in (("1.0", "close"), ("1.1", "close"), ("1.1", "Close")):
            data = robot.object("register", "battery")
            value = tester.request("POST", message_names.PUSHCMD, {"Connection": asks}, data)
            session = await tester.connection()
            await session.send({**value, "version": version})
            ended = await session.until_closed("response")
            if not (ended or session.received):
                expected = "a register without its battery to be refused"
                raise Violation(expected, "it is held", "refuses.battery")
            expected = f"the connection to be closed, as Connection: {asks} requests"
            check(ended, expected, "it stays open")
        await assert_served(tester, tester.robot(), "connections that were closed")


CUTS: Sequence[Segmentation] = (
    byte_by_byte,
    in_halves,
    split_at([5, 30, -60, -1]),
    split_at([-2]),
)


@requirement("http.segmentation")
async def test_segmentation(iut: Iut) -> None:
    """A registration is read completely for each segmentation; a wrong one is refused."""

    async def play(cuts: Sequence[Segmentation]) -> None:
        async with playing(iut) as tester:
            for cut in cuts:
                # Another robot sends it, because the test does not check a token that was refused
                # before.
                data = tester.robot().object("register", "firmwarename")
                robot = tester.robot()
                wrong = await robot.ask(message_names.PUSHCMD, data, segmentation=cut)
                await wrong.check_refused()
                exchange = await robot.register(segmentation=cut)
                await exchange.assert_unanswered()
                if await tester.offers("pair"):
                    await robot.linked_by(exchange, None)

    await compared(iut, play, CUTS, [whole], "refuses.firmwarename")


@requirement("http.segmentation")
@pytest.mark.parametrize("place", [30, -20], ids=["inside-the-header", "inside-the-body"])
async def test_another_between_two_pieces(iut: Iut, place: int) -> None:
    """A registration arrives in two pieces, and another registration between the pieces."""

    async def play(in_pieces: bool) -> None:
        async with playing(iut) as tester:
            await tester.wait_until_awake()
            robot = tester.robot()
            value = tester.request("POST", message_names.PUSHCMD, {}, robot.object("register"))
            data = encode(value)
            session = await tester.connection()
            exchange = Exchange(session, "Register")
            cut = place % len(data) if in_pieces else 0
            if cut:
                await session.send_bytes(data[:cut])
                await session.wait_until_taken()
            other = await tester.robot().register()
            # A lab that serves one connection at a time reads the other request later.
            await other.assert_unanswered()
            await session.send_bytes(data[cut:])
            await exchange.assert_held("a registration in two pieces to be held")
            if await tester.offers("pair"):
                await robot.linked_by(exchange, None)

    await compared(iut, play, True, False, "register.repeat")


@requirement("http.segmentation")
@pytest.mark.parametrize("place", [30, -20], ids=["inside-the-header", "inside-the-body"])
@lasting
async def test_pause_inside_a_request(iut: Iut, place: int) -> None:
    """A registration whose rest comes after a pause is held."""

    async def play(pauses: bool) -> None:
        async with playing(iut) as tester:
            await tester.wait_until_awake()
            robot = tester.robot()
            value = tester.request("POST", message_names.PUSHCMD, {}, robot.object("register"))
            session, data = await tester.connection(), encode(value)
            exchange = Exchange(session, "Register")
            if pauses:
                await send_with_pause(session, data, place)
            else:
                await session.send_bytes(data)
            await exchange.assert_held("a registration with a pause inside to be held")
            if await tester.offers("pair"):
                await robot.linked_by(exchange, None)

    await compared(iut, play, True, False, "register.repeat")


@requirement("robustness.chunked-requests")
async def test_chunked_request(iut: Iut) -> None:
    """A registration in chunks is held, or refused with status 411 (Length Required)."""
    async with playing(iut) as tester:
        robot = tester.robot()
        # A lab that cannot read chunks must not take them for the next request.
        fields = {"transfer-encoding": "chunked", "connection": "close"}
        value = tester.request("POST", message_names.PUSHCMD, fields, {})
        head = encode({name: part for name, part in value.items() if name != "json"})
        plain = encode(tester.request("POST", "/", {}, robot.object("register")))
        body = plain.partition(b"\r\n\r\n")[2]
        session = await tester.connection()
        await session.send_bytes(
            head.removesuffix(b"0\r\n\r\n") + chunks([body[:40], body[40:41], body[41:]])
        )
        refusal = await find_refusal(session)
        for message in session.received:
            if message.value["version"] == "1.0":
                raise NotExercised("this lab answers with HTTP/1.0, which has no chunks")
            if message.value["status"] == _LENGTH_REQUIRED:
                return
        check(not refusal, "the registration to be held", refusal)
        if await tester.offers("pair"):
            await tester.require_result("pair", token=robot.token)
            await session.expect("Repeat", within="response")


@requirement("robustness.expectations")
async def test_expectation(iut: Iut) -> None:
    """A robot that sends Expect: 100-continue is asked for its body before it sends it."""
    async with playing(iut) as tester:
        data = tester.robot().object("register", "token")
        value = tester.request("POST", message_names.PUSHCMD, {"Expect": "100-continue"}, data)
        head, line, body = encode(value).partition(b"\r\n\r\n")
        session = await tester.connection()
        await session.send_bytes(head + line)

        async def has_answered() -> bool:
            return session.size > 0 or session.ended

        if await session.poll_until(has_answered, "an answer to Expect: 100-continue", "response"):
            return
        await session.send_bytes(body)
        message = await Exchange(session, "Register").unless_closed("refuses.token")
        if message is None or message.value["version"] == "1.0":
            raise NotExercised("needs a lab that uses HTTP/1.1: HTTP/1.0 has no 100 Continue")
        expected = "100 Continue or another answer before the announced body"
        raise Violation(expected, "received nothing before the body was sent", event=message.event)


@requirement("robustness.other-methods")
async def test_other_methods(iut: Iut) -> None:
    """A registration with a method other than POST gets an error."""
    async with playing(iut) as tester:
        for method in ("GET", "PUT", "DELETE"):
            robot = tester.robot()
            robot.headers = _ONCE
            registration = robot.object("register")
            await assert_refused(
                partial(robot.ask, message_names.PUSHCMD, registration, method=method)
            )


@requirement("robustness.other-paths")
async def test_other_paths(iut: Iut) -> None:
    """A registration at an unknown path gets 404. At the right path it is held."""
    async with playing(iut) as tester:
        robot = tester.robot()
        robot.headers = _ONCE
        for path in ("/pushcmd", "/rest", "/rest/nothing"):
            exchange = await robot.ask(path, robot.object("register"))
            message = await exchange.session.wait_for(within="response")
            if message is None:
                raise exchange.failed(f"status 404 at {path}", "received nothing")
            status = message.value["status"]
            check(status == 404, f"status 404 at {path}", f"received {status}", message.event)
        await assert_served(tester, robot, "a wrong path")


HALVES: dict[str, Sequence[bytes]] = {
    "request line": [b"POST /rest/pu"],
    "headers": [b"POST /rest/pushcmd HTTP/1.1\r\nHost: a\r\nContent-Le"],
    "body": [b'POST /rest/pushcmd HTTP/1.1\r\nHost: a\r\nContent-Length: 500\r\n\r\n{"cmd":'],
    "nothing": [b""],
    "gigabytes": [
        b"POST /rest/pushcmd HTTP/1.1\r\nHost: a\r\nContent-Length: 9999999999\r\n\r\n{",
        bytes(100_000),
    ],
    "endless headers": [b"POST /rest/pushcmd HTTP/1.1\r\n", b"X-Long: " + b"x" * 300_000],
    "no HTTP": [b"\x00\x01\x02\x03hello\r\n\r\n"],
}


@requirement("robustness.half-requests")
async def test_half_requests(iut: Iut) -> None:
    """Incomplete and endless requests do not keep the lab from serving others."""
    async with playing(iut) as tester:
        for what, pieces in HALVES.items():
            left, stays = await tester.connection(), await tester.connection()
            for piece in pieces:
                await left.send_bytes(piece)
                await stays.send_bytes(piece)
            await left.wait_until_taken()
            await left.close()
            await assert_served(
                tester, tester.robot(), f"a request of which the lab received only this: {what}"
            )
        killed = await tester.connection()
        await killed.send_bytes(b"POST /rest/pushcmd HTTP/1.1\r\nContent-Le")
        await killed.break_off()
        await assert_served(tester, tester.robot(), "a request whose connection was reset")


@requirement("robustness.many-connections")
@lasting
async def test_very_many_connections(iut: Iut) -> None:
    """A robot is answered after more connections than a process can have open files."""
    async with playing(iut) as tester:
        robot = tester.robot()
        refused = robot.object("register", "token")
        # A registration would not show if the lab reads it, because a lab holds registrations.
        before = await robot.ask(message_names.PUSHCMD, refused)
        if await before.unless_closed("refuses.token") is None:
            raise Inconclusive("the lab closes the connection instead of an answer with an error")
        data = encode(tester.request("POST", message_names.PUSHCMD, _ONCE, refused))
        number = await visit_often(before.session, lambda: data, iut.seconds("quiet"))
        robot.headers = _ONCE
        after = await robot.ask(message_names.PUSHCMD, refused)
        if await after.unless_closed() is None:
            expected = f"a robot to be answered after {number} connections of other robots"
            raise after.failed(expected, "the lab closed the connection")


@requirement("robustness.tls-hello")
async def test_tls_hello(iut: Iut) -> None:
    """A robot that tries TLS before each request is served over plain HTTP."""
    async with playing(iut) as tester:
        robot = tester.robot()
        for _ in range(2):
            session = await tester.connection()
            await session.send_bytes(TLS_HELLO)
            await session.until_closed(tester.seconds("quiet"))
        await assert_served(tester, robot, "a TLS hello")
