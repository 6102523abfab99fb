"""The outcome of a run, from results of tests and sessions: verdicts and exit codes."""

import datetime
from typing import Any

import pytest

from conformance.conclusions.outcome import Run
from conformance.conclusions.report import build
from conformance.configuration import Configuration, KnownFailure
from conformance.definitions import protocols
from conformance.evidence import Evidence, Kind, Observed, Place, Result
from conformance.running.selection import Collected, Selection
from conformance.verdicts import Verdict, merge, violation_verdict

MUST, SHOULD = "handshake.answered", "signature.sent"
OPEN = [("b", "setup.commands-handled", "inconclusive"), ("c", "exit.exited-sent", "inconclusive")]


def record(
    name: str,
    requirement: str = MUST,
    verdict: str = "pass",
    detail: str = "",
    exercised: tuple[str, ...] = (),
    against: tuple[str, ...] = (),
    problem: str = "",
) -> Result:
    """Return the result of a test; ``against`` are requirements that the judge found violated."""
    place = Place("transcripts/x.jsonl", 1)
    facts = [Evidence(_KINDS[verdict], requirement, detail)] if verdict in _KINDS else []
    facts += [Evidence(Kind.SUITE_FAULT, requirement, problem)] if problem else []
    facts += [Evidence(Kind.VIOLATION, name, "seen", place=place, judged=True) for name in against]
    observed = Observed(frozenset(exercised), frozenset({"Ready"}))
    return Result(
        name,
        "purpose",
        requirement,
        Verdict(verdict),
        detail,
        0.1,
        tuple(facts),
        observed=observed,
    )


_KINDS = {
    "fail": Kind.VIOLATION,
    "warn": Kind.VIOLATION,
    "inconclusive": Kind.UNDECIDED,
    "not-exercised": Kind.MISSING_MEANS,
}


def report(
    *tests: Result, smoke: str = "pass", strict: bool = False, **options: Any
) -> dict[str, Any]:
    """Return the report of a run with a smoke session and these tests."""
    reached = options.pop("reached", True)
    problems = options.pop("problems", [])
    collected = options.pop("collected", None)
    ended = {name: options.pop(name, False) for name in ("interrupted", "timed_out")}
    exercised = (MUST,) if smoke == "pass" else ()
    run = Run(
        Configuration(protocols.role("vexide/simulator"), command=("iut",), **options),
        datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC),
        strict=strict,
        collected=collected or Collected(len(tests), len(tests)),
        **ended,
        reached=reached,
        smoke=record("smoke", MUST, smoke, "it says no", exercised),
        tests=list(tests),
        problems=problems,
    )
    return build(run)


def verdict(made: dict[str, Any], requirement: str) -> str:
    return str(next(r["verdict"] for r in made["requirements"] if r["id"] == requirement))


@pytest.mark.parametrize(
    ("made", "code", "word"),
    [
        (report(record("a")), 0, "conformant"),
        (report(record("a"), record("b", SHOULD, "warn", "late")), 0, "conformant"),
        (report(record("a"), record("b", SHOULD, "warn"), strict=True), 1, "nonconformant"),
        (report(record("a"), record("b", SHOULD, "inconclusive")), 0, "conformant"),
        (report(record("a"), record("b", SHOULD, "inconclusive"), strict=True), 1, "nonconformant"),
        (report(record("a"), record(*OPEN[0])), 0, "conformant"),
        (report(record("a"), *(record(*each) for each in OPEN)), 3, "inconclusive"),
        (report(record("a", verdict="fail", detail="no")), 1, "nonconformant"),
        (report(record("a", against=("exit.nothing-after",))), 1, "nonconformant"),
        (report(record("a", against=("signature.sent",))), 0, "conformant"),
        (report(smoke="fail"), 1, "nonconformant"),
        (report(smoke="inconclusive"), 3, "inconclusive"),
        (report(smoke="inconclusive", reached=False), 3, "inconclusive"),
        (report(), 3, "inconclusive"),
        (report(record("a", problem="a bug")), 4, "inconclusive"),
        (report(record("a", verdict="fail"), record("b", problem="a bug")), 4, "inconclusive"),
        (report(record("a"), problems=["cannot be collected"]), 4, "inconclusive"),
    ],
)
def test_exit_code(made: dict[str, Any], code: int, word: str) -> None:
    assert (made["exit_code"], made["verdict"]) == (code, word)


@pytest.mark.parametrize("name", ["ready.snet", "start.sent"])
def test_a_finding_of_what_does_not_bind_the_role_is_a_fault_of_the_suite(name: str) -> None:
    made = report(record("a", against=(name,)))
    assert (made["exit_code"], made["findings"]) == (4, [])
    assert repr(name) in made["problems"][0]
    assert report(record("a", exercised=("ready.snet",)))["exit_code"] == 4


def test_only_shoulds_are_no_conformance() -> None:
    """A run that exercised no requirement of level must decides nothing."""
    made = report(record("a", SHOULD), smoke="pass")
    assert made["exit_code"] == 0
    run = Run(
        Configuration(protocols.role("vexide/simulator"), command=("iut",)),
        datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC),
        collected=Collected(1, 1),
        tests=[record("a", SHOULD)],
    )
    assert build(run)["exit_code"] == 3


@pytest.mark.parametrize(
    ("known", "code", "why"),
    [
        (KnownFailure("slow"), 0, ""),
        (KnownFailure("slow", message="no"), 0, ""),
        (KnownFailure("slow", until="2026-01-01"), 0, ""),
        (KnownFailure("slow", until="2025-12-31"), 1, "expired on 2025-12-31"),
        (KnownFailure("slow", message="yes"), 1, "fails in another way"),
        (KnownFailure("slow", tests=["a", "b"]), 0, ""),
        (KnownFailure("slow", tests=["b"]), 1, "fails in another test: a"),
        (KnownFailure("slow", tests=[]), 1, "fails in another test: a"),
    ],
)
def test_known_failure(known: KnownFailure, code: int, why: str) -> None:
    made = report(
        record("a", "ready.sent", "fail", "no Ready"), known_failures={"ready.sent": known}
    )
    assert made["exit_code"] == code
    assert verdict(made, "ready.sent") == ("fail" if code else "known")
    assert [entry["why"][: len(why)] for entry in made["stale"]] == ([why] if why else [])


def test_known_failure_that_passes() -> None:
    made = report(record("a"), known_failures={MUST: KnownFailure("slow")})
    assert made["exit_code"] == 1
    assert made["stale"] == [{"requirement": MUST, "why": "passes now"}]


def test_a_run_that_reached_its_limit() -> None:
    """Finished tests count, the others were not reached, and no known failure is stale."""
    some = Collected(2, 2, (MUST, "ready.sent"))
    known = {MUST: KnownFailure("slow")}
    made = report(record("a"), collected=some, timed_out=True, known_failures=known)
    assert (made["exit_code"], made["stale"]) == (3, [])
    assert "reached its --max-time" in made["headline"]
    reasons = {entry["id"]: entry["reason"] for entry in made["requirements"]}
    assert "reached its --max-time" in reasons["ready.sent"]
    failed = record("a", verdict="fail", detail="no")
    assert report(failed, collected=some, timed_out=True)["exit_code"] == 1


def test_what_shows_a_known_failure_is_marked_as_known() -> None:
    """The lists of tests and findings show no more failures than the verdict counts."""
    made = report(
        record("a"),
        record("b", "ready.sent", "fail", "no Ready"),
        record("c", against=("ready.sent",)),
        known_failures={"ready.sent": KnownFailure("slow")},
    )
    assert [test["verdict"] for test in made["tests"]] == ["pass", "pass", "known", "pass"]
    assert [finding["verdict"] for finding in made["findings"]] == ["known"]
    assert (made["counts"]["tests"]["fail"], made["counts"]["tests"]["known"]) == (0, 1)


def test_a_known_failure_hides_no_other_one() -> None:
    known = KnownFailure("slow", message="no Ready")
    made = report(
        record("a", "ready.sent", "fail", "no Ready"),
        record("b", "ready.sent", "fail", "the wrong Ready"),
        known_failures={"ready.sent": known},
    )
    assert made["exit_code"] == 1
    assert made["stale"][0]["why"] == "fails in another way: the wrong Ready"


# Runs of a part


def test_a_selection_says_so_and_judges_no_more() -> None:
    made = report(
        record("a", exercised=("ready.sent",)),
        known_failures={"ready.sent": KnownFailure("slow")},
        collected=Collected(9, 1, (MUST,)),
        selection=Selection(keyword="answered"),
    )
    assert (made["exit_code"], made["stale"]) == (0, [])
    assert made["selection"] == {"by": "-k 'answered'", "tests": 1, "of": 9}
    assert made["headline"].startswith("1 of 9 tests (-k 'answered'): ")
    why = {entry["id"]: entry["reason"] for entry in made["requirements"]}
    assert why["battery.default"] == "not part of this run, which is a selection"


def test_a_selection_still_knows_failures_and_finds_others() -> None:
    part = Collected(9, 1, ("ready.sent",), ("ready.sent",))
    known = {"ready.sent": KnownFailure("slow", message="no Ready")}
    holds = report(
        record("a", "ready.sent", "fail", "no Ready"), known_failures=known, collected=part
    )
    assert (holds["exit_code"], verdict(holds, "ready.sent")) == (0, "known")
    other = report(record("a", "ready.sent", "fail", "late"), known_failures=known, collected=part)
    assert (other["exit_code"], len(other["stale"])) == (1, 1)
    passes = report(record("a", "ready.sent"), known_failures=known, collected=part)
    assert (passes["exit_code"], passes["stale"]) == (0, [])
    whole = Collected(9, 1, ("ready.sent",))
    passes = report(record("a", "ready.sent"), known_failures=known, collected=whole)
    assert (passes["exit_code"], len(passes["stale"])) == (1, 1)


def test_a_selection_of_which_nothing_was_exercised_is_not_green() -> None:
    part = Collected(9, 1, ("battery.default",))
    made = report(record("a", "battery.default", "not-exercised", "no probe"), collected=part)
    assert made["exit_code"] == 3


def test_an_interrupted_run() -> None:
    known = {"ready.sent": KnownFailure("slow")}
    made = report(
        record("a", verdict="fail"),
        collected=Collected(9, 9, (MUST, "ready.sent")),
        interrupted=True,
        known_failures=known,
    )
    assert (made["exit_code"], made["verdict"], made["stale"]) == (130, "inconclusive", [])
    assert made["headline"].startswith("interrupted after 1 of 9 tests: ")
    assert made["interrupted"] == {"after": 1, "of": 9}
    assert made["selection"] is None


def test_unsupported() -> None:
    """A claim makes a requirement not applicable, except a must that was violated."""
    without = report(record("a"), unsupported={"battery-voltage": "not modelled"})
    assert verdict(without, "battery.voltage") == "not-applicable"
    against = record("a", against=("transport.others", "battery.default"))
    broken = report(against, unsupported={"transport.others": "x", "battery": "x"})
    assert verdict(broken, "transport.others") == "not-applicable"
    assert verdict(broken, "battery.default") == "fail"
    assert [finding["requirement"] for finding in broken["findings"]] == ["battery.default"]


def test_reasons_say_what_to_provide() -> None:
    made = report(record("a", "sdcard.mounted", "not-exercised", "needs the probe program"))
    entries = {entry["id"]: entry for entry in made["requirements"]}
    assert entries["sdcard.mounted"]["reason"] == "needs the probe program"
    assert "[programs] probe" in entries["battery.default"]["reason"]
    assert all(e["reason"] for e in made["requirements"] if e["verdict"] == "not-exercised")


def test_counts_add_up() -> None:
    made = report(record("a"), record("b", SHOULD, "warn", "late"))
    assert sum(made["counts"]["requirements"].values()) == len(made["requirements"])
    assert sum(made["counts"]["tests"].values()) == 2
    assert "1 warned" in made["headline"]


# Merging


@pytest.mark.parametrize("one", list(Verdict))
@pytest.mark.parametrize("other", list(Verdict))
def test_merging_only_worsens(one: Verdict, other: Verdict) -> None:
    both = merge([one, other])
    assert both == merge([other, one]) == merge([both, one]) == merge([both, other])
    assert both in (one, other)
    if Verdict.FAIL in (one, other):
        assert both is Verdict.FAIL
    if both is Verdict.PASS:
        assert {one, other} <= {Verdict.PASS, Verdict.NOT_EXERCISED, Verdict.NOT_APPLICABLE}


def test_of_nothing_comes_nothing() -> None:
    assert merge([]) is Verdict.NOT_EXERCISED


def test_level_decides_what_a_violation_is() -> None:
    assert [violation_verdict(level) for level in ("must", "should", "may")] == [
        "fail",
        "warn",
        "warn",
    ]
