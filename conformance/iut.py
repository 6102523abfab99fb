"""The IUT as a test sees it: fresh instances, and sessions with them."""

import asyncio
import contextlib
import importlib
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, field
from typing import Any, TypeVar

from conformance.harness.deadlines import Left
from conformance.harness.instance import Instance
from conformance.harness.links import Link
from conformance.judging.judge import Finding
from conformance.running.floods import ENOUGH
from conformance.running.patience import Names
from conformance.running.testbed import Testbed
from conformance.segmentation import Segmentation
from conformance.session import Session
from conformance.verdicts import (
    Conclusion,
    Flooded,
    Inconclusive,
    NotExercised,
    Unreachable,
    Violation,
)

T = TypeVar("T")
Look = Callable[[Session], Awaitable[bool]]

_AGAIN = 0.02  # seconds until one that turned us away is tried again
_LOOKS = "looks first whether somebody listens"  # names in what tests have found out
_LOOKS_AGAIN = "looks whether somebody listens before it connects again"
SHRINKING = 40  # further examples that looking for a smaller counterexample may take


@dataclass
class Tried:
    """The drawn examples of one test: how each ended, and how many may still be tried."""

    failed: dict[str, Conclusion] = field(default_factory=dict)
    passed: set[str] = field(default_factory=set)
    smallest: Conclusion | None = None
    example: Mapping[str, Any] | None = None
    """What the smallest violation was drawn from; or that of a test which is held again by this."""
    left: int = SHRINKING

    def add(self, drawn: Mapping[str, Any], conclusion: Conclusion) -> None:
        """Remember an example that ended with a conclusion other than pass."""
        key = repr(drawn)
        if all(len(key) <= len(other) for other in self.failed):
            self.smallest, self.example = conclusion, drawn
        self.failed[key] = conclusion


def missing(sessions: Iterable[Session]) -> list[Names]:
    """The names of the messages that did not come by their deadline in these sessions."""
    return sorted({names for session in sessions for names in session.missed})


def _came(conclusion: Violation, sessions: Sequence[Session]) -> bool:
    """Whether something that came shows it: what the tester sees when it looks may be a lack."""
    session = conclusion.session or (sessions[-1] if sessions else None)
    if conclusion.event is None or session is None:
        return conclusion.event is not None
    return any(e.sender for e in session.events[conclusion.event : conclusion.event + 1])


class Iut:
    """The IUT as a test sees it: each instance is a fresh one where a command starts it."""

    def __init__(self, testbed: Testbed, deciding: str) -> None:
        """``deciding`` is the requirement that the test decides."""
        self.testbed = testbed
        self.deciding = deciding
        self.configuration = testbed.configuration
        self.role = testbed.role
        self.transport = testbed.transport
        self.sessions: list[Session] = []
        self.tried = Tried()
        self.blamed = ""
        """What a violation in sessions that are opened now will be laid to, if that is known."""
        self.hasty = False
        """What fails in sessions that are opened now decides nothing yet: they wait for less."""
        self.remark = ""
        """What a test reports of the IUT even though it passes."""
        self.exercised: set[str] = set()
        self.served = 0
        """The greatest number of a connection, with one instance, upon which it said something."""
        self.at_once = 0
        """The greatest number of connections open at a time, upon the last of which it did."""
        self.unmet = 0
        """The number of the connection that an instance did not accept after others, if any."""
        self.got: set[str] = set()
        """The names of the messages that the IUT has sent."""
        self.findings: list[tuple[Finding, Session, tuple[Session, ...]]] = []
        """Each with the session that shows it, and all sessions of the same attempt."""

    def anew(self) -> "Iut":
        """The same for its test when that is held again."""
        iut = Iut(self.testbed, self.deciding)
        iut.tried.example = self.tried.example
        return iut

    @property
    def memory(self) -> dict[str, Any]:
        return self.testbed.memory

    @property
    def found(self) -> bool:
        """Whether the judge has found anything wrong in its sessions, up to now."""
        return bool(self.findings or any(session.judge.findings for session in self.sessions))

    async def once(self, name: str, find: Callable[[], Awaitable[T]]) -> T:
        """What tests have found out about the IUT, or this one does now with ``find``."""
        return await self.testbed.once(name, find)

    def seconds(self, timing: str) -> float:
        """A declared timing of the IUT; longer on a busy machine."""
        return self.testbed.patience.seconds(timing, self.configuration.seconds(timing))

    def worth(self, seconds: float, *timings: str) -> None:
        """Raise NotExercised where waiting so long, which rests on timings, is too long a test."""
        limit = self.configuration.max_wait
        if seconds > limit:
            words = " or ".join(f"--timing {name}=SECONDS" for name in timings)
            raise NotExercised(
                f"takes {seconds:g} s, longer than --max-wait {limit:g}: run it with shorter times "
                f"and declare {words}, or raise --max-wait"
            )

    def left(self, *within: float | str) -> Left:
        """Counts down seconds, and those of timings, from now on; a busy machine adds to them."""
        return self.testbed.patience.left(self.configuration.total(*within))

    def concluded(self, conclusion: Conclusion, sessions: Sequence[Session]) -> Conclusion:
        """What sessions may conclude; from then on, what they missed is awaited for less time.

        A violation that is concluded from an absence decides nothing where a wait was cut short.
        """
        if not isinstance(conclusion, Violation):
            return conclusion
        about = conclusion.requirement or self.deciding
        hurried = any(about not in known for session in sessions for known in session.hurried)
        if hurried and not _came(conclusion, sessions):
            weaker = Inconclusive(f"{conclusion} (it had not come before, and was awaited less)")
            return weaker.shown_in(conclusion.session, conclusion.sessions)
        for names in missing(sessions):
            self.testbed.patience.miss(about, names)
        for names in {names for session in sessions for names in session.sought}:
            self.testbed.patience.seek(about, names)
        return conclusion

    async def basis(self, requirement: str) -> str:
        """A requirement that this one presumes and that the plainest exchange violates already."""
        patience = self.testbed.patience
        patience.basis = await self.plainly_violated()
        return patience.basis if patience.basis in patience.presumed(requirement) else ""

    async def plainly_violated(self) -> str:
        """A requirement that the plainest exchange violates; else empty.

        The role's package may know that: ``basis(iut)`` is asked once in a run, and returns it or
        raises the Violation. One that comes to a conclusion of another kind tells nothing.
        """
        find = getattr(importlib.import_module(self.role.package), "basis", None)
        if find is None:
            return ""

        async def found() -> str:
            plain = Iut(self.testbed, "")
            try:
                violated = str(await find(plain) or "")
            except Violation as violation:
                violated = violation.requirement or ""
            except Conclusion:
                return ""
            if violated:
                # What these sessions have missed no other is awaited for in full.
                plain.concluded(Violation("", "", violated), plain.sessions)
            return violated

        return await self.once("basis", found)

    async def lay(self, lost: Violation, rests: Collection[str]) -> None:
        """Lay what went wrong in a test to what the plainest exchange violates, if it is of these.

        What was seen on the way to what a test is for may show no more than that.
        """
        # The plainest exchange itself decides nothing.
        if self.deciding and rests and (plain := await self.plainly_violated()) in rests:
            lost.requirement = plain

    def settle(self) -> None:
        """Keep what the sessions so far have shown; let go of them if none showed a violation."""
        together = tuple(self.sessions)
        for session in together:
            self.exercised |= session.judge.exercised
            self.got |= {message.name for message in session.received}
            self.findings += [(found, session, together) for found in session.judge.findings]
        self.sessions.clear()

    @contextlib.asynccontextmanager
    async def instance(
        self, program: str | None = None, *, sockets: bool = False
    ) -> AsyncIterator[Instance]:
        """One running IUT, ended with all its offspring when the block is left.

        ``program`` names what it should run; ``sockets``: its standard streams are not pipes.
        Raises NotExercised where the program is not declared, and Flooded where the IUT has flooded
        sessions often enough.
        """
        if program is not None:
            self.require(program)
        if self.testbed.patience.floods.endless:
            raise Flooded(f"the IUT was not tried: it floods in {ENOUGH} sessions and more", 1)
        if self.configuration.fixed and self.testbed.busy:
            raise NotExercised("needs two instances at a time, and the address of yours is fixed")
        self.testbed.busy = True
        try:
            instance = await self.testbed.take(program, sockets)
            try:
                yield instance
            finally:
                await self.testbed.stop(instance)
                self.served = max(self.served, instance.served)
                self.at_once = max(self.at_once, instance.at_once)
        finally:
            self.testbed.busy = False

    @contextlib.asynccontextmanager
    async def connect(
        self,
        instance: Instance,
        *,
        channel: str = "",
        segmentation: Segmentation | None = None,
        away: Look | None = None,
    ) -> AsyncIterator[Session]:
        """One session with a running instance, left when the block is left.

        Who connects at a ``channel`` is the role of that name; an IUT with several is connected to
        at the first of them unless another is named. One that turns clients away for a moment is
        connected to again, until it has had the time to react in; raises NotExercised where it
        serves another session of ours. ``away`` begins a session and tells whether that was turned
        away; if none, that is looked for only once the IUT has done so.
        """
        channel = channel or next(iter(self.role.channels), "")
        left, held = self.left("response"), self.testbed.held
        while True:
            session = await self._open(instance, channel, segmentation)
            try:
                look = away or (Session.turned_away if self.testbed.turns_away else None)
                again = look is not None and await look(session) and left() > 0
                if not again:
                    held.append(session)
                    yield session
                    return
            finally:
                await session.leave()
                held[:] = [other for other in held if other is not session]
            self.testbed.turns_away = True
            if not all(other.over for other in held if other.instance is instance):
                raise NotExercised("needs two connections at a time, and the IUT serves one")
            await asyncio.sleep(_AGAIN)

    async def _open(
        self, instance: Instance, channel: str, segmentation: Segmentation | None
    ) -> Session:
        try:
            link = await self._linked(instance, channel)
        except Unreachable:
            self.unmet = instance.connections and instance.connections + 1
            raise
        patience = self.testbed.patience
        session = Session(
            instance, link, segmentation, channel, self.memory, patience, self.deciding
        )
        # What is tried then only looks for a smaller example of what has failed.
        session.hasty = self.hasty or self.tried.smallest is not None
        session.blamed = self.blamed
        self.sessions.append(session)
        return session

    async def _linked(self, instance: Instance, channel: str) -> Link:
        """A connection; of an IUT that only looks by one whether somebody listens, the next.

        For what is said to one that only looks is not said to the next one.
        """
        link = await instance.link(channel)
        looks = _LOOKS if instance.connections == 1 else _LOOKS_AGAIN
        if instance.accepts(channel) and self.memory.get(looks, True):
            quiet, looked = self.seconds("quiet"), False
            while await link.ends_unused(quiet) and (other := await instance.another(channel)):
                await link.close()
                link, looked = other, True
            self.memory[looks] = looked
        return link

    async def look_whether_it_turns_away(self) -> None:
        """Find out whether an IUT that runs already ends a connection, and takes a later one.

        One that serves a single client may have to notice first that the last one is gone.
        """
        self.testbed.turns_away = True
        served = False
        with contextlib.suppress(Unreachable):
            async with self.session() as session:
                served = not session.ended
        self.testbed.turns_away = served and len(self.sessions) > 1

    async def turns_away_beside(self) -> bool:
        """Find out the same of one whose connections all are ours: beside one it ends another."""
        async with self.instance() as instance:
            try:
                async with self.connect(instance), self.connect(instance, away=Session.turned_away):
                    return False
            except NotExercised:
                async with self.connect(instance) as session:
                    self.testbed.turns_away = not session.ended
        return self.testbed.turns_away

    @contextlib.asynccontextmanager
    async def session(
        self,
        *,
        program: str | None = None,
        channel: str = "",
        segmentation: Segmentation | None = None,
        sockets: bool = False,
    ) -> AsyncIterator[Session]:
        """One session with an instance of its own; ``sockets`` as of ``instance``."""
        async with (
            self.instance(program, sockets=sockets) as instance,
            self.connect(instance, channel=channel, segmentation=segmentation) as session,
        ):
            yield session

    def require(self, program: str) -> None:
        """Raise NotExercised where the IUT cannot be asked to run this program."""
        command = " ".join(self.configuration.command)
        if program not in self.configuration.programs or "{program}" not in command:
            raise NotExercised(
                f"needs the robot program '{program}': put {{program}} into the command and "
                f"declare [programs] {program} ({self.role.programs[program]})"
            )
