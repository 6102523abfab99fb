"""The tester of a log publisher: makes a program log, and finds the message."""

import contextlib
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

from conformance.connections import Connections
from conformance.definitions.keywords import short_json
from conformance.iut import Iut
from conformance.runtime.shapes import LOG
from conformance.runtime.tester import connect_or_prompt, open_operated, run_operation
from conformance.session import Session
from conformance.verdicts import Violation
from conformance.wire import Message

_NOTICE = 0.1  # seconds between two messages that check for the subscription
_MAX_FILLING = 40  # messages that make a publisher with a buffer send; 160 kB
_FILLING = "x" * 4000  # context of such a message; as long as a small buffer

LEVELS = ("debug", "info", "warning", "error", "critical")
LOGGER = "runtime.conformance.test"

_PROMPT = {"level": "critical", "event": "conformance prompt", "logger": LOGGER, "extra": {}}


class Publisher(Connections):
    """The connections of a publisher.

    ``filling`` is the number of further messages after which a message is sent. The specification
    does not say when, so a publisher can collect messages.
    """

    filling = 0


@contextlib.asynccontextmanager
async def open_publisher(iut: Iut, operated: bool = True) -> AsyncIterator[Publisher]:
    """Open the connections of a publisher, after it has noticed its subscriber.

    If the publisher is ``operated``, the first session finds out if it collects messages.
    """
    async with open_operated(iut, connect_or_prompt(iut, "log", **_PROMPT)) as session:
        if iut.transport == "zmq":
            await _wait_for_subscription(session)
        publisher = Publisher(session)
        async with publisher.accepting(iut):
            if operated:
                publisher.filling = await iut.cached("filling", lambda: _find_filling(publisher))
            yield publisher


async def _find_filling(publisher: Publisher) -> int:
    """Return the number of further messages after which a message is sent: 0 without a buffer.

    A publisher from which no message comes is judged by the tests.
    """
    what = "a message of a first log call"
    await run_operation(publisher.session, "log", **_PROMPT)
    if publisher.received or await publisher.session.wait_for(within="response", what=what):
        return 0
    for number in range(1, _MAX_FILLING + 1):
        await _fill(publisher, 1)
        if publisher.received or await publisher.session.wait_for():
            return number
    return 0


async def _fill(publisher: Publisher, messages: int) -> None:
    """Log so many messages that no test expects."""
    for _ in range(messages):
        extra = {"filling": _FILLING}
        await run_operation(publisher.session, "log", **{**_PROMPT, "extra": extra})


async def _wait_for_subscription(session: Session) -> None:
    """Log until a message arrives: ZeroMQ drops messages before the subscription is known."""
    left = session.countdown("response")
    while left() > 0:
        await run_operation(session, "log", **_PROMPT)
        if await session.wait_for(LOG, within=_NOTICE):
            break


async def log(
    publisher: Publisher,
    event: str,
    level: str = "error",
    logger: str = LOGGER,
    extra: dict[str, Any] | None = None,
    *,
    alone: bool = False,
) -> int:
    """Make a program log this; return the number of messages received before.

    If the publisher collects messages, others follow, except if this message is ``alone``.
    """
    before = len(publisher.received)
    await run_operation(
        publisher.session, "log", level=level, event=event, logger=logger, extra=extra or {}
    )
    if not alone:
        await _fill(publisher, publisher.filling)
    return before


async def expect_published(
    publisher: Publisher, event: str, before: int = 0, requirement: str | None = "log.each-once"
) -> Message:
    """Return the message with this text; other messages are ignored.

    Raises Violation of `log.event` if a text arrived that was never logged, after the first
    ``before`` messages. Otherwise raises Violation of this requirement.
    """
    try:
        return await publisher.next(
            LOG,
            where=lambda message: message.value.get("event") == event,
            to=f"for the text {short_json(event)}",
            requirement=requirement,
        )
    except Violation as missing:
        strange = _unexpected_messages(publisher, before)
        if not strange:
            raise
        other = strange[-1]
        came = f"received {short_json(other.value.get('event'))}"
        raise Violation(
            f"the text {short_json(event)}", came, "log.event", other.event
        ) from missing


def _unexpected_messages(publisher: Publisher, before: int) -> list[Message]:
    """Return the messages after the first ``before`` whose text was received too often."""
    asked = (event.details.get("arguments", {}) for event in publisher.session.events)
    left = Counter(arguments["event"] for arguments in asked if "event" in arguments)
    strange = []
    for number, message in enumerate(publisher.received):
        text = str(message.value.get("event")) if message.name == LOG else _PROMPT["event"]
        left[text] -= 1
        if number >= before and left[text] < 0 and text != _PROMPT["event"]:
            strange.append(message)
    return strange


async def log_and_expect(publisher: Publisher, event: str, **more: Any) -> Message:
    """Make a program log this; return the message."""
    return await expect_published(publisher, event, await log(publisher, event, **more))
