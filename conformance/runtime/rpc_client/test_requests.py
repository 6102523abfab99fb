"""Tests of a client's messages: requests with unique ids, and notifications."""

from collections.abc import Callable
from typing import Any

import pytest

from conformance.cases import absent, blaming, check, requirement
from conformance.definitions.keywords import equal, short_json
from conformance.iut import Iut
from conformance.runtime.numbers import is_same
from conformance.runtime.rpc_client.calls import Call
from conformance.runtime.rpc_client.tester import Caller, open_caller
from conformance.runtime.shapes import NOTIFICATION, REQUEST
from conformance.verdicts import Inconclusive, NotExercised, Violation
from conformance.wire import Message

PARAMS: list[list[Any]] = [
    *([], [None], [[]], [{}], [[1, 2]], [{"a": 1}], [False], [0], [""]),
    *([1, 2, 3], [3, 2, 1], ["a", ["b"], {"c": {"d": None}}, 0.5], [-1, -32769, 2**53 - 1, 255]),
    *(
        ["ä€😀", 'quote " and \\', "x" * 300],
        [1e300, -0.25, 0.123456789],
        list(range(20)),
        [[[[["deep"]]]]],
    ),
    # The smallest and the greatest value of each MessagePack format.
    [127, 128, 256, 65535, 65536, 2**31, 2**32 - 1, 2**32],
    [-32, -33, -128, -129, -32768, -(2**31), -(2**31) - 1],
    ["x" * size for size in (31, 32, 255, 256, 1023, 1024, 1025, 4095, 4096, 4097)],
    *([list(range(15))], [list(range(16))], [{f"key {n}": n for n in range(16)}]),
]


@requirement("rpc.request-form")
async def test_form(iut: Iut) -> None:
    """A request has four elements; the last is an array, also if it is empty."""
    async with open_caller(iut) as caller:
        for params in PARAMS[:4]:
            call = await caller.call("method", *params)
            await call.respond(None, None)
            await _wait_for_outcome(caller, call)


async def _wait_for_outcome(caller: Caller, call: Call) -> None:
    """Wait until a call has ended with any outcome."""
    with blaming("rpc.success"):
        await caller.outcome(call)


@requirement("rpc.request-id")
async def test_ids(iut: Iut) -> None:
    """The ids of consecutive calls are unsigned integers of 32 bits."""
    async with open_caller(iut) as caller:
        for number in range(40):
            call = await caller.call("method", number)
            await call.respond(None, number)
            await _wait_for_outcome(caller, call)


@requirement("rpc.ids-differ")
async def test_ids_in_flight(iut: Iut) -> None:
    """The ids of three hundred simultaneous calls are all different."""
    # A hook starts a process for each call.
    count = 10 if "call" in iut.configuration.hooks else 300
    async with open_caller(iut) as caller:
        await caller.calls(count)


@requirement("rpc.ids-differ")
async def test_ids_of_later_calls(iut: Iut) -> None:
    """A new call does not use the id of a call that still waits."""
    async with open_caller(iut) as caller:
        # The older call has ended. A client that uses the number of waiting calls as id repeats an
        # id now.
        over, _ = await caller.calls(2)
        await over.respond(None, None)
        await _wait_for_outcome(caller, over)
        for number in range(20):
            call = await caller.call("later", number)
            await call.respond(None, None)


@requirement("rpc.request-content")
async def test_content(iut: Iut) -> None:
    """The request contains the procedure and the arguments that the program passed."""
    async with open_caller(iut) as caller:
        for number, params in enumerate(PARAMS):
            method = f"module.callMethod_{number}"
            call = await caller.call(method, *params)
            request = call.request
            matches = request.value[2] == method and is_same(params, request.value[3])
            expected = f"a request for {method} with {short_json(params)}"
            check(matches, expected, f"received {short_json(request.value)}", request.event)
            await call.respond(None, None)
            await _wait_for_outcome(caller, call)


@requirement("rpc.request-content")
@pytest.mark.parametrize("size", [5_000, 65_535, 65_536, 100_000])
async def test_long_argument(iut: Iut, size: int) -> None:
    """A request contains all its arguments, even if one is longer than a typical buffer."""
    async with open_caller(iut) as caller:
        argument = ("0123456789" * (size // 10 + 1))[:size]
        running = caller.begin("method", argument)
        try:
            request = await caller.expect_request(running, "for a call")
        except (Violation, Inconclusive) as missing:
            if caller.has_begun or (isinstance(missing, Violation) and missing.event is not None):
                raise
            # The upper tester of the IUT need not accept such long arguments.
            raise NotExercised(
                f"the client sends no request for a call with {size} bytes"
            ) from None
        whole = equal([argument], request.value[3])
        check(
            whole, f"a text of {size} bytes", f"received {short_json(request.value)}", request.event
        )


@requirement("rpc.request-content")
async def test_equal_calls(iut: Iut) -> None:
    """Two equal calls at the same time are two requests, each with its own result."""
    async with open_caller(iut) as caller:
        running = [caller.begin("method", 7) for _ in range(2)]
        results = set()
        for number, operation in enumerate(running):
            request = await caller.expect_request(operation, "for each of two equal calls")
            # The other call begins before this one ends.
            await caller.session.drain()
            await Call(caller.session, operation, request, caller.ids).respond(None, number)
        for operation in running:
            answer = await caller.wait_for_end(operation, "each of two equal calls to end")
            results.add(answer.result if answer.ok else None)
        check(results == {0, 1}, "a result for each call", f"received {short_json([*results])}")


@requirement("rpc.concurrent-calls")
async def test_two_calls(iut: Iut) -> None:
    """A second call is sent while the first waits, on any connection."""
    to = "for a second call while the first call waits"
    async with open_caller(iut) as caller:
        first = await caller.call("first")
        await caller.expect_request(caller.begin("second"), to, [first.running])


@requirement("rpc.concurrent-calls")
async def test_second_call_ends_first(iut: Iut) -> None:
    """A call ends with its response, although an earlier call still waits."""
    async with open_caller(iut) as caller:
        first, second = await caller.calls(2)
        await second.respond(None, "second")
        await caller.check_succeeds(second, "second", "its response; an earlier call still waits")
        await first.respond(None, "first")
        await caller.check_succeeds(first, "first")


@requirement("rpc.notification-form")
@pytest.mark.parametrize("count", [0, 3])
async def test_notification(iut: Iut, count: int) -> None:
    """Each notification has three elements: 2, the procedure and its arguments."""
    # The client can send other notifications too.
    params: list[Any] = [1, "two", {"three": [None]}][:count]

    def is_requested(message: Message) -> bool:
        return "method" in message.value

    async with open_caller(iut) as caller:
        for _ in range(2):
            answer = await caller.notify("method", *params)
            check(answer.ok, "success of the operation 'notify'", f"it failed: {answer.why}")
            to = "for the operation 'notify'"
            came = await caller.next(NOTIFICATION, REQUEST, where=is_requested, to=to)
            right = came.value[:2] == [2, "method"] and equal(params, came.value[-1])
            expected = f"[2, method, {short_json(params)}]"
            check(
                right and len(came.value) == 3,
                expected,
                f"received {short_json(came.value)}",
                came.event,
            )
            await caller.session.drain()
            more = caller.session.unread_messages(NOTIFICATION, REQUEST, where=is_requested)
            absent(more[0] if more else None, "one notification")


@requirement("rpc.notification-waits-for-nothing")
async def test_notifying_ends(iut: Iut) -> None:
    """Notify returns although no response arrives, and later calls succeed."""
    async with open_caller(iut) as caller:
        await _check_notifies(caller)
        await caller.check_works("notifications")


@requirement("rpc.notification-waits-for-nothing")
async def test_notifying_ends_while_calls_wait(iut: Iut) -> None:
    """Notify returns immediately, also while other calls wait."""
    async with open_caller(iut) as caller:
        waiting = await caller.calls(2)
        await _check_notifies(caller)
        for call in waiting:
            await call.respond(None, "result")
            await caller.check_succeeds(call, "result")


async def _check_notifies(caller: Caller) -> None:
    """Raise Violation unless notifications succeed immediately and are sent."""

    def of(number: int) -> Callable[[Message], bool]:
        return lambda message: message.value[1:] == ["method", [number]]

    for number in range(3):
        answer = await caller.notify("method", number)
        check(answer.ok, "success of the operation 'notify'", f"it failed: {answer.why}")
        to, about = "for the operation 'notify'", "rpc.notification-form"
        await caller.next(NOTIFICATION, where=of(number), to=to, requirement=about)


@requirement("encoding.messagepack")
async def test_objects_back_to_back(iut: Iut) -> None:
    """Requests of all sizes follow each other directly, without bytes between them."""
    async with open_caller(iut) as caller:
        for number in range(20):
            call = await caller.call("method", "x" * 100 * number, {"number": number})
            await call.respond(None, None)
            await _wait_for_outcome(caller, call)


@requirement("encoding.strings")
async def test_strings(iut: Iut) -> None:
    """Names of procedures are strs of UTF-8, in requests and in notifications."""
    async with open_caller(iut) as caller:
        for method in ("m", "module.method", "grün_€", "x" * 40):
            call = await caller.call(method, "text", {"key": "ä€"})
            await call.respond(None, None)
            await _wait_for_outcome(caller, call)
        await caller.notify("grün_€", "text")
        await caller.check_works("a notification")


@requirement("rpc.own-direction")
async def test_requests_to_a_client(iut: Iut) -> None:
    """A client that receives a request can answer it, but sends nothing else unasked."""
    async with open_caller(iut) as caller:
        call = await caller.call("method")
        session = call.session
        # The id differs from the id of the call: otherwise a response would match both.
        await session.send([0, (call.number + 7) % 2**32, "echo", []], [2, "echo", []])
        await session.drain()
        await call.respond(None, "result")
        try:
            await caller.check_survives(
                call, "result", "its response, sent after a request to the client"
            )
        except Violation as harmed:
            about = harmed.requirement or "robustness.malformed-responses"
            raise Violation(harmed.expected, harmed.came, about, harmed.event) from harmed
