"""Tests of decoding: a server reads every encoding, in any segmentation."""

from collections.abc import Iterable
from functools import partial

import pytest

from conformance.cases import absent, however_cut, lasting, requirement, send_with_pause
from conformance.iut import Iut
from conformance.runtime.codec import encode
from conformance.runtime.encodings import encodings
from conformance.runtime.rpc_server.tester import (
    blame_later_connections,
    blame_pieces,
    check_hundred,
    check_success,
    expect_answers,
    find_echo,
    is_alike,
    plain_echo,
    request,
    response_id,
    usual_procedure,
)
from conformance.runtime.shapes import RESPONSE
from conformance.segmentation import Segmentation, byte_by_byte, split_at
from conformance.session import Session
from conformance.verdicts import NotExercised, Violation

_LONG_RESPONSE = 500_000  # bytes; more than the buffers of a connection to a slow client can hold
PARAMS = [5, -1, 1.5, "text", [1, [2]], {"key": {"a": None}}, True, 300, 2**40]


@requirement("encoding.wider-forms")
async def test_wider_forms(iut: Iut) -> None:
    """Wider integers, lengths and counts and narrower floats do not change a request's meaning."""
    async with iut.session() as session:
        echo = await find_echo(iut, session)
        plain = await plain_echo(iut, session, PARAMS)
        for number, name in enumerate(encodings(None), 1):
            await session.send_bytes(encodings(echo.request(number, *PARAMS))[name])
            came = await expect_answers(session, [number], f" in {name}", None)
            error, result = came[number]
            if error is None and is_alike(PARAMS, result):
                # This form is understood, so a different answer to the plain form is the wrong one.
                check_success((None, plain), PARAMS, "a plain echo", "rpc.values")
            check_success(came[number], plain, f"echo in {name}", None)


@requirement("encoding.messagepack")
async def test_objects_back_to_back(iut: Iut) -> None:
    """Responses of all sizes follow each other directly, without bytes between them."""
    numbers = range(1, 41)
    async with iut.session() as session:
        await session.send(*(request(n, usual_procedure(iut), "x" * 100 * n) for n in numbers))
        await expect_answers(session, numbers)


@requirement("encoding.messagepack")
async def test_long_response_for_a_slow_client(iut: Iut) -> None:
    """A long response is complete, also for a client that reads slowly.

    The server does not write other responses into the middle of the long response.
    """
    procedure = usual_procedure(iut)
    long, next_ = request(1, procedure, "x" * _LONG_RESPONSE), request(2, procedure)
    sleep = iut.configuration.procedures.get("sleep") or "sleep"
    others = [request(100 + number, sleep, number / 500) for number in range(1, 21)]
    async with iut.instance() as instance:
        instance.narrow = True
        async with iut.connect(instance) as session:
            await session.send(*others, long, next_)
            within = session.countdown(session.reaction_time)
            while came := await session.wait_for(RESPONSE, within=within):
                # The server can drop a response or close the connection if the client is slow.
                if response_id(came) in (1, 2):
                    return
            if session.ended:
                return
    async with iut.session() as plain:
        await plain.send(long, next_)
        await expect_answers(plain, [1, 2], ", the first of which has a long response")
    expected = f"a response of {_LONG_RESPONSE} bytes for a client that reads a few bytes at a time"
    raise Violation(expected, f"received {session.size} bytes").shown_in(session)


@requirement("encoding.segmentation")
async def test_cut_anywhere(iut: Iut) -> None:
    """A request that arrives in two pieces is one request, wherever it is cut."""
    async with blame_pieces(iut), iut.session() as session:
        echo = await find_echo(iut, session)
        for place in range(1, len(encode(echo.request(300, *PARAMS)))):
            whole = encode(echo.request(300 + place, *PARAMS))
            await session.send_bytes(whole, segmentation=split_at([place]))
            await _check_echo(iut, session, [300 + place], f"cut after byte {place}")


@requirement("encoding.segmentation")
@lasting
async def test_pause_inside_a_request(iut: Iut) -> None:
    """A request whose rest comes after a pause is one request."""
    if iut.transport == "zmq":
        raise NotExercised("needs a stream, in which a message can arrive in pieces")
    async with blame_pieces(iut), iut.session() as session:
        echo = await find_echo(iut, session)
        # A server that loses the first piece does not take the rest for a request.
        for number, rest in enumerate((4, 1), 1):
            await send_with_pause(session, encode(echo.request(number, *PARAMS)), -rest)
            await _check_echo(iut, session, [number], f"with a pause before its last {rest} bytes")


@requirement("encoding.segmentation")
@pytest.mark.parametrize(
    "cut", [byte_by_byte, split_at([-1]), split_at(range(3, 500, 3))], ids=["bytes", "last", "3"]
)
async def test_several_in_pieces(iut: Iut, cut: Segmentation) -> None:
    """Three requests that arrive in small pieces are three requests."""
    async with iut.session() as session:
        echo = await find_echo(iut, session)
        await session.send(*(echo.request(n, *PARAMS) for n in (1, 2, 3)), segmentation=cut)
        await _check_echo(iut, session, [1, 2, 3], "in small pieces")
        absent(await session.wait_for(RESPONSE), "one response for each request")


@requirement("encoding.segmentation")
async def test_pieces_of_a_later_connection(iut: Iut) -> None:
    """Requests can arrive in pieces on a later connection too."""
    async with blame_later_connections(iut), iut.instance() as instance:
        async with iut.connect(instance) as session:
            echo = await find_echo(iut, session)
            # This id is not repeated on the second connection: a repeated id would be another test.
            await echo.call(session, 9)
        async with iut.connect(instance) as session:
            requests = (echo.request(number, *PARAMS) for number in (1, 2, 3))
            await session.send(*requests, segmentation=byte_by_byte)
            await _check_echo(iut, session, [1, 2, 3], "in pieces, on a later connection")


@requirement("encoding.segmentation")
async def test_together(iut: Iut) -> None:
    """Requests in one write, of which the last arrives in two pieces, are all answered."""
    async with iut.session() as session:
        echo = await find_echo(iut, session)
        numbers = range(1, 6)
        values = [echo.request(number, *PARAMS) for number in numbers]
        await session.send(*values, segmentation=split_at([-9]))
        await _check_echo(iut, session, numbers, "in one write")


@requirement("encoding.segmentation")
async def test_hundred_together(iut: Iut) -> None:
    """A hundred requests in one write are a hundred requests."""
    await however_cut(iut, (), "encoding.segmentation", partial(check_hundred, iut))


@requirement("encoding.segmentation")
async def test_long_request(iut: Iut) -> None:
    """A request of 500 kB and the request after it are answered, in any segmentation."""
    text = "0123456789" * 50_000
    async with iut.session() as session:
        echo = await find_echo(iut, session)
        await session.send(echo.request(1, text), echo.request(2))
        try:
            came = await expect_answers(session, [1, 2], " after a long request", None)
        except Violation as missing:
            if not session.ended and await _has_short_answer(iut, text):
                # The server has read this request: it fails to write the long response.
                missing.requirement = "rpc.each-answered"
            raise
        check_success(came[1], [text], "echo of a long text", None)
        await echo.call(session, 3)


async def _has_short_answer(iut: Iut, text: str) -> bool:
    """Return True if a request with this text is answered when its response is short."""
    async with iut.session() as session:
        await session.send(request(1, "nowhere", text))
        within = session.countdown(session.reaction_time)
        answer = await session.wait_for(RESPONSE, within=within)
        return answer is not None and response_id(answer) == 1


async def _check_echo(iut: Iut, session: Session, numbers: Iterable[int], how: str) -> None:
    """Raise Violation unless the requests are answered like a plain request."""
    outcomes = await expect_answers(session, numbers, f" {how}", None)
    plain = await plain_echo(iut, session, PARAMS)
    for outcome in outcomes.values():
        check_success(outcome, plain, f"a request {how}", None)
