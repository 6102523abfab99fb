"""Replays that find the smallest session that the IUT ends in the same way.

A replay plays our side of the session against a fresh instance, step by step. The last step of the
smallest session is the culprit. Three controls must agree:

- the full session ends in the same way again
- the smallest session ends in the same way twice
- the session without the culprit continues, at least until the time of the end

If that session ends later by itself, the search begins again and waits as long after each replay.
If the full session does not end again, each replay waits as long as the session took.
There is no culprit if the IUT ends a connection in which our side does nothing.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from conformance.evidence import BREAK, CLOSE, CONNECT, FIRST_CONNECTION, End, Kind, Result
from conformance.harness.instance import Instance
from conformance.iut import Iut, Sessions
from conformance.running.results import end_of
from conformance.session import Session
from conformance.wire import NOISE, PART

REPLAYS = 40  # replays of one reduction; 20 suffice for 1000 messages with one culprit
CONTROLS = 5  # of them: replays that are kept for the controls at the end
REPLAY_TIME = 2.0  # seconds that a replay can take after its latest connection
_REPLY_TIME = 0.3  # seconds to wait for the message that the IUT sent here in the session
_MIN_END_TIME = 0.3  # seconds to wait for the end after the last message, at least


class Wait(Enum):
    """How long a replay waits for the end after its last step."""

    LAST = "the time from the session's last step to its end"
    OWN = "the time from the last step that is played to the session's end"
    ALL = "the time from the session's first step to its end"


class Close(Enum):
    """How our side ends a connection."""

    HALF = "it still reads"
    WHOLE = "in both directions"
    RESET = "by a reset"


@dataclass(frozen=True)
class Step:
    """A step of our side: a connection, its end, a message or an operation.

    - ``connection`` counts from 0.
    - ``after``: the name of the IUT's latest message since our previous step on the connection.
      It is empty for bytes that are not a message, and None if nothing came.
    - ``answers``: the number of operations that the IUT had answered before
    - ``left``: the time from this step to the end of the session, in seconds
    """

    connection: int
    label: str
    data: bytes = b""
    value: Any = None
    operation: str = ""
    arguments: dict[str, Any] = field(default_factory=dict)
    opens: bool = False
    closes: Close | None = None
    after: str | None = None
    answers: int = 0
    left: float = 0.0


@dataclass(frozen=True)
class EndedSession:
    """A session that the IUT ended, with the facts that an experiment needs.

    - ``start``: the time from the connection to the IUT's first message, in seconds
    - ``channels``: the channel of each connection
    - ``connection``: the number of the connection that ended
    - ``test`` and ``iut``: for the caller that runs the test again
    """

    test: Any
    iut: Iut
    end: End
    steps: tuple[Step, ...]
    channels: tuple[str, ...]
    program: str | None
    start: float
    connection: int = 0

    @classmethod
    def of(cls, test: Any, iut: Iut, sessions: Sessions, result: Result) -> "EndedSession | None":
        """Return the session whose end is evidence in the result, or None.

        The steps include other sessions with the same instance. The IUT can have ended other
        sessions of the test lawfully.
        """
        for session in reversed(sessions):
            end = end_of(session, sessions)
            if end is None or end.lawful or not affected_requirements(result, end.way):
                continue
            siblings = tuple(each for each in sessions if each.instance is session.instance)
            first = (each.received[0].at for each in siblings if each.received)
            return cls(
                test,
                iut,
                end,
                _steps(siblings, session),
                tuple(_channel(each) for each in siblings),
                session.instance.program,
                next(first, 0.0),
                siblings.index(session),
            )
        return None


@dataclass(frozen=True)
class ReplayResult:
    """The sessions of a replay, and how the IUT ended it; ``end`` is None if it did not."""

    end: End | None
    sessions: Sessions

    def ends_like(self, end: End) -> bool:
        return self.end is not None and self.end.way == end.way


def _channel(session: Session) -> str:
    return session.peer if session.peer in session.role.channels else ""


def _steps(sessions: Sessions, ended: Session) -> tuple[Step, ...]:
    """Our steps in the sessions with one instance, in order of time."""
    entries: list[tuple[float, int, Step]] = []
    answered: list[float] = []
    closed = (e.at for e in ended.events if e.event == "closed" and e.sender == ended.role.name)
    over = ended.began + next(closed, ended.events[-1].at)
    for number, session in enumerate(sessions):
        decoder = session.protocol.decoder(session.peer, session.instance.kind)
        rest, latest = b"", 0.0
        after: str | None = None
        before: str | None = None
        if session.role.serves:
            label = CONNECT if number else FIRST_CONNECTION
            entries.append((session.began, number, Step(number, label, opens=True)))
        for event in session.events:
            at = session.began + event.at
            if at > over:
                break
            if event.sender == session.role.name:
                after = after if event.data is None else event.message or ""
                answered += [at] if (event.event or "").endswith(" answered") else []
            elif event.data == b"":
                # An empty datagram; a stream has no empty writes.
                entries.append((at, number, Step(number, NOISE, after=after)))
                after = None
            elif event.data:
                rest, latest, before = rest + event.data, at, after
                for frame in decoder.feed(event.data):
                    label = session.label(frame)
                    entries.append(
                        (at, number, Step(number, label, frame.raw, frame.value, after=after))
                    )
                    rest, after = rest[len(frame.raw) :], None
            elif event.event in session.role.hooks:
                name, given = event.event or "", dict(event.details.get("arguments", {}))
                step = Step(number, name, operation=name, arguments=given, after=after)
                entries.append((at, number, step))
                after = None
            elif event.event == "closed" and event.sender == session.peer:
                if rest:
                    entries.append((at, number, Step(number, PART, rest)))
                    rest = b""
                if session.is_half_closed:
                    entries.append((at, number, Step(number, CLOSE, closes=Close.HALF)))
        if rest:
            entries.append((latest, number, Step(number, PART, rest, after=before)))
        # A test leaves each session in the end, also one that the IUT has ended.
        left = session is not ended or session.closed_by_suite
        if left and session.left_at is not None and session.left_at < over:
            broken = BREAK in session.sent
            label, how = (BREAK, Close.RESET) if broken else (CLOSE, Close.WHOLE)
            entries.append((session.left_at, number, Step(number, label, closes=how)))
    entries.sort(key=lambda each: each[0])
    return tuple(
        replace(step, answers=sum(t <= at for t in answered), left=max(over - at, 0.0))
        for at, _, step in entries
    )


def affected_requirements(result: Result, way: tuple[str, str]) -> list[str]:
    """The requirements that a test found violated because the session ended in this way."""
    found = (
        fact.requirement
        for fact in result.evidence
        if fact.kind is Kind.END and fact.end and not fact.end.lawful and fact.end.way == way
    )
    return list(dict.fromkeys(found))


class Player:
    """Plays the steps of one replay."""

    def __init__(self, iut: Iut, subject: EndedSession) -> None:
        self.sessions: dict[int, Session] = {}
        """The session of each connection."""
        self._iut = iut
        self._subject = subject
        self._operations: list[asyncio.Task[Any]] = []
        self._limit = asyncio.timeout(None)

    @property
    def end(self) -> End | None:
        """The end of the connection that ended in the session, or a crash; None without an end."""
        sessions = tuple(self.sessions.values())
        ended = self.sessions.get(self._subject.connection)
        if ended:
            return end_of(ended, sessions)
        end = end_of(sessions[0], sessions) if sessions else None
        if end and end.crashed:
            return end
        process = sessions[0].instance.process if sessions else None
        # The process ended before that connection began, so the connection cannot continue.
        return self._subject.end if process and process.early_exit else None

    async def play(self, steps: Sequence[Step], wait: Wait = Wait.LAST) -> None:
        """Play the steps, then wait for the end.

        The time limit begins again with each connection.
        """
        async with (
            self._limit,
            self._iut.instance(self._subject.program) as instance,
            contextlib.AsyncExitStack() as stack,
        ):
            try:
                for step in steps:
                    if instance.process:
                        # A crashed process has no objects any more.
                        instance.process.note_objects()
                    await self._step(step, instance, stack)
                    if self._is_over(instance):
                        break
                await self._await_connections(instance, stack)
                every = self._subject.steps
                since = {Wait.LAST: every[-1], Wait.OWN: steps[-1], Wait.ALL: every[0]}[wait]
                await self._end(instance, since)
            finally:
                for task in self._operations:
                    task.cancel()
                await asyncio.gather(*self._operations, return_exceptions=True)

    async def _begin(self, operation: Coroutine[Any, Any, Any]) -> None:
        self._operations.append(asyncio.create_task(operation))
        await asyncio.sleep(0)

    async def _step(self, step: Step, instance: Instance, stack: contextlib.AsyncExitStack) -> None:
        operated = False
        if step.connection not in self.sessions:
            operated = bool(step.operation) and not instance.serves
            if operated:
                # A client can connect only after an operation.
                await self._begin(instance.upper(step.operation, **step.arguments))
            await self._connect(step.connection, instance, stack)
        session = self.sessions[step.connection]
        if step.after is not None:
            names = (step.after,) if step.after else ()
            starting = 0.0 if session.received else 2 * self._subject.start
            await session.wait_for(*names, within=_REPLY_TIME + starting)
        session.pass_over()
        await self._wait_for_answers(step.answers)
        if operated:
            session.note(step.operation, session.peer, arguments=step.arguments)
        elif step.operation:
            await self._begin(session.operate(step.operation, **step.arguments))
        elif step.closes is Close.HALF:
            await session.finish()
        elif step.closes:
            await session.wait_until_taken()
            await session.close(reset=step.closes is Close.RESET)
        elif not (step.opens or session.closed_by_suite):
            await session.send_bytes(step.data)

    async def _connect(
        self, number: int, instance: Instance, stack: contextlib.AsyncExitStack
    ) -> None:
        opened = self._iut.connect(instance, channel=self._subject.channels[number])
        self.sessions[number] = await stack.enter_async_context(opened)
        longest = REPLAY_TIME + 2 * self._subject.start
        self._limit.reschedule(asyncio.get_running_loop().time() + longest)

    async def _await_connections(
        self, instance: Instance, stack: contextlib.AsyncExitStack
    ) -> None:
        """Accept the connections that the IUT opens although our side plays no step in them.

        A client connects again after each connection that our side has closed.
        """
        for number in range(len(self.sessions), self._subject.connection + 1):
            left = all(session.closed_by_suite for session in self.sessions.values())
            if not self.sessions or instance.serves or not left or self._is_over(instance):
                break
            await self._connect(number, instance, stack)

    async def _wait_for_answers(self, count: int) -> None:
        """Wait until ``count`` operations, or all, are answered, but at most `_REPLY_TIME`."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_REPLY_TIME):
                while running := [task for task in self._operations if not task.done()]:
                    if len(self._operations) - len(running) >= count:
                        break
                    await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)

    def _is_over(self, instance: Instance) -> bool:
        process, ended = instance.process, self.sessions.get(self._subject.connection)
        return bool(process and process.exit) or bool(ended and ended.ended)

    async def _end(self, instance: Instance, since: Step) -> None:
        """Wait for the end, up to twice as long as it took after this step in the session."""
        starting = 0.0 if any(s.received for s in self.sessions.values()) else self._subject.start
        within = max(_MIN_END_TIME, 2 * since.left) + 2 * starting
        ended = self.sessions.get(self._subject.connection)
        waits = [asyncio.create_task(ended.until_closed(within))] if ended else []
        if instance.process:
            waits.append(asyncio.create_task(instance.process.wait(within)))
        if waits and not self._is_over(instance):
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for task in waits:
            task.cancel()
        await asyncio.gather(*waits, return_exceptions=True)
        for session in self.sessions.values():
            await session.settle_process()


Play = Callable[[EndedSession, Sequence[Step], Wait], Awaitable[ReplayResult]]
"""Plays steps of a session against a fresh instance."""


class Reduction:
    """Reduces one session by at most `REPLAYS` replays."""

    def __init__(self, play: Play, subject: EndedSession) -> None:
        self.replays = 0
        self.latest: Sessions = ()
        """The sessions of the latest replay that ended in the same way."""
        self._play = play
        self._subject = subject
        self._wait = Wait.LAST

    async def _does_end(self, steps: Sequence[Step]) -> bool:
        """True if these steps end the session in the same way."""
        if self.replays >= REPLAYS:
            return False
        self.replays += 1
        played = await self._play(self._subject, steps, self._wait)
        if not played.ends_like(self._subject.end):
            return False
        self.latest = played.sessions
        return True

    async def _is_enough(self, steps: Sequence[Step]) -> bool:
        """True if these steps end the session, too; False if only the controls are left."""
        return self.replays < REPLAYS - CONTROLS and await self._does_end(steps)

    async def smallest_session(self, opening: int) -> Sequence[Step]:
        """A small session whose last step ends it; empty if the controls do not agree.

        The session is the smallest one if the replays suffice.

        ``opening`` is the number of first steps that a smoke session also has.
        """
        steps, whole_opening = self._subject.steps, opening
        if not steps:
            return ()
        if not await self._does_end(steps):
            longest = max(_MIN_END_TIME, 2 * steps[-1].left)
            if self._wait is not Wait.LAST or steps[0].left <= longest:
                return ()
            # The IUT can need the time that passed between the steps, for example to write.
            self._wait = Wait.ALL
            if not await self._does_end(steps):
                return ()
        if opening and await self._is_enough(steps[:opening]):
            steps, opening = steps[:opening], 0
        length = await self._shortest_prefix(steps, opening)
        before, culprit = [*steps[:opening]], steps[length - 1]
        context = [*steps[opening : length - 1]]
        if not context or not await self._is_enough([*before, culprit]):
            before = [*before, *await self._needed_steps(before, context, culprit)]
        smallest = [*before, culprit]
        if self._ends_without_us(smallest):
            return ()
        if not (await self._does_end(smallest) and await self._does_end(smallest)):
            return ()
        if not before:
            return () if await self._ends_unasked(culprit) else smallest
        if self.replays >= REPLAYS or await self._does_end(before):
            return ()
        if self._wait is Wait.LAST and before[-1].left > _MIN_END_TIME:
            self._wait = Wait.OWN
            if await self._does_end(before):
                return await self.smallest_session(whole_opening)
        return smallest

    def _ends_without_us(self, steps: Sequence[Step]) -> bool:
        """True if the IUT ends the connection although our side does nothing there.

        - A process that crashes or exits before the connection begins does not end the connection.
        - To open a connection can be the reason for an end that follows at once. A later end can
          have another reason: the IUT does not wait longer for a message.
        """
        if self._subject.end.crashed:
            return False
        number = self._subject.connection
        ours = [step for step in steps if step.connection == number]
        if not ours:
            return number < len(self.latest)
        return all(step.opens and step.left > _MIN_END_TIME for step in ours)

    async def _ends_unasked(self, first: Step) -> bool:
        """True if the IUT ends the connection in the same time without this first step."""
        if first.opens or first.operation:
            # Without this step there is no connection.
            return False
        self._wait = Wait.OWN
        return await self._does_end([Step(first.connection, "", opens=True, left=first.left)])

    async def _shortest_prefix(self, steps: Sequence[Step], continues: int) -> int:
        """The length of the shortest prefix that ends the session.

        A prefix of the length ``continues`` is known not to end the session.
        """
        ends, jump = len(steps), 1
        while ends - jump > continues:
            if await self._is_enough(steps[: ends - jump]):
                ends -= jump
                jump *= 2
            else:
                continues = ends - jump
                break
        while ends - continues > 1:
            middle = (ends + continues) // 2
            if await self._is_enough(steps[:middle]):
                ends = middle
            else:
                continues = middle
        return ends

    async def _needed_steps(
        self, opening: Sequence[Step], context: Sequence[Step], culprit: Step
    ) -> Sequence[Step]:
        """The steps of the context that the end needs, found by leaving out ever smaller parts."""
        needed, size = [*context], max(len(context) // 2, 1)
        while needed:
            place = 0
            while place < len(needed):
                fewer = [*needed[:place], *needed[place + size :]]
                if await self._is_enough([*opening, *fewer, culprit]):
                    needed = fewer
                else:
                    place += size
            if size == 1:
                break
            size //= 2
        return needed
