"""Verdicts of tests and requirements, decided from lists of evidence."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.conclusions.decisions import TrialResult, decide_requirement, decide_test
from conformance.evidence import Evidence, Kind, Place, Result
from conformance.selftest.evidence_fixtures import (
    CLOSE,
    DEATH,
    MIDDLE,
    OTHER,
    ROOT,
    SHOULD,
    TOP,
    culprit,
    ended,
    finding,
    known,
    other,
    passed,
    protocol,
    result,
    timeout,
    verdicts,
    violation,
)
from conformance.verdicts import VIOLATIONS

# Tests


@pytest.mark.parametrize(
    ("requirement", "evidence", "verdict"),
    [
        (TOP, [], "pass"),
        (TOP, [violation(TOP)], "fail"),
        (SHOULD, [violation(SHOULD)], "warn"),
        (TOP, [timeout(TOP, "Ready")], "fail"),
        (TOP, [ended(TOP, DEATH, "Ready")], "fail"),
        (TOP, [finding(TOP)], "fail"),
        (TOP, [finding(OTHER)], "pass"),
        (TOP, [timeout(MIDDLE, "Handshake")], "inconclusive"),
        (TOP, [violation(TOP), finding(ROOT, 2)], "inconclusive"),
        (TOP, [violation(TOP), finding(ROOT, 4)], "fail"),
        (TOP, [violation(TOP), finding(ROOT, 2, "transcripts/b.jsonl")], "fail"),
        (TOP, [timeout(TOP, "Ready"), finding(ROOT, 9)], "inconclusive"),
        (TOP, [violation(TOP), finding(OTHER, 2)], "fail"),
        (TOP, [finding(TOP), finding(ROOT, 2)], "fail"),
        (TOP, [other(Kind.MISSING_MEANS)], "not-exercised"),
        *(
            (TOP, [other(kind)], "inconclusive")
            for kind in Kind
            if kind not in (Kind.VIOLATION, Kind.TIMEOUT, Kind.END, Kind.MISSING_MEANS)
        ),
    ],
)
def test_verdict_of_a_test(requirement: str, evidence: list[Evidence], verdict: str) -> None:
    entry, presumed = protocol().requirement(requirement), protocol().prerequisites(requirement)
    decided, reason = decide_test(entry, evidence, presumed)
    assert decided == verdict
    assert bool(reason) == (verdict != "pass")


def test_the_reason_names_the_prerequisite_that_the_session_violated() -> None:
    _, reason = decide_test(protocol().requirement(TOP), [violation(TOP), finding(ROOT, 2)], [ROOT])
    assert reason == (
        f"the session violated its prerequisite {ROOT} before ({ROOT} is violated); "
        f"then: {TOP} is violated"
    )


# Requirements

ELSEWHERE = replace(timeout(TOP, "Ready"), place=Place("transcripts/b.jsonl"))

ROWS: dict[str, tuple[list[Result], dict[str, str]]] = {
    "a test that passed": ([passed("a", TOP)], {TOP: "pass"}),
    "a requirement that only a session exercised": (
        [passed("a", TOP, OTHER)],
        {TOP: "pass", OTHER: "pass"},
    ),
    "any evidence against it": (
        [passed("a", TOP), result("b", TOP, violation(TOP))],
        {TOP: "fail"},
    ),
    "a test that could not decide": (
        [passed("a", TOP), result("b", TOP, other(Kind.UNDECIDED))],
        {TOP: "inconclusive"},
    ),
    "a test whose means are missing": (
        [passed("a", TOP), result("b", TOP, other(Kind.MISSING_MEANS))],
        {TOP: "pass"},
    ),
    "a wait that was not repeated": (
        [result("a", TOP, timeout(TOP, "Ready")), result("b", TOP, other(Kind.NOT_REPEATED))],
        {TOP: "fail"},
    ),
    "a finding in a test of another requirement": (
        [result("a", TOP, finding(OTHER))],
        {TOP: "pass", OTHER: "fail"},
    ),
    "a conclusion about another requirement": (
        [result("a", TOP, timeout(OTHER, "Exited"))],
        {TOP: "inconclusive", OTHER: "fail"},
    ),
    # A failed prerequisite explains only the absence of the same message, with the same ending.
    "a timeout that a prerequisite has as well": (
        [result("a", TOP, timeout(TOP, "Ready")), result("b", ROOT, timeout(ROOT, "Ready"))],
        {ROOT: "fail", TOP: "inconclusive"},
    ),
    "a chain of timeouts": (
        [result(name, name, timeout(name, "Ready")) for name in (TOP, MIDDLE, ROOT)],
        {ROOT: "fail", MIDDLE: "inconclusive", TOP: "inconclusive"},
    ),
    "a timeout that only another requirement has as well": (
        [result("a", TOP, timeout(TOP, "Ready")), result("b", OTHER, timeout(OTHER, "Ready"))],
        {TOP: "fail", OTHER: "fail"},
    ),
    "a timeout for another message": (
        [result("a", TOP, timeout(TOP, "Ready")), result("b", ROOT, timeout(ROOT, "Exited"))],
        {ROOT: "fail", TOP: "fail"},
    ),
    "the same message, but the session ended": (
        [result("a", TOP, timeout(TOP, "Ready")), result("b", ROOT, ended(ROOT, DEATH, "Ready"))],
        {ROOT: "fail", TOP: "fail"},
    ),
    "the same message and the same ending": (
        [
            result("a", TOP, ended(TOP, DEATH, "Ready")),
            result("b", ROOT, ended(ROOT, DEATH, "Ready")),
        ],
        {ROOT: "fail", TOP: "inconclusive"},
    ),
    "the same message and another ending": (
        [
            result("a", TOP, ended(TOP, CLOSE, "Ready")),
            result("b", ROOT, ended(ROOT, DEATH, "Ready")),
        ],
        {ROOT: "fail", TOP: "fail"},
    ),
    "content of its own next to a failed prerequisite": (
        [result("a", TOP, violation(TOP)), result("b", ROOT, violation(ROOT))],
        {ROOT: "fail", TOP: "fail"},
    ),
    "one fact that counts next to one that is explained": (
        [
            result("a", TOP, timeout(TOP, "Ready")),
            result("b", TOP, violation(TOP)),
            result("c", ROOT, timeout(ROOT, "Ready")),
        ],
        {ROOT: "fail", TOP: "fail"},
    ),
    "a prerequisite that was violated in the same session before": (
        [result("a", TOP, timeout(TOP, "Ready"), finding(ROOT, 2))],
        {ROOT: "fail", TOP: "inconclusive"},
    ),
    "a prerequisite that was violated in another session": (
        [result("a", TOP, ELSEWHERE, finding(ROOT, 2))],
        {ROOT: "fail", TOP: "fail"},
    ),
    "findings of the judge about both": (
        [result("a", OTHER, finding(ROOT, 2), finding(TOP, 3))],
        {ROOT: "fail", TOP: "fail", OTHER: "pass"},
    ),
}


@pytest.mark.parametrize("row", ROWS)
def test_verdicts_of_requirements(row: str) -> None:
    results, expected = ROWS[row]
    assert verdicts(results) == expected


def test_a_requirement_gives_the_reason_of_its_own_test() -> None:
    own = replace(violation(TOP), message="its own test says so")
    results = [result("a", OTHER, finding(TOP)), result("b", TOP, own)]
    _, reason = decide_requirement(protocol().requirement(TOP), results, known(results))
    assert reason == "its own test says so"


def test_a_fact_that_does_not_count_says_why() -> None:
    results = [result("a", TOP, timeout(TOP, "Ready")), result("b", ROOT, timeout(ROOT, "Ready"))]
    _, reason = decide_requirement(protocol().requirement(TOP), results, known(results))
    assert reason.endswith(f"(not decided: Ready did not come for its prerequisite {ROOT} either)")


FACTS = st.one_of(
    *(
        st.sampled_from([ROOT, MIDDLE, TOP, OTHER]).map(make)
        for make in (
            lambda name: violation(name, 4),
            lambda name: finding(name, 2),
            lambda name: finding(name, 7),
            lambda name: timeout(name, "Ready"),
            lambda name: timeout(name, "Exited", "Ready"),
            lambda name: ended(name, DEATH, "Ready"),
            lambda name: ended(name, CLOSE, "Ready"),
        )
    )
)


@given(
    st.lists(st.tuples(st.sampled_from([ROOT, MIDDLE, TOP, OTHER]), st.lists(FACTS)), max_size=5)
)
def test_prerequisites_never_hide_the_last_failure(drawn: list[tuple[str, list[Evidence]]]) -> None:
    """If there is evidence against anything, then a requirement is violated.

    A requirement is undecided only if one of its prerequisites is violated.
    """
    results = [result(f"t{number}", name, *each) for number, (name, each) in enumerate(drawn)]
    found = verdicts(results)
    bad = {name for name, verdict in found.items() if verdict in VIOLATIONS}
    against = {fact.evidence.requirement for fact in known(results)}
    assert bool(bad) == bool(against)
    for name in against - bad:
        assert bad & {*protocol().prerequisites(name)}


# Experiments


def met(*names: str) -> Sequence[Result]:
    """Return results of tests that the crash ended, one for each requirement."""
    return [result(name.partition(".")[0], name, ended(name, DEATH, "Ready")) for name in names]


@pytest.mark.parametrize(
    ("shown", "verdict", "reason"),
    [
        (TrialResult.STANDS, "fail", "the IUT was killed by SIGSEGV"),
        (
            TrialResult.CONSEQUENCE,
            "inconclusive",
            "(not decided: its test passes if Touch is left out)",
        ),
        (TrialResult.INDEPENDENT, "fail", f"{OTHER} is violated"),
        (
            TrialResult.UNDECIDED,
            "inconclusive",
            "Touch ends the session, and its test needs Touch)",
        ),
    ],
)
def test_what_a_masked_run_shows(shown: TrialResult, verdict: str, reason: str) -> None:
    results = met(MIDDLE, OTHER)
    found = culprit("Touch", DEATH, *results, handshake=TrialResult.STANDS, exit=shown)
    independent = violation(OTHER) if shown is TrialResult.INDEPENDENT else None
    trials = tuple(
        replace(each, evidence=independent) if each.shown is shown else each
        for each in found.trials
    )
    culprits = [replace(found, trials=trials)]
    entry = protocol().requirement(OTHER)
    decided, why = decide_requirement(entry, results, known(results, culprits))
    assert (decided, why.endswith(reason)) == (verdict, True), why
    assert verdicts(results, culprits)[MIDDLE] == "fail"


def test_a_culprit_explains_only_the_sessions_that_it_ended() -> None:
    """Other ends, other tests, and other evidence of the same requirement count."""
    [first] = met(OTHER)
    for fact in (ended(OTHER, CLOSE, "Ready"), ended(OTHER, DEATH, "Ready"), violation(OTHER)):
        results = [first, result("another", OTHER, fact)]
        found = culprit("Touch", DEATH, first, exit=TrialResult.CONSEQUENCE)
        assert verdicts(results, [found]) == {OTHER: "fail"}


def test_an_end_without_a_culprit_stands_by_itself() -> None:
    """If no experiment has shown it, each requirement fails by its own evidence."""
    results = met(MIDDLE, OTHER)
    assert verdicts(results) == {MIDDLE: "fail", OTHER: "fail"}
    assert verdicts(results, [culprit("", DEATH)]) == {MIDDLE: "fail", OTHER: "fail"}
