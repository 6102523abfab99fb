"""Tests of robustness: unexpected, malformed and missing responses."""

import contextlib
from collections.abc import Callable
from typing import Any

import pytest

from conformance.cases import TestCase, compared, requirement
from conformance.iut import Iut
from conformance.runtime.rpc_client.calls import Call
from conformance.runtime.rpc_client.tester import Caller, open_caller
from conformance.verdicts import Inconclusive, NotExercised, Violation


@requirement("robustness.unknown-ids")
async def test_unknown_ids(iut: Iut) -> None:
    """A response with an unknown id is ignored; the correct response is used."""

    async def play(responses: TestCase) -> None:
        await responses(iut)

    await compared(iut, play, _check_unknown_ids, _check_known_ids, "rpc.matching")


async def _check_unknown_ids(iut: Iut) -> None:
    async with open_caller(iut) as caller:
        done = await caller.call("before")
        await done.respond(None, "before")
        await caller.check_succeeds(done, "before")
        call = await caller.call("method")
        near = {(call.number + step) % 2**32 for step in (1, 2**8, 2**16, 2**31)}
        strange = {0, 1, 2**16, 2**32 - 1, done.number, *near}
        for number in sorted(strange - {call.number}):
            await caller.session.send([1, number, None, "wrong"], [1, number, "wrong", None])
        await call.respond(None, "right")
        await caller.check_succeeds(call, "right", "responses with unknown ids")


async def _check_known_ids(iut: Iut) -> None:
    """Run the same check with responses to known ids, if several calls can wait."""
    async with open_caller(iut) as caller:
        with contextlib.suppress(NotExercised):
            first, second = await caller.calls(2)
            for call in (second, first):
                await call.respond(None, call.number)
            for call in (first, second):
                await caller.check_succeeds(call, call.number)


@requirement("robustness.unknown-ids")
async def test_second_response(iut: Iut) -> None:
    """A second response to a request is ignored."""
    async with open_caller(iut) as caller:
        call = await caller.call("method")
        await call.session.send(call.answer(None, "first"), call.answer(None, "second"))
        await caller.check_succeeds(call, "first", "two responses")
        await call.respond("third", None)
        # The next call can have the same id.
        await caller.session.wait_until_taken()
        await caller.check_works("a second and third response")


MALFORMED: dict[str, Callable[[Call], Any]] = {
    # The first call of a connection often has the id 0, which nil can be taken for.
    "a response with nil for its id": lambda call: [1, None, None, "wrong"],
    "a response of three elements": lambda call: [1, call.number, None],
    "a response of five elements": lambda call: [1, call.number, None, "wrong", None],
    "an array of type 7": lambda call: [7, call.number, None, "wrong"],
    "a response with a string for its id": lambda call: [1, str(call.number), None, "wrong"],
    "a map": lambda call: {"id": call.number, "error": None, "result": "wrong"},
    "an integer": lambda call: call.number,
    "nil": lambda call: None,
    "an empty array": lambda call: [],
    "a request": lambda call: [0, call.number, "method", ["wrong"]],
    "a notification": lambda call: [2, "method", ["wrong"]],
    "a request with its error and result": lambda call: [0, call.number, None, "wrong"],
}


@requirement("robustness.malformed-responses")
async def test_malformed_responses(iut: Iut) -> None:
    """A malformed response is ignored; the correct one is used unless the client has closed."""
    left = list(MALFORMED.items())
    while left:
        async with open_caller(iut) as caller:
            while left and not caller.session.ended:
                what, make = left.pop(0)
                call = await caller.call("method", requirement=None)
                await caller.session.send(make(call))
                await caller.session.wait_until_taken()
                await call.respond(None, "right")
                await caller.check_survives(call, "right", what)


BROKEN = {
    "c1": b"\xc1",
    "text": b"HTTP/1.1 400 Bad Request\r\n\r\n",
    "cut": b"\x94\x01",
    "huge-array": b"\xdd\xff\xff\xff\xff\x00",
    "huge-map": b"\x94\x01\x00\xc0\xdf\xff\xff\xff\xff\x00",
    "huge-text": b"\x94\x01\x00\xc0\xdb\xff\xff\xff\xfftext",
    "deep": b"\x91" * 100_000,
}


@requirement("robustness.broken-bytes")
@pytest.mark.parametrize("kind", BROKEN)
async def test_broken_bytes(iut: Iut, kind: str) -> None:
    """After bytes that are not a response, a call fails with the connection.

    A client that no longer reads does not notice the end of the connection.
    """

    async def play(data: bytes) -> None:
        await _check_call_ends(iut, data)

    await compared(iut, play, BROKEN[kind], b"", "robustness.no-response")


async def _check_call_ends(iut: Iut, data: bytes) -> None:
    """Raise Violation unless the call fails when the connection ends after these bytes."""
    async with open_caller(iut) as caller:
        call = await caller.call("method")
        await caller.session.send_bytes(data)
        await caller.session.wait_until_taken()
        await caller.session.finish()
        await caller.session.until_closed(caller.session.seconds("quiet"))
        await caller.session.assert_alive("bytes that are not a response")
        await _check_fails_or_repeats(caller, call, "bytes that are not a response")


async def _check_fails_or_repeats(caller: Caller, call: Call, after: str) -> None:
    """Raise Violation unless a waiting call fails or is sent again on another connection."""
    try:
        await caller.check_fails(call, f"{after}, and the end of the connection")
    except Violation:
        if not caller.is_sent_again(call):
            raise


@requirement("robustness.no-response")
async def test_no_response(iut: Iut) -> None:
    """A call without a response fails after its timeout; a late response has no effect."""
    own = iut.configuration.declared("rpc")
    iut.skip_if_longer(own or 0.0, "rpc")
    async with open_caller(iut) as caller:
        call = await caller.call("method", timeout=0.2)
        try:
            await caller.check_fails(call, "its timeout of 0.2 s", own or 0.0)
        except Violation as waits:
            if own or call.running.done():
                raise
            more = "if the client has its own timeout, declare --timing rpc=SECONDS"
            raise Inconclusive(f"{waits}; {more}") from waits
        await call.respond(None, "late")
        # The next call can have the same id.
        await caller.session.wait_until_taken()
        try:
            await caller.check_works("a call without a response", call)
        except Violation as violation:
            violation.shown_in(caller.session, iut.sessions)
            if violation.requirement != "rpc.matching" and await _fails_after_unknown_ids(iut):
                violation.requirement = "robustness.unknown-ids"
            raise


async def _fails_after_unknown_ids(iut: Iut) -> bool:
    """Return True if the client fails after any response that no call waits for."""
    try:
        await _check_unknown_ids(iut)
    except Violation:
        return True
    return False


@requirement("robustness.no-response")
async def test_server_goes(iut: Iut) -> None:
    """Calls fail, or are sent again, if the connection is closed while they wait."""
    if iut.transport == "zmq":
        raise NotExercised("needs a stream: ZeroMQ does not report that a peer has disconnected")
    async with open_caller(iut) as caller:
        call = await caller.call("method")
        await caller.session.close()
        await _check_fails_or_repeats(caller, call, "a request without a response")
