"""The causes of a report, and the requirements that each cause violates."""

from dataclasses import replace

import pytest

from conformance.conclusions.causes import replay
from conformance.conclusions.decisions import TrialResult
from conformance.evidence import Evidence, Files, Kind
from conformance.running.selection import SMOKE
from conformance.selftest.evidence_fixtures import (
    CLOSE,
    DEATH,
    MIDDLE,
    OTHER,
    ROOT,
    SHOULD,
    TOP,
    causes_of,
    configuration,
    culprit,
    ended,
    finding,
    other,
    passed,
    protocol,
    result,
    timeout,
    violation,
)

# Ends of sessions


def test_an_end_names_the_culprit() -> None:
    """Consequences and open questions stand below the cause, and are no causes of their own."""
    results = [
        result("handshake", MIDDLE, ended(MIDDLE, DEATH, "Handshake")),
        result("exit", OTHER, ended(OTHER, DEATH, "Exited")),
        result("ready", TOP, ended(TOP, DEATH, "Ready")),
    ]
    shown = {
        "handshake": TrialResult.STANDS,
        "exit": TrialResult.CONSEQUENCE,
        "ready": TrialResult.UNDECIDED,
    }
    [cause] = causes_of(results, culprit("Touch", DEATH, *results, **shown))
    assert cause["kind"] == "end"
    assert cause["what"] == "the IUT was killed by SIGSEGV when it was sent Touch"
    assert cause["said"] == "it said: panic: no port"
    assert (cause["requirement"], cause["requirements"]) == (MIDDLE, [MIDDLE])
    assert cause["consequences"] == [
        {"requirement": OTHER, "test": "exit", "reproduce": "again exit"}
    ]
    assert cause["undecided"] == [{"requirement": TOP, "test": "ready", "detail": "why"}]
    assert cause["culprit"] == {
        "message": "Touch",
        "value": "1",
        "shown": True,
        "candidates": [],
        "capture": "counterexamples/c.jsonl",
        "replays": 9,
    }
    assert (cause["transcript"], cause["event"]) == ("counterexamples/c.jsonl", 2)
    assert "counterexamples/c.jsonl" in cause["replay"]


def test_an_independent_failure_is_a_cause_of_its_own() -> None:
    results = [
        result("handshake", MIDDLE, ended(MIDDLE, DEATH, "Handshake")),
        result("exit", OTHER, ended(OTHER, DEATH, "Exited")),
    ]
    found = culprit(
        "Touch", DEATH, *results, handshake=TrialResult.STANDS, exit=TrialResult.INDEPENDENT
    )
    first, second = found.trials
    found = replace(found, trials=(first, replace(second, evidence=violation(OTHER))))
    assert [(each["kind"], each["requirements"]) for each in causes_of(results, found)] == [
        ("end", [MIDDLE]),
        ("content", [OTHER]),
    ]


def test_two_culprits_with_the_same_ending_are_two_causes() -> None:
    one = result("handshake", MIDDLE, ended(MIDDLE, DEATH, "Handshake"))
    two = result("exit", OTHER, ended(OTHER, DEATH, "Exited"))
    culprits = [
        culprit("Touch", DEATH, one, handshake=TrialResult.STANDS),
        culprit("USD", DEATH, two, exit=TrialResult.STANDS),
    ]
    causes = causes_of([one, two], *culprits)
    assert [(each["requirement"], each["culprit"]["message"]) for each in causes] == [
        (MIDDLE, "Touch"),
        (OTHER, "USD"),
    ]


def test_a_death_without_an_experiment_names_candidates() -> None:
    """The latest message is the first candidate, and no message is named twice."""
    end = replace(DEATH, candidates=("Touch", "USD", "Touch", "SetBatteryCapacity"))
    [cause] = causes_of([result("a", TOP, ended(TOP, end, "Ready"))])
    assert (cause["kind"], cause["requirement"]) == ("end", TOP)
    assert cause["culprit"]["shown"] is False and cause["culprit"]["message"] == ""
    assert cause["culprit"]["candidates"] == ["SetBatteryCapacity", "Touch", "USD"]
    assert cause["consequences"] == cause["undecided"] == []


def test_a_culprit_without_a_label_claims_nothing() -> None:
    [cause] = causes_of([result("a", TOP, ended(TOP, DEATH, "Ready"))], culprit("", DEATH))
    assert cause["culprit"]["shown"] is False


def test_a_stream_that_the_iut_closed_has_no_candidates() -> None:
    """Only the output of a crash is quoted. After a closed stream, a message is missing."""
    [cause] = causes_of([result("a", TOP, ended(TOP, CLOSE, "Ready"))])
    assert (cause["kind"], cause["culprit"], cause["said"]) == ("missing", None, "")


def test_the_last_line_of_a_log_is_no_reason() -> None:
    end = replace(DEATH, said="cycle 2")
    [cause] = causes_of([result("a", TOP, ended(TOP, end, "Ready"))])
    assert cause["said"] == "the last line of its log was: cycle 2"


# Missing messages


def test_missing_messages_are_grouped_by_message() -> None:
    results = [
        result("a", OTHER, timeout(OTHER, "Exited")),
        result("b", MIDDLE, timeout(MIDDLE, "Exited")),
        result("c", SHOULD, timeout(SHOULD, "VCodeSig")),
    ]
    both, alone = causes_of(results)
    assert (both["kind"], both["tests"]) == ("missing", ["a", "b"])
    assert {*both["requirements"]} == {OTHER, MIDDLE}
    assert both["what"].startswith("Exited is missing: expected Exited within 1 s")
    assert (alone["requirements"], alone["verdict"]) == ([SHOULD], "warn")


def test_messages_of_which_others_came_are_grouped_by_requirement() -> None:
    """States without one value and states without another have different causes."""
    results = [
        result("a", OTHER, replace(timeout(OTHER, "State"), otherwise=True)),
        result("b", MIDDLE, replace(timeout(MIDDLE, "State"), otherwise=True)),
        result("c", MIDDLE, replace(timeout(MIDDLE, "State"), otherwise=True)),
    ]
    found = causes_of(results)
    assert {each["requirement"]: each["tests"] for each in found} == {
        OTHER: ["a"],
        MIDDLE: ["b", "c"],
    }
    assert not any("is missing" in each["what"] for each in found)


def test_missing_messages_are_grouped_by_ending() -> None:
    """A dead IUT and a silent IUT have different reasons for silence."""
    results = [
        result("a", OTHER, timeout(OTHER, "Exited")),
        result("b", MIDDLE, ended(MIDDLE, DEATH, "Exited")),
        result("c", TOP, ended(TOP, CLOSE, "Exited")),
    ]
    found = {cause["requirement"]: cause["kind"] for cause in causes_of(results)}
    assert found == {OTHER: "missing", MIDDLE: "end", TOP: "missing"}


def test_a_requirement_that_several_absences_violate_is_one_cause() -> None:
    results = [
        result("a", OTHER, timeout(OTHER, "Exited")),
        result("b", OTHER, timeout(OTHER, "x")),
    ]
    [cause] = causes_of(results)
    assert cause["tests"] == ["a", "b"]


def test_a_missing_message_of_a_requirement_with_wrong_content_is_the_same_cause() -> None:
    results = [result("a", OTHER, violation(OTHER)), result("b", OTHER, timeout(OTHER, "Exited"))]
    assert [cause["kind"] for cause in causes_of(results)] == ["content"]


def test_a_timeout_that_a_prerequisite_explains_is_no_cause() -> None:
    results = [result("a", TOP, timeout(TOP, "Ready")), result("b", ROOT, timeout(ROOT, "Ready"))]
    [cause] = causes_of(results)
    assert (cause["requirements"], cause["tests"]) == ([ROOT], ["b"])


# Content


def test_content_is_its_own_cause() -> None:
    """Each requirement has a cause, in whatever tests it was found."""
    results = [
        result("a", TOP, violation(TOP), finding(OTHER)),
        result("b", MIDDLE, finding(OTHER, 7)),
        result("c", ROOT, violation(ROOT)),
    ]
    found = {cause["requirement"]: cause for cause in causes_of(results)}
    assert {name: cause["kind"] for name, cause in found.items()} == dict.fromkeys(
        (ROOT, TOP, OTHER), "content"
    )
    assert found[OTHER]["tests"] == ["a", "b"]
    assert found[TOP]["what"] == f"{TOP} is violated"


def test_the_test_of_the_requirement_shows_the_cause() -> None:
    """A counterexample is better than any session, and the smoke session is the last choice."""
    smoke = result(SMOKE, OTHER, violation(OTHER, 1))
    elsewhere = result("a", TOP, finding(OTHER, 2))
    own = result("b", OTHER, violation(OTHER, 3))
    drawn = replace(own, id="c", files=Files("t.jsonl", "counterexamples/c.jsonl"))
    drawn = replace(drawn, reproduce="conformance run --test c")
    for results, best in (
        ([smoke, elsewhere], "a"),
        ([smoke, elsewhere, own], "b"),
        ([smoke, elsewhere, own, drawn], "c"),
    ):
        [cause] = causes_of(results)
        assert cause["reproduce"] == f"conformance run --test {best}"
    assert cause["counterexample"] == "counterexamples/c.jsonl"


def test_the_command_that_replays_a_counterexample() -> None:
    assert replay("counterexamples/a.jsonl", configuration()) == (
        "conformance replay report/counterexamples/a.jsonl --timing response=2 -- iut 'a b'"
    )


# Order


def test_failures_stand_before_warnings_and_ends_before_other_failures() -> None:
    results = [
        result("a", SHOULD, ended(SHOULD, DEATH, "VCodeSig")),
        result("b", OTHER, violation(OTHER)),
        result("c", TOP, ended(TOP, replace(DEATH, said="error: no card"), "Ready")),
    ]
    order = [(cause["kind"], cause["verdict"]) for cause in causes_of(results)]
    assert order == [("end", "fail"), ("content", "fail"), ("end", "warn")]


def test_prerequisites_stand_first() -> None:
    """Within a cause, and among causes."""
    names = (TOP, MIDDLE, ROOT)
    results = [result(name, name, violation(name)) for name in names]
    assert [cause["requirement"] for cause in causes_of(results)] == [ROOT, MIDDLE, TOP]
    ends = [
        result("ready", TOP, ended(TOP, DEATH, "Exited")),
        result("handshake", MIDDLE, ended(MIDDLE, DEATH, "Handshake")),
    ]
    found = culprit("Touch", DEATH, *ends)
    assert causes_of(ends, found)[0]["requirements"] == [MIDDLE, TOP]


def test_segmentation_stands_first_among_ends() -> None:
    """A long message that ends a session arrives in pieces, too."""
    cut = protocol().segmentation_requirement
    whole = result("long", ROOT, ended(ROOT, DEATH, "Log"))
    pieces = result("cut", cut, ended(cut, DEATH, "Log"))
    culprits = [
        culprit("Log", DEATH, whole, long=TrialResult.STANDS),
        culprit("a part of a message", DEATH, pieces, cut=TrialResult.STANDS),
    ]
    causes = causes_of([whole, pieces], *culprits)
    assert [cause["requirement"] for cause in causes] == [cut, ROOT]


# Floods and late answers decide nothing, and are one cause each.


def test_late_answers_are_one_cause() -> None:
    results = [
        result(name, about, other(Kind.LATE, about, took))
        for name, about, took in (("a", TOP, 2.5), ("b", ROOT, 3.25))
    ]
    [late] = causes_of([*results, result("c", OTHER, other(Kind.UNDECIDED))])
    assert (late["kind"], late["verdict"], late["tests"]) == ("late", "inconclusive", ["a", "b"])
    assert "3.2 s; --timing response=7 gives more time" in late["what"]
    assert [entry["requirement"] for entry in late["undecided"]] == [TOP, ROOT]


@pytest.mark.parametrize(
    ("found", "order"),
    [
        ([], ["flood", "content", "late"]),
        ([finding(ROOT)], ["content", "content", "flood", "late"]),
    ],
)
def test_a_flood_comes_first_unless_its_sessions_show_another_cause(
    found: list[Evidence], order: list[str]
) -> None:
    """A message with a wrong length can be read as many messages."""
    results = [
        result("a", TOP, other(Kind.LATE, TOP, 2.5)),
        result("b", OTHER, violation(OTHER)),
        result("c", MIDDLE, other(Kind.FLOOD, MIDDLE, 10), *found),
    ]
    assert [cause["kind"] for cause in causes_of(results)] == order


def test_a_run_that_passes_has_no_cause() -> None:
    assert causes_of([passed("a", TOP)]) == []
