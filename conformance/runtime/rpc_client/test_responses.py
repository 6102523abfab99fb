"""Tests of responses: a client assigns each one to its call and detects errors."""

import asyncio
import random
from typing import Any

import pytest

from conformance.cases import check, lasting, requirement, send_with_pause
from conformance.definitions.keywords import equal, short_json
from conformance.iut import Iut
from conformance.runtime.codec import encode
from conformance.runtime.encodings import encodings
from conformance.runtime.numbers import is_same
from conformance.runtime.rpc_client.tester import open_caller
from conformance.runtime.tester import LONG_CALL
from conformance.segmentation import byte_by_byte, split_at
from conformance.session import Session
from conformance.verdicts import NotExercised, Violation

HOOK_CALLS, MAX_CALLS = 10, 300  # simultaneous calls: with a process for each call, or without
RESULTS: list[Any] = [
    *(None, False, True, 0, -1, 2**53 - 1, 0.5, "", "text", "ä€😀", [], {}, [None], [[], [1]]),
    *({"a": {"b": [None]}}, [1, "error", None], {"error": "x"}, {"message": "no error"}, "x" * 300),
    *({"none": None, "some": 0.1}, 1e300, -(2**31) - 1, 2**32),
    # The smallest and the greatest value of each MessagePack format.
    [127, 128, 255, 256, 32768, 65535, 65536, 2**31, 2**32 - 1],
    [-32, -33, -128, -129, -32768, -32769, -(2**31)],
    *([*range(15)], [*range(16)], [*range(300)], {f"key {n}": n for n in range(16)}),
    *("x" * length for length in (31, 32)),
    # The lengths around which formats and buffers of common sizes end.
    *("x" * length for length in (255, 256, 1023, 1024, 1025, 4095, 4096, 4097)),
    *("x" * length for length in (65535, 65536, 65537)),
]
ERRORS: list[Any] = [
    *({"message": "failed", "code": 17}, "failed", ["failed", {}], 17, -1, 0.5, True),
    *(False, 0, "", [], {}, 0.0, [None], {"message": None}),
]


@requirement("rpc.matching")
async def test_in_reverse(iut: Iut) -> None:
    """Three calls that are answered in reverse order each get their own result."""
    async with open_caller(iut) as caller:
        calls = await caller.calls(3)
        for number, call in reversed(list(enumerate(calls))):
            await call.respond(None, [number, call.number])
        for number, call in enumerate(calls):
            await caller.check_succeeds(call, [number, call.number])


@requirement("rpc.matching")
@pytest.mark.parametrize("count", [HOOK_CALLS, MAX_CALLS])
async def test_in_any_order(iut: Iut, count: int) -> None:
    """Calls get their own results or errors, in any order of the responses."""
    if count > HOOK_CALLS and "call" in iut.configuration.hooks:
        raise NotExercised(
            "a hook is a process for each call: use the standard streams for many calls"
        )
    async with open_caller(iut) as caller:
        calls = list(enumerate(await caller.calls(count)))
        shuffled = random.Random(iut.configuration.seed).sample(calls, len(calls))
        by_connection: dict[Session, list[Any]] = {}
        for number, call in shuffled:
            outcome = (f"error {number}", None) if number % 3 == 0 else (None, number)
            by_connection.setdefault(call.session, []).append(call.answer(*outcome))
        answered_at = caller.session.now
        for session, answers in by_connection.items():
            await session.send(*answers)
        # On a busy machine many calls take longer than a client's own timeout.
        patience = iut.configuration.seconds("response")
        for number, call in calls:
            if answered_at - call.request.at > patience:
                await asyncio.wait([call.running])
                if call.running.exception() or not call.running.result().ok:
                    continue
            if number % 3:
                await caller.check_succeeds(call, number)
            else:
                await caller.check_fails(call, f"the error {number}", requirement="rpc.failure")


@requirement("rpc.matching")
async def test_one_after_another(iut: Iut) -> None:
    """Each of many consecutive calls gets the result of its own response."""
    async with open_caller(iut) as caller:
        for number in range(30):
            call = await caller.call("method", number)
            await call.respond(None, f"result {number}")
            await caller.check_succeeds(call, f"result {number}")


@requirement("rpc.success")
async def test_results(iut: Iut) -> None:
    """A call with a nil error succeeds with the result of the response."""
    async with open_caller(iut) as caller:
        for result in RESULTS:
            call = await caller.call("method")
            await call.respond(None, result)
            await caller.check_succeeds(call, result)


@requirement("rpc.wide-results")
@pytest.mark.parametrize("result", [-(2**63), 2**63, 2**64 - 2**11])
async def test_wide_integers(iut: Iut, result: int) -> None:
    """A call has a result of 64 bits.

    A double represents each of these integers exactly, but need not be written with all its digits.
    """
    async with open_caller(iut) as caller:
        call = await caller.call("method")
        await call.respond(None, result)
        answer = await caller.outcome(call)
        came = answer.result if answer.ok else f"the failure {short_json(answer.error)}"
        same = isinstance(came, int | float) and float(came) == result
        check(same, f"the result {result} for {call.request.value}", f"received {came}")


@requirement("rpc.success")
@lasting
async def test_after_a_while(iut: Iut) -> None:
    """A call succeeds after the connection was silent for several seconds."""
    async with open_caller(iut) as caller:
        for result in ("soon", "after a while"):
            call = await caller.call("method")
            await call.respond(None, result)
            await caller.check_succeeds(call, result)
            if result == "soon" and await caller.session.until_closed(LONG_CALL):
                raise NotExercised(
                    "the client closes a connection that is silent for a few seconds"
                )


@requirement("rpc.failure")
async def test_errors(iut: Iut) -> None:
    """A call fails with any error except nil, including false, 0 and empty values."""
    async with open_caller(iut) as caller:
        after = ""
        for error in ERRORS:
            call = await caller.call("method", after=after)
            await call.respond(error, None)
            after = f"the error {short_json(error)}"
            await caller.check_fails(call, after)


@requirement("rpc.failure")
async def test_errors_with_results(iut: Iut) -> None:
    """A call fails if its response has both an error and a result."""
    async with open_caller(iut) as caller:
        after = ""
        for error in ("failed", {"message": "failed"}, False):
            call = await caller.call("method", after=after)
            await call.respond(error, 42)
            after = f"the error {short_json(error)} with the result 42"
            await caller.check_fails(call, after)


@requirement("rpc.error-reachable")
async def test_error_objects(iut: Iut) -> None:
    """The program receives the content of the error."""
    async with open_caller(iut) as caller:
        after = ""
        for error in ({"message": "jammed", "code": 17}, "jammed", ["jammed", {"code": 17}]):
            call = await caller.call("method", after=after)
            await call.respond(error, None)
            after = f"the error {short_json(error)}"
            reported = await caller.check_fails(call, after, requirement="rpc.failure")
            text = reported if isinstance(reported, str) else short_json(reported)
            check(
                _is_contained(error, reported) or "jammed" in text,
                f"the client to report {after}",
                f"it reported {text[:120]}",
            )


def _is_contained(part: Any, whole: Any) -> bool:
    """Return True if a value occurs anywhere in another value."""
    inner = list(whole.values()) if isinstance(whole, dict) else whole
    return equal(part, whole) or (
        isinstance(inner, list) and any(_is_contained(part, i) for i in inner)
    )


RESULT = [5, -1, 1.5, "text", [1, [2]], {"key": {"a": None}}, True, 300, 2**40]


@requirement("encoding.wider-forms")
async def test_wider_forms(iut: Iut) -> None:
    """Wider integers, lengths and counts and narrower floats do not change a response's meaning."""
    async with open_caller(iut) as caller:
        plain = await caller.plain(RESULT)
        for name in encodings(None):
            call = await caller.call("method")
            await caller.session.send_bytes(encodings(call.answer(None, RESULT))[name])
            after = f"its response in {name}"
            answer = await caller.outcome(call, after)
            if answer.ok and is_same(RESULT, answer.result) and not is_same(RESULT, plain):
                # This form is understood, so the different result of the plain form is wrong.
                expected = f"the result {short_json(RESULT)} for {call.request.value}"
                raise Violation(expected, f"received {short_json(plain)}", "rpc.success")
            await caller.check_succeeds(call, plain, after)


@requirement("encoding.segmentation")
async def test_cut_anywhere(iut: Iut) -> None:
    """A response that arrives in pieces is one response, wherever it is cut."""
    async with open_caller(iut) as caller:
        plain = await caller.plain(RESULT)
        call = await caller.call("method")
        whole = encode(call.answer(None, RESULT))
        await caller.session.send_bytes(whole, segmentation=byte_by_byte)
        await caller.check_succeeds(call, plain, "its response, byte by byte")
        for place in range(1, len(whole), 3):
            call = await caller.call("method")
            whole = encode(call.answer(None, RESULT))
            await caller.session.send_bytes(whole, segmentation=split_at([place]))
            await caller.check_succeeds(call, plain, f"its response, cut after byte {place}")


@requirement("encoding.segmentation")
@lasting
async def test_pause_inside_a_response(iut: Iut) -> None:
    """A response whose rest comes after a pause is one response."""
    if iut.transport == "zmq":
        raise NotExercised("needs a stream, in which a message can arrive in pieces")
    async with open_caller(iut) as caller:
        plain = await caller.plain(RESULT)
        for place in (1, 5, -1):
            call = await caller.call("method")
            await send_with_pause(caller.session, encode(call.answer(None, RESULT)), place)
            after = f"its response, with a pause after byte {place}"
            await caller.check_succeeds(call, plain, after)


@requirement("encoding.segmentation")
async def test_together(iut: Iut) -> None:
    """Three responses in one write are three responses, also if the last is cut."""
    async with open_caller(iut) as caller:
        calls = await caller.calls(3)
        if any(call.session is not caller.session for call in calls):
            raise NotExercised("the client opens a connection for each call")
        # Responses are sent in the order of the requests; their order is another requirement.
        calls.sort(key=lambda call: call.request.event)
        answers = [call.answer(None, f"result {number}") for number, call in enumerate(calls)]
        await caller.session.send(*answers, segmentation=split_at([-2]))
        for number, call in enumerate(calls):
            await caller.check_succeeds(
                call, f"result {number}", "its response, sent together with others"
            )


@requirement("encoding.segmentation")
async def test_long_response(iut: Iut) -> None:
    """A response of 100 kB is read in any segmentation."""
    async with open_caller(iut) as caller:
        call = await caller.call("method")
        await call.respond(None, "0123456789" * 10_000)
        await caller.check_succeeds(call, "0123456789" * 10_000, "a long response")
