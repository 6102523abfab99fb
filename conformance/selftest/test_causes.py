"""What is wrong once, and what may only follow from it; what fails by itself is never hidden."""

import dataclasses
from typing import Any

import pytest

from conformance import protocols
from conformance.causes import causes, presumes, settle
from conformance.configuration import Configuration
from conformance.protocols import Protocol
from conformance.results import Result

ROOT, ON_IT, FAR, OTHER = (
    "framing.json-lines",
    "handshake.answered",
    "ready.sent",
    "exit.exited-sent",
)
DEATH = {"how": "was killed by SIGSEGV", "after": "Touch", "events": 7, "said": "panic: no port"}


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
    return {"requirement": requirement, "message": f"{requirement} is violated", **where}


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


def test_a_death_gathers_its_tests_and_hides_no_verdict(protocol: Protocol) -> None:
    results = [
        result("a", FAR, death=DEATH),
        result("b", OTHER, death={**DEATH, "after": "Ready", "events": 3}),
        result("c", OTHER, "inconclusive", death=DEATH),
        result("d", ROOT),
        result("e", ON_IT, "pass", death=DEATH),
    ]
    settle(results, protocol)
    assert [entry["verdict"] for entry in results[:3]] == ["fail", "fail", "inconclusive"]
    death, violation = made(results)
    assert death["kind"] == "death"
    assert death["what"] == "the IUT was killed by SIGSEGV after Ready"
    assert death["said"] == "panic: no port"
    assert death["tests"] == ["a", "b", "c"]
    assert violation["requirement"] == ROOT


def test_a_pair_of_a_death_and_a_violation(protocol: Protocol) -> None:
    """What fails also where nothing died is a cause of its own."""
    results = [result("a", FAR, death=DEATH), result("b", FAR)]
    settle(results, protocol)
    assert [cause["kind"] for cause in made(results)] == ["death", "violation"]


def test_two_deaths_of_different_words_are_two_causes(protocol: Protocol) -> None:
    results = [result("a", FAR, death=DEATH), result("b", FAR, death={**DEATH, "said": "other"})]
    settle(results, protocol)
    assert [cause["said"] for cause in made(results)] == ["panic: no port", "other"]


def test_the_command_that_plays_it_again(protocol: Protocol) -> None:
    results = [result("a", ROOT, counterexample="counterexamples/a.jsonl")]
    settle(results, protocol)
    [cause] = made(results)
    assert cause["replay"].startswith("conformance replay ")
    assert cause["replay"].endswith("/counterexamples/a.jsonl -- iut 'a b'")
