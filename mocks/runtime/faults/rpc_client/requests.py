"""Faults of the RPC client about its requests and notifications."""

import asyncio
import re
from collections.abc import Callable
from typing import Any

from conformance.codec import Frame
from conformance.runtime.codec import encode
from conformance.runtime.shapes import REQUEST, RESPONSE
from mocks.deviations import Fault, Subtle, Table, fault
from mocks.runtime.calls import CALL_IN_TURN, call_apart
from mocks.runtime.messages import named
from mocks.runtime.rpc_client import Client
from mocks.runtime.values import of_type, to_bin
from mocks.steps import (
    Change,
    Function,
    When,
    after,
    alter,
    before,
    differing,
    instead,
    only,
    returning,
    skip,
    then,
    wait_for_ever,
)

IS_REQUEST = When(lambda _, message: message[0] == 0)
"""If the step is about a sent request."""


def _data(change: Callable[[bytes], bytes]) -> Change:
    """Write other bytes of a message."""
    return instead("send", lambda client, value: client.stream.write(change(encode(value))))


def _name(change: Callable[[str], Any], step: str = "request") -> Change:
    """Send requests, or notifications, with another name of the procedure."""
    return alter(step, lambda _, *args: (*args[:-2], change(args[-2]), args[-1]))


def _params(change: Callable[[list[Any]], Any], step: str = "request") -> Change:
    """Send requests, or notifications, with other arguments."""
    return alter(step, lambda _, *args: (*args[:-1], change(args[-1])))


def _each_param(change: Callable[[Any], Any]) -> Change:
    return _params(lambda params: [*map(change, params)])


def _with_lengths_turned_round(data: bytes) -> bytes:
    return re.sub(b"\xda(.)(.)", b"\xda\\2\\1", data, flags=re.DOTALL)


def _without_empty_params(message: list[Any]) -> list[Any]:
    return message if message[-1] else message[:-1]


def _cycle_ids(count: int) -> Change:
    """Use a number of ids in turn, even if they are in use."""

    def next_id(client: Client) -> int:
        client.latest = (client.latest + 1) % count
        return client.latest

    return instead("next_id", next_id)


def _count_down(client: Client) -> int:
    client.latest = 16 if client.latest == -1 else client.latest - 1 - (client.latest == 0)
    return client.latest


def _read_text_id(_: Client, frame: Frame) -> Frame:
    return Frame(frame.raw, RESPONSE, [1, int(frame.value[1]), *frame.value[2:]])


def _prepare_again(client: Any, number: int, method: str, params: list[Any]) -> None:
    client.again = [0, client.next_id(), method, params]


def _send_again(usual: Function, client: Any, message: Any) -> None:
    usual(client, message)
    if message[0] == 0:
        usual(client, client.again)


def _call_again(usual: Function, client: Client, number: int, *answer: Any) -> None:
    usual(client, number, *answer)
    if number > 9 and number in client.waiting:
        client.send(client.request(client.next_id(), "method", []))


async def _wait_for_calls(client: Client, *args: Any) -> None:
    await asyncio.gather(*client.waiting.values(), return_exceptions=True)


def _refuse_twice(client: Client, frame: Frame) -> None:
    for _ in range(2):
        client.send([1, frame.value[1], "no server", None])


async def _call_once(usual: Function, client: Client, method: str, *rest: Any) -> Any:
    known = vars(client).setdefault("known", {})
    if method not in known:
        known[method] = await usual(client, method, *rest)
    return known[method]


def _send_blocks(client: Any, value: Any) -> None:
    kept = vars(client).get("kept", b"") + encode(value)
    while len(kept) >= 4096:
        client.stream.write(kept[:4096])
        kept = kept[4096:]
    client.kept = kept


FAULTS = Table(Client)

FAULTS["encoding.messagepack"] = {
    "ends-requests": Fault(
        "Writes the byte c1 after each request to mark its end.", _data(lambda data: data + b"\xc1")
    ),
    "ends-long-requests": Subtle(
        "Writes the byte c1 after requests of more than 300 bytes.",
        _data(lambda data: data + b"\xc1" if len(data) > 300 else data),
    ),
    "header-turned-round": Fault(
        "Writes the length of an array in two bytes, in little-endian order.",
        _data(lambda data: b"\xdc" + (data[0] & 15).to_bytes(2, "little") + data[1:]),
    ),
    "long-lengths-turned-round": Subtle(
        "Opens a connection for each call, and writes lengths of two bytes in little-endian order.",
        call_apart(_data(_with_lengths_turned_round)),
    ),
}

FAULTS["encoding.strings"] = {
    "names-as-bytes": Fault("Writes the name of a procedure as a bin.", _name(to_bin)),
    "names-of-notifications-as-bytes": Subtle(
        "Writes the name of a procedure as a bin in notifications.", _name(to_bin, "notification")
    ),
}

FAULTS["rpc.request-form"] = {
    "no-arguments-left-out": Subtle(
        "Omits the array of arguments if there are none.",
        returning("request", _without_empty_params),
    ),
    "nil-for-no-arguments": Subtle(
        "Writes nil instead of an empty array of arguments.", _params(lambda params: params or None)
    ),
    "map-requests": Fault(
        "Sends maps, as JSON-RPC does.",
        returning("request", lambda sent: {"id": sent[1], "method": sent[2], "params": sent[3]}),
    ),
    "sent-once-full": Subtle(
        "Buffers its messages, and sends them only in blocks of 4096 bytes.",
        instead("send", _send_blocks),
    ),
    "twenty-calls": Subtle(
        "Sends only the first twenty requests.", skip("send", IS_REQUEST & after(20))
    ),
}

FAULTS["rpc.request-id"] = {
    "text-for-ids": Fault(
        "Writes ids as text.",
        alter("request", lambda _, number, *rest: (str(number), *rest)),
        alter("take", _read_text_id, named(RESPONSE) & (lambda _, f: isinstance(f.value[1], str))),
    ),
    "ids-count-down": Subtle(
        "Counts its ids down from 16, and continues below 0.", instead("next_id", _count_down)
    ),
}

FAULTS["rpc.ids-differ"] = {
    "always-id-one": Fault("Gives every request the id 1.", instead("next_id", lambda _: 1)),
    "ids-of-a-byte": Subtle(
        "Restarts at 0 after id 255, even if that id is in use.", _cycle_ids(256)
    ),
    "ids-of-sixteen": Subtle(
        "Uses sixteen ids in turn, so that long calls share an id.", _cycle_ids(16)
    ),
    "ids-count-the-waiting": Subtle(
        "Uses the number of waiting calls as id, which can be in use.",
        instead("next_id", lambda client: len(client.waiting)),
    ),
}

FAULTS["rpc.request-content"] = {
    "arguments-wrapped": Fault(
        "Wraps the array of arguments in another array.", _params(lambda params: [params])
    ),
    "nil-arguments-dropped": Subtle(
        "Omits arguments that are nil.",
        _params(lambda params: [param for param in params if param is not None]),
    ),
    "small-negatives-as-bytes": Subtle(
        "Writes integers from -128 to -33 as unsigned bytes.",
        _each_param(of_type(int, lambda number: number % 256, lambda n: -128 <= n < -32)),
    ),
    "last-part-of-the-name": Subtle(
        "Sends only the last part of a dotted procedure name.",
        _name(lambda name: name.rpartition(".")[2]),
    ),
    "names-in-small-letters": Subtle(
        "Writes the name of a procedure in lower case.", _name(str.lower)
    ),
    "long-texts-cut": Subtle(
        "Truncates texts to 4096 characters.", _each_param(of_type(str, lambda text: text[:4096]))
    ),
    "calls-twice": Fault(
        "Sends each request twice, with two ids, and uses the first response.",
        before("request", _prepare_again),
        Change("send", _send_again),
    ),
    "last-call-twice": Subtle(
        "Repeats a call after its response, from the tenth call.", Change("response", _call_again)
    ),
    "remembers-results": Fault(
        "Calls a procedure once, and reuses the result later.", Change("call", _call_once)
    ),
}

FAULTS["rpc.notification-form"] = {
    "notifications-with-ids": Fault(
        "Gives notifications an id.",
        instead("notification", lambda client, *args: [2, client.next_id(), *args]),
    ),
    "notifications-as-requests": Subtle(
        "Sends requests instead of notifications, without waiting for the responses.",
        instead("notification", lambda client, *args: client.request(client.next_id(), *args)),
    ),
    "short-notifications": Subtle(
        "Omits the array of arguments of a notification if there are none.",
        returning("notification", _without_empty_params),
    ),
    "notifies-once": Subtle(
        "Omits a notification that is equal to the previous one.",
        only("notify", differing(lambda _, *args: args)),
    ),
    "notifies-only-when-idle": Subtle(
        "Drops notifications while calls wait.", skip("notify", lambda client, *_: client.waiting)
    ),
}

FAULTS["rpc.notification-waits-for-nothing"] = {
    "waits-after-notifying": Fault(
        "Waits forever after it has sent a notification.", then("notify", wait_for_ever)
    ),
    "notifies-between-calls": Subtle(
        "Waits for all pending calls after it has sent a notification.",
        then("notify", _wait_for_calls),
    ),
}

FAULTS["rpc.own-direction"] = {
    "acknowledges": Fault(
        "Sends each response back to the server.",
        before("response", lambda client, *response: client.send([1, *response])),
    ),
    "answers-requests-twice": Subtle(
        "Answers a request from the server with two errors.",
        before("take", _refuse_twice, named(REQUEST)),
    ),
}

FAULTS["rpc.concurrent-calls"] = {
    "one-call-at-a-time": Fault(
        "Makes a call only after the previous one has ended.", CALL_IN_TURN
    ),
}


@fault("equal-calls-joined", violates="rpc.request-content", subtle=True)
class EqualCallsJoined(Client):
    """Sends one request for equal calls at the same time."""

    def __init__(self, patience: float) -> None:
        super().__init__(patience)
        self.running: dict[str, asyncio.Task[Any]] = {}

    async def call(self, method: str, params: list[Any], patience: float | None = None) -> Any:
        what = repr((method, params))
        if what not in self.running:
            call = asyncio.ensure_future(super().call(method, params, patience))
            self.running[what] = call
            call.add_done_callback(lambda _: self.running.pop(what))
        return await asyncio.shield(self.running[what])


@fault("results-in-order", violates="rpc.concurrent-calls", subtle=True)
class ResultsInOrder(Client):
    """Uses a response only after the responses to all earlier requests."""

    def __init__(self, patience: float) -> None:
        super().__init__(patience)
        self.kept: dict[int, tuple[Any, Any]] = {}

    def response(self, number: int, error: Any, result: Any) -> None:
        if number not in self.waiting:
            super().response(number, error, result)
            return
        self.kept.setdefault(number, (error, result))
        for earlier, call in list(self.waiting.items()):
            if not call.done():
                if earlier not in self.kept:
                    return
                super().response(earlier, *self.kept.pop(earlier))
