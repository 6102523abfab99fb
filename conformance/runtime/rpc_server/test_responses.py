"""Tests of responses: exactly one for each request, with its id, in any order."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from conformance import generation
from conformance.cases import absent, check, explore, however_cut, lasting, requirement
from conformance.definitions.keywords import short_json
from conformance.iut import Iut
from conformance.runtime import strategies
from conformance.runtime.codec import encode
from conformance.runtime.rpc_server.tester import (
    ABSENT,
    blame_later_connections,
    blame_pieces,
    call,
    check_hundred,
    check_success,
    expect_answers,
    find_echo,
    find_sleep,
    has_wide,
    is_alike,
    is_refusing_others,
    procedure_names,
    request,
    response_id,
    usual_procedure,
)
from conformance.runtime.shapes import REQUEST, RESPONSE, notification
from conformance.runtime.tester import LONG_CALL
from conformance.segmentation import Segmentation, whole
from conformance.session import Session
from conformance.verdicts import NotExercised, Violation
from conformance.wire import Message

IDS = [
    *(0, 1, 127, 128, 255, 256, 32767, 32768, 65535, 65536, 0x00FF00FF),
    *(2**31 - 1, 2**31, 2**32 - 2, 2**32 - 1),
]


@requirement("rpc.response-form")
async def test_form(iut: Iut) -> None:
    """A response is an array of four elements, for success and failure."""
    async with iut.session() as session:
        await call(session, 1, ABSENT)
        await call(session, 2, usual_procedure(iut), 1)
        await call(session, 3, "nothing")


@requirement("rpc.response-id")
async def test_ids(iut: Iut) -> None:
    """A response has its request's id, for any unsigned integer of 32 bits."""
    async with iut.session() as session:
        for number in IDS:
            await call(session, number, usual_procedure(iut))


@requirement("rpc.response-id")
async def test_ids_together(iut: Iut) -> None:
    """Each response has its request's id, also if several requests wait."""
    async with iut.session() as session:
        await session.send(*(request(number, usual_procedure(iut)) for number in IDS))
        await expect_answers(session, IDS)


@requirement("rpc.each-answered")
async def test_one_after_another(iut: Iut) -> None:
    """Each of many requests is answered once, for any id, arguments and result."""
    async with iut.session() as session:
        for number in range(300):
            await call(session, number, usual_procedure(iut))
        for _ in range(3):
            await call(session, 5, usual_procedure(iut))
        declared = iut.configuration.procedures
        for number, name in enumerate(("nothing", "fail", "count"), 300):
            await call(session, number, declared.get(name) or name)
        absent(await session.wait_for(RESPONSE), "one response for each request")


@requirement("rpc.each-answered")
@explore(plan=strategies.plans(), cuts=generation.cuts())
async def test_any_session(iut: Iut, plan: list[Any], cuts: list[int]) -> None:
    """Any sequence of requests and notifications is answered correctly, in any segmentation."""
    requests = {number: params for number, params in enumerate(plan, 1) if params is not None}

    async def play(cut: Segmentation | None) -> None:
        async with iut.session() as session:
            echo = await find_echo(iut, session)
            values = [
                notification(echo.name, number) if params is None else echo.request(number, *params)
                for number, params in enumerate(plan, 1)
            ]
            await session.send(*values, segmentation=cut)
            came = await expect_answers(session, requests)
            for number, params in requests.items():
                if came[number][0] is not None and has_wide(params):
                    continue  # an honest refusal: see rpc.wide-integers
                turned = is_alike(params[::-1], came[number][1])
                about = "rpc.arguments" if turned or not params else "rpc.values"
                check_success(came[number], params, f"request {number}", about)

    await however_cut(iut, cuts, "encoding.segmentation", play)


@requirement("rpc.pipelining")
async def test_hundred_at_once(iut: Iut) -> None:
    """A hundred requests, sent without waiting, all get their own responses."""
    await check_hundred(iut)


@requirement("rpc.pipelining")
async def test_slow_and_fast(iut: Iut) -> None:
    """Requests that arrive while others are being served are answered, in any order."""
    async with iut.session() as session:
        sleep = await find_sleep(iut, session)
        slow = range(10, 18)
        # In one write, so that these calls also end at the same time.
        await session.send(*(request(number, sleep, 0.05) for number in slow), segmentation=whole)
        await session.send(*(request(number, sleep, 0) for number in (1, 2, 3)))
        await expect_answers(session, [*slow, 1, 2, 3], " sent together with other requests", None)
        absent(await session.wait_for(RESPONSE), "one response for each request")


@requirement("rpc.notification-unanswered")
async def test_notifications(iut: Iut) -> None:
    """Notifications are not answered, successful or not. Requests between them are answered."""
    async with iut.session() as session:
        for number, method in enumerate([*procedure_names(iut), ABSENT], 40):
            await session.send(
                notification(method, 0.02, 0.01), request(number, usual_procedure(iut))
            )
            await session.send(notification(method), notification(method, 0.02))
            answered = "rpc.each-answered"
            answer = await session.expect(RESPONSE, to=f"to request {number}", requirement=answered)
            if response_id(answer) != number:
                expected = f"a response to request {number} only, and none to '{method}'"
                raise Violation(expected, f"received {answer.value}", event=answer.event)
        more = await session.wait_for(RESPONSE)
        absent(more, "no response to a notification")


@requirement("rpc.notification-unanswered")
async def test_notifications_alone(iut: Iut) -> None:
    """Notifications without requests are not answered, even with wrong arguments."""
    async with iut.session() as session:
        await session.send(
            *[notification(method, 1, 2, 3) for method in [*procedure_names(iut), ABSENT]]
        )
        absent(await session.wait_for(RESPONSE), "no response to a notification")
        await call(session, 1, usual_procedure(iut))


@contextlib.asynccontextmanager
async def _two_clients(iut: Iut) -> AsyncIterator[tuple[Session, Session]]:
    """Connect two clients at the same time. Raises NotExercised if they are served one by one."""
    async with (
        blame_later_connections(iut),
        iut.instance() as instance,
        iut.connect(instance) as one,
        iut.connect(instance) as other,
    ):
        try:
            yield one, other
        except Violation as wrong:
            if astray := _stray_response(one, other) or _stray_response(other, one):
                came = f"a client received {short_json(astray.value)}, which it had not requested"
                raise Violation(wrong.expected, came, None, astray.event) from wrong
            if other.received or not await _is_served_second(one, other):
                raise
            raise NotExercised(
                "needs a server of two clients at the same time: the second client was "
                "answered only after the first had disconnected"
            ) from None


def _stray_response(session: Session, other: Session) -> Message | None:
    """Return a response that this client received but only the other client requested."""
    own, others = (
        {event.value[1] for event in each.events if event.message == REQUEST}
        for each in (session, other)
    )
    strange = (m for m in session.received if m.name == RESPONSE and response_id(m) in others - own)
    return next(strange, None)


async def _is_served_second(one: Session, other: Session) -> bool:
    """Return True if a waiting client is answered after the other client disconnects."""
    await one.close()
    return await other.wait_for(RESPONSE, within="response") is not None


@requirement("rpc.clients-apart")
async def test_two_clients(iut: Iut) -> None:
    """Two clients that use the same id simultaneously get their own results."""
    async with _two_clients(iut) as (one, other):
        echo = await find_echo(iut, one)
        for number in (7, 8, 300):
            await one.send(echo.request(number, "one"))
            await other.send(echo.request(number, "other"))
            for session, text in ((other, "other"), (one, "one")):
                await _check_own(session, number, [text])


@requirement("rpc.clients-apart")
async def test_many_requests_of_two_clients(iut: Iut) -> None:
    """Two clients with many simultaneous requests each get their own, complete results."""
    async with _two_clients(iut) as (one, other):
        echo = await find_echo(iut, one)
        await echo.call(other, 1)
        clients = {one: "one " * 500, other: "other " * 500}
        numbers = range(10, 110)

        async def asks(session: Session, first: int) -> None:
            requests = (echo.request(first + n, clients[session]) for n in numbers)
            await session.send(*requests, segmentation=whole)

        # A server that cannot handle this many requests of one client has not mixed up two clients.
        await asks(other, 200)
        await expect_answers(other, [200 + n for n in numbers], " of a hundred", "rpc.pipelining")
        for session in clients:
            await asks(session, 0)
        for session, text in clients.items():
            came = await expect_answers(session, numbers, ", which are its own", None)
            wrong = next((outcome for outcome in came.values() if outcome != (None, [text])), None)
            check(wrong is None, "the client's own results", f"received {short_json(wrong)}")


@requirement("rpc.clients-apart")
async def test_slow_client(iut: Iut) -> None:
    """Each client gets its own response, also if the first is answered after the second."""
    async with _two_clients(iut) as (one, other):
        sleep = await find_sleep(iut, one)
        echo = await find_echo(iut, one)
        await one.send(request(3, sleep, 0.1))
        await other.send(echo.request(3, "fast"))
        await _check_own(other, 3, ["fast"])
        outcome = await _own_answer(one, 3)
        own = outcome != (None, ["fast"])
        check(own, "the client's own result", f"received {short_json(outcome[1])}")
        absent(await other.wait_for(RESPONSE), "only its own response for each client")


@requirement("rpc.clients-apart")
async def test_slower_client(iut: Iut) -> None:
    """Each client gets its own response, also if the second waits longer than the first."""
    async with _two_clients(iut) as (one, other):
        sleep = await find_sleep(iut, one)
        await one.send(request(3, sleep, 0.05))
        await one.wait_until_taken()
        await other.send(request(3, sleep, 0.15))
        await _own_answer(one, 3)
        await _own_answer(other, 3)


@requirement("rpc.clients-apart")
async def test_cut_requests_of_two_clients(iut: Iut) -> None:
    """Two clients whose requests arrive alternately in pieces each get their own results."""
    async with blame_pieces(iut), _two_clients(iut) as (one, other):
        echo = await find_echo(iut, one)
        await find_echo(iut, other)
        clients = [(one, "one"), (other, "other")]
        for number, place in enumerate((1, 4, 12), 1):
            for pieces in (slice(None, place), slice(place, None)):
                for session, text in clients:
                    await session.send_bytes(encode(echo.request(number, text))[pieces])
                    await session.wait_until_taken()
            for session, text in clients:
                await _check_own(session, number, [text])


async def _check_own(session: Session, number: int, wanted: Any) -> None:
    error, result = await _own_answer(session, number)
    own = error is None and result == wanted
    expected = f"the client's own result {wanted} for request {number}"
    check(own, expected, f"received {short_json(result if error is None else error)}")


async def _own_answer(session: Session, number: int) -> tuple[Any, Any]:
    """Return error and result of the next response, whose id both clients use."""
    return (await expect_answers(session, [number], ", which is its own", None))[number]


@requirement("rpc.own-direction")
async def test_nothing_unasked(iut: Iut) -> None:
    """A server sends its client no request, before or after the client's requests."""
    async with iut.session() as session:
        await session.wait_for(REQUEST)
        for number in (1, 2, 3):
            await call(session, number, usual_procedure(iut), number)
        await session.wait_for(REQUEST)


@requirement("rpc.each-answered")
@lasting
async def test_after_a_while(iut: Iut) -> None:
    """A request is answered after the connection was silent for several seconds."""
    async with iut.session() as session:
        await call(session, 1, usual_procedure(iut))
        if await session.until_closed(LONG_CALL):
            raise NotExercised("the server closes a connection that is silent for a few seconds")
        await call(session, 2, usual_procedure(iut))


@requirement("rpc.each-answered")
@lasting
async def test_slow_call(iut: Iut) -> None:
    """A call that takes several seconds is answered, although the client sends nothing."""
    async with iut.session() as session:
        sleep = await find_sleep(iut, session)
        await session.send(request(1, sleep, LONG_CALL))
        within = LONG_CALL + session.seconds("response")
        await session.expect(RESPONSE, within=within, to=f"to a call of {LONG_CALL} s")


@requirement("rpc.each-answered")
@pytest.mark.parametrize("place", ["first", "last"])
async def test_beside_one_that_leaves(iut: Iut, place: str) -> None:
    """A waiting client gets its response although another client disconnects."""
    if await is_refusing_others(iut):
        raise NotExercised("needs a server of two clients at the same time")
    async with (
        blame_later_connections(iut),
        iut.instance() as instance,
        iut.connect(instance) as one,
        iut.connect(instance) as other,
    ):
        waits, leaves = (one, other) if place == "first" else (other, one)
        sleep = await find_sleep(iut, one)
        await leaves.send(request(1, usual_procedure(iut)))
        await leaves.wait_until_taken()
        await waits.send(request(2, sleep, 0.2))
        await waits.wait_until_taken()
        await leaves.close()
        await waits.expect(RESPONSE, to="to its request while another client leaves")


@requirement("rpc.each-answered")
async def test_later_connections(iut: Iut) -> None:
    """Requests on consecutive connections are answered, although their ids repeat."""
    async with blame_later_connections(iut), iut.instance() as instance:
        for turn in range(5):
            async with iut.connect(instance) as session:
                echo = await find_echo(iut, session)
                for place, number in enumerate((0, 1, 300, 1, 300)):
                    outcome = await echo.call(session, number, turn, place)
                    check_success(outcome, [turn, place], f"request {number}", "rpc.result")
