"""What an IUT says over several connections: one for each thing, or one of them for all."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from conformance.iut import Iut
from conformance.session import Session
from conformance.verdicts import Unreachable
from conformance.wire import Message

_POLL = 0.005  # seconds between two looks at several connections


class Connections:
    """The connections of an IUT that connects: one, or one for each thing that it has to say.

    ``session`` is the connection of the latest message that was waited for, or the first one.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.sessions = [session]

    @property
    def received(self) -> list[Message]:
        """All messages, one connection after the other."""
        return [message for session in self.sessions for message in session.received]

    @property
    def begun(self) -> bool:
        """Whether a message has begun to come whose end has not."""
        return any(
            session.size > sum(len(event.data or b"") for event in session.theirs if event.message)
            for session in self.sessions
        )

    @contextlib.asynccontextmanager
    async def accepting(self, iut: Iut) -> AsyncIterator[None]:
        """Take further connections meanwhile; over ZeroMQ all are one."""
        if iut.transport == "zmq":
            yield
            return
        async with contextlib.AsyncExitStack() as connections:
            accepting = asyncio.create_task(self._accept(iut, connections))
            try:
                yield
            finally:
                await ended([accepting])

    async def _accept(self, iut: Iut, connections: contextlib.AsyncExitStack) -> None:
        process = self.session.instance.process
        while process is None or process.exit is None:
            with contextlib.suppress(Unreachable):
                opened = iut.connect(self.session.instance)
                self.opened(await connections.enter_async_context(opened))
            await asyncio.sleep(_POLL)

    def opened(self, session: Session) -> None:
        """Take a further connection."""
        self.sessions.append(session)

    async def next(
        self,
        *names: str,
        to: str = "",
        where: Callable[[Message], bool] = lambda message: True,
        requirement: str | None = None,
    ) -> Message:
        """The next message with one of these names, whose connection is then ``session``.

        Raises Violation where none comes on any connection; ``requirement`` as of a session.
        """

        async def on(session: Session) -> Message:
            return await session.expect(*names, where=where, to=to, requirement=requirement)

        here = asyncio.create_task(on(self.session))
        elsewhere = asyncio.create_task(self._elsewhere(names, where))
        try:
            await asyncio.wait({here, elsewhere}, return_when=asyncio.FIRST_COMPLETED)
            if here.done() and here.exception() and self.session.ended:
                # It may open another one for each thing that it has to say.
                await asyncio.wait({elsewhere}, timeout=self.session.seconds("response"))
            if not elsewhere.done() or (here.done() and not here.exception()):
                return await here
            self.session = elsewhere.result()
        finally:
            await ended([here, elsewhere])
        return await on(self.session)

    async def _elsewhere(self, names: Sequence[str], where: Callable[[Message], bool]) -> Session:
        """Another connection on which such a message has come."""
        while True:
            for session in self.sessions:
                if session is not self.session and session.ahead(*names, where=where):
                    return session
            await asyncio.sleep(_POLL)


async def ended(tasks: Sequence[asyncio.Task[Any]]) -> None:
    """Give up what still runs."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
