"""The things that test cases of a run share: listeners, spare instances, facts about the IUT.

A test case gets an ``Iut`` of its own; several test cases can run in one event loop.
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

SPARES = 2  # instances that wait at most: of the program in use, and of the one before
OFTEN = 3  # instances that did not end with their input, after which that is not awaited long
LINGERING = 0.05  # seconds that one has to end with its input where others did not, again and again
FRESH = 2.0  # seconds that an instance may have waited: a peer may legally end an idle connection

T = TypeVar("T")


class Testbed:
    """The IUT and the means to test it, for a whole run."""

    __test__ = False  # pytest takes a class of this name for test cases

    def __init__(self, configuration: Configuration) -> None:
        self.configuration = configuration
        self.role = configuration.role
        self.transport = transport(configuration)
        self.memory: dict[str, Any] = {}
        """Facts about the IUT that test cases have found; see `cached`."""
        self.timeouts = Timeouts()
        self.tally = Tally(configuration.protocol)
        self.operated = OperationRecord()
        self.written = Written()
        self.is_busy = False
        """An instance is in use; where its address is fixed there can be no other beside it."""
        self.refuses_clients = False
        """It ends a connection that comes too soon after another, and takes a later one."""
        self.open_sessions: list[Session] = []
        """The sessions that tests hold at the moment."""
        self.cleanup = contextlib.ExitStack()
        """Cleaning up at the end of the run, when no instance is left."""
        self._searches: dict[str, asyncio.Lock] = {}
        self._tried: set[str] = set()
        self._listeners: dict[str, AnyListener] = {}
        self._ahead = Ahead(self._start)
        self._clock: asyncio.Task[None] | None = None
        self._by_hand: Instance | None = None
        self._lingering_count = 0  # instances that did not end with their input

    async def __aenter__(self) -> Self:
        """Listen for an IUT that is started by hand. Raises ConfigurationError."""
        self._clock = asyncio.create_task(self.timeouts.watch_clock())
        by_hand = self.configuration.listen and not self.configuration.command
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
        """A fact about the IUT under this name; the first test case that asks finds it.

        If that fails, all others try again in parallel, because each can time out.
        """
        finding = self._searches.setdefault(name, asyncio.Lock())
        with self.timeouts.count_as_idle(finding.locked()):
            await finding.acquire()
        try:
            if name not in self.memory and name not in self._tried:
                self._tried.add(name)
                self.memory[name] = await find()
        finally:
            finding.release()
        if name not in self.memory:
            self.memory[name] = await find()
        found: T = self.memory[name]
        return found

    async def take(self, program: str | None, sockets: bool = False) -> Instance:
        """A running instance: one that was started ahead, if there is, or a new one.

        ``sockets``: its standard streams are to be sockets.
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
        """End an instance.

        If several instances did not exit at the end of their input, later ones get less time for
        that, except on a busy machine.
        """
        lingering = self._lingering_count >= OFTEN and self.timeouts.stretched == 1
        if not await instance.stop(LINGERING if lingering else GRACE):
            self._lingering_count += 1

    async def can_take_part(self, kind: str, serves: bool) -> bool:
        """True if the IUT takes part over this transport, as a server or as a client."""
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
        if not self.configuration.command:
            # It is always the same program.
            before, self._by_hand = self._by_hand, instance
            instance.connections = before.connections if before else 0
        try:
            await instance.start(program, self._listeners)
        except BaseException:
            await instance.stop()
            raise
        return instance


class Ahead:
    """Starts the next instance while one is in use, so that tests need not wait for it.

    Only for an IUT that serves: one that begins by itself would not wait to be used. Tests that
    want the same program mostly follow one another: once two have, the next is started for it, too.
    """

    def __init__(self, start: Callable[[str | None], Coroutine[Any, Any, Instance]]) -> None:
        self._start = start
        self._spares: dict[str | None, asyncio.Task[Instance]] = {}
        self._latest: str | None = None
        self._unused: set[asyncio.Task[None]] = set()

    async def take(self, program: str | None) -> Instance:
        """The instance that was started ahead, if there is one and it is fresh, or a new one."""
        spare = self._spares.pop(program, None)
        if spare and spare.done() and not _is_fresh(spare):
            self._discard(spare)
            spare = None
        starting = spare or asyncio.create_task(self._start(program))
        if self._latest == program:
            self._add(program)
        self._latest = program
        return await starting

    def _add(self, program: str | None) -> None:
        while len(self._spares) >= SPARES:
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


def _is_fresh(spare: asyncio.Task[Instance]) -> bool:
    """True if a spare instance still runs and has not waited too long."""
    if spare.exception():
        return False
    process = spare.result().process
    age = asyncio.get_running_loop().time() - process.started if process else 0.0
    return age < FRESH and not (process and process.exit)
