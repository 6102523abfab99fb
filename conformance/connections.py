"""Messages of an IUT that uses one connection for everything, or one for each task."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from conformance.expectation import unfinished_message
from conformance.iut import Iut
from conformance.session import Session
from conformance.verdicts import Unreachable, Violation
from conformance.wire import Message

_POLL = 0.005  # seconds between two checks of all connections: much shorter than any response time


class Connections:
    """The connections of an IUT that is a client.

    ``session`` is the connection of the latest awaited message. Before, it is the first connection.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.sessions = [session]

    @property
    def received(self) -> list[Message]:
        """All received messages, connection by connection."""
        return [message for session in self.sessions for message in session.received]

    @property
    def has_begun(self) -> bool:
        """Return whether any connection has received an incomplete message."""
        return any(
            session.size
            > sum(len(event.data or b"") for event in session.iut_events if event.message)
            for session in self.sessions
        )

    @contextlib.asynccontextmanager
    async def accepting(self, iut: Iut) -> AsyncIterator[None]:
        """Accept further connections during the block; over ZeroMQ all are one connection."""
        if iut.transport == "zmq":
            yield
            return
        async with contextlib.AsyncExitStack() as connections:
            accepting = asyncio.create_task(self._accept(iut, connections))
            try:
                yield
            finally:
                await cancel_all([accepting])

    async def _accept(self, iut: Iut, connections: contextlib.AsyncExitStack) -> None:
        process = self.session.instance.process
        while process is None or process.exit is None:
            with contextlib.suppress(Unreachable):
                opened = iut.connect(self.session.instance)
                self.add(await connections.enter_async_context(opened))
            await asyncio.sleep(_POLL)

    def add(self, session: Session) -> None:
        """Add a further connection."""
        self.sessions.append(session)

    async def next(
        self,
        *names: str,
        to: str = "",
        where: Callable[[Message], bool] = lambda message: True,
        requirement: str | None = None,
    ) -> Message:
        """Return the next message with one of these names, from any connection.

        Its connection becomes ``session``. ``where``: the message must satisfy this condition.
        ``to`` completes the text of a failure. ``requirement`` is the requirement to blame, by
        default the one under test. Raises Violation if no connection receives the message in time.
        """

        async def on(session: Session) -> Message:
            return await session.expect(*names, where=where, to=to, requirement=requirement)

        here = asyncio.create_task(on(self.session))
        elsewhere = asyncio.create_task(self._other_with(names, where))
        try:
            await asyncio.wait({here, elsewhere}, return_when=asyncio.FIRST_COMPLETED)
            if here.done() and here.exception() and self.session.ended:
                # The IUT can open another connection for the message.
                await asyncio.wait({elsewhere}, timeout=self.session.seconds("response"))
            if not elsewhere.done() or (here.done() and not here.exception()):
                try:
                    return await here
                except Violation as missing:
                    if begun := self._unfinished_elsewhere(missing):
                        raise begun from missing
                    raise
            self.session = elsewhere.result()
        finally:
            await cancel_all([here, elsewhere])
        return await on(self.session)

    def _unfinished_elsewhere(self, missing: Violation) -> Violation | None:
        """Return the violation that another connection received only the beginning of a message."""
        others = (session for session in self.sessions if session is not self.session)
        found = (unfinished_message(session, missing.expected or "") for session in others)
        return next(filter(None, found), None)

    async def _other_with(self, names: Sequence[str], where: Callable[[Message], bool]) -> Session:
        """Return another connection that has received such a message."""
        while True:
            for session in self.sessions:
                if session is not self.session and session.unread_messages(*names, where=where):
                    return session
            await asyncio.sleep(_POLL)


async def cancel_all(tasks: Sequence[asyncio.Task[Any]]) -> None:
    """Cancel tasks that are still running, and wait until all have ended."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
