"""Experiments that isolate the message that ends a session, and the requirements it violates.

- A *reduction* finds the culprit: the message after which the IUT ends the session (see
  `running.reduction`).
- A *masked run* runs a test again and leaves out the culprit. If the test passes then, its failure
  was a consequence.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from conformance.conclusions.decisions import Culprit, Trial, TrialResult
from conformance.definitions.keywords import short_json
from conformance.evidence import CONNECT, CONNECTION_STEPS, Kind, Result
from conformance.iut import Iut, Sessions
from conformance.running.reduction import (
    EndedSession,
    Player,
    Reduction,
    ReplayResult,
    Step,
    Wait,
    affected_requirements,
)
from conformance.running.testbed import Testbed
from conformance.running.transcripts import Transcripts
from conformance.verdicts import Conclusion, Verdict
from conformance.wire import NOISE, PART

PARALLEL = 3  # experiments at a time: more would make each of them slower on two cores
REDUCTIONS = 6  # reductions of sessions in one run, so that a run has a bound
# Seconds that a masked run can take: passing tests take less than half. If the IUT starts slowly,
# the run can take twice the time of its test.
MASKED_TIME = 6.0
_MAX_VALUE = 200  # characters of the culprit's content in the report

Rerun = Callable[[EndedSession, frozenset[str], float], Awaitable[Result]]
"""Runs the test of an ended session again, without the messages that have these labels.

The third argument is the time limit of the run in seconds.
"""

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
            if result and affected_requirements(result, each.end.way):
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

    def _rank(self, met: _Met) -> tuple[bool, bool, int, str]:
        """The order in which sessions are reduced.

        Sessions that affect a must come first, then those that affect the requirement of their
        test, then short ones. The bit length makes the order repeatable: the number of steps varies
        from run to run.
        """
        ended, result = met
        affected = affected_requirements(result, ended.end.way)
        requirements = self._testbed.configuration.protocol.requirements
        levels = {requirements[name].level for name in affected if name in requirements}
        is_other = result.requirement not in affected
        return "must" not in levels, is_other, len(ended.steps).bit_length(), result.id

    # Replays

    async def _reduce(self, subject: EndedSession, result: Result) -> Culprit:
        """The culprit of a session with its smallest session; without a label if not found."""
        reduction = Reduction(self.play, subject)
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

    async def play(
        self, subject: EndedSession, steps: Sequence[Step], wait: Wait = Wait.LAST
    ) -> ReplayResult:
        """Play these steps against a fresh instance, and return how the IUT ends the session."""
        player = Player(Iut(self._testbed, ""), subject)
        async with self._room:
            with contextlib.suppress(Conclusion, TimeoutError):
                await player.play(steps, wait)
        return ReplayResult(player.end, tuple(player.sessions.values()))

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
        if culprit.label in self._testbed.role.hooks:
            return _during_operation(culprit, met, subject)
        sent = [pair for pair in met if any(s.label == culprit.label for s in pair[0].steps)]
        chosen = _one_for_each_requirement(sent, culprit.way, subject)
        again = await self._run_without(culprit.label, chosen)
        tried = (
            _trial(name, result, again.get(result.id), culprit.way, result is subject)
            for name, (_, result) in chosen.items()
        )
        trials = await self._ended_by(culprit.label, [*filter(None, tried)], chosen, subject)
        trials = _blame(trials, culprit.label, self._testbed, chosen, subject)
        others = chosen.keys() - {each.requirement for each in trials}
        kept = [
            pair
            for pair in sent
            if not others.issuperset(affected_requirements(pair[1], culprit.way))
        ]
        tests = tuple(dict.fromkeys(pair[1].id for pair in kept))
        rest = [pair for pair in met if pair not in kept]
        return replace(culprit, tests=tests, trials=tuple(trials)), rest

    async def _run_without(self, label: str, chosen: Mapping[str, _Met]) -> dict[str, Result]:
        """Run the tests of these sessions without the culprit; return the results by test.

        There are no results if the culprit cannot be left out, or if only one requirement is
        affected.
        """
        if label in (*CONNECTION_STEPS, NOISE, PART) or len(chosen) < 2:
            return {}
        tests = {result.id: (ended, result) for ended, result in chosen.values()}
        masked = await asyncio.gather(
            *(self._run_masked(each, frozenset({label})) for each in tests.values())
        )
        return dict(zip(tests, masked, strict=True))

    async def _ended_by(
        self, label: str, trials: Sequence[Trial], chosen: Mapping[str, _Met], subject: Result
    ) -> list[Trial]:
        """Return the trials without those of sessions that another message ended."""
        # Several requirements can have the same test.
        unsure = {
            each.test: chosen[each.requirement][0]
            for each in trials
            if each.test != subject.id and each.shown in (TrialResult.STANDS, TrialResult.UNDECIDED)
        }
        ends = await asyncio.gather(*(self._ends_with(each, label) for each in unsure.values()))
        spared = {test for test, end in zip(unsure, ends, strict=True) if not end}
        return [each for each in trials if each.test not in spared]

    async def _ends_with(self, ended: EndedSession, label: str) -> bool:
        """True if the session has ended once the last message with this label was sent."""
        last = max(n for n, step in enumerate(ended.steps) if step.label == label)
        if last == len(ended.steps) - 1:
            return True
        played = await self.play(ended, ended.steps[: last + 1])
        return played.ends_like(ended.end)

    async def _run_masked(self, met: _Met, mask: frozenset[str]) -> Result:
        ended, result = met
        async with self._room:
            return await self._rerun(ended, mask, max(MASKED_TIME, 2 * result.duration_s))


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
        for name in affected_requirements(result, culprit.way)
    }
    tests = tuple(dict.fromkeys(result.id for _, result in own))
    return replace(culprit, tests=tests, trials=tuple(trials.values())), rest


def _one_for_each_requirement(
    sent: Sequence[_Met], way: tuple[str, str], subject: Result
) -> dict[str, _Met]:
    """Return a session for each requirement that this way of ending affects.

    The reduced session comes first, then the order of ids: times and the messages before a crash
    differ from run to run.
    """
    chosen: dict[str, _Met] = {}
    for pair in sorted(sent, key=lambda pair: (pair[1] is not subject, pair[1].id)):
        for name in affected_requirements(pair[1], way):
            chosen.setdefault(name, pair)
    return chosen


def _trial(
    requirement: str, result: Result, again: Result | None, way: tuple[str, str], reduced: bool
) -> Trial | None:
    """Return the result of a masked run for a requirement.

    Returns None if another message also ends the session in this way. ``again`` is the result of
    the masked run, or None if there was none. If the session was ``reduced``, the culprit is known
    to end it.
    """
    stands = Trial(requirement, result.id, TrialResult.STANDS)
    if again is None:
        return stands
    facts = [each for each in again.evidence if each.is_against and each.requirement == requirement]
    if any(each.end and each.end.way == way for each in again.evidence):
        return stands if reduced else None
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


def _blame(
    trials: Sequence[Trial],
    culprit: str,
    testbed: Testbed,
    chosen: Mapping[str, _Met],
    subject: Result,
) -> list[Trial]:
    """Return the trials; that of the requirement that the end violates gets the result STANDS."""
    concluded = {
        name
        for name, (_, result) in chosen.items()
        if any(not each.judged and each.requirement == name for each in result.evidence)
    }
    blamed = _requirement_of_end(trials, culprit, testbed, concluded, subject)

    def shown(trial: Trial) -> TrialResult:
        if trial.requirement == blamed:
            return TrialResult.STANDS
        # The other tests need a further connection, too.
        return TrialResult.UNDECIDED if culprit == CONNECT else trial.shown

    return [replace(each, shown=shown(each)) for each in trials]


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
    - The requirement about the handling of the culprit (`MessageType.handled`, or
      `Role.next_connection`) comes first. If none is declared, the requirement of the ``subject``
      comes first: its session was reduced.
    - A requirement whose test needs the culprit comes first.
    - A requirement that a test ``concluded`` comes before one that only the judge found.
    - The requirement of the ``subject`` comes first.
    - Prerequisites of the others come first, then the order of the specification.
    """
    protocol, role = testbed.configuration.protocol, testbed.role
    kind = protocol.messages.get((role.peer, culprit.partition(" ")[0]))
    handled = role.next_connection if culprit == CONNECT else kind and kind.handled
    handled = handled or subject.requirement
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
            name != subject.requirement,
            -dependent,
            ids.index(name) if entry else len(ids),
        )

    return min(names, key=order, default="")
