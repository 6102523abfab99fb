"""What is wrong once, and what may only follow from it; what fails by itself is never hidden."""

import pytest

from conformance.conclusions.following import presumes
from conformance.definitions import protocols
from conformance.selftest.causing import (
    DEATH,
    FAR,
    ON_IT,
    OTHER,
    ROOT,
    finding,
    made,
    protocol,
    result,
    settle,
)
from conformance.wire import LONG


def test_what_is_presumed_by_way_of_others() -> None:
    assert presumes(FAR, protocol()) == [ON_IT, ROOT]
    assert presumes(ROOT, protocol()) == []


def test_a_consequence_is_inconclusive_and_stands_under_its_cause() -> None:
    results = [result("root", ROOT), result("a", FAR, findings=[finding(ROOT, 3)])]
    settle(results)
    assert [entry["verdict"] for entry in results] == ["fail", "inconclusive"]
    assert f"may follow from {ROOT}" in results[1]["detail"]
    [cause] = made(results)
    assert (cause["kind"], cause["requirement"]) == ("violation", ROOT)
    assert cause["consequences"] == [{"requirement": FAR, "test": "a"}]


def test_a_pair_of_faults_in_different_tests_is_two_causes() -> None:
    results = [
        result("root", ROOT),
        result("a", FAR, findings=[finding(ROOT, 3)]),
        result("b", FAR),
    ]
    settle(results)
    assert [entry["verdict"] for entry in results] == ["fail", "inconclusive", "fail"]
    assert [cause["requirement"] for cause in made(results)] == [ROOT, FAR]


def test_what_shows_elsewhere_than_in_its_messages_is_not_hidden() -> None:
    results = [
        result("root", ROOT),
        result("a", FAR, findings=[finding(ROOT, 3)], explains=True),
    ]
    settle(results)
    assert [cause["requirement"] for cause in made(results)] == [ROOT, FAR]


def test_what_is_not_presumed_hides_nothing() -> None:
    results = [result("a", OTHER, findings=[finding(ROOT, 3)]), result("root", ROOT)]
    settle(results)
    assert [cause["requirement"] for cause in made(results)] == [OTHER, ROOT]


@pytest.mark.parametrize(
    ("place", "transcript", "follows"),
    [(3, "transcripts/a.jsonl", ROOT), (9, "transcripts/a.jsonl", ""), (3, "transcripts/b", "")],
)
def test_a_finding_follows_from_an_earlier_one_of_its_transcript(
    place: int, transcript: str, follows: str
) -> None:
    found = [finding(FAR, 5), finding(ROOT, place, transcript)]
    settle([result("a", OTHER, "pass", findings=found)])
    assert [entry["follows"] for entry in found] == [follows, ""]


def test_a_finding_follows_from_what_a_test_concludes_of_its_transcript() -> None:
    concluded = {**finding(ROOT, 0), "event": None, "concluded": True}
    found = [finding(FAR, 5), finding(OTHER, 5), concluded]
    settle([result("a", OTHER, "inconclusive", findings=found)])
    assert [entry["follows"] for entry in found] == [ROOT, "", ""]


def test_what_lacks_a_message_that_lacks_already_follows_from_that() -> None:
    results = [
        result("a", FAR, missing=[("Ready",)]),
        result("root", ROOT, missing=[("Serial", "Ready")]),
        result("b", OTHER, missing=[("Ready",)]),
        result("c", ON_IT, missing=[("Exited",)]),
    ]
    settle(results)
    assert [entry["follows"] for entry in results] == [ROOT, "", "", ""]
    assert [entry["verdict"] for entry in results] == ["inconclusive", "fail", "fail", "fail"]


def test_what_a_test_concludes_of_another_requirement_may_follow_too() -> None:
    found = {**finding(ON_IT, 3), "concluded": True}
    lacks = result("a", FAR, "inconclusive", missing=[("Ready",)], findings=[found])
    settle([lacks, result("root", ROOT, missing=[("Ready",)])])
    assert found["follows"] == ROOT


def test_a_message_that_has_come_anywhere_lacks_by_itself() -> None:
    results = [
        result("a", FAR, missing=[("Ready",)]),
        result("root", ROOT, missing=[("Serial", "Ready")]),
        result("b", OTHER, "pass", got=["Serial"]),
    ]
    settle(results)
    assert [entry["verdict"] for entry in results] == ["fail", "fail", "pass"]


def test_the_command_that_plays_it_again() -> None:
    results = [result("a", ROOT, counterexample="counterexamples/a.jsonl")]
    settle(results)
    [cause] = made(results)
    assert cause["replay"].startswith("conformance replay ")
    assert cause["replay"].endswith("/counterexamples/a.jsonl -- iut 'a b'")


def test_what_fails_beside_the_plainest_exchange_follows_from_it() -> None:
    """Only where what that violates does fail: else nothing would tell it."""
    results = [result("a", FAR, rests=ROOT), result("b", ROOT), result("c", OTHER)]
    settle(results)
    assert [entry["verdict"] for entry in results] == ["inconclusive", "fail", "fail"]
    assert results[0]["follows"] == ROOT
    concluded = {**finding(FAR, 0), "event": None, "concluded": True, "rests": ROOT}
    settle([result("a", OTHER, "inconclusive", findings=[concluded]), result("b", ROOT)])
    assert concluded["follows"] == ROOT
    alone = [result("a", FAR, rests=ROOT)]
    settle(alone)
    assert alone[0]["verdict"] == "fail"


def test_what_is_found_where_a_test_fails_may_follow_from_that() -> None:
    """The oracle finds in the same session what rests on what the test decides."""
    results = [result("a", ROOT, findings=[finding(FAR, 5), finding(OTHER, 5)])]
    settle(results)
    assert [found["follows"] for found in results[0]["findings"]] == [ROOT, ""]


def test_what_came_before_explains_and_what_came_later_does_not() -> None:
    """In the same transcript only; what a test concludes of no one event is of the whole of it."""
    late, early = finding(FAR, 5), finding(OTHER, 2)
    whole = {**finding(FAR, 0), "event": None, "concluded": True}
    elsewhere = finding(FAR, 9, "transcripts/b.jsonl")
    found = [finding(ROOT, 4), late, early, finding(FAR, 3), elsewhere, whole]
    settle([result("a", OTHER, "pass", findings=found)])
    assert [each["follows"] for each in found] == ["", ROOT, "", "", "", ROOT]


def test_failures_stand_before_warnings() -> None:
    """Also where what warns is a death, which stands first among its like."""
    results = [result("a", FAR, "warn", death=DEATH), result("b", OTHER), result("c", ROOT)]
    results[2]["death"] = {**DEATH, "said": "another"}
    settle(results)
    verdicts = [(cause["kind"], cause["verdict"]) for cause in made(results)]
    assert verdicts == [("death", "fail"), ("violation", "fail"), ("death", "warn")]


def test_what_is_presumed_stands_before_what_rests_on_it() -> None:
    known = protocols.load("vexide")
    rests = next(name for name, entry in known.requirements.items() if entry.presumes)
    [root, *_] = presumes(rests, known)
    results = [result("a", rests), result("b", root)]
    settle(results)
    assert [cause["requirement"] for cause in made(results)] == [root, rests]


def test_what_is_late_is_one_cause() -> None:
    """However many tests it leaves undecided; and it names what gives answers more time."""
    results = [result("a", FAR, "inconclusive", late=2.5), result("b", OTHER, "inconclusive")]
    results.append(result("c", ROOT, "inconclusive", late=3.25))
    settle(results)
    [late] = made(results)
    assert (late["kind"], late["tests"]) == ("late", ["a", "c"])
    assert "3.2 s; --timing response=7" in late["what"]


def test_a_flood_is_one_cause() -> None:
    """It comes before all that it may bring about, and is told as where most was read."""
    results = [result("a", FAR, "inconclusive", late=2.5), result("d", ROOT)]
    results.append(result("b", OTHER, "inconclusive", flooded=10, detail="little"))
    results.append(result("c", OTHER, "inconclusive", flooded=20, detail="much"))
    settle(results)
    flood, failure, late = made(results)
    assert (flood["kind"], flood["tests"], flood["what"]) == ("flood", ["c", "b"], "much")
    assert (failure["kind"], late["kind"]) == ("violation", "late")


def test_what_a_flood_shows_to_be_wrong_comes_before_it() -> None:
    """A length that is wrong makes many messages of one."""
    found = [finding(ROOT, 3)]
    settle(results := [result("a", OTHER, "inconclusive", flooded=10, findings=found)])
    assert [cause["kind"] for cause in made([*results, result("b", ROOT)])] == [
        "violation",
        "flood",
    ]


CUT = "framing.segmentation"


def test_what_fails_only_where_a_read_may_not_take_it_whole_follows() -> None:
    """A program that reads once where it should read on fails long messages of all kinds."""
    results = [
        result("cut", CUT, apart=["in pieces"]),
        result("long", "framing.long-lines", apart=[LONG]),
        result("plain", ROOT),
        result("again", ROOT, apart=[LONG]),
    ]
    settle(results, protocols.load("vexide"))
    assert [each["follows"] for each in results] == ["", CUT, "", ""]
    assert [each["verdict"] for each in results] == ["fail", "inconclusive", "fail", "fail"]


@pytest.mark.parametrize("elsewhere", [False, True])
def test_what_is_found_of_what_came_in_pieces_follows_from_that(elsewhere: bool) -> None:
    """Not where it is found of whole messages, too: then it is what both rest on."""
    rested = "setup.commands-handled"
    found = [finding(rested, 3)]
    results = [result("cut", CUT, apart=["in pieces"], findings=found)]
    results += [result("whole", ROOT, "pass", findings=[finding(rested, 3)])] * elsewhere
    settle(results, protocols.load("vexide"))
    assert [results[0]["follows"], found[0]["follows"]] == (
        [rested, ""] if elsewhere else ["", CUT]
    )


def test_what_is_long_may_be_what_is_wrong() -> None:
    """Where only long messages show that it matters how they are cut, their length may matter."""
    results = [result("a", CUT, apart=[LONG]), result("b", "framing.long-lines", apart=[LONG])]
    settle(results, protocols.load("vexide"))
    assert [each["follows"] for each in results] == ["", ""]


def test_what_serves_only_so_many_connections_is_one_cause() -> None:
    results = [
        result("a", FAR, "warn", served=2, unserved=4),
        result("b", OTHER, served=1, unserved=5, death=DEATH),
        result("c", ROOT, "pass", served=3),
        result("d", ON_IT),
    ]
    settle(results)
    assert [entry["verdict"] for entry in results] == ["inconclusive", "fail", "pass", "fail"]
    limit, violation = made(results)
    assert (limit["kind"], limit["verdict"], limit["tests"]) == ("limit", "fail", ["b", "a"])
    assert limit["what"].startswith("one run of the IUT serves only 3 connections")
    assert violation["requirement"] == ON_IT


def test_what_serves_only_so_many_connections_at_a_time_is_one_cause() -> None:
    """Others are served once they have ended."""
    results = [
        result("a", FAR, served=3, unserved=2, at_once=1, crowded=2),
        result("b", OTHER, "warn", served=1, unserved=2, at_once=1, crowded=2),
        result("c", ROOT, "pass", served=4, at_once=1),
    ]
    settle(results)
    [limit] = made(results)
    assert limit["what"].startswith("one run of the IUT serves only one connection at a time")
    results[2]["at_once"] = 2
    assert not any(cause["kind"] == "limit" for cause in made(results))


@pytest.mark.parametrize(
    "others",
    [[("pass", 4, 0)], [], [("fail", 3, 3)]],
    ids=["one-is-served-later", "one-alone", "one-is-served-as-late"],
)
def test_what_may_have_other_reasons_is_no_limit(others: list[tuple[str, int, int]]) -> None:
    """Of one test, what was done before may be the cause."""
    results = [
        result("a", FAR, served=3, unserved=4),
        *(result("b", OTHER, word, served=n, unserved=last) for word, n, last in others),
    ]
    settle(results)
    assert not any(cause["kind"] == "limit" for cause in made(results))
    assert results[0]["verdict"] == "fail"
