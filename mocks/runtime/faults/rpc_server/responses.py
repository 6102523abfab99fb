"""Faults of the RPC server about the form, the ids and the number of responses."""

import asyncio
from collections.abc import Callable
from typing import Any

from mocks.deviations import Fault, Subtle, Table, fault
from mocks.runtime.calls import NIL, results
from mocks.runtime.rpc_server import Server
from mocks.steps import (
    Change,
    Function,
    alter,
    before,
    every,
    first,
    instead,
    novel,
    nth,
    only,
    returning,
    send,
    skip,
    then,
)


def _ids(change: Callable[[int], Any]) -> Change:
    """Write other ids."""
    return alter("response", lambda _, number, *rest: (change(number), *rest))


def _parts(change: Callable[[list[Any]], Any]) -> Change:
    """Write other parts of a response, an array of type, id, error and result."""
    return returning("response", change)


def _cut_depth(value: Any, levels: int = 16) -> Any:
    if isinstance(value, list):
        return [_cut_depth(entry, levels - 1) for entry in value] if levels else None
    return value


def _own_id(server: Any, number: int, *rest: Any) -> Any:
    server.count = vars(server).get("count", 0) + 1
    return server.count + 10_000_000, *rest


def _write_by_turns(usual: Function, server: Server, data: bytes) -> None:
    usual(server, data[:4096])
    if data[4096:]:
        asyncio.get_running_loop().call_soon(server.write, data[4096:])


def _write_with_pauses(usual: Function, server: Server, data: bytes) -> None:
    if not server.stream.is_behind or len(data) < 4096:
        usual(server, data[:4096])
        data = data[4096:]
    if data:
        asyncio.get_running_loop().call_later(0.001, server.write, data)


def _take_fifty(server: Server, data: bytes) -> None:
    for frame in server.decoder.feed(data)[:50]:
        server.take(frame)


FAULTS = Table(Server)

FAULTS["encoding.messagepack"] = {
    "pieces-by-turns": Subtle(
        "Writes long responses in pieces of 4096 bytes, which mix with other responses.",
        Change("write", _write_by_turns),
    ),
    "others-in-between": Subtle(
        "Writes long responses in pieces with pauses, which mix with other responses.",
        Change("write", _write_with_pauses),
    ),
}

FAULTS["rpc.response-form"] = {
    "map-responses": Fault(
        "Answers with maps, as JSON-RPC does.",
        _parts(lambda parts: {"id": parts[1], "error": parts[2], "result": parts[3]}),
    ),
    "numbered-maps": Fault(
        "Answers with maps from index to element instead of arrays.",
        _parts(lambda parts: {"$map": [[place, part] for place, part in enumerate(parts)]}),
    ),
    "typed-as-notifications": Fault(
        "Writes 2, the type of a notification, in its responses.",
        _parts(lambda parts: [2, *parts[1:]]),
    ),
    "no-element-for-nil": Subtle(
        "Omits a nil result.", _parts(lambda parts: parts[: 3 if parts[2:] == [None, None] else 4])
    ),
    "method-behind-response": Subtle(
        "Adds a fifth element to responses with an error.",
        _parts(lambda parts: [*parts, 1] if parts[2] else parts),
    ),
}

FAULTS["rpc.result"] = {
    "results-before-errors": Fault(
        "Swaps the error and the result.",
        alter("response", lambda _, number, error, result: (number, result, error)),
    ),
}

FAULTS["rpc.values"] = {
    "sixteen-levels": Subtle(
        "Replaces parts of a result that are nested deeper than 16 levels by nil.",
        results(_cut_depth),
    ),
}

FAULTS["rpc.response-id"] = {
    "own-ids": Fault(
        "Uses its own counter instead of the ids of requests.", alter("response", _own_id)
    ),
    "ids-of-16-bits": Subtle("Truncates an id to 16 bits.", _ids(lambda number: number & 0xFFFF)),
    "signed-ids": Subtle(
        "Stores ids in signed integers of 32 bits.",
        _ids(lambda number: number - (number >> 31 << 32)),
    ),
    "large-ids-as-floats": Subtle(
        "Writes ids from 2 to the power of 31 as doubles.",
        _ids(lambda number: float(number) if number >= 2**31 else number),
    ),
    "every-seventh-as-before": Subtle(
        "Writes the previous id in every seventh response.",
        alter("response", lambda server, number, *rest: (server.before, *rest), every(7)),
        before("response", lambda server, number, *_: setattr(server, "before", number), ~every(7)),
    ),
}

FAULTS["rpc.each-answered"] = {
    "id-zero-unanswered": Subtle(
        "Does not answer requests with the id 0.", only("answer", lambda _, number, *rest: number)
    ),
    "nil-unanswered": Fault("Does not answer if the result is nil.", skip("answer", NIL)),
    "long-results-unanswered": Subtle(
        "Writes no response of more than 65535 bytes.",
        skip("write", lambda _, data: len(data) > 65535),
    ),
    "two-hundred-answers": Subtle(
        "Answers only the first two hundred requests of a connection.", only("answer", first(200))
    ),
    "each-id-once": Subtle(
        "Ignores a request whose id was used before on the connection.",
        only("request", novel(lambda _, number, *rest: number)),
    ),
    "slow-answers-twice": Subtle(
        "Answers a slow procedure twice.",
        then("outcome", lambda _, running, answer: answer(None, None)),
    ),
}

FAULTS["rpc.pipelining"] = {
    "one-at-a-time": Fault(
        "Drops requests that arrive while a slow call runs.",
        skip("request", lambda server, *_: server.running),
    ),
    "five-at-a-time": Subtle(
        "Drops requests that arrive while five slow calls run.",
        skip("request", lambda server, *_: len(server.running) >= 5),
    ),
}

FAULTS["encoding.segmentation"] = {
    "fifty-in-a-read": Subtle(
        "Uses at most fifty requests of one read.", instead("receive", _take_fifty)
    ),
}

FAULTS["rpc.notification-unanswered"] = {
    "answers-notifications": Fault(
        "Answers notifications with a nil id.",
        then("notified", lambda server, _, error, result: server.send([1, None, error, result])),
    ),
    "errors-of-notifications": Subtle(
        "Answers a failing notification with the id 0.",
        then(
            "notified",
            lambda server, _, error, result: server.answer(0, error, None),
            lambda _, method, error, result: error is not None,
        ),
    ),
    "slow-notifications-answered": Subtle(
        "Answers a notification of a slow procedure.",
        only("notification", lambda _, method, params: method == "sleep"),
        then("notified", lambda server, _, error, result: server.answer(1, error, result)),
    ),
}

FAULTS["rpc.own-direction"] = {
    "asks-its-clients": Fault(
        "Sends a request to each new client.", before("opened", send([0, 1, "who", []]))
    ),
    "asks-after-a-while": Subtle(
        "Sends a request to its client after the third response.",
        then("answer", send([0, 1, "ping", []]), nth(3)),
    ),
}

FAULTS["rpc.notification-calls"] = {
    "notifications-unheard": Fault("Ignores notifications.", skip("notification")),
    "notifications-without-arguments": Subtle(
        "Drops the arguments of notifications.",
        alter("notification", lambda _, method, params: (method, [])),
    ),
}


@fault("notifications-in-a-row", violates="rpc.notification-calls", subtle=True)
class NotificationsInARow(Server):
    """Ignores a notification that is equal to the previous one."""

    before: Any = None

    def notification(self, method: str, params: list[Any]) -> None:
        if self.before != [method, params]:
            super().notification(method, params)
        self.before = [method, params]

    def request(self, number: int, method: str, params: list[Any]) -> None:
        self.before = None
        super().request(number, method, params)
