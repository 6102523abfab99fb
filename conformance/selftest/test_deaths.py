"""A death is one cause: of what, with which words, and what may follow from it."""

from typing import Any

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
    result,
    settle,
)
from conformance.session import RESET

TOLD: dict[str, Any] = {"death": DEATH, "told": ["Handshake", "Touch"]}


def test_of_those_that_met_a_death_one_requirement_fails() -> None:
    """The worst that fails: here of two the one that the other presumes."""
    results = [
        result("a", FAR, **TOLD),
        result("b", ON_IT, **TOLD | {"death": {**DEATH, "events": 9}}),
        result("c", OTHER, "inconclusive", **TOLD),
        result("d", "ready.once", "warn", **TOLD | {"death": {**DEATH, "events": 1}}),
        result("e", ROOT),
        result("f", OTHER, "pass", death=DEATH),
    ]
    settle(results)
    verdicts = [entry["verdict"] for entry in results]
    assert verdicts == ["inconclusive", "fail", "inconclusive", "inconclusive", "fail", "pass"]
    death, violation = made(results)
    assert death["kind"] == "death"
    assert death["what"] == "the IUT was killed by SIGSEGV after it was sent Touch"
    assert death["said"] == "it said: panic: no port"
    assert death["tests"] == ["a", "b", "c", "d"]
    assert violation["requirement"] == ROOT


@pytest.mark.parametrize("at_death", [True, False])
def test_what_only_shows_by_a_death_is_no_cause_beside_it(at_death: bool) -> None:
    """The death names it, before what it may explain; what was found before the end is one."""
    found = {**finding(ROOT, 3, "transcripts/b.jsonl"), "at_death": at_death}
    results = [
        result("a", FAR, "inconclusive", **TOLD),
        result("b", OTHER, "inconclusive", **TOLD, findings=[{**found, "follows": ""}]),
        result("c", ROOT, **TOLD),
    ]
    death, *violations = made(results)
    assert [each["requirement"] for each in death["consequences"]] == [ROOT, FAR, OTHER]
    assert [each["requirement"] for each in violations] == ([] if at_death else [ROOT])


def test_what_else_is_wrong_where_it_died_is_not_hidden() -> None:
    """One that is decided by something that came, before the end, fails."""
    results = [
        result("a", FAR, **TOLD),
        result("b", OTHER, **TOLD | {"death": {**DEATH, "met": False}}),
        result("c", ROOT, death={**DEATH, "said": "panic: no card"}, told=["Handshake", "USD"]),
        *(result(f"d{n}", ON_IT, "pass", told=["Handshake"]) for n in range(9)),
    ]
    settle(results)
    assert [entry["verdict"] for entry in results[:3]] == ["fail", "fail", "fail"]


def test_panics_of_one_line_are_one_whatever_they_say() -> None:
    """A result that is unwrapped tells the error of each input; in another line it is another."""
    said = [
        "thread 'main' (7) panicked at src/main.rs:32:45: unknown variant `Imu`",
        "thread 'main' (8) panicked at src/main.rs:32:45: EOF while parsing an object",
        "thread 'main' (9) panicked at src/main.rs:77:9: EOF while parsing an object",
    ]
    deaths = [{**DEATH, "said": line} for line in said]
    results = [
        result("a", FAR, death=deaths[0], told=["Handshake", "USD"]),
        result("b", OTHER, death=deaths[1], told=["Handshake", "Touch"]),
        result("c", ON_IT, death=deaths[2], told=["Handshake", "Touch"]),
    ]
    settle(results)
    assert sorted(entry["verdict"] for entry in results[:2]) == ["fail", "inconclusive"]
    assert results[2]["verdict"] == "fail"
    assert [len(death["tests"]) for death in made(results)] == [2, 1]


def test_silent_deaths_after_different_messages_are_two() -> None:
    """Where nothing was said, only the messages tell one death from another."""
    silent = [{**DEATH, "said": "", "after": after} for after in ("USD", "Touch")]
    results = [
        result("a", FAR, death=silent[0], told=["Handshake", "USD"]),
        result("b", OTHER, death=silent[1], told=["Handshake", "Touch"]),
    ]
    settle(results)
    assert [entry["verdict"] for entry in results] == ["fail", "fail"]


def test_silent_deaths_are_one_cause_that_names_each_message() -> None:
    """What they violate is decided for each: another program would have two mistakes."""
    silent = [{**DEATH, "said": "", "after": after} for after in ("USD", "Touch")]
    results = [
        result("a", OTHER, "warn", death=silent[0], told=["Handshake", "USD"]),
        result("b", FAR, death=silent[1], told=["Handshake", "Touch"]),
    ]
    settle(results)
    [death] = made(results)
    assert death["what"] == "the IUT was killed by SIGSEGV after it was sent Touch or USD"
    assert (death["verdict"], death["event"], death["tests"]) == ("fail", 5, ["b", "a"])
    assert [entry["verdict"] for entry in results] == ["warn", "fail"]


def test_what_is_concluded_from_a_death_may_follow_from_it() -> None:
    """A test may conclude from the end of the stream that something else is violated."""
    found = {**finding(OTHER, 0), "event": None, "concluded": True, "at_death": True}
    met = result("b", ON_IT, "inconclusive", death=DEATH, findings=[found], told=["Touch"])
    settle([result("a", FAR, **TOLD), met])
    assert found["follows"] == FAR


def test_a_death_that_a_violation_explains_stands_under_it() -> None:
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


def test_a_reset_that_violations_share_stands_under_them() -> None:
    """That the connection was reset, and not closed, says nothing more of what its tests show."""
    reset = {**DEATH, "how": RESET, "said": "", "met": False}
    results = [
        result("a", ROOT, death=reset, told=["Touch"]),
        result("b", OTHER, death=reset, told=["Touch"]),
        *(result(name, about, told=["Touch"]) for name, about in (("d", ROOT), ("e", OTHER))),
    ]
    assert [cause["kind"] for cause in made(results)] == ["violation", "violation"]
    further = result("c", FAR, "inconclusive", death=reset, told=["Touch"])
    assert "death" in [cause["kind"] for cause in made([*results, further])]


def test_a_death_is_after_the_message_that_is_seldom_survived() -> None:
    """The last message is not always the one that kills, nor is every death seen in time."""
    results = [
        result("a", FAR, told=["Handshake", "USD", "Touch"], death=DEATH),
        result("b", OTHER, told=["Handshake", "USD"], death={**DEATH, "after": "USD"}),
        result("c", ROOT, "pass", told=["Handshake", "Touch"]),
        result("d", ROOT, "pass", told=["Handshake", "USD"]),
        result("e", ROOT, "pass", told=["Handshake"]),
    ]
    settle(results)
    [death] = [cause for cause in made(results) if cause["kind"] == "death"]
    assert death["what"] == "the IUT was killed by SIGSEGV after it was sent USD"
    assert death["tests"] == ["a", "b"]


def test_a_death_is_after_what_was_not_answered_any_more() -> None:
    """What was sent before the last sign of life is not what it has died of, however rare."""
    told = ["Handshake", "USD", "Touch"]
    results = [
        result("a", FAR, told=told, death={**DEATH, "unanswered": ["Touch"]}),
        *(result(f"d{n}", ROOT, "pass", told=["Touch"]) for n in range(9)),
    ]
    settle(results)
    [death] = [cause for cause in made(results) if cause["kind"] == "death"]
    assert death["what"] == "the IUT was killed by SIGSEGV after it was sent Touch"


def test_what_is_found_at_a_death_may_follow_from_it() -> None:
    found = [{**finding(OTHER, 5), "at_death": True}, finding(OTHER, 4)]
    settle([result("a", FAR, death=DEATH, findings=found)])
    assert [entry["follows"] for entry in found] == [FAR, ""]


def test_a_pair_of_a_death_and_a_violation() -> None:
    """What fails also where nothing died is a cause of its own."""
    results = [result("a", FAR, death=DEATH), result("b", FAR)]
    settle(results)
    assert [cause["kind"] for cause in made(results)] == ["death", "violation"]


def test_two_deaths_of_different_words_are_two_causes() -> None:
    results = [result("a", FAR, death=DEATH), result("b", FAR, death={**DEATH, "said": "other"})]
    settle(results)
    assert [cause["said"] for cause in made(results)] == [
        "it said: panic: no port",
        "the last line of its log was: other",
    ]


def test_one_error_is_one_death_however_much_of_it_was_seen() -> None:
    """Its process may have ended by then or not."""
    seen = [{**DEATH, "how": how} for how in ("exited with code 101", "closed the connection")]
    settle(results := [result(name, FAR, death=d) for name, d in zip("ab", seen, strict=True)])
    [death] = made(results)
    assert death["tests"] == ["a", "b"]


def test_a_reset_says_behind_what_it_came() -> None:
    reset = {**DEATH, "how": RESET, "said": "", "behind": "Exited"}
    results = [result(n, r, death=reset, told=["Touch"]) for n, r in (("a", FAR), ("b", OTHER))]
    settle(results)
    [death] = [cause for cause in made(results) if cause["kind"] == "death"]
    assert death["what"] == f"the IUT {RESET} after it was sent Touch, right behind Exited"


def test_one_error_of_several_inputs_is_one_death() -> None:
    """What an error quotes, and its numbers, differ with the input that met it."""
    for text in ("TypeError: no ratio of '{}' at 0x7f{}0", "panic: no such perceptor: {}"):
        deaths = [{**DEATH, "said": text.format(name, name)} for name in ("12", "ab")]
        results = [result("a", FAR, death=deaths[0], told=["USD"])]
        results.append(result("b", FAR, death=deaths[1], told=["Touch"]))
        settle(results)
        [death] = made(results)
        assert death["tests"] == ["a", "b"]
