"""The IUT as a test uses it: fresh instances, and sessions with them."""

import asyncio
import contextlib
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Mapping,
)
from dataclasses import dataclass, field
from typing import Any, TypeVar

from conformance.generation.novelty import Novelty
from conformance.harness.deadlines import Countdown
from conformance.harness.instance import Instance
from conformance.harness.links import Link
from conformance.judging.judge import Finding
from conformance.running.floods import FLOODS_IN_A_ROW
from conformance.running.testbed import Testbed
from conformance.segmentation import Segmentation
from conformance.session import Session
from conformance.verdicts import (
    Conclusion,
    Flooded,
    NotExercised,
    Unreachable,
)

T = TypeVar("T")
Look = Callable[[Session], Awaitable[bool]]

_RETRY = 0.02  # seconds between two connections to an IUT that refuses clients for a moment
# Facts about a client: it opens a connection only to see if the peer listens, and then another one.
_PROBES = "probes the port before its first connection"
_PROBES_AGAIN = "probes the port before later connections"
SHRINKING = 40  # examples that the search for a smaller counterexample can use


@dataclass
class DrawnExamples:
    """The drawn examples of one test with their conclusions, and how many can follow."""

    failed: dict[str, Conclusion] = field(default_factory=dict)
    passed: set[str] = field(default_factory=set)
    smallest: Conclusion | None = None
    example: Mapping[str, Any] | None = None
    """The example of the smallest violation; a test that runs again begins with it."""
    tries_left: int = SHRINKING
    novelty: Novelty = field(default_factory=Novelty)

    def add(self, drawn: Mapping[str, Any], conclusion: Conclusion) -> None:
        """Record an example that did not pass."""
        key = repr(drawn)
        if all(len(key) <= len(other) for other in self.failed):
            self.smallest, self.example = conclusion, drawn
        self.failed[key] = conclusion


Sessions = tuple[Session, ...]


class Iut:
    """The IUT as a test uses it. If a command starts the IUT, each instance is a fresh process."""

    def __init__(
        self, testbed: Testbed, requirement_id: str, mask: frozenset[str] = frozenset()
    ) -> None:
        """``requirement_id`` is the requirement that the test decides.

        Messages with a label in ``mask`` are left out of what the suite sends.
        """
        self.testbed = testbed
        self.requirement_id = requirement_id
        self.configuration = testbed.configuration
        self.role = testbed.role
        self.transport = testbed.transport
        self.sessions: list[Session] = []
        self.drawn_examples = DrawnExamples()
        self.mask = mask
        self.remark = ""
        """A remark on the IUT for the report, even if the test passes."""
        self.exercised: set[str] = set()
        self.received: set[str] = set()
        """The names of the messages that the IUT has sent."""
        self.findings: list[tuple[Finding, Session, Sessions]] = []
        """Findings with the session that shows each, and all sessions of the same attempt."""

    def for_rerun(
        self, mask: frozenset[str] = frozenset(), testbed: Testbed | None = None
    ) -> "Iut":
        """Return the IUT for another run of the same test.

        The run begins with the smallest example. ``mask``: the labels of messages to leave out.
        ``testbed``: the testbed of another IUT.
        """
        iut = Iut(testbed or self.testbed, self.requirement_id, mask)
        iut.drawn_examples.example = self.drawn_examples.example
        return iut

    @property
    def facts(self) -> dict[str, Any]:
        return self.testbed.facts

    @property
    def has_finding(self) -> bool:
        """True if the judge has found a violation in the sessions so far."""
        return bool(self.findings or any(session.judge.findings for session in self.sessions))

    async def cached(self, name: str, find: Callable[[], Awaitable[T]]) -> T:
        """Return a fact about the IUT that a test has found, or call ``find``."""
        return await self.testbed.cached(name, find)

    def seconds(self, timing: str) -> float:
        """A declared timing of the IUT; longer on a busy machine."""
        return self.testbed.timeouts.seconds(timing, self.configuration.seconds(timing))

    def skip_if_longer(self, seconds: float, *timings: str) -> None:
        """Raise NotExercised if a wait, which depends on these timings, exceeds --max-wait."""
        limit = self.configuration.max_wait
        if seconds > limit:
            words = " or ".join(f"--timing {name}=SECONDS" for name in timings)
            raise NotExercised(
                f"takes {seconds:g} s, longer than --max-wait {limit:g}: run it with shorter times "
                f"and declare {words}, or raise --max-wait"
            )

    def countdown(self, *within: float | str) -> Countdown:
        """Count down seconds and timings from now on; a busy machine adds to them."""
        return self.testbed.timeouts.countdown(self.configuration.total(*within))

    def settle(self) -> None:
        """Record the observations and findings of the sessions so far, and forget the sessions."""
        together = tuple(self.sessions)
        for session in together:
            self.exercised |= session.judge.exercised
            self.received |= {message.name for message in session.received}
            self.findings += [(found, session, together) for found in session.judge.findings]
        self.sessions.clear()

    @contextlib.asynccontextmanager
    async def instance(
        self, program: str | None = None, *, sockets: bool = False
    ) -> AsyncIterator[Instance]:
        """A running IUT; the end of the block stops it with all its child processes.

        ``program`` is the robot program to run. ``sockets``: True to use sockets as standard
        streams. Raises NotExercised if the program is not declared, and Flooded if the IUT has
        flooded too many sessions.
        """
        if program is not None:
            self.require(program)
        if self.testbed.timeouts.floods.is_endless:
            raise Flooded(
                f"the IUT was not tried: it floods in {FLOODS_IN_A_ROW} sessions and more", 1
            )
        if self.configuration.has_fixed_address and self.testbed.is_busy:
            raise NotExercised("needs two instances at a time, and the address of yours is fixed")
        self.testbed.is_busy = True
        try:
            instance = await self.testbed.take(program, sockets)
            try:
                yield instance
            finally:
                await self.testbed.stop(instance)
        finally:
            self.testbed.is_busy = False

    @contextlib.asynccontextmanager
    async def connect(
        self,
        instance: Instance,
        *,
        channel: str = "",
        segmentation: Segmentation | None = None,
        is_refusing: Look | None = None,
    ) -> AsyncIterator[Session]:
        """A session with a running instance; the end of the block leaves it.

        A conclusion that leaves the block is shown in this session, unless it names another one.
        ``channel`` is the role that the suite plays at an IUT with several ports; the default is
        the first. If the IUT refuses the client for a moment, the suite connects again until the
        response time is over. Raises NotExercised if the IUT serves another session of this test.
        ``is_refusing`` begins a session and returns True if the IUT refused it.
        """
        channel = channel or next(iter(self.role.channels), "")
        left, held = self.countdown("response"), self.testbed.open_sessions
        while True:
            session = await self._open(instance, channel, segmentation)
            try:
                look = is_refusing or (Session.is_refused if self.testbed.refuses_clients else None)
                again = look is not None and await look(session) and left() > 0
                if not again:
                    held.append(session)
                    yield session
                    return
            except Conclusion as conclusion:
                conclusion.shown_in(session)
                raise
            finally:
                await session.leave()
                held[:] = [other for other in held if other is not session]
            self.testbed.refuses_clients = True
            if not all(other.is_over for other in held if other.instance is instance):
                raise NotExercised("needs two connections at a time, and the IUT serves one")
            await asyncio.sleep(_RETRY)

    async def _open(
        self, instance: Instance, channel: str, segmentation: Segmentation | None
    ) -> Session:
        link = await self._open_link(instance, channel)
        session = Session(
            instance,
            link,
            segmentation,
            channel,
            self.facts,
            self.testbed.timeouts,
            self.requirement_id,
        )
        session.mask = self.mask
        self.sessions.append(session)
        return session

    async def _open_link(self, instance: Instance, channel: str) -> Link:
        """Open a connection that the IUT uses; skip connections that only probe the port."""
        link = await instance.link(channel)
        probes = _PROBES if instance.connections == 1 else _PROBES_AGAIN
        if instance.can_accept(channel) and self.facts.get(probes, True):
            quiet, probed = self.seconds("quiet"), False
            while await link.is_closed_unused(quiet) and (
                other := await instance.next_link(channel)
            ):
                await link.close()
                link, probed = other, True
            self.facts[probes] = probed
        return link

    async def check_if_it_refuses_clients(self) -> None:
        """Find out if a running IUT refuses a connection, and accepts a later one.

        A server for a single client can notice late that its previous client has left.
        """
        self.testbed.refuses_clients = True
        served = False
        with contextlib.suppress(Unreachable):
            async with self.session() as session:
                served = not session.ended
        self.testbed.refuses_clients = served and len(self.sessions) > 1

    async def refuses_second_client(self) -> bool:
        """Find out if the IUT refuses a second connection while it serves the first."""
        async with self.instance() as instance:
            try:
                async with (
                    self.connect(instance),
                    self.connect(instance, is_refusing=Session.is_refused),
                ):
                    return False
            except NotExercised:
                async with self.connect(instance) as session:
                    self.testbed.refuses_clients = not session.ended
        return self.testbed.refuses_clients

    @contextlib.asynccontextmanager
    async def session(
        self,
        *,
        program: str | None = None,
        channel: str = "",
        segmentation: Segmentation | None = None,
        sockets: bool = False,
    ) -> AsyncIterator[Session]:
        """A session with a fresh instance; ``sockets`` is explained by `instance`."""
        async with (
            self.instance(program, sockets=sockets) as instance,
            self.connect(instance, channel=channel, segmentation=segmentation) as session,
        ):
            yield session

    def require(self, program: str) -> None:
        """Raise NotExercised if the command cannot start this robot program."""
        command = " ".join(self.configuration.command)
        if program not in self.configuration.programs or "{program}" not in command:
            raise NotExercised(
                f"needs the robot program '{program}': put {{program}} into the command and "
                f"declare [programs] {program} ({self.role.programs[program]})"
            )
