"""Lawful variants of the RPC client."""

import asyncio
import contextlib
import ctypes
from collections.abc import Coroutine
from typing import Any

from conformance.codec import Frame
from conformance.runtime.shapes import REQUEST
from mocks import zeromq
from mocks.deviations import variant
from mocks.runtime.rpc_client import CallFailed, Client


@variant("answers-requests", of="rpc.own-direction")
class AnswersRequests(Client):
    """Answers every request from the server with an error, even a malformed one."""

    def take(self, frame: Frame) -> None:
        if frame.name == REQUEST and len(frame.value) > 1 and type(frame.value[1]) is int:
            self.send([1, frame.value[1], "no server", None])
        super().take(frame)


@variant("introduces-itself", of="rpc.notification-form")
class IntroducesItself(Client):
    """Sends notifications that introduce it and that announce every call."""

    def opened(self) -> None:
        super().opened()
        self.send(self.notification("hello", ["client", 1]))

    def request(self, number: int, method: str, params: list[Any]) -> Any:
        self.send(self.notification("calling", [method]))
        return super().request(number, method, params)


@variant("floats-of-single-precision", of="rpc.request-content")
class FloatsOfSinglePrecision(Client):
    """Writes floats in single precision if they are within its range."""

    def request(self, number: int, method: str, params: list[Any]) -> Any:
        return super().request(number, method, [_to_single(param) for param in params])


def _to_single(value: Any) -> Any:
    within = isinstance(value, float) and abs(value) < 1e38
    return ctypes.c_float(value).value if within else value


@variant("ids-downwards", of="rpc.request-id")
class IdsDownwards(Client):
    """Counts its ids down from the highest."""

    def next_id(self) -> int:
        return 2**32 - 1 - super().next_id()


@variant("ids-again", of="rpc.ids-differ")
class IdsAgain(Client):
    """Uses the lowest id that no waiting call has."""

    def next_id(self) -> int:
        return next(number for number in range(2**32) if number not in self.waiting)


@variant("one-at-a-time", of="rpc.concurrent-calls")
class OneAtATime(Client):
    """Makes one call after another."""

    def __init__(self, patience: float) -> None:
        super().__init__(patience)
        self.free = asyncio.Lock()

    async def call(self, method: str, params: list[Any], patience: float | None = None) -> Any:
        async with self.free:
            return await super().call(method, params, patience)


@variant("next-when-given-up", of="rpc.concurrent-calls")
class NextWhenGivenUp(OneAtATime):
    """Makes one call after another, each with a timeout of three seconds."""

    async def call(self, method: str, params: list[Any], patience: float | None = None) -> Any:
        return await super().call(method, params, 3.0)


@variant("own-timeout", of="robustness.no-response")
class OwnTimeout(Client):
    """Uses its own timeout, and ignores the requested one."""

    async def call(self, method: str, params: list[Any], patience: float | None = None) -> Any:
        return await super().call(method, params, 1.7)


@variant("closes-upon-malformed", of="robustness.malformed-responses")
class ClosesUponMalformed(Client):
    """Closes the connection after a malformed response, but ignores a late one."""

    def passed_over(self, value: Any) -> None:
        super().passed_over(value)
        well_formed = isinstance(value, list) and len(value) == 4 and value[0] == 1
        if not well_formed or type(value[1]) is not int:
            self.stream.close()


@variant("a-connection-for-each", of="rpc.matching")
class AConnectionForEach(Client):
    """Opens a connection for each call; the first connection is never used for calls."""

    async def call(self, method: str, params: list[Any], patience: float | None = None) -> Any:
        other, stream = Client(self.patience), await zeromq.connect(self.address)
        running = asyncio.ensure_future(other.run(stream))
        try:
            return await other.call(method, params, patience)
        finally:
            stream.close()
            await running


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


@variant("asks-again", of="robustness.no-response")
class AsksAgain(Client):
    """Repeats a call once if it was not answered in time."""

    async def call(self, method: str, params: list[Any], patience: float | None = None) -> Any:
        try:
            return await super().call(method, params, patience)
        except CallFailed as failed:
            if "in time" not in str(failed):
                raise
            return await super().call(method, params, patience)


async def _wait_for_end(call: Coroutine[Any, Any, Any]) -> None:
    with contextlib.suppress(CallFailed):
        await call
