"""Faults of the lab in robustness."""

import asyncio
import contextlib
from typing import Any

from conformance.codec import Frame
from conformance.openroberta.codec import content
from mocks.deviations import Fault, Subtle, Table, fault
from mocks.openroberta.faults.lab.bases import in_chunks, serves
from mocks.openroberta.http import Served
from mocks.openroberta.lab import Lab
from mocks.steps import (
    Change,
    Function,
    When,
    after,
    alter,
    before,
    call,
    die,
    instead,
    leave_file_open,
    note,
    noted,
    then,
)
from mocks.streams import Stream

TLS_HELLO = When(lambda _, frame, served: frame.name == "TlsHello")


def _as_post(_: Lab, value: Any, served: Served) -> Any:
    return {**value, "method": "POST"}, served


def _is_without_rest(lab: Lab, value: Any) -> bool:
    return lab.path(value) == "/pushcmd"


async def _die_of_a_reset(usual: Function, served: Served) -> Any:
    frame = await usual(served)
    if frame is None and served.stream.broken:
        die()
    return frame


FAULTS = Table(Lab)

FAULTS["robustness.other-methods"] = {
    "takes-get": Fault("Accepts a registration with any method.", alter("pushcmd", _as_post)),
    "takes-put": Subtle(
        "Accepts a registration with PUT.",
        alter("pushcmd", _as_post, lambda _, value, served: value["method"] == "PUT"),
    ),
}

FAULTS["robustness.other-paths"] = {
    "any-path": Fault(
        "Answers an unknown path with status 500.", instead("elsewhere", call("refusal", 500))
    ),
    "bad-request-without-rest": Subtle(
        "Answers the path without /rest with status 400, and other unknown paths with 404.",
        instead("elsewhere", call("refusal", 400), _is_without_rest),
    ),
}

FAULTS["robustness.chunked-requests"] = {
    "no-chunks": Fault(
        "Refuses requests in chunks with status 400.",
        instead(
            "answer",
            call("refusal", 400),
            in_chunks,
        ),
    ),
}

FAULTS["robustness.malformed"] = {
    "malformed-is-fine": Fault(
        "Answers a body that is not JSON with repeat.",
        instead("malformed", call("command", "repeat")),
    ),
    "dies-of-malformed": Subtle(
        "Crashes after a body that is JSON, but not an object.",
        before("answer", die, lambda _, frame, served: content(frame.value) == b"[]"),
    ),
    "locked-by-malformed": Subtle(
        "Closes each new connection after a malformed body, because a lock is never released.",
        before("malformed", note("locked")),
        instead("connection", lambda _, stream: stream.closed(), noted("locked")),
    ),
}

FAULTS["robustness.half-requests"] = {
    "dies-of-gigabytes": Subtle(
        "Crashes after a request with a length of several gigabytes.",
        serves(before("frames", die, lambda _, data: b"Length: 9999999999" in data)),
    ),
    "dies-of-resets": Subtle(
        "Crashes if a connection is reset inside a request.",
        serves(Change("request", _die_of_a_reset)),
    ),
}

FAULTS["robustness.many-connections"] = {
    "thousand-connections": Subtle(
        "Closes each new connection after a thousand, because it never frees their places.",
        instead("connection", lambda _, stream: stream.closed(), after(1000)),
    ),
    "files-left-open": Subtle(
        "Leaves a file open for each connection.",
        then("connection", leave_file_open),
    ),
}

FAULTS["robustness.tls-hello"] = {
    "dies-of-tls": Fault("Crashes after a TLS hello.", before("other", die, TLS_HELLO)),
    "sulks-after-tls": Subtle(
        "Refuses all robots after a second TLS hello.",
        before("other", note("sulks"), TLS_HELLO & after(1)),
        instead("answer", call("refusal", 503), noted("sulks")),
    ),
}


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
