"""The IUT as a test sees it: fresh instances, and sessions with them."""

import asyncio
import contextlib
import math
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from conformance.configuration import Configuration, ConfigurationError
from conformance.harness.instance import AnyListener, Instance, listen, transport
from conformance.harness.links import reason
from conformance.judge import Finding
from conformance.segmentation import Segmentation
from conformance.session import Session
from conformance.verdicts import Conclusion, NotExercised

SPARES = 2  # instances that wait at most: of the program in use, and of the one before
FRESH = 2.0  # seconds that an instance may have waited: a peer may legally end an idle connection


@dataclass
class Tried:
    """The drawn examples of one test: how each ended, and until when to look for smaller ones."""

    failed: dict[str, Conclusion] = field(default_factory=dict)
    passed: set[str] = field(default_factory=set)
    until: float = math.inf
    smallest: Conclusion | None = None

    def add(self, key: str, conclusion: Conclusion) -> None:
        """Remember an example, by its text, that ended with a conclusion other than pass."""
        if all(len(key) <= len(other) for other in self.failed):
            self.smallest = conclusion
        self.failed[key] = conclusion


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
        if spare and spare.done() and not _fresh(spare):
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


def _fresh(spare: asyncio.Task[Instance]) -> bool:
    """It still runs, and has not waited so long that it may be about to give up."""
    if spare.exception():
        return False
    process = spare.result().process
    age = asyncio.get_running_loop().time() - process.started if process else 0.0
    return age < FRESH and not (process and process.exit)


class Iut:
    """The IUT as a test sees it: each instance is a fresh one where a command starts it."""

    def __init__(self, configuration: Configuration) -> None:
        self.configuration = configuration
        self.deciding = ""
        """The requirement that the running test decides."""
        self.sessions: list[Session] = []
        self.tried = Tried()
        self.memory: dict[str, Any] = {}
        """What tests have found out about the IUT that others need to know, for the whole run."""
        self.remark = ""
        """What a test that passes has to say of the IUT nevertheless."""
        self.exercised: set[str] = set()
        self.findings: list[tuple[Finding, Session, tuple[Session, ...]]] = []
        """Each with the session that shows it, and all sessions of what was tried then."""
        self.role = configuration.role
        self.transport = transport(configuration)
        self._listeners: dict[str, AnyListener] = {}
        self._ahead = Ahead(self._start)

    async def open(self) -> None:
        """Listen for an IUT that is started by hand. Raises ConfigurationError."""
        addresses = self.configuration.listen.split(",") if self.configuration.listen else []
        for channel, address in zip(self.role.channels or ("",), addresses, strict=False):
            try:
                self._listeners[channel] = await listen(self.role, self.transport, address)
            except OSError as error:
                raise ConfigurationError(f"cannot listen at {address}: {reason(error)}") from error

    async def close(self) -> None:
        await self._ahead.close()
        for listener in self._listeners.values():
            await listener.close()

    def begin(self, requirement: str) -> None:
        """A test begins that decides this requirement: forget what the last one saw."""
        self.deciding, self.remark = requirement, ""
        self.sessions, self.tried = [], Tried()
        self.exercised, self.findings = set(), []

    def settle(self) -> None:
        """Keep what the sessions so far have shown; let go of them if none showed a violation."""
        together = tuple(self.sessions)
        for session in together:
            self.exercised |= session.judge.exercised
            self.findings += [(found, session, together) for found in session.judge.findings]
        self.sessions.clear()

    @contextlib.asynccontextmanager
    async def instance(self, program: str | None = None) -> AsyncIterator[Instance]:
        """One running IUT, ended with all its offspring when the block is left.

        ``program`` names what it should run; raises NotExercised where that is not declared.
        """
        instance = await self._take(program)
        try:
            yield instance
        finally:
            await instance.stop()

    @contextlib.asynccontextmanager
    async def connect(
        self, instance: Instance, *, channel: str = "", segmentation: Segmentation | None = None
    ) -> AsyncIterator[Session]:
        """One session with a running instance, left when the block is left.

        Who connects at a ``channel`` is the role of that name; an IUT with several is connected to
        at the first of them unless another is named.
        """
        channel = channel or next(iter(self.role.channels), "")
        link = await instance.link(channel)
        session = Session(instance, link, segmentation, channel, self.memory)
        self.sessions.append(session)
        try:
            yield session
        finally:
            await session.leave()

    @contextlib.asynccontextmanager
    async def session(
        self,
        *,
        program: str | None = None,
        channel: str = "",
        segmentation: Segmentation | None = None,
    ) -> AsyncIterator[Session]:
        """One session with an instance of its own."""
        async with (
            self.instance(program) as instance,
            self.connect(instance, channel=channel, segmentation=segmentation) as session,
        ):
            yield session

    async def _take(self, program: str | None) -> Instance:
        if program is not None:
            self._require(program)
        if self.role.serves and self.configuration.command:
            return await self._ahead.take(program)
        return await self._start(program)

    def _require(self, program: str) -> None:
        command = " ".join(self.configuration.command)
        if program not in self.configuration.programs or "{program}" not in command:
            raise NotExercised(
                f"needs the robot program '{program}': put {{program}} into the command and "
                f"declare [programs] {program} ({self.role.programs[program]})"
            )

    async def _start(self, program: str | None) -> Instance:
        instance = Instance(self.configuration, self.transport)
        try:
            await instance.start(program, self._listeners)
        except BaseException:
            await instance.stop()
            raise
        return instance
