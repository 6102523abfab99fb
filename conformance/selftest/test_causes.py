"""What is wrong once, and what may only follow from it; what fails by itself is never hidden."""

import dataclasses
from typing import Any

import pytest

from conformance.conclusions.causes import causes
from conformance.conclusions.following import presumes, settle
from conformance.configuration import Configuration
from conformance.definitions import protocols
from conformance.definitions.protocol import Protocol
from conformance.running.results import Result
from conformance.wire import LONG

ROOT, ON_IT, FAR, OTHER = (
    "framing.json-lines",
    "handshake.answered",
    "ready.sent",
    "exit.exited-sent",
)
DEATH = {
    "how": "was killed by SIGSEGV",
    "after": "Touch",
    "events": 7,
    "said": "panic: no port",
    "met": True,
    "sent": {"Touch": 5},
}
TOLD: dict[str, Any] = {"death": DEATH, "told": ["Handshake", "Touch"]}


@pytest.fixture
def protocol() -> Protocol:
    """The vexide protocol, in which FAR rests on ON_IT, and that on ROOT."""
    usual = protocols.load("vexide")
    rests = {ON_IT: (ROOT,), FAR: (ON_IT,)}
    changed = {
        name: dataclasses.replace(entry, presumes=rests.get(name, ()))
        for name, entry in usual.requirements.items()
    }
    return dataclasses.replace(usual, requirements=changed)


def result(name: str, requirement: str, verdict: str = "fail", **more: Any) -> dict[str, Any]:
    made = Result(name, "purpose", requirement, verdict, detail=f"{requirement} lacks something")
    return {**made.to_json(), "transcript": f"transcripts/{name}.jsonl", **more}


def finding(requirement: str, event: int, transcript: str = "transcripts/a.jsonl") -> Any:
    where = {"transcript": transcript, "event": event}
    said = f"{requirement} is violated"
    return {
        "requirement": requirement,
        "message": said,
        "at_death": False,
        "at_end": False,
        "concluded": False,
        "rests": "",
        **where,
    }


def made(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The causes of these results, whose requirements have the worst verdict of their tests."""
    known = protocols.load("vexide")
    bad = {r["requirement"]: r for r in results if r["verdict"] in ("fail", "warn")}
    entries = [
        {
            "id": name,
            "level": known.requirement(name).level,
            "verdict": "fail",
            "reason": r["detail"],
        }
        for name, r in bad.items()
    ]
    told = [
        {**found, "test": r["id"], "verdict": "inconclusive" if found["follows"] else "fail"}
        for r in results
        for found in r["findings"]
    ]
    configuration = Configuration(protocols.role("vexide/simulator"), command=("iut", "a b"))
    return causes(results, entries, told, configuration)


def test_what_is_presumed_by_way_of_others(protocol: Protocol) -> None:
    assert presumes(FAR, protocol) == [ON_IT, ROOT]
    assert presumes(ROOT, protocol) == []


def test_a_consequence_is_inconclusive_and_stands_under_its_cause(protocol: Protocol) -> None:
    results = [result("root", ROOT), result("a", FAR, findings=[finding(ROOT, 3)])]
    settle(results, protocol)
    assert [entry["verdict"] for entry in results] == ["fail", "inconclusive"]
    assert f"may follow from {ROOT}" in results[1]["detail"]
    [cause] = made(results)
    assert (cause["kind"], cause["requirement"]) == ("violation", ROOT)
    assert cause["consequences"] == [{"requirement": FAR, "test": "a"}]


def test_a_pair_of_faults_in_different_tests_is_two_causes(protocol: Protocol) -> None:
    results = [
        result("root", ROOT),
        result("a", FAR, findings=[finding(ROOT, 3)]),
        result("b", FAR),
    ]
    settle(results, protocol)
    assert [entry["verdict"] for entry in results] == ["fail", "inconclusive", "fail"]
    assert [cause["requirement"] for cause in made(results)] == [ROOT, FAR]


def test_what_shows_elsewhere_than_in_its_messages_is_not_hidden(protocol: Protocol) -> None:
    results = [
        result("root", ROOT),
        result("a", FAR, findings=[finding(ROOT, 3)], explains=True),
    ]
    settle(results, protocol)
    assert [cause["requirement"] for cause in made(results)] == [ROOT, FAR]


def test_what_is_not_presumed_hides_nothing(protocol: Protocol) -> None:
    results = [result("a", OTHER, findings=[finding(ROOT, 3)]), result("root", ROOT)]
    settle(results, protocol)
    assert [cause["requirement"] for cause in made(results)] == [OTHER, ROOT]


@pytest.mark.parametrize(
    ("place", "transcript", "follows"),
    [(3, "transcripts/a.jsonl", ROOT), (9, "transcripts/a.jsonl", ""), (3, "transcripts/b", "")],
)
def test_a_finding_follows_from_an_earlier_one_of_its_transcript(
    protocol: Protocol, place: int, transcript: str, follows: str
) -> None:
    found = [finding(FAR, 5), finding(ROOT, place, transcript)]
    settle([result("a", OTHER, "pass", findings=found)], protocol)
    assert [entry["follows"] for entry in found] == [follows, ""]


def test_a_finding_follows_from_what_a_test_concludes_of_its_transcript(protocol: Protocol) -> None:
    concluded = {**finding(ROOT, 0), "event": None, "concluded": True}
    found = [finding(FAR, 5), finding(OTHER, 5), concluded]
    settle([result("a", OTHER, "inconclusive", findings=found)], protocol)
    assert [entry["follows"] for entry in found] == [ROOT, "", ""]


def test_what_lacks_a_message_that_lacks_already_follows_from_that(protocol: Protocol) -> None:
    results = [
        result("a", FAR, missing=[("Ready",)]),
        result("root", ROOT, missing=[("Serial", "Ready")]),
        result("b", OTHER, missing=[("Ready",)]),
        result("c", ON_IT, missing=[("Exited",)]),
    ]
    settle(results, protocol)
    assert [entry["follows"] for entry in results] == [ROOT, "", "", ""]
    assert [entry["verdict"] for entry in results] == ["inconclusive", "fail", "fail", "fail"]


def test_what_a_test_concludes_of_another_requirement_may_follow_too(protocol: Protocol) -> None:
    found = {**finding(ON_IT, 3), "concluded": True}
    lacks = result("a", FAR, "inconclusive", missing=[("Ready",)], findings=[found])
    settle([lacks, result("root", ROOT, missing=[("Ready",)])], protocol)
    assert found["follows"] == ROOT


def test_a_message_that_has_come_anywhere_lacks_by_itself(protocol: Protocol) -> None:
    results = [
        result("a", FAR, missing=[("Ready",)]),
        result("root", ROOT, missing=[("Serial", "Ready")]),
        result("b", OTHER, "pass", got=["Serial"]),
    ]
    settle(results, protocol)
    assert [entry["verdict"] for entry in results] == ["fail", "fail", "pass"]


def test_of_those_that_met_a_death_one_requirement_fails(protocol: Protocol) -> None:
    """The worst that fails: here of two the one that the other presumes."""
    results = [
        result("a", FAR, **TOLD),
        result("b", ON_IT, **TOLD | {"death": {**DEATH, "events": 9}}),
        result("c", OTHER, "inconclusive", **TOLD),
        result("d", "ready.once", "warn", **TOLD | {"death": {**DEATH, "events": 1}}),
        result("e", ROOT),
        result("f", OTHER, "pass", death=DEATH),
    ]
    settle(results, protocol)
    verdicts = [entry["verdict"] for entry in results]
    assert verdicts == ["inconclusive", "fail", "inconclusive", "inconclusive", "fail", "pass"]
    death, violation = made(results)
    assert death["kind"] == "death"
    assert death["what"] == "the IUT was killed by SIGSEGV after it was sent Touch"
    assert death["said"] == "it said: panic: no port"
    assert death["tests"] == ["a", "b", "c", "d"]
    assert violation["requirement"] == ROOT


def test_what_else_is_wrong_where_it_died_is_not_hidden(protocol: Protocol) -> None:
    """One that is decided by something that came, before the end, fails."""
    results = [
        result("a", FAR, **TOLD),
        result("b", OTHER, **TOLD | {"death": {**DEATH, "met": False}}),
        result("c", ROOT, death={**DEATH, "said": "panic: no card"}, told=["Handshake", "USD"]),
        *(result(f"d{n}", ON_IT, "pass", told=["Handshake"]) for n in range(9)),
    ]
    settle(results, protocol)
    assert [entry["verdict"] for entry in results[:3]] == ["fail", "fail", "fail"]


def test_silent_deaths_after_different_messages_are_two(protocol: Protocol) -> None:
    """Where nothing was said, only the messages tell one death from another."""
    silent = [{**DEATH, "said": "", "after": after} for after in ("USD", "Touch")]
    results = [
        result("a", FAR, death=silent[0], told=["Handshake", "USD"]),
        result("b", OTHER, death=silent[1], told=["Handshake", "Touch"]),
    ]
    settle(results, protocol)
    assert [entry["verdict"] for entry in results] == ["fail", "fail"]


def test_silent_deaths_are_one_cause_that_names_each_message(protocol: Protocol) -> None:
    """What they violate is decided for each: another program would have two mistakes."""
    silent = [{**DEATH, "said": "", "after": after} for after in ("USD", "Touch")]
    results = [
        result("a", OTHER, "warn", death=silent[0], told=["Handshake", "USD"]),
        result("b", FAR, death=silent[1], told=["Handshake", "Touch"]),
    ]
    settle(results, protocol)
    [death] = made(results)
    assert death["what"] == "the IUT was killed by SIGSEGV after it was sent Touch or USD"
    assert (death["verdict"], death["event"], death["tests"]) == ("fail", 5, ["b", "a"])
    assert [entry["verdict"] for entry in results] == ["warn", "fail"]


def test_what_is_concluded_from_a_death_may_follow_from_it(protocol: Protocol) -> None:
    """A test may conclude from the end of the stream that something else is violated."""
    found = {**finding(OTHER, 0), "event": None, "concluded": True, "at_death": True}
    met = result("b", ON_IT, "inconclusive", death=DEATH, findings=[found], told=["Touch"])
    settle([result("a", FAR, **TOLD), met], protocol)
    assert found["follows"] == FAR


def test_a_death_that_a_violation_explains_stands_under_it(protocol: Protocol) -> None:
    """One that decides nothing, in tests of that or of what presumes it; not in another."""
    known = protocols.load("vexide")
    rests = next(name for name in known.requirements if presumes(name, known))
    [*_, root] = presumes(rests, known)
    met = result("b", rests, "inconclusive", death=DEATH, told=["Touch"])
    results = [result("a", root), met]
    [cause] = made(results)
    assert (cause["kind"], cause["said"]) == ("violation", "it said: panic: no port")
    assert cause["consequences"] == [{"requirement": rests, "test": "b"}]
    results[1]["requirement"] = root
    results[0]["requirement"] = rests
    assert [cause["kind"] for cause in made(results)] == ["violation", "death"]


def test_a_death_is_after_the_message_that_is_seldom_survived(protocol: Protocol) -> None:
    """The last message is not always the one that kills, nor is every death seen in time."""
    results = [
        result("a", FAR, told=["Handshake", "USD", "Touch"], death=DEATH),
        result("b", OTHER, told=["Handshake", "USD"], death={**DEATH, "after": "USD"}),
        result("c", ROOT, "pass", told=["Handshake", "Touch"]),
        result("d", ROOT, "pass", told=["Handshake", "USD"]),
        result("e", ROOT, "pass", told=["Handshake"]),
    ]
    settle(results, protocol)
    [death] = [cause for cause in made(results) if cause["kind"] == "death"]
    assert death["what"] == "the IUT was killed by SIGSEGV after it was sent USD"
    assert death["tests"] == ["a", "b"]


def test_what_is_found_at_a_death_may_follow_from_it(protocol: Protocol) -> None:
    found = [{**finding(OTHER, 5), "at_death": True}, finding(OTHER, 4)]
    settle([result("a", FAR, death=DEATH, findings=found)], protocol)
    assert [entry["follows"] for entry in found] == [FAR, ""]


def test_a_pair_of_a_death_and_a_violation(protocol: Protocol) -> None:
    """What fails also where nothing died is a cause of its own."""
    results = [result("a", FAR, death=DEATH), result("b", FAR)]
    settle(results, protocol)
    assert [cause["kind"] for cause in made(results)] == ["death", "violation"]


def test_two_deaths_of_different_words_are_two_causes(protocol: Protocol) -> None:
    results = [result("a", FAR, death=DEATH), result("b", FAR, death={**DEATH, "said": "other"})]
    settle(results, protocol)
    assert [cause["said"] for cause in made(results)] == [
        "it said: panic: no port",
        "the last line of its log was: other",
    ]


def test_the_command_that_plays_it_again(protocol: Protocol) -> None:
    results = [result("a", ROOT, counterexample="counterexamples/a.jsonl")]
    settle(results, protocol)
    [cause] = made(results)
    assert cause["replay"].startswith("conformance replay ")
    assert cause["replay"].endswith("/counterexamples/a.jsonl -- iut 'a b'")


def test_one_error_of_several_inputs_is_one_death(protocol: Protocol) -> None:
    """What an error quotes, and its numbers, differ with the input that met it."""
    for text in ("TypeError: no ratio of '{}' at 0x7f{}0", "panic: no such perceptor: {}"):
        deaths = [{**DEATH, "said": text.format(name, name)} for name in ("12", "ab")]
        results = [result("a", FAR, death=deaths[0], told=["USD"])]
        results.append(result("b", FAR, death=deaths[1], told=["Touch"]))
        settle(results, protocol)
        [death] = made(results)
        assert death["tests"] == ["a", "b"]


def test_what_fails_beside_the_plainest_exchange_follows_from_it(protocol: Protocol) -> None:
    """Only where what that violates does fail: else nothing would tell it."""
    results = [result("a", FAR, rests=ROOT), result("b", ROOT), result("c", OTHER)]
    settle(results, protocol)
    assert [entry["verdict"] for entry in results] == ["inconclusive", "fail", "fail"]
    assert results[0]["follows"] == ROOT
    concluded = {**finding(FAR, 0), "event": None, "concluded": True, "rests": ROOT}
    settle([result("a", OTHER, "inconclusive", findings=[concluded]), result("b", ROOT)], protocol)
    assert concluded["follows"] == ROOT
    alone = [result("a", FAR, rests=ROOT)]
    settle(alone, protocol)
    assert alone[0]["verdict"] == "fail"


def test_what_is_found_where_a_test_fails_may_follow_from_that(protocol: Protocol) -> None:
    """The oracle finds in the same session what rests on what the test decides."""
    results = [result("a", ROOT, findings=[finding(FAR, 5), finding(OTHER, 5)])]
    settle(results, protocol)
    assert [found["follows"] for found in results[0]["findings"]] == [ROOT, ""]


def test_what_came_before_explains_and_what_came_later_does_not(protocol: Protocol) -> None:
    """In the same transcript only; what a test concludes of no one event is of the whole of it."""
    late, early = finding(FAR, 5), finding(OTHER, 2)
    whole = {**finding(FAR, 0), "event": None, "concluded": True}
    elsewhere = finding(FAR, 9, "transcripts/b.jsonl")
    found = [finding(ROOT, 4), late, early, finding(FAR, 3), elsewhere, whole]
    settle([result("a", OTHER, "pass", findings=found)], protocol)
    assert [each["follows"] for each in found] == ["", ROOT, "", "", "", ROOT]


def test_failures_stand_before_warnings(protocol: Protocol) -> None:
    """Also where what warns is a death, which stands first among its like."""
    results = [result("a", FAR, "warn", death=DEATH), result("b", OTHER), result("c", ROOT)]
    results[2]["death"] = {**DEATH, "said": "another"}
    settle(results, protocol)
    verdicts = [(cause["kind"], cause["verdict"]) for cause in made(results)]
    assert verdicts == [("death", "fail"), ("violation", "fail"), ("death", "warn")]


def test_what_is_late_is_one_cause(protocol: Protocol) -> None:
    """However many tests it leaves undecided; and it names what gives answers more time."""
    results = [result("a", FAR, "inconclusive", late=2.5), result("b", OTHER, "inconclusive")]
    results.append(result("c", ROOT, "inconclusive", late=3.25))
    settle(results, protocol)
    [late] = made(results)
    assert (late["kind"], late["tests"]) == ("late", ["a", "c"])
    assert "3.2 s; --timing response=7" in late["what"]


def test_a_flood_is_one_cause(protocol: Protocol) -> None:
    """It comes before all that it may bring about, and is told as where most was read."""
    results = [result("a", FAR, "inconclusive", late=2.5), result("d", ROOT)]
    results.append(result("b", OTHER, "inconclusive", flooded=10, detail="little"))
    results.append(result("c", OTHER, "inconclusive", flooded=20, detail="much"))
    settle(results, protocol)
    flood, failure, late = made(results)
    assert (flood["kind"], flood["tests"], flood["what"]) == ("flood", ["c", "b"], "much")
    assert (failure["kind"], late["kind"]) == ("violation", "late")


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


def test_what_is_long_may_be_what_is_wrong() -> None:
    """Where only long messages show that it matters how they are cut, their length may matter."""
    results = [result("a", CUT, apart=[LONG]), result("b", "framing.long-lines", apart=[LONG])]
    settle(results, protocols.load("vexide"))
    assert [each["follows"] for each in results] == ["", ""]


def test_what_serves_only_so_many_connections_is_one_cause(protocol: Protocol) -> None:
    results = [
        result("a", FAR, "warn", served=2, unserved=4),
        result("b", OTHER, served=1, unserved=5, death=DEATH),
        result("c", ROOT, "pass", served=3),
        result("d", ON_IT),
    ]
    settle(results, protocol)
    assert [entry["verdict"] for entry in results] == ["inconclusive", "fail", "pass", "fail"]
    limit, violation = made(results)
    assert (limit["kind"], limit["verdict"], limit["tests"]) == ("limit", "fail", ["b", "a"])
    assert limit["what"].startswith("one run of the IUT serves only 3 connections")
    assert violation["requirement"] == ON_IT


@pytest.mark.parametrize(
    "others",
    [[("pass", 4, 0)], [], [("fail", 3, 3)]],
    ids=["one-is-served-later", "one-alone", "one-is-served-as-late"],
)
def test_what_may_have_other_reasons_is_no_limit(
    protocol: Protocol, others: list[tuple[str, int, int]]
) -> None:
    """Of one test, what was done before may be the cause."""
    results = [
        result("a", FAR, served=3, unserved=4),
        *(result("b", OTHER, word, served=n, unserved=last) for word, n, last in others),
    ]
    settle(results, protocol)
    assert not any(cause["kind"] == "limit" for cause in made(results))
    assert results[0]["verdict"] == "fail"
