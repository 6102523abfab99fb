"""Lawful variants of the RPC client."""

import asyncio
import contextlib
from collections.abc import Coroutine
from typing import Any

from conformance.codec import Frame
from conformance.runtime.codec import IDS
from conformance.runtime.shapes import REQUEST
from mocks import zeromq
from mocks.deviations import Table, Variant, variant
from mocks.runtime.calls import CALL_IN_TURN, call_apart
from mocks.runtime.messages import named
from mocks.runtime.rpc_client import CallFailed, Client
from mocks.runtime.values import is_within_single, of_type, to_single
from mocks.steps import Change, Function, alter, before, instead, returning, then

_TO_SINGLE = of_type(float, to_single, is_within_single)
_DOUBLES = of_type(int, float, lambda number: abs(number) > 2**53)


def _has_id(_: Client, frame: Frame) -> bool:
    return len(frame.value) > 1 and type(frame.value[1]) is int


def _refuse(client: Client, frame: Frame) -> None:
    client.send([1, frame.value[1], "no server", None])


def _notify(method: str, *params: Any) -> Function:
    return lambda client, *_: client.send(client.notification(method, [*params]))


def _announce(client: Client, number: int, method: str, params: list[Any]) -> None:
    client.send(client.notification("calling", [method]))


def _call_within(seconds: float) -> Change:
    return alter("call", lambda _, method, params, *rest: (method, params, seconds))


def _is_malformed(_: Client, value: Any) -> bool:
    formed = isinstance(value, list) and len(value) == 4 and value[0] == 1
    return not formed or type(value[1]) is not int


async def _call_twice(usual: Function, client: Client, *call: Any) -> Any:
    try:
        return await usual(client, *call)
    except CallFailed as failed:
        if "in time" not in str(failed):
            raise
        return await usual(client, *call)


async def _wait_for_end(call: Coroutine[Any, Any, Any]) -> None:
    with contextlib.suppress(CallFailed):
        await call


VARIANTS = Table(Client)

VARIANTS["rpc.own-direction"] = {
    "answers-requests": Variant(
        "Answers every request from the server with an error, even a malformed one.",
        before("take", _refuse, named(REQUEST) & _has_id),
    ),
}

VARIANTS["rpc.notification-form"] = {
    "introduces-itself": Variant(
        "Sends notifications that introduce it and that announce every call.",
        then("opened", _notify("hello", "client", 1)),
        before("request", _announce),
    ),
}

VARIANTS["rpc.request-content"] = {
    "floats-of-single-precision": Variant(
        "Writes floats in single precision if they are within its range.",
        alter("request", lambda _, *args: (*args[:-1], [_TO_SINGLE(arg) for arg in args[-1]])),
    ),
}

VARIANTS["rpc.request-id"] = {
    "ids-downwards": Variant(
        "Counts its ids down from the highest.",
        returning("next_id", lambda number: IDS - 1 - number),
    ),
}

VARIANTS["rpc.ids-differ"] = {
    "ids-again": Variant(
        "Uses the lowest id that no waiting call has.",
        instead("next_id", lambda client: next(n for n in range(IDS) if n not in client.waiting)),
    ),
}

VARIANTS["rpc.wide-results"] = {
    "wide-integers-as-doubles": Variant(
        "Stores integers of a result beyond 53 bits as doubles.",
        alter("response", lambda _, number, error, result: (number, error, _DOUBLES(result))),
    ),
}

VARIANTS["rpc.concurrent-calls"] = {
    "one-at-a-time": Variant("Makes one call after another.", CALL_IN_TURN),
    "next-when-given-up": Variant(
        "Makes one call after another, each with a timeout of three seconds.",
        CALL_IN_TURN,
        _call_within(3.0),
    ),
}

VARIANTS["robustness.no-response"] = {
    "own-timeout": Variant(
        "Uses its own timeout, and ignores the requested one.", _call_within(1.7)
    ),
    "asks-again": Variant(
        "Repeats a call once if it was not answered in time.", Change("call", _call_twice)
    ),
}

VARIANTS["robustness.malformed-responses"] = {
    "closes-upon-malformed": Variant(
        "Closes the connection after a malformed response, but ignores a late one.",
        then("passed_over", lambda client, value: client.stream.close(), _is_malformed),
    ),
}

VARIANTS["rpc.matching"] = {
    "a-connection-for-each": Variant(
        "Opens a connection for each call; the first connection is never used for calls.",
        call_apart(),
    ),
}


@variant("asks-the-version", of="rpc.own-direction")
class AsksTheVersion(Client):
    """Calls a procedure of its own after connecting, and waits for it before other calls."""

    async def call(self, method: str, params: list[Any], patience: float | None = None) -> Any:
        await self.version
        return await super().call(method, params, patience)

    def opened(self) -> None:
        super().opened()
        asked = super().call("get_version", [], self.patience)
        self.version = asyncio.ensure_future(_wait_for_end(asked))


@variant("polls", of="rpc.request-content")
class Polls(Client):
    """Calls list_uids every 50 ms, and sends notifications that it is alive."""

    def opened(self) -> None:
        super().opened()
        self.polling = asyncio.ensure_future(self.poll())

    async def poll(self) -> None:
        while True:
            self.send(self.notification("alive", []))
            await _wait_for_end(self.call("list_uids", [], 1))
            await asyncio.sleep(0.05)

    def gone(self) -> None:
        self.polling.cancel()
        super().gone()


@variant("sends-again", of="robustness.no-response", needs={"transport": "tcp"})
class SendsAgain(Client):
    """Reconnects after the end of a connection, and sends all waiting calls again."""

    def __init__(self, patience: float) -> None:
        super().__init__(patience)
        self.unanswered: dict[int, Any] = {}

    def request(self, number: int, method: str, params: list[Any]) -> Any:
        self.unanswered[number] = super().request(number, method, params)
        return self.unanswered[number]

    def forget(self, number: int) -> None:
        super().forget(number)
        del self.unanswered[number]

    def opened(self) -> None:
        super().opened()
        for request in self.unanswered.values():
            self.send(request)

    def gone(self) -> None:
        self.reconnecting = asyncio.ensure_future(self.reconnect())

    async def reconnect(self) -> None:
        with contextlib.suppress(OSError):
            stream = await zeromq.connect(self.address)
            self.decoder, self.ended = self.make_decoder(), False
            await self.run(stream)
