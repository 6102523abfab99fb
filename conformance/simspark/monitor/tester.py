"""The server that the suite plays against a monitor: it sends states, and asks what it knows."""

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import Any

from conformance.connections import Connections, ended
from conformance.iut import Iut
from conformance.segmentation import Segmentation
from conformance.session import Session
from conformance.simspark import messages
from conformance.simspark.codec import LENGTH, encode, frame
from conformance.simspark.tester import asked, expressions, kept
from conformance.verdicts import Conclusion, Inconclusive, NotExercised, Violation

GAME = {"half", "score_left", "score_right", "play_mode"}
"""What stands in one list with the time, and is taken with it."""
_LENGTHS, _KNOWS = "frame.length-prefix", "monitors.understood"
_LOW, _HIGH = 0x10, 0x90  # bytes of which the second is below 0 where they have a sign
_POLL = 0.005  # seconds between two looks at what is to be told to all
_goals = itertools.count(51)  # which no test sends for other reasons


class _Connections(Connections):
    """The connections of a monitor, which may watch over one and command over another.

    Each is told what the first is told, as a server tells all that are connected.
    """

    @contextlib.asynccontextmanager
    async def accepting(self, iut: Iut) -> AsyncIterator[None]:
        self._telling: list[asyncio.Task[None]] = []
        async with super().accepting(iut):
            try:
                yield
            finally:
                await ended(self._telling)

    def opened(self, session: Session) -> None:
        super().opened(session)
        self._telling.append(asyncio.create_task(self._tell(session)))

    async def _tell(self, session: Session) -> None:
        told = 0
        # One that only commands need not read.
        with contextlib.suppress(Violation):
            while not session.over:
                for event in self.session.events[told:]:
                    if event.data and event.sender == session.peer:
                        await session.send_bytes(event.data)
                    told += 1
                await asyncio.sleep(_POLL)


class Tester:
    """One monitor and the simulation that it is tester: a ball that rolls, and the time.

    `rooted` says whether scene graphs have their root as a node.
    """

    def __init__(self, connections: Connections, rooted: bool) -> None:
        self.connections = connections
        self.session = connections.session
        self.rooted = rooted
        self.time = 0.0
        self._provoked: list[Session] = []

    async def provoke(self, data: bytes) -> None:
        """Send what it may close the connection for, be that the first one or another."""
        self._provoked = [each for each in self.connections.sessions if not each.ended]
        await self.session.send_bytes(data)

    @property
    def closed(self) -> bool:
        """It has closed a connection that was open when it was provoked, or the first one."""
        return self.session.ended or any(each.ended for each in self._provoked)

    async def commanded(self, times: int) -> bool:
        """Whether so many messages have come, over whichever connection."""

        async def came() -> bool:
            return len(self.connections.received) >= times

        return await self.session.shows(came, "a command", "response")

    async def say(self, text: str, *, segmentation: Segmentation | None = None) -> None:
        """One message, given as on the wire."""
        await self.session.send(self.decoded(text), segmentation=segmentation)

    def decoded(self, text: str) -> list[Any]:
        message = expressions(text)
        return messages.rooted(message) if self.rooted else message

    def bytes_of(self, *texts: str) -> bytes:
        """Several messages together, given in the same way."""
        return b"".join(encode(self.decoded(text)) for text in texts)

    async def introduce(self, merged: bool = False, graph: str = "") -> None:
        """What comes first: environment and state, in one message or in two."""
        graph = graph or messages.scene(0, 0)
        if merged:
            await self.say(messages.full(messages.ENVIRONMENT + messages.state(0), graph))
        else:
            await self.say(messages.full(messages.ENVIRONMENT, graph))
            await self.say(messages.full(messages.state(0), graph))

    async def tick(self, times: int = 1, graph: str = messages.STILL, more: str = "") -> None:
        """Partial states with the time alone, and whatever else is given."""
        for _ in range(times):
            await self.say(self.partial(graph, more))

    def partial(self, graph: str = messages.STILL, more: str = "") -> str:
        self.time = round(self.time + 0.04, 2)
        return messages.partial(f"(time {self.time:g}){more}", graph)

    def long(self, size: int, text: str = "") -> bytes:
        """A message, or else a partial state, with blanks behind it up to so many bytes."""
        return frame(self.bytes_of(text or self.partial())[LENGTH.size :].ljust(size))

    async def knows(
        self, requirement: str | None = None, *, timed: Collection[str] = GAME, **wanted: Any
    ) -> None:
        """Raise Violation unless the monitor gets to know these values; numbers nearly.

        `requirement` is what that violates, if not what the test decides. Where it knows the time,
        it has taken what that came with: values that are `timed` are then not waited for. What its
        states leave out it does not keep, and need not know; null is not known yet. Raises
        NotExercised where it keeps none of them, or there is no operation `state`.
        """
        for what in ("game", "scene"):
            part = {n: value for n, value in wanted.items() if (n == "ball") is (what == "scene")}
            if not part:
                continue
            at_once = timed if wanted.get("time") else ()
            for name, came in (await self._wrong(part, what, requirement, at_once)).items():
                await self.session.unharmed("what it was sent")
                raise Violation(
                    f"the monitor to know that {name} is {wanted[name]}",
                    f"it says {came!r:.80}",
                    requirement,
                )
        if not wanted.keys() & kept(self.session):
            names = ", ".join(wanted)
            raise NotExercised(f"the monitor keeps no {names}: its state leaves that out")

    async def _wrong(
        self,
        wanted: Mapping[str, Any],
        what: str,
        requirement: str | None,
        timed: Collection[str],
    ) -> dict[str, Any]:
        """What it says of those values that it keeps and does not get to know.

        The run knows by ``what`` they are of whether they have not come before.
        """
        wrong: dict[str, Any] = {}
        taken: float | None = None

        async def told() -> bool:
            nonlocal wrong, taken
            state = await self.state()
            wrong = {
                name: state.get(name)
                for name, value in wanted.items()
                if name in kept(self.session) and not _same(state.get(name), value)
            }
            in_time = "time" in kept(self.session) and wrong.keys() <= {*timed}
            taken = (taken or self.session.now) if in_time else None
            over = taken is not None and self.session.now > taken + quiet
            return not wrong or over or self.closed

        quiet = self.session.seconds("quiet")
        await self.session.shows(told, f"the {what} known", "response", requirement)
        return wrong

    async def knows_if_it_can(self, **wanted: Any) -> None:
        """The same, where there is an operation `state` that tells any of these values."""
        try:
            await self.knows(**wanted)
        except NotExercised:
            return
        except Inconclusive:
            # Whether it may have ended is for others to say.
            if not self.closed:
                raise

    async def state(self) -> dict[str, Any]:
        """What the monitor says that it knows. Raises Inconclusive where that is no object."""
        answer = await asked(self.session, "state")
        if not answer.ok or not isinstance(answer.result, dict):
            why = answer.error or answer.result
            raise Inconclusive(f"the operation 'state' failed: {why}"[:300])
        kept(self.session).update(answer.result)
        return answer.result

    async def goes_on(
        self,
        after: str,
        requirement: str | None = None,
        *,
        may_close: bool = False,
        upon: bytes = b"",
    ) -> None:
        """Raise Violation unless it still takes part, and knows what it is sent from now on.

        That is in one write with the bytes `upon` which it is. With `may_close` it may close the
        connection instead. What it knows is seen by the operation
        `state` only; without it Inconclusive is raised where nothing else was wrong.
        """
        lacking = await self._takes(after, requirement, upon)
        if upon:
            # One that takes what came with it may still take nothing more.
            lacking = await self._takes(after, requirement)
        await self.session.unharmed(after)
        if self.closed and not may_close:
            raise Violation(
                f"the monitor to follow on after {after}", "it closed the connection", requirement
            )
        if lacking and not self.closed:
            raise Inconclusive(f"a monitor shows nothing else of what it knows; {lacking}")

    async def _takes(self, after: str, requirement: str | None, upon: bytes = b"") -> str:
        """Raise Violation unless it knows what it is sent now, in one write with what stands first.

        It may also have closed the connection. Returns why it is not seen what it knows, else "".
        """
        goals = next(_goals)
        more = f"(score_left {goals})(score_right {goals + 1})"
        if upon:
            await self.provoke(upon + self.bytes_of(self.partial(more=more), self.partial()))
        elif not self.closed:
            await self.tick(2, more=more)
        try:
            await self.knows(score_left=goals, score_right=goals + 1, time=self.time)
        except NotExercised as unseen:
            await self.session.until_closed(self.session.seconds("quiet"))
            return str(unseen)
        except Inconclusive:
            # It may have ended with its connection, and the upper tester with it.
            if not self.closed:
                raise
        except Violation as none:
            await self.session.unharmed(after)
            if not self.closed:
                raise Violation(
                    f"{none.expected}, sent after {after}", none.came, requirement
                ) from none
        return ""


def _same(one: Any, other: Any) -> bool:
    if isinstance(other, Sequence) and not isinstance(other, str):
        same = isinstance(one, list) and len(one) == len(other)
        return same and all(map(_same, one, other))
    if isinstance(other, dict):
        kept = other.keys() & one.keys() if isinstance(one, dict) else None
        return kept is not None and all(_same(one[key], other[key]) for key in kept)
    if isinstance(other, int | float):
        number = isinstance(one, int | float) and not isinstance(one, bool)
        return number and abs(one - other) < 0.005
    return bool(one == other)


@contextlib.asynccontextmanager
async def connected(iut: Iut, *, segmentation: Segmentation | None = None) -> AsyncIterator[Tester]:
    """A monitor that has been sent nothing yet."""
    rooted = await iut.once("rooted", lambda: _understands_roots(iut))
    async with _watching(iut, rooted, segmentation) as tester:
        yield tester


@contextlib.asynccontextmanager
async def _watching(
    iut: Iut, rooted: bool, segmentation: Segmentation | None = None
) -> AsyncIterator[Tester]:
    async with iut.session(segmentation=segmentation) as session:
        connections = _Connections(session)
        async with connections.accepting(iut):
            try:
                yield Tester(connections, rooted)
            except Violation as lost:
                # Who misreads some lengths loses messages of any kind.
                await iut.lay(lost, [_LENGTHS])
                raise


async def _understands_roots(iut: Iut) -> bool:
    """Whether a monitor knows the ball where the root of the scene is a node, as the text has it.

    False if only where it is left out, as in the published server.
    """
    lost: list[Conclusion] = []
    with contextlib.suppress(NotExercised):
        for rooted in (True, False):
            async with _watching(iut, rooted) as tester:
                await tester.introduce(graph=messages.scene(3, -2))
                await tester.say(messages.partial("(time 1)", messages.STILL))
                try:
                    await tester.knows(_KNOWS, ball=[3, -2, 0.042], time=1, timed=["ball"])
                    return rooted
                except (Violation, Inconclusive) as none:
                    lost.append(none)
    if len(lost) > 1:
        # What it gets to know in neither form is not waited for in full again.
        iut.concluded(lost[0], iut.sessions)
    return True


@contextlib.asynccontextmanager
async def introduced(
    iut: Iut, *, segmentation: Segmentation | None = None
) -> AsyncIterator[Tester]:
    """A monitor that has been introduced to a simulation, as the specification says."""
    async with connected(iut, segmentation=segmentation) as tester:
        await tester.introduce()
        await tester.tick()
        yield tester


async def misread(iut: Iut) -> str:
    """The requirement that a monitor violates which has some plain values wrong; else empty.

    That may be for the lengths of some messages.

    One that has all of them wrong may have misread the stream, which other requirements are about.
    """
    right: list[bool] = []
    with contextlib.suppress(Inconclusive):
        if await _understands(iut, _LOW) and not await _understands(iut, _HIGH):
            return _LENGTHS
        async with connected(iut) as tester:
            await tester.introduce(graph=messages.scene(3, -2))
            await tester.tick()
            right += await _right(tester, half=1)
            await tester.tick(more="(score_left 3)(score_right 4)")
            await tester.tick()
            right += await _right(tester, time=tester.time, score_left=3, score_right=4)
            for about, graph, ball in _BALLS if all(right) else ():
                await tester.tick(graph=graph)
                try:
                    await tester.knows(about, ball=ball, time=tester.time, timed=["ball"])
                except NotExercised:
                    break
                except Violation:
                    return about
    return _KNOWS if len(set(right)) == 2 else ""


async def _understands(iut: Iut, byte: int) -> bool:
    """Whether it knows what comes in messages of which the last byte of the length is this one."""
    async with connected(iut) as tester:
        full = messages.full(messages.ENVIRONMENT + messages.state(0), messages.scene(0, 0))
        for text in (full, tester.partial(more="(score_left 3)(score_right 4)")):
            blocks = len(tester.bytes_of(text)) // 256 + 1
            await tester.session.send_bytes(tester.long(256 * blocks + byte, text))
        right = await _right(tester, score_left=3, score_right=4)
        return bool(right) and all(right)


_BALLS = (
    ("graph.poses-known", messages.STILL, [3, -2, 0.042]),
    ("header.partial-applied", messages.moved(-1.5, 2.5, 0.5), [-1.5, 2.5, 0.5]),
)
"""By what is violated where the ball is elsewhere: an update of that scene, and where it is."""


async def _right(tester: Tester, **values: Any) -> list[bool]:
    """Of each value that the monitor keeps, whether it knows it."""
    with contextlib.suppress(NotExercised):
        with contextlib.suppress(Violation):
            await tester.knows(_KNOWS, **values)
        state = await tester.state()
        return [_same(state[name], value) for name, value in values.items() if name in state]
    return []
