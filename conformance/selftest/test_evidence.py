"""Evidence of a test: conclusions, findings of the judge, and ends of sessions."""

from dataclasses import replace

import pytest

from conformance.evidence import End, Evidence, Kind, failed_prerequisite, generalize
from conformance.selftest.evidence_fixtures import (
    DEATH,
    OTHER,
    ROOT,
    TOP,
    ended,
    finding,
    other,
    result,
    timeout,
    violation,
)


@pytest.mark.parametrize("kind", Kind)
def test_three_kinds_are_against_a_requirement(kind: Kind) -> None:
    against = kind in (Kind.VIOLATION, Kind.TIMEOUT, Kind.END)
    assert other(kind).is_against == against


@pytest.mark.parametrize(
    ("one", "another", "same"),
    [
        (
            "panicked at src/main.rs:32:45: no `Imu`",
            "panicked at src/main.rs:32:45: no `Adi`",
            True,
        ),
        ("TypeError: no ratio of '12' at 0x7f1", "TypeError: no ratio of 'ab' at 0x7f2", True),
        ("error: no port", "error: no card", False),
        ("connected from 127.0.0.1:4242", "Ping 7", True),
    ],
)
def test_ends_of_the_same_way(one: str, another: str, same: bool) -> None:
    """Quoted text and numbers of an error differ with the input.

    Lines of a log explain nothing.
    """
    assert (replace(DEATH, said=one).way == replace(DEATH, said=another).way) == same


def test_ends_differ_by_how() -> None:
    assert replace(DEATH, how="exited with code 1").way != DEATH.way
    assert replace(DEATH, candidates=("USD",)).way == DEATH.way


@pytest.mark.parametrize(
    ("reason", "shown"),
    [
        ("no port 21", "no port …"),
        ("no 'a b' or \"c\" or `d`", "no … or … or …"),
        ("no address", "no address"),
    ],
)
def test_the_parts_that_depend_on_one_input(reason: str, shown: str) -> None:
    assert generalize(reason) == shown


def test_the_conclusion_of_a_test_comes_before_findings() -> None:
    concluded, found = violation(TOP), finding(TOP)
    assert result("a", TOP, found, concluded).own_evidence is concluded
    assert result("a", TOP, finding(OTHER), found).own_evidence is found
    assert result("a", TOP, finding(OTHER)).own_evidence is None


def test_findings_are_all_facts_but_the_verdict_itself() -> None:
    concluded, about = violation(TOP), timeout(OTHER, "Exited")
    found = finding(TOP), finding(OTHER)
    assert result("a", TOP, concluded, *found, other(Kind.LATE)).findings == found
    assert result("a", TOP, about).findings == (about,)


def test_a_fault_of_the_suite_is_a_problem() -> None:
    assert result("a", TOP, other(Kind.SUITE_FAULT)).problem == "it is suite-fault"
    assert result("a", TOP, violation(TOP)).problem == ""
    assert result("a", TOP, other(Kind.UNREACHABLE)).is_unreached


@pytest.mark.parametrize(
    ("fact", "found", "failed"),
    [
        (violation(TOP, 5), finding(ROOT, 5), True),
        (violation(TOP, 5), finding(ROOT, 6), False),
        (violation(TOP, 5), finding(ROOT, 4, "transcripts/b.jsonl"), False),
        (violation(TOP, 5), finding(OTHER, 4), False),
        (violation(TOP, 5), violation(ROOT, 4), False),
        (finding(TOP, 5), finding(ROOT, 4), False),
        (timeout(TOP, "Ready"), finding(ROOT, 9), True),
        (ended(TOP, DEATH, "Ready"), finding(ROOT, 9), True),
    ],
)
def test_a_prerequisite_fails_by_an_earlier_finding_of_the_same_session(
    fact: Evidence, found: Evidence, failed: bool
) -> None:
    assert (failed_prerequisite(fact, [fact, found], [ROOT]) is found) == failed


def test_an_end_has_no_cause_unless_a_program_names_it() -> None:
    assert End("closed the stream").way == ("closed the stream", "")
