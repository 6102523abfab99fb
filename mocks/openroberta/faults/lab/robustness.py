"""Faults of the lab in robustness."""

import asyncio
import contextlib
from typing import Any

from conformance.codec import Frame
from conformance.openroberta.codec import content
from mocks.deviations import fault
from mocks.openroberta.faults import die
from mocks.openroberta.http import Served
from mocks.openroberta.lab import Lab
from mocks.streams import Stream


@fault("takes-get", violates="robustness.other-methods")
class TakesGet(Lab):
    """Accepts a registration with any method."""

    async def pushcmd(self, value: Any, served: Served) -> Any:
        return await super().pushcmd({**value, "method": "POST"}, served)


@fault("takes-put", violates="robustness.other-methods", subtle=True)
class TakesPut(Lab):
    """Accepts a registration with PUT."""

    async def pushcmd(self, value: Any, served: Served) -> Any:
        method = "POST" if value["method"] == "PUT" else value["method"]
        return await super().pushcmd({**value, "method": method}, served)


@fault("any-path", violates="robustness.other-paths")
class AnyPath(Lab):
    """Answers an unknown path with status 500."""

    async def elsewhere(self, value: Any) -> Any:
        return self.refusal(500)


@fault("any-end-of-path", violates="robustness.other-paths", subtle=True)
class AnyEndOfPath(Lab):
    """Treats any path that begins with /rest/pushcmd as this path."""

    async def answer(self, frame: Frame, served: Served) -> Any:
        if self.path(frame.value).startswith("/rest/pushcmd"):
            return await self.pushcmd(frame.value, served)
        return await super().answer(frame, served)


@fault("no-chunks", violates="robustness.chunked-requests")
class NoChunks(Lab):
    """Refuses requests in chunks with status 400."""

    async def answer(self, frame: Frame, served: Served) -> Any:
        if "transfer-encoding" in frame.value["headers"]:
            return self.refusal(400)
        return await super().answer(frame, served)


@fault("malformed-is-fine", violates="robustness.malformed")
class MalformedIsFine(Lab):
    """Answers a body that is not JSON with repeat."""

    def malformed(self) -> Any:
        return self.command("repeat")


@fault("dies-of-malformed", violates="robustness.malformed", subtle=True)
class DiesOfMalformed(Lab):
    """Crashes after a body that is JSON, but not an object."""

    async def answer(self, frame: Frame, served: Served) -> Any:
        if content(frame.value) == b"[]":
            die()
        return await super().answer(frame, served)


@fault("locked-by-malformed", violates="robustness.malformed", subtle=True)
class LockedByMalformed(Lab):
    """Closes each new connection after a malformed body, because a lock is never released."""

    locked = False

    def malformed(self) -> Any:
        self.locked = True
        return super().malformed()

    async def connection(self, stream: Stream) -> None:
        if self.locked:
            await stream.closed()
        else:
            await super().connection(stream)


@fault("one-at-a-time", violates="register.repeat")
class OneAtATime(Lab):
    """Serves only one connection at a time."""

    serving: asyncio.Lock | None = None

    async def connection(self, stream: Stream) -> None:
        self.serving = self.serving or asyncio.Lock()
        async with self.serving:
            await super().connection(stream)


@fault("others-wait-for-a-push", violates="robustness.side-by-side", subtle=True)
class OthersWaitForAPush(Lab):
    """Answers other requests only when no push is held."""

    turn: asyncio.Lock | None = None

    async def answer(self, frame: Frame, served: Served) -> Any:
        self.turn = self.turn or asyncio.Lock()
        async with self.turn:
            pass
        return await super().answer(frame, served)

    async def hold(
        self, held: list[asyncio.Future[str]], seconds: float, served: Served
    ) -> str | None:
        pushes = any(robot.pushes is held for robot in self.robots.values())
        async with self.turn if self.turn and pushes else contextlib.nullcontext():
            return await super().hold(held, seconds, served)


@fault("reads-one-at-a-time", violates="robustness.half-requests")
class ReadsOneAtATime(Lab):
    """Reads other connections only after the first request of the current one is complete."""

    reading: asyncio.Lock | None = None

    def served(self, stream: Stream) -> Served:
        self.reading = self.reading or asyncio.Lock()
        return _InTurn(stream, self.reading)


class _InTurn(Served):
    def __init__(self, stream: Stream, reading: asyncio.Lock) -> None:
        super().__init__(stream)
        self._first: asyncio.Lock | None = reading

    async def request(self) -> Frame | None:
        reading, self._first = self._first, None
        if reading is None:
            return await super().request()
        async with reading:
            return await super().request()


@fault("dies-of-gigabytes", violates="robustness.half-requests", subtle=True)
class DiesOfGigabytes(Lab):
    """Crashes after a request with a length of several gigabytes."""

    def served(self, stream: Stream) -> Served:
        return _Greedy(stream)


class _Greedy(Served):
    def frames(self, data: bytes) -> list[Frame]:
        if b"Length: 9999999999" in data:
            die()
        return super().frames(data)


@fault("dies-of-resets", violates="robustness.half-requests", subtle=True)
class DiesOfResets(Lab):
    """Crashes if a connection is reset inside a request."""

    def served(self, stream: Stream) -> Served:
        return _Unforgiving(stream)


class _Unforgiving(Served):
    async def request(self) -> Frame | None:
        frame = await super().request()
        if frame is None and self.stream.broken:
            die()
        return frame


@fault("dies-of-tls", violates="robustness.tls-hello")
class DiesOfTls(Lab):
    """Crashes after a TLS hello."""

    def other(self, frame: Frame, served: Served) -> bool:
        if frame.name == "TlsHello":
            die()
        return super().other(frame, served)


@fault("sulks-after-tls", violates="robustness.tls-hello", subtle=True)
class SulksAfterTls(Lab):
    """Refuses all robots after a second TLS hello."""

    hellos = 0

    def other(self, frame: Frame, served: Served) -> bool:
        self.hellos += frame.name == "TlsHello"
        return super().other(frame, served)

    async def answer(self, frame: Frame, served: Served) -> Any:
        return self.refusal(503) if self.hellos > 1 else await super().answer(frame, served)
