"""Experiments about ended sessions, with a fake player."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from conformance.conclusions.decisions import Culprit, TrialResult
from conformance.evidence import CONNECT, FIRST_CONNECTION, End, Evidence, Kind, Result
from conformance.iut import Iut
from conformance.running.isolation import REDUCTIONS, Isolation
from conformance.running.reduction import REPLAYS, EndedSession, ReplayResult, Step, Wait
from conformance.running.results import end_of
from conformance.running.testbed import Testbed
from conformance.selftest.evidence_fixtures import (
    CLOSE,
    DEATH,
    MIDDLE,
    OTHER,
    SHOULD,
    TOP,
    configuration,
    ended,
    other,
    result,
    violation,
)
from conformance.selftest.scripted import Scripted, connected, idle_testbed, run
from conformance.vexide.commands import START, competition, hello
from conformance.wire import PART

Dies = Callable[[list[str]], bool]
"""True if an IUT that is sent messages with these labels ends the session."""

OPENING = ("Handshake",)


class Simulated(Isolation):
    """Experiments with an IUT that ends a session after certain messages."""

    def __init__(self, dies: Dies, again: Mapping[tuple[str, str], Result] | None = None) -> None:
        """``again`` has the results of masked runs, by the id of the test and the masked label."""
        super().__init__(Testbed(configuration()), Path(), OPENING, self._masked_run)
        self._dies = dies
        self._again = again or {}
        self.played: list[list[str]] = []
        self.smallest: list[str] = []
        """The latest session that the IUT has ended."""
        self.masked: list[tuple[str, str]] = []

    async def play(
        self, subject: EndedSession, steps: Sequence[Step], wait: Wait = Wait.LAST
    ) -> ReplayResult:
        labels = [step.label for step in steps]
        self.played.append(labels)
        if not self._dies(labels):
            return ReplayResult(None, ())
        self.smallest = labels
        return ReplayResult(subject.end, ())

    def _write(self, result: Result, sessions: Any, culprit: Step) -> tuple[str, int | None]:
        return f"counterexamples/{result.id}-smallest.jsonl", len(self.smallest)

    async def _masked_run(
        self, ended: EndedSession, mask: frozenset[str], longest: float
    ) -> Result:
        [label] = mask
        self.masked.append((ended.test.id, label))
        return self._again[ended.test.id, label]


def session(test: str, *labels: str, end: End = DEATH) -> EndedSession:
    """Return a session of a test in which these messages were sent before the end."""
    steps = tuple(Step(0, label, label.encode(), label) for label in labels)
    iut: Any = SimpleNamespace()
    return EndedSession(SimpleNamespace(id=test), iut, end, steps, ("",), None, 0.0)


def met(test: str, requirement: str = MIDDLE, end: End = DEATH) -> Result:
    return result(test, requirement, ended(requirement, end, "Ready"))


def isolated(experiments: Isolation, *pairs: tuple[Result, EndedSession]) -> list[Culprit]:
    """Return the culprits of tests and their sessions."""
    results = [result for result, _ in pairs]
    return asyncio.run(experiments.run(results, [ended for _, ended in pairs]))


def alone(dies: Dies, *labels: str) -> tuple[Simulated, list[Culprit]]:
    """Return the experiments about one session, and the culprits."""
    experiments = Simulated(dies)
    return experiments, isolated(experiments, (met("a"), session("a", *labels)))


# Reduction of a session


def test_the_smallest_session_is_the_opening_and_the_culprit() -> None:
    experiments, [found] = alone(lambda sent: "Touch" in sent, "Handshake", *"bcd", "Touch", *"ef")
    assert experiments.smallest == ["Handshake", "Touch"]
    assert (found.label, found.value, found.tests) == ("Touch", '"Touch"', ("a",))
    assert (found.capture, found.way) == ("counterexamples/a-smallest.jsonl", DEATH.way)


def test_a_message_in_a_long_session_takes_few_replays() -> None:
    """About two for each doubling of the session's length, and some for the controls."""
    many = [f"m{number}" for number in range(1000)]
    for place in (0, 1, 500, 998, 999):
        experiments, [found] = alone(lambda sent, label=many[place]: label in sent, *many)  # type: ignore[misc]
        assert found.label == many[place]
        assert experiments.smallest == [found.label]
        assert found.replays == len(experiments.played) <= 24


@pytest.mark.parametrize(
    ("needed", "smallest"),
    [
        (["c", "Touch"], ["Handshake", "c", "Touch"]),
        (["b", "f", "Touch"], ["Handshake", "b", "f", "Touch"]),
        (["Touch"], ["Handshake", "Touch"]),
    ],
)
def test_a_culprit_that_needs_context(needed: list[str], smallest: list[str]) -> None:
    experiments, [found] = alone(
        lambda sent: [label for label in sent if label in needed] == needed,
        *("Handshake", *"bcdefgh", "Touch"),
    )
    assert found.label == "Touch"
    assert experiments.smallest == smallest


def test_the_opening_itself_can_be_the_culprit() -> None:
    experiments, [found] = alone(lambda sent: any(sent), "Handshake", "b", "c")
    assert (found.label, experiments.smallest) == ("Handshake", ["Handshake"])


def test_an_end_without_any_message_claims_nothing() -> None:
    """A client can end each connection after some time, whatever it receives."""
    _, found = alone(lambda _: True, "Handshake", "b", "c")
    assert not found


def test_a_control_that_does_not_end_claims_nothing() -> None:
    experiments, found = alone(lambda sent: False, "Handshake", "b")
    assert found == []
    assert experiments.played == [["Handshake", "b"]]


def test_another_end_is_not_the_same() -> None:
    class Another(Simulated):
        async def play(
            self, subject: EndedSession, steps: Sequence[Step], wait: Wait = Wait.LAST
        ) -> ReplayResult:
            return ReplayResult(CLOSE, ())

    assert isolated(Another(lambda sent: True), (met("a"), session("a", "b"))) == []


def test_an_end_that_does_not_repeat_claims_nothing() -> None:
    """The smallest session has to end the session twice, and is never taken on trust."""

    def claimed(times: int) -> bool:
        left = times

        def dies(sent: list[str]) -> bool:
            nonlocal left
            left -= "Touch" in sent
            return "Touch" in sent and left >= 0

        return bool(alone(dies, "Handshake", "b", "Touch")[1])

    # The control, the opening with the culprit, and the smallest session twice.
    assert [claimed(times) for times in range(6)] == [False] * 4 + [True] * 2


def test_a_session_that_ends_without_the_culprit_claims_nothing() -> None:
    """If the IUT ends every session after some time, no message is the culprit."""

    def dies(sent: list[str]) -> bool:
        return "Touch" in sent or played.count(["Handshake"]) > 1

    experiments = Simulated(dies)
    played = experiments.played
    assert isolated(experiments, (met("a"), session("a", "Handshake", "b", "Touch"))) == []
    assert played[-1] == ["Handshake"], "the last replay is the one without the culprit"


def test_a_late_end_is_not_blamed_on_a_later_message() -> None:
    """An IUT that ends some time after a message has received other messages by then."""

    class Late(Simulated):
        async def play(
            self, subject: EndedSession, steps: Sequence[Step], wait: Wait = Wait.LAST
        ) -> ReplayResult:
            self._dies = lambda sent: "Touch" in sent and (wait is Wait.OWN or "late" in sent)
            return await super().play(subject, steps, wait)

    subject = session("a", "Handshake", "Touch", "b", "late")
    times = (0.9, 0.8, 0.5, 0.0)
    steps = tuple(replace(step, left=left) for step, left in zip(subject.steps, times, strict=True))
    experiments = Late(lambda sent: False)
    [found] = isolated(experiments, (met("a"), replace(subject, steps=steps)))
    assert found.label == "Touch"
    assert experiments.smallest == ["Handshake", "Touch"]


@pytest.mark.parametrize(("left", "culprits"), [(0.1, [CONNECT]), (0.6, [])], ids=["soon", "late"])
def test_to_open_a_connection_ends_it_only_soon(left: float, culprits: list[str]) -> None:
    """An IUT can give up a further connection in which our side sends too little."""
    steps = (
        Step(0, FIRST_CONNECTION, opens=True, left=2.0),
        Step(0, "Handshake", b"x", "x", left=1.9),
        Step(1, CONNECT, opens=True, left=left),
        Step(1, "Touch", b"x", "x", left=left),
    )
    subject = replace(session("a", end=CLOSE), steps=steps, channels=("", ""), connection=1)
    found = isolated(Simulated(lambda sent: CONNECT in sent), (met("a", end=CLOSE), subject))
    assert [culprit.label for culprit in found] == culprits


def test_replays_have_a_budget() -> None:
    """A session of which every message is needed stays whole; the controls are played."""
    labels = [f"m{number}" for number in range(200)]
    experiments, [found] = alone(lambda sent: sent == labels, *labels)
    assert found.label == "m199"
    assert experiments.played[-3:] == [labels, labels, labels[:-1]]
    assert len(experiments.played) <= REPLAYS


# Sessions of a test


def test_the_steps_of_a_session_are_what_our_side_did() -> None:
    """A step knows whether the IUT sent something before, and the last pause is kept."""
    greeting = b'{"Handshake":{"version":1,"extensions":[]}}\n"Ready"\n'

    async def played() -> EndedSession | None:
        iut = Iut(idle_testbed(), MIDDLE)
        async with connected(iut, Scripted((0.25, greeting), (1.0, b""))) as session:
            await session.send(hello())
            await session.expect("Ready")
            await session.send(competition(), START)
            await session.send_bytes(b'{"Touch"')
            await session.until_closed()
        end = end_of(session)
        assert end
        return EndedSession.of("test", iut, tuple(iut.sessions), met("test", end=end))

    found = run(played())
    assert found
    assert [(step.label, step.after) for step in found.steps] == [
        (FIRST_CONNECTION, None),
        ("Handshake", None),
        ("CompetitionMode", "Ready"),
        ("StartExecution", None),
        (PART, None),
    ]
    assert found.steps[-1].data == b'{"Touch"'
    assert found.start == pytest.approx(0.25)
    assert found.steps[-1].left == pytest.approx(1.0, abs=0.1)
    assert found.end.how == "closed the stream"


def test_a_session_that_goes_on_needs_no_experiment() -> None:
    async def played() -> EndedSession | None:
        iut = Iut(idle_testbed(), MIDDLE)
        async with connected(iut, Scripted()) as session:
            await session.send(hello())
        return EndedSession.of("test", iut, tuple(iut.sessions), met("test", end=CLOSE))

    assert run(played()) is None


# Several sessions


def test_two_culprits_with_the_same_ending() -> None:
    """A test that ends in the same way without the first culprit has another one."""
    experiments = Simulated(
        lambda sent: bool({"Touch", "USD"} & {*sent}),
        {("a", "Touch"): result("a", MIDDLE), ("b", "Touch"): met("b", OTHER)},
    )
    one, two = isolated(
        experiments,
        (met("a"), session("a", "Handshake", "Touch")),
        (met("b", OTHER), session("b", "Handshake", "x", "USD")),
    )
    assert (one.label, one.tests) == ("Touch", ("a",))
    assert (two.label, two.tests) == ("USD", ("b",))
    assert [[(t.requirement, t.shown) for t in each.trials] for each in (one, two)] == [
        [(MIDDLE, TrialResult.STANDS)],
        [(OTHER, TrialResult.STANDS)],
    ]


def test_a_session_with_two_culprits_is_reduced_once() -> None:
    """The first culprit is reported, although its session also ends without its message."""
    experiments = Simulated(
        lambda sent: bool({"Touch", "USD"} & {*sent}),
        {("a", "Touch"): met("a"), ("b", "Touch"): result("b", OTHER)},
    )
    [found] = isolated(
        experiments,
        (met("a"), session("a", "Handshake", "Touch", "USD")),
        (met("b", OTHER), session("b", "Handshake", "x", "y", "Touch")),
    )
    assert (found.label, found.tests) == ("Touch", ("a", "b"))
    assert [trial.shown for trial in found.trials] == [TrialResult.STANDS, TrialResult.CONSEQUENCE]


def test_a_culprit_ends_only_sessions_in_which_it_was_sent() -> None:
    """Another test of the same requirement has another culprit."""
    experiments = Simulated(lambda sent: bool({"Touch", "USD"} & {*sent}))
    one, two = isolated(
        experiments,
        (met("a"), session("a", "Handshake", "Touch")),
        (met("b"), session("b", "Handshake", "x", "USD")),
    )
    assert [(one.label, one.tests), (two.label, two.tests)] == [("Touch", ("a",)), ("USD", ("b",))]


def test_a_culprit_ends_only_sessions_that_end_with_it() -> None:
    """A session that went on after a message was ended by another message."""
    runs = {
        ("a", "Touch"): result("a", MIDDLE),
        ("b", "Touch"): result("b", OTHER, other(Kind.UNDECIDED)),
    }
    experiments = Simulated(lambda sent: sent[0] == "Touch" or "USD" in sent, runs)
    one, two = isolated(
        experiments,
        (met("a"), session("a", "Touch")),
        (met("b", OTHER), session("b", "Handshake", "Touch", "USD")),
    )
    assert [(one.label, one.tests), (two.label, two.tests)] == [("Touch", ("a",)), ("USD", ("b",))]


def test_different_endings_are_isolated_each() -> None:
    experiments = Simulated(lambda sent: sent[-1] in ("Touch", "USD"))
    found = isolated(
        experiments,
        (met("a"), session("a", "Touch")),
        (met("b", OTHER, CLOSE), session("b", "USD", end=CLOSE)),
    )
    assert {(each.way, each.label) for each in found} == {(DEATH.way, "Touch"), (CLOSE.way, "USD")}
    assert experiments.masked == [], "each is the only requirement that its end violates"


def test_reductions_have_a_budget() -> None:
    """If no session ends again, the run does not try them all."""
    experiments = Simulated(lambda sent: False)
    pairs = [(met(f"t{n}"), session(f"t{n}", "Touch")) for n in range(2 * REDUCTIONS)]
    assert isolated(experiments, *pairs) == []
    assert len(experiments.played) == REDUCTIONS


@pytest.mark.parametrize("lawful", [True, False])
def test_a_lawful_end_needs_no_experiment(lawful: bool) -> None:
    end = replace(CLOSE, lawful=lawful)
    experiments = Simulated(lambda sent: any(sent))
    found = isolated(experiments, (met("a", MIDDLE, end), session("a", "Touch", end=end)))
    assert bool(found) == bool(experiments.played) == (not lawful)


def test_an_operation_is_the_culprit_of_all_sessions_that_end_during_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No test could do without the operation, so no masked run decides."""
    experiments = Simulated(lambda sent: sent[-1] in ("touch", "y"))
    monkeypatch.setitem(experiments._testbed.role.hooks, "touch", None)

    def operated(test: str, *labels: str) -> EndedSession:
        before = session(test, *labels)
        touch = Step(0, "touch", operation="touch", arguments={"x": 1})
        return replace(before, steps=(*before.steps, touch))

    one, two = isolated(
        experiments,
        (met("a"), operated("a", "Handshake")),
        (met("b", OTHER), operated("b", "Handshake", "x")),
        (met("c", TOP), session("c", "Handshake", "x", "y")),
    )
    assert (one.label, one.value, one.tests) == ("touch", '{"x": 1}', ("a", "b"))
    assert {each.requirement: each.shown for each in one.trials} == {
        MIDDLE: TrialResult.STANDS,
        OTHER: TrialResult.STANDS,
    }
    assert (two.tests, experiments.masked) == (("c",), [])


def test_a_session_whose_end_violates_nothing_is_left_alone() -> None:
    experiments = Simulated(lambda sent: True)
    assert isolated(experiments, (result("a", MIDDLE, violation(MIDDLE)), session("a", "x"))) == []
    assert experiments.played == []


# Masked runs


def masked(again: Evidence | None) -> Culprit:
    """Return the culprit of two tests, of which one has this evidence without the culprit."""
    facts = [again] if again else []
    runs = {
        ("a", "Touch"): result("a", MIDDLE, other(Kind.UNDECIDED)),
        ("b", "Touch"): result("b", OTHER, *facts),
    }
    experiments = Simulated(lambda sent: "Touch" in sent, runs)
    [found] = isolated(
        experiments,
        (met("a"), session("a", "Handshake", "Touch")),
        (met("b", OTHER), session("b", "Handshake", "Touch", "x")),
    )
    assert sorted(experiments.masked) == [("a", "Touch"), ("b", "Touch")]
    return found


@pytest.mark.parametrize(
    ("again", "shown"),
    [
        (None, TrialResult.CONSEQUENCE),
        (violation(OTHER), TrialResult.INDEPENDENT),
        (other(Kind.MISSING_MEANS), TrialResult.UNDECIDED),
        (other(Kind.UNDECIDED), TrialResult.UNDECIDED),
        (violation(SHOULD), TrialResult.UNDECIDED),
    ],
)
def test_a_masked_run_shows_what_depends_on_the_culprit(
    again: Evidence | None, shown: TrialResult
) -> None:
    found = masked(again)
    trials = {trial.requirement: trial for trial in found.trials}
    assert trials[MIDDLE].shown is TrialResult.STANDS
    assert trials[OTHER].shown is shown
    assert (trials[OTHER].evidence == again) == (
        shown in (TrialResult.INDEPENDENT, TrialResult.CONSEQUENCE)
    )


def test_a_timeout_without_the_culprit_decides_nothing() -> None:
    """The culprit can be what the test waits for an answer to."""
    waits = replace(ended(OTHER, DEATH, "Exited"), kind=Kind.TIMEOUT, end=None)
    assert masked(waits).trials[1].shown is TrialResult.UNDECIDED


def test_the_requirement_that_handles_the_culprit_stands() -> None:
    """`handled` of the message names it, whatever the order of the tests is."""
    kind = configuration().protocol.messages["frontend", "Touch"]
    assert kind.handled
    runs = {(name, "Touch"): result(name, MIDDLE, other(Kind.UNDECIDED)) for name in "ab"}
    [found] = isolated(
        Simulated(lambda sent: "Touch" in sent, runs),
        (met("a", TOP), session("a", "Touch")),
        (met("b", kind.handled), session("b", "x", "Touch")),
    )
    assert [t.requirement for t in found.trials if t.shown is TrialResult.STANDS] == [kind.handled]


@pytest.mark.parametrize(("reduced", "longer"), [(MIDDLE, OTHER), (OTHER, MIDDLE)])
def test_the_requirement_of_the_reduced_session_stands(reduced: str, longer: str) -> None:
    """Neither requirement is about the handling of the culprit.

    A session that affects only the requirement of another test is not reduced, even if it is the
    shortest.
    """
    runs = {(name, "Touch"): result(name, MIDDLE, other(Kind.UNDECIDED)) for name in "abc"}
    foreign = result("a", TOP, replace(ended(longer, DEATH, "Ready"), judged=True))
    [found] = isolated(
        Simulated(lambda sent: "Touch" in sent, runs),
        (foreign, session("a", "Touch")),
        (met("b", reduced), session("b", "x", "Touch")),
        (met("c", longer), session("c", "x", "x", "x", "Touch")),
    )
    assert [t.requirement for t in found.trials if t.shown is TrialResult.STANDS] == [reduced]


def test_a_connection_that_ends_sessions_excuses_other_tests() -> None:
    """No masked run is possible: each of these tests needs a further connection."""
    experiments = Simulated(lambda sent: CONNECT in sent)
    [found] = isolated(
        experiments,
        (met("a"), session("a", FIRST_CONNECTION, CONNECT)),
        (met("b", OTHER), session("b", FIRST_CONNECTION, "x", CONNECT, "y")),
    )
    assert (found.label, found.tests) == (CONNECT, ("a", "b"))
    assert experiments.masked == []
    assert {trial.requirement: trial.shown for trial in found.trials} == {
        MIDDLE: TrialResult.STANDS,
        OTHER: TrialResult.UNDECIDED,
    }


def test_a_should_does_not_excuse_a_must() -> None:
    """The test of the must passes without the culprit, and the must fails nevertheless."""
    runs = {
        ("a", "x"): result("a", SHOULD, other(Kind.UNDECIDED)),
        ("b", "x"): result("b", OTHER),
    }
    [found] = isolated(
        Simulated(lambda sent: "x" in sent, runs),
        (met("a", SHOULD), session("a", "x")),
        (met("b", OTHER), session("b", "y", "x")),
    )
    assert [t.requirement for t in found.trials if t.shown is TrialResult.STANDS] == [OTHER]
