"""Experiments that isolate the message that ends a session.

If the IUT crashes or closes the stream, two kinds of experiments show why:

- A *replay* plays our side of the session against a fresh instance, message by message. Replays
  reduce the session to the smallest session that ends in the same way.
- A *masked run* runs a test again and leaves out the message that ends sessions (the culprit). If
  the test passes then, its failure was a consequence.

A culprit is reported only if three controls agree:

- the full session ends in the same way again
- the smallest session ends in the same way twice
- the session without the culprit continues
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Collection, Coroutine, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from conformance.conclusions.decisions import Culprit, Trial, TrialResult
from conformance.definitions.keywords import short_json
from conformance.evidence import End, Kind, Result
from conformance.harness.instance import Instance
from conformance.iut import Iut, Sessions
from conformance.running.results import end_of
from conformance.running.testbed import Testbed
from conformance.running.transcripts import Transcripts
from conformance.session import Session
from conformance.verdicts import Conclusion, Verdict
from conformance.wire import NOISE, PART

PARALLEL = 3  # experiments at a time: more would make each of them slower on two cores
REDUCTIONS = 6  # reductions of sessions in one run, so that a run has a bound
REPLAYS = 40  # replays of one reduction; 20 suffice for 1000 messages with one culprit
MASKED_TIME = 6.0  # seconds that a masked run can take: passing tests take less than half
REPLAY_TIME = 2.0  # seconds that a replay can take after its latest connection
_REPLY_TIME = 0.3  # seconds to wait for a message, if the IUT sent a message here in the session
_MIN_END_TIME = 0.3  # seconds to wait for the end after the last message, at least
_MAX_VALUE = 200  # characters of the culprit's content in the report

Rerun = Callable[["EndedSession", frozenset[str], float], Awaitable[Result]]
"""Runs the test of an ended session again, without the messages that have these labels.

The third argument is the time limit of the run in seconds.
"""


@dataclass(frozen=True)
class Step:
    """A step of our side: a message, an operation, or the end of our stream.

    ``connection`` counts from 0. ``turn``: the IUT sent something on this connection after the
    previous step. ``answers``: the number of operations that the IUT had answered before.
    """

    connection: int
    label: str
    data: bytes = b""
    value: Any = None
    operation: str = ""
    arguments: dict[str, Any] = field(default_factory=dict)
    closes: bool = False
    turn: bool = False
    answers: int = 0


@dataclass(frozen=True)
class EndedSession:
    """A session that the IUT ended, with the facts that an experiment needs.

    - ``pause``: the time from our last step to the end, in seconds
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
    pause: float
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
            if end is None or end.lawful or not _affected_requirements(result, end.way):
                continue
            siblings = tuple(each for each in sessions if each.instance is session.instance)
            steps, pause = _steps(siblings, session)
            first = (each.received[0].at for each in siblings if each.received)
            return cls(
                test,
                iut,
                end,
                steps,
                tuple(_channel(each) for each in siblings),
                session.instance.program,
                pause,
                next(first, 0.0),
                siblings.index(session),
            )
        return None


@dataclass(frozen=True)
class _ReplayResult:
    """The sessions of a replay, and how the IUT ended it; ``end`` is None if it did not."""

    end: End | None
    sessions: Sessions

    def ends_like(self, end: End) -> bool:
        return self.end is not None and self.end.way == end.way


def _channel(session: Session) -> str:
    return session.peer if session.peer in session.role.channels else ""


def _steps(sessions: Sessions, ended: Session) -> tuple[tuple[Step, ...], float]:
    """Our steps in the sessions with one instance, in order of time, and the pause to the end."""
    entries: list[tuple[float, int, Step]] = []
    answered: list[float] = []
    closed = (e.at for e in ended.events if e.event == "closed" and e.sender == ended.role.name)
    over = ended.began + next(closed, ended.events[-1].at)
    for number, session in enumerate(sessions):
        decoder = session.protocol.decoder(session.peer, session.instance.kind)
        turn, rest, latest, before = False, b"", 0.0, False
        for event in session.events:
            at = session.began + event.at
            if at > over:
                break
            if event.sender == session.role.name:
                turn = turn or event.data is not None
                answered += [at] if (event.event or "").endswith(" answered") else []
            elif event.data == b"":
                # An empty datagram; a stream has no empty writes.
                entries.append((at, number, Step(number, NOISE, turn=turn)))
                turn = False
            elif event.data:
                rest, latest, before = rest + event.data, at, turn
                for frame in decoder.feed(event.data):
                    label = session.label(frame)
                    entries.append(
                        (at, number, Step(number, label, frame.raw, frame.value, turn=turn))
                    )
                    rest, turn = rest[len(frame.raw) :], False
            elif event.event in session.role.hooks:
                name, given = event.event or "", dict(event.details.get("arguments", {}))
                step = Step(number, name, operation=name, arguments=given, turn=turn)
                entries.append((at, number, step))
                turn = False
            elif event.event == "closed" and event.sender == session.peer:
                if rest:
                    entries.append((at, number, Step(number, PART, rest)))
                    rest = b""
                entries.append((at, number, Step(number, "closed", closes=True)))
        if rest:
            entries.append((latest, number, Step(number, PART, rest, turn=before)))
    entries.sort(key=lambda each: each[0])
    last = entries[-1][0] if entries else over
    steps = (replace(step, answers=sum(t <= at for t in answered)) for at, _, step in entries)
    return tuple(steps), max(over - last, 0.0)


_Met = tuple[EndedSession, Result]
"""A session that the IUT ended, and the result of its test."""


class Isolation:
    """The experiments of one run."""

    def __init__(
        self, testbed: Testbed, folder: Path, opening: Sequence[str], rerun: Rerun
    ) -> None:
        """``opening`` are the labels that our side sends first in a smoke session."""
        self._testbed = testbed
        self._folder = folder
        self._opening = tuple(opening)
        self._rerun = rerun
        parallel = 1 if testbed.configuration.has_fixed_address else PARALLEL
        self._room = asyncio.Semaphore(parallel)
        self._reductions = 0

    async def run(self, results: Sequence[Result], ended: Sequence[EndedSession]) -> list[Culprit]:
        """The culprits of the sessions that ended in a run.

        Each way of ending gets one reduction, and more reductions if it has several culprits. Ways
        that affect a must come first, because the number of reductions is bounded.
        """
        by_test = {result.id: result for result in results}
        groups: dict[tuple[str, str], list[_Met]] = {}
        for each in ended:
            result = by_test.get(each.test.id)
            if result and _affected_requirements(result, each.end.way):
                groups.setdefault(each.end.way, []).append((each, result))
        order = sorted(groups.values(), key=lambda met: min(map(self._rank, met)))
        found = await asyncio.gather(*map(self._isolate, order))
        return [culprit for culprits in found for culprit in culprits]

    async def _isolate(self, met: list[_Met]) -> list[Culprit]:
        culprits: list[Culprit] = []
        while met and self._reductions < REDUCTIONS:
            self._reductions += 1
            subject, result = min(met, key=self._rank)
            culprit = await self._reduce(subject, result)
            if not culprit.label:
                met = [pair for pair in met if pair[1] is not result]
                continue
            culprit, met = await self._trials(culprit, met, result)
            culprits.append(culprit)
        return culprits

    def _rank(self, met: _Met) -> tuple[bool, int, str]:
        """The order in which sessions are reduced: those that affect a must, then short ones.

        The bit length makes the order repeatable: the number of steps varies from run to run.
        """
        ended, result = met
        affected = _affected_requirements(result, ended.end.way)
        requirements = self._testbed.configuration.protocol.requirements
        levels = {requirements[name].level for name in affected if name in requirements}
        return "must" not in levels, len(ended.steps).bit_length(), result.id

    # Replays

    async def _reduce(self, subject: EndedSession, result: Result) -> Culprit:
        """The culprit of a session with its smallest session; without a label if not found."""
        reduction = _Reduction(self, subject)
        smallest = await reduction.smallest_session(self._opening_of(subject.steps))
        if not smallest:
            return Culprit(subject.end.way, replays=reduction.replays)
        culprit = smallest[-1]
        path, event = self._write(result, reduction.latest, culprit)
        value = "" if culprit.value is None else short_json(culprit.value)[:_MAX_VALUE]
        if culprit.operation:
            value = short_json(culprit.arguments)[:_MAX_VALUE]
        return Culprit(subject.end.way, culprit.label, value, path, event, reduction.replays)

    def _opening_of(self, steps: Sequence[Step]) -> int:
        """The number of first steps that a smoke session also has; never all steps."""
        same = 0
        for step, label in zip(steps, self._opening, strict=False):
            if step.label != label:
                break
            same += 1
        return min(same, len(steps) - 1)

    async def play(self, subject: EndedSession, steps: Sequence[Step]) -> _ReplayResult:
        """Play these steps against a fresh instance, and return how the IUT ends the session."""
        player = _Player(Iut(self._testbed, ""), subject)
        async with self._room:
            with contextlib.suppress(Conclusion, TimeoutError):
                await player.play(steps)
        return _ReplayResult(player.end, tuple(player.sessions.values()))

    def _write(self, result: Result, sessions: Sessions, culprit: Step) -> tuple[str, int | None]:
        """Write the smallest session as a capture; return its path and the culprit's event."""
        name = f"{result.id}-smallest"
        files = Transcripts(
            self._folder, name, result.purpose, result.requirement, self._testbed.written
        )
        written = files.of(sessions)
        place = None
        for session in sessions:
            for index, event in enumerate(session.events):
                operation = culprit.operation and event.event == culprit.operation
                if event.sender == session.peer and (operation or event.data == culprit.data):
                    place = written.place(sessions, session, index)
        path = f"counterexamples/{files.name}.jsonl"
        files.conclude(written, "counterexample", path, {})
        return path, place

    # Masked runs

    async def _trials(
        self, culprit: Culprit, met: list[_Met], subject: Result
    ) -> tuple[Culprit, list[_Met]]:
        """Try each affected requirement without the culprit.

        Returns the culprit with the trials, and the sessions that another message ended.
        ``subject`` is the result of the test whose session was reduced.
        """
        mask = frozenset({culprit.label})
        if culprit.label in self._testbed.role.hooks:
            return _during_operation(culprit, met, subject)
        sent = [pair for pair in met if any(s.label == culprit.label for s in pair[0].steps)]
        cheapest: dict[str, _Met] = {}
        # Sorted by id, because times and the messages before a crash differ from run to run.
        for pair in sorted(sent, key=lambda pair: (pair[1] is not subject, pair[1].id)):
            for name in _affected_requirements(pair[1], culprit.way):
                cheapest.setdefault(name, pair)
        maskable = culprit.label not in (NOISE, PART) and len(cheapest) > 1
        again: dict[str, Result] = {}
        if maskable:
            chosen = {pair[1].id: pair[0] for pair in cheapest.values()}
            masked = await asyncio.gather(
                *(self._run_masked(each, mask) for each in chosen.values())
            )
            again = dict(zip(chosen, masked, strict=True))
        trials = []
        others: set[str] = set()
        for name, (_, result) in cheapest.items():
            trial = _trial(name, result, again.get(result.id), culprit.way)
            if trial is None and result is subject:
                # Both the culprit and another message end this session.
                trial = Trial(name, result.id, TrialResult.STANDS)
            if trial is None:
                others.add(name)
            else:
                trials.append(trial)
        # Several requirements can have the same test.
        unsure = {
            each.test: cheapest[each.requirement][0]
            for each in trials
            if each.test != subject.id and each.shown in (TrialResult.STANDS, TrialResult.UNDECIDED)
        }
        ends = await asyncio.gather(
            *(self._ends_with(each, culprit.label) for each in unsure.values())
        )
        spared = {test for test, end in zip(unsure, ends, strict=True) if not end}
        others |= {each.requirement for each in trials if each.test in spared}
        trials = [each for each in trials if each.test not in spared]
        concluded = {
            name
            for name, (_, result) in cheapest.items()
            if any(not each.judged and each.requirement == name for each in result.evidence)
        }
        stands = _requirement_of_end(trials, culprit.label, self._testbed, concluded, subject)
        trials = [
            replace(each, shown=TrialResult.STANDS) if each.requirement == stands else each
            for each in trials
        ]
        own = [
            pair for pair in sent if not set(_affected_requirements(pair[1], culprit.way)) <= others
        ]
        tests = tuple(dict.fromkeys(pair[1].id for pair in own))
        rest = [pair for pair in met if pair not in own]
        return replace(culprit, tests=tests, trials=tuple(trials)), rest

    async def _ends_with(self, ended: EndedSession, label: str) -> bool:
        """True if the session has ended once the last message with this label was sent."""
        last = max(n for n, step in enumerate(ended.steps) if step.label == label)
        if last == len(ended.steps) - 1:
            return True
        played = await self.play(ended, ended.steps[: last + 1])
        return played.ends_like(ended.end)

    async def _run_masked(self, ended: EndedSession, mask: frozenset[str]) -> Result:
        async with self._room:
            return await self._rerun(ended, mask, MASKED_TIME)


def _during_operation(
    culprit: Culprit, met: Sequence[_Met], subject: Result
) -> tuple[Culprit, list[_Met]]:
    """Return the culprit with all sessions that end during its operation, and the other sessions.

    A test cannot leave out its operation, so there are no masked runs. The end violates the
    requirements of all these tests.
    """
    own: list[_Met] = []
    rest: list[_Met] = []
    for ended, result in met:
        last = ended.steps[-1:]
        during = result is subject or any(step.operation == culprit.label for step in last)
        (own if during else rest).append((ended, result))
    trials = {
        name: Trial(name, result.id, TrialResult.STANDS)
        for _, result in own
        for name in _affected_requirements(result, culprit.way)
    }
    tests = tuple(dict.fromkeys(result.id for _, result in own))
    return replace(culprit, tests=tests, trials=tuple(trials.values())), rest


def _affected_requirements(result: Result, way: tuple[str, str]) -> list[str]:
    """The requirements that a test found violated because the session ended in this way."""
    found = (
        fact.requirement
        for fact in result.evidence
        if fact.kind is Kind.END and fact.end and not fact.end.lawful and fact.end.way == way
    )
    return list(dict.fromkeys(found))


def _trial(
    requirement: str, result: Result, again: Result | None, way: tuple[str, str]
) -> Trial | None:
    """Return the result of a masked run for a requirement.

    Returns None if the session ends in the same way. ``again`` is the result of the masked run, or
    None if the culprit cannot be left out.
    """
    if again is None:
        return Trial(requirement, result.id, TrialResult.STANDS)
    facts = [each for each in again.evidence if each.is_against and each.requirement == requirement]
    if any(each.end and each.end.way == way for each in again.evidence):
        return None
    content = next((each for each in facts if each.kind is Kind.VIOLATION), None)
    if content:
        return Trial(
            requirement,
            result.id,
            TrialResult.INDEPENDENT,
            content.message,
            again.reproduce,
            content,
        )
    if again.verdict is Verdict.PASS and not facts:
        return Trial(requirement, result.id, TrialResult.CONSEQUENCE, "", again.reproduce)
    return Trial(requirement, result.id, TrialResult.UNDECIDED, again.detail, again.reproduce)


def _requirement_of_end(
    trials: Sequence[Trial],
    culprit: str,
    testbed: Testbed,
    concluded: Collection[str],
    subject: Result,
) -> str:
    """Return the requirement that the end itself violates, among those without other evidence.

    The first criterion that differs decides:

    - The requirement of segmentation comes last, because replays send whole messages.
    - Requirements of level must come first: the blamed requirement excuses the others.
    - The requirement about the handling of the culprit (`MessageType.handled`) comes first. If
      none is declared, the requirement of the ``subject`` comes first: its session was reduced.
    - A requirement whose test needs the culprit comes first.
    - A requirement that a test ``concluded`` comes before one that only the judge found.
    - Prerequisites of the others come first, then the order of the specification.
    """
    protocol, peer = testbed.configuration.protocol, testbed.role.peer
    kind = protocol.messages.get((peer, culprit.partition(" ")[0]))
    handled = (kind and kind.handled) or subject.requirement
    names = [each.requirement for each in trials if each.shown is not TrialResult.INDEPENDENT]
    proven = {each.requirement for each in trials if each.shown is TrialResult.CONSEQUENCE}
    ids = [*protocol.requirements]

    def order(name: str) -> tuple[Any, ...]:
        entry = protocol.requirements.get(name)
        dependent = sum(name in protocol.prerequisites(other) for other in names)
        return (
            name == protocol.segmentation_requirement and culprit != PART,
            entry is None or entry.level != "must",
            name != handled,
            name in proven,
            name not in concluded,
            -dependent,
            ids.index(name) if entry else len(ids),
        )

    return min(names, key=order, default="")


class _Player:
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
        return end if end and end.crashed else None

    async def play(self, steps: Sequence[Step]) -> None:
        """Play the steps; the time limit begins again with each connection."""
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
                await self._end(instance)
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
            channel = self._subject.channels[step.connection]
            opened = self._iut.connect(instance, channel=channel)
            self.sessions[step.connection] = await stack.enter_async_context(opened)
            longest = REPLAY_TIME + 2 * self._subject.start
            self._limit.reschedule(asyncio.get_running_loop().time() + longest)
        session = self.sessions[step.connection]
        if step.turn:
            starting = 0.0 if session.received else 2 * self._subject.start
            await session.wait_for(within=_REPLY_TIME + starting)
        session.pass_over()
        await self._wait_for_answers(step.answers)
        if operated:
            session.note(step.operation, session.peer, arguments=step.arguments)
        elif step.operation:
            await self._begin(session.operate(step.operation, **step.arguments))
        elif step.closes:
            await session.finish()
        else:
            await session.send_bytes(step.data)

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

    async def _end(self, instance: Instance) -> None:
        """Wait for the end, up to twice as long as it took in the session."""
        starting = 0.0 if any(s.received for s in self.sessions.values()) else self._subject.start
        within = max(_MIN_END_TIME, 2 * self._subject.pause) + 2 * starting
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


class _Reduction:
    """Reduces one session by at most `REPLAYS` replays."""

    def __init__(self, isolation: Isolation, subject: EndedSession) -> None:
        self.replays = 0
        self.latest: Sessions = ()
        """The sessions of the latest replay that ended in the same way."""
        self._isolation = isolation
        self._subject = subject

    async def _does_end(self, steps: Sequence[Step]) -> bool:
        """True if these steps end the session in the same way."""
        if self.replays >= REPLAYS:
            return False
        self.replays += 1
        played = await self._isolation.play(self._subject, steps)
        if not played.ends_like(self._subject.end):
            return False
        self.latest = played.sessions
        return True

    async def smallest_session(self, opening: int) -> Sequence[Step]:
        """The smallest session whose last step ends it; empty if the controls do not agree.

        ``opening`` is the number of first steps that a smoke session also has.
        """
        steps = self._subject.steps
        if not steps or not await self._does_end(steps):
            return ()
        if opening and await self._does_end(steps[:opening]):
            steps, opening = steps[:opening], 0
        length = await self._shortest_prefix(steps, opening)
        before, culprit = [*steps[:opening]], steps[length - 1]
        context = [*steps[opening : length - 1]]
        if not context or not await self._does_end([*before, culprit]):
            before = [*before, *await self._needed_steps(before, context, culprit)]
        smallest = [*before, culprit]
        if not (await self._does_end(smallest) and await self._does_end(smallest)):
            return ()
        if not before:
            return smallest
        latest = self.latest
        ends_without_culprit = await self._does_end(before)
        self.latest = latest
        return () if ends_without_culprit else smallest

    async def _shortest_prefix(self, steps: Sequence[Step], continues: int) -> int:
        """The length of the shortest prefix that ends the session.

        A prefix of the length ``continues`` is known not to end the session.
        """
        ends, jump = len(steps), 1
        while ends - jump > continues:
            if await self._does_end(steps[: ends - jump]):
                ends -= jump
                jump *= 2
            else:
                continues = ends - jump
                break
        while ends - continues > 1:
            middle = (ends + continues) // 2
            if await self._does_end(steps[:middle]):
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
                if await self._does_end([*opening, *fewer, culprit]):
                    needed = fewer
                else:
                    place += size
            if size == 1:
                break
            size //= 2
        return needed
