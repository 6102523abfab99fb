"""The tester of a log publisher: has a program log, and finds the resulting message."""

import contextlib
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

from conformance.connections import Connections
from conformance.definitions.keywords import shown
from conformance.iut import Iut
from conformance.runtime.shapes import LOG
from conformance.runtime.tester import connected, done, operated
from conformance.session import Session
from conformance.verdicts import Violation
from conformance.wire import Message

_NOTICE = 0.1  # seconds between two attempts to be noticed

LEVELS = ("debug", "info", "warning", "error", "critical")
LOGGER = "runtime.conformance.test"

_PROMPT = {"level": "critical", "event": "conformance prompt", "logger": LOGGER, "extra": {}}


@contextlib.asynccontextmanager
async def publishing(iut: Iut) -> AsyncIterator[Connections]:
    """The connections of a publisher, once that has noticed its subscriber."""
    async with operated(iut, connected(iut, "log", **_PROMPT)) as session:
        if iut.transport == "zmq":
            await _noticed(session)
        connections = Connections(session)
        async with connections.accepting(iut):
            yield connections


async def _noticed(session: Session) -> None:
    """ZeroMQ drops what is published before it knows of a subscription: log until that is so."""
    left = session.left("response")
    while left() > 0:
        await done(session, "log", **_PROMPT)
        if await session.watch(LOG, within=_NOTICE):
            break


async def log(
    publisher: Connections,
    event: str,
    level: str = "error",
    logger: str = LOGGER,
    extra: dict[str, Any] | None = None,
) -> int:
    """Have a program log this; how many messages had come before."""
    before = len(publisher.received)
    await done(publisher.session, "log", level=level, event=event, logger=logger, extra=extra or {})
    return before


async def published(publisher: Connections, event: str, before: int = 0) -> Message:
    """The message of what was logged with this text; whatever else is logged is passed over.

    Raises Violation of `log.event` where a text came after that many messages which nothing had
    logged, and of `log.each-once` where none did: what was logged earlier may just have come late.
    """
    try:
        return await publisher.next(
            LOG,
            where=lambda message: message.value.get("event") == event,
            to=f"of {shown(event)}",
            requirement="log.each-once",
        )
    except Violation as missing:
        strange = _strange(publisher, before)
        if not strange:
            raise
        other = strange[-1]
        came = f"{shown(other.value.get('event'))} came"
        raise Violation(f"the text {shown(event)}", came, "log.event", other.event) from missing


def _strange(publisher: Connections, before: int) -> list[Message]:
    """The messages behind that many whose text came more often than it was logged."""
    asked = (event.details.get("arguments", {}) for event in publisher.session.events)
    left = Counter(arguments["event"] for arguments in asked if "event" in arguments)
    strange = []
    for number, message in enumerate(publisher.received):
        text = str(message.value.get("event")) if message.name == LOG else _PROMPT["event"]
        left[text] -= 1
        if number >= before and left[text] < 0 and text != _PROMPT["event"]:
            strange.append(message)
    return strange


async def logged(publisher: Connections, event: str, **more: Any) -> Message:
    """Have a program log this; returns the resulting message."""
    return await published(publisher, event, await log(publisher, event, **more))
