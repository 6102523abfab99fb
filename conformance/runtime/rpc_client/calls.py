"""A call that a client makes for its program, and the responses to the call."""

import asyncio
from typing import Any

from conformance.definitions.keywords import short_json
from conformance.harness.upper_tester import Answer
from conformance.session import Session
from conformance.wire import Message


def response(number: Any, error: Any, result: Any) -> list[Any]:
    return [1, number, error, result]


def outcome(running: asyncio.Task[Answer]) -> str:
    """Describe the result of an operation, as the end of a sentence."""
    if not running.done():
        return ""
    answer = running.result()
    if answer.ok:
        return f"; the operation had the result {short_json(answer.result)}"
    return f"; the operation failed: {short_json(answer.error)}"


Waiting = dict[tuple[Session, int], int | asyncio.Task[Answer]]
"""By connection and id: the event after which the id can be used again, or its operation."""


class Call:
    """A pending call: its request, and the operation that waits for its result.

    ``session`` is the connection on which the request arrived.
    """

    def __init__(
        self, session: Session, running: asyncio.Task[Answer], request: Message, waits: Waiting
    ) -> None:
        self.session = session
        self.running = running
        self.request = request
        self._waits = waits

    @property
    def number(self) -> int:
        """The id of the request."""
        number: int = self.request.value[1]
        return number

    def answer(self, error: Any, result: Any) -> list[Any]:
        """Return the response, which must be sent immediately."""
        self._waits[self.session, self.number] = len(self.session.events)
        return response(self.number, error, result)

    async def respond(self, error: Any, result: Any) -> None:
        """Send the response."""
        await self.session.send(self.answer(error, result))
