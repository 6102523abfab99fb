"""Lawful variants of the RPC server."""

import asyncio
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from conformance.runtime.shapes import NOTIFICATION, mark
from mocks.deviations import Table, Variant, variant
from mocks.runtime.calls import SEND_IF_ENCODABLE, calling, of, results
from mocks.runtime.messages import named
from mocks.runtime.rpc_server import PROCEDURES, Server
from mocks.runtime.values import in_all_parts, of_mark, of_type, to_single
from mocks.steps import Change, Function, When, before, call, delay, instead, note, returning, skip
from mocks.streams import Stream

HAS_KEYS = When(lambda _, number, method, params: any(mark(param) == "$map" for param in params))
"""If an argument of a request is a map with keys that are not text."""
HAS_FLOATS = When(
    lambda _, number, method, params: any(isinstance(param, float) for param in params)
)


def _refuse(why: str, when: Function) -> Change:
    """Answer requests with an error."""
    return instead("request", lambda server, number, *_: server.answer(number, why, None), when)


def _is_wide(value: Any) -> bool:
    if isinstance(value, list | dict):
        return any(map(_is_wide, value if isinstance(value, list) else value.values()))
    return type(value) is int and value >= 2**63


def _to_double(value: Any) -> Any:
    if type(value) not in (int, float):
        return value
    narrow = -(2**31) <= value < 2**32 and value == int(value)
    return int(value) if narrow else float(value)


VARIANTS = Table(Server)

VARIANTS["rpc.own-direction"] = {
    "notifies": Variant(
        "Sends notifications of its procedures, and of each call.",
        before("opened", lambda server: server.send([2, "procedures", [*server.PROCEDURES]])),
        before("request", lambda server, _, method, params: server.send([2, "called", [method]])),
    ),
}

VARIANTS["rpc.any-order"] = {
    "answers-later": Variant(
        "Answers requests with even ids a moment later than the others.",
        delay("answer", 0.005, lambda _, number, *rest: number % 2 == 0),
    ),
}

VARIANTS["rpc.notification-calls"] = {
    "a-task-for-each": Variant(
        "Processes each message in a task of its own, notifications a moment later.",
        delay("take", 0.0, ~named(NOTIFICATION)),
        delay("take", 0.02, named(NOTIFICATION)),
    ),
}

VARIANTS["rpc.unknown-procedure"] = {
    "errors-as-text": Variant("Uses text as error objects.", returning("error", str)),
}

VARIANTS["rpc.failing-procedure"] = {
    "errors-as-numbers": Variant(
        "Uses numbers as error objects, including 0.",
        before("procedure", note("unknown", lambda _, method: method not in PROCEDURES)),
        instead("error", lambda server, error: -1 if server.unknown else 0),
    ),
}

VARIANTS["robustness.malformed-requests"] = {
    "closes-upon-malformed": Variant(
        "Closes the connection after anything except a request.", instead("malformed", "close")
    ),
    "silent-upon-malformed": Variant("Does not answer malformed requests.", skip("malformed")),
}

VARIANTS["robustness.broken-bytes"] = {
    "errors-upon-unreadable": Variant(
        "Answers undecodable bytes with an error for id 0, and closes the connection.",
        before("unreadable", call("answer", 0, {"message": "not MessagePack"}, None)),
    ),
}

VARIANTS["rpc.result"] = {
    "differences-are-floats": Variant(
        "Subtracts as floats, and answers whole results as floats too.",
        calling("subtract", lambda called: lambda *args: float(called(*args))),
    ),
    "whole-numbers": Variant(
        "Answers subtract of floats with an error.",
        _refuse("whole numbers are subtracted", of("subtract") & HAS_FLOATS),
    ),
}

VARIANTS["rpc.bytes"] = {
    "text-for-bytes": Variant(
        "Uses one type for text and bytes, and answers both as text.",
        results(in_all_parts(of_mark("$bin", lambda digits: {"$raw": digits}))),
    ),
}

VARIANTS["rpc.map-keys"] = {
    "text-for-keys": Variant(
        "Converts all keys of maps to text.",
        results(in_all_parts(of_mark("$map", lambda pairs: {str(k): v for k, v in pairs}))),
    ),
    "refuses-keys": Variant(
        "Answers maps with keys that are not text with an error.",
        _refuse("keys are text", HAS_KEYS),
    ),
    "closes-upon-keys": Variant(
        "Closes the connection after a map with keys that are not text.",
        instead("request", call("close", "a key that is not text"), HAS_KEYS),
    ),
}

VARIANTS["rpc.wide-integers"] = {
    "doubles": Variant(
        "Uses doubles for all numbers, and writes whole numbers of 32 bits as integers.",
        results(in_all_parts(_to_double)),
    ),
    "refuses-wide-integers": Variant(
        "Answers integers beyond 64 bits with a sign with an error.",
        _refuse(
            "an integer beyond 64 bits with a sign",
            lambda _, number, method, params: _is_wide(params),
        ),
    ),
}

VARIANTS["rpc.wide-floats"] = {
    "singles": Variant(
        "Stores floats in single precision.", results(in_all_parts(of_type(float, to_single)))
    ),
}

VARIANTS["rpc.unencodable-result"] = {
    "silent-about-unencodable": Variant(
        "Does not answer if the result cannot be encoded.", SEND_IF_ENCODABLE
    ),
}

VARIANTS["rpc.argument-count"] = {
    "arguments-unchecked": Variant(
        "Uses 0 for missing arguments of subtract, and ignores additional ones.",
        calling("subtract", lambda called: lambda *args: called(*[*args, 0, 0][:2])),
    ),
}


@variant("one-client-at-a-time", of="rpc.clients-apart")
class OneClientAtATime(Server):
    """Serves a client only after the previous one has disconnected."""

    turn = asyncio.Lock()

    async def run(self, stream: Stream) -> None:
        async with self.turn:
            await super().run(stream)


@variant("turns-others-away", of="rpc.clients-apart")
class TurnsOthersAway(Server):
    """Closes a connection that is opened while it serves another."""

    busy = False

    async def run(self, stream: Stream) -> None:
        if type(self).busy:
            stream.close()
            return
        type(self).busy = True
        try:
            await super().run(stream)
        finally:
            type(self).busy = False


@variant("echo-of-one", of="rpc.arguments")
class EchoOfOne(Server):
    """Has only an echo procedure, with one argument."""

    PROCEDURES: Mapping[str, Callable[..., Any]] = MappingProxyType({"echo": lambda value: value})
