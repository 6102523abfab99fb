"""Shared parts of a run: listeners, spare instances, and facts about the IUT.

Each test gets its own ``Iut``. Several tests can run in one event loop.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Self, TypeVar

from conformance.configuration import Configuration, ConfigurationError
from conformance.harness.instance import Instance
from conformance.harness.links import reason
from conformance.harness.process import GRACE
from conformance.harness.transports import AnyListener, listen, transport
from conformance.harness.upper_tester import OperationRecord
from conformance.judging.coverage import Tally
from conformance.running.timeouts import Timeouts
from conformance.running.transcripts import Written
from conformance.session import Session
from conformance.verdicts import Conclusion

MAX_SPARES = 2  # spare instances: tests mostly use one program, or two by turns
MIN_LINGERING = 3  # instances that outlived their input, until later ones get a short time to exit
SHORT_GRACE = 0.05  # seconds that an instance then has to exit at the end of its input
MAX_IDLE = 2.0  # seconds that a spare instance can wait: a peer can lawfully end an idle connection

T = TypeVar("T")


class Testbed:
    """The IUT of a run, and the means to start and reach it."""

    __test__ = False  # pytest would collect a class of this name

    def __init__(self, configuration: Configuration) -> None:
        self.configuration = configuration
        self.role = configuration.role
        self.transport = transport(configuration)
        self.facts: dict[str, Any] = {}
        """Facts about the IUT that tests have found; see `cached`."""
        self.timeouts = Timeouts()
        self.tally = Tally(configuration.protocol)
        self.operated = OperationRecord()
        self.written = Written()
        self.is_busy = False
        """True while an instance runs. With a fixed address, no other instance can run then."""
        self.refuses_clients = False
        """True if the IUT ends a connection while it still serves another client."""
        self.open_sessions: list[Session] = []
        """The sessions that tests have open."""
        self.cleanup = contextlib.ExitStack()
        """Callbacks for the end of the run, after the last instance has stopped."""
        self._searches: dict[str, asyncio.Lock] = {}
        self._tried: set[str] = set()
        self._listeners: dict[str, AnyListener] = {}
        self._ahead = Ahead(self._start)
        self._clock: asyncio.Task[None] | None = None
        self._by_hand: Instance | None = None
        self._lingering_count = 0  # instances that outlived their input

    async def __aenter__(self) -> Self:
        """Listen if the user starts the IUT. Raises ConfigurationError."""
        self._clock = asyncio.create_task(self.timeouts.watch_clock())
        by_hand = self.configuration.listen and self.configuration.runs_already
        addresses = self.configuration.listen.split(",") if by_hand else []
        for channel, address in zip(self.role.channels or ("",), addresses, strict=False):
            try:
                self._listeners[channel] = await listen(self.role, self.transport, address)
            except OSError as error:
                raise ConfigurationError(f"cannot listen at {address}: {reason(error)}") from error
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._clock:
            self._clock.cancel()
        await self._ahead.close()
        for listener in self._listeners.values():
            await listener.close()
        self.cleanup.close()

    async def cached(self, name: str, find: Callable[[], Awaitable[T]]) -> T:
        """Return the fact about the IUT with this name; the first caller finds it.

        If the first caller fails, the others try again in parallel, because each try can time out.
        """
        finding = self._searches.setdefault(name, asyncio.Lock())
        with self.timeouts.count_as_idle(finding.locked()):
            await finding.acquire()
        try:
            if name not in self.facts and name not in self._tried:
                self._tried.add(name)
                self.facts[name] = await find()
        finally:
            finding.release()
        if name not in self.facts:
            self.facts[name] = await find()
        found: T = self.facts[name]
        return found

    async def take(self, program: str | None, sockets: bool = False) -> Instance:
        """Return a running instance: a spare instance if there is one, or a new instance.

        ``sockets``: True to use sockets as standard streams.
        """
        ahead = (
            self.role.serves
            and self.configuration.command
            and not self.configuration.has_fixed_address
        )
        if ahead and not sockets:
            return await self._ahead.take(program)
        return await self._start(program, sockets)

    async def stop(self, instance: Instance) -> None:
        """Stop an instance.

        If several instances outlived their input, later instances get less time to exit, except on
        a busy machine.
        """
        lingers = self._lingering_count >= MIN_LINGERING and self.timeouts.slowdown == 1
        if not await instance.stop(SHORT_GRACE if lingers else GRACE):
            self._lingering_count += 1

    async def can_take_part(self, kind: str, serves: bool) -> bool:
        """True if the IUT uses this transport, as a server or as a client."""
        instance = Instance(self.configuration, kind, serves=serves, tally=self.tally)
        try:
            await instance.start(None, {})
            return await instance.takes_part()
        finally:
            await instance.stop()

    async def _start(self, program: str | None, sockets: bool = False) -> Instance:
        instance = Instance(
            self.configuration,
            self.transport,
            operated=self.operated,
            sockets=sockets,
            tally=self.tally,
        )
        if self.configuration.runs_already:
            # The user's program is the same in all sessions.
            before, self._by_hand = self._by_hand, instance
            instance.connections = before.connections if before else 0
        try:
            await instance.start(program, self._listeners)
        except BaseException:
            await instance.stop()
            raise
        return instance


class Ahead:
    """Starts spare instances while tests use other instances.

    Tests then need not wait for a start. Only servers have spare instances, because clients begin
    a session at once. After two instances with the same program, a spare instance with this program
    is started.
    """

    def __init__(self, start: Callable[[str | None], Coroutine[Any, Any, Instance]]) -> None:
        self._start = start
        self._spares: dict[str | None, asyncio.Task[Instance]] = {}
        self._latest: str | None = None
        self._unused: set[asyncio.Task[None]] = set()

    async def take(self, program: str | None) -> Instance:
        """Return the spare instance if it is still usable, or a new instance."""
        spare = self._spares.pop(program, None)
        if spare and spare.done() and not _is_usable(spare):
            self._discard(spare)
            spare = None
        starting = spare or asyncio.create_task(self._start(program))
        if self._latest == program:
            self._add(program)
        self._latest = program
        return await starting

    def _add(self, program: str | None) -> None:
        while len(self._spares) >= MAX_SPARES:
            self._discard(self._spares.pop(next(iter(self._spares))))
        self._spares[program] = asyncio.create_task(self._start(program))

    async def close(self) -> None:
        while self._spares:
            self._discard(self._spares.popitem()[1])
        await asyncio.gather(*self._unused)

    def _discard(self, spare: asyncio.Task[Instance]) -> None:
        async def discard() -> None:
            with contextlib.suppress(Conclusion):
                await (await spare).stop()

        task = asyncio.create_task(discard())
        self._unused.add(task)
        task.add_done_callback(self._unused.discard)


def _is_usable(spare: asyncio.Task[Instance]) -> bool:
    """True if a spare instance still runs and has not waited too long."""
    if spare.exception():
        return False
    process = spare.result().process
    age = asyncio.get_running_loop().time() - process.started if process else 0.0
    return age < MAX_IDLE and not (process and process.exit)
