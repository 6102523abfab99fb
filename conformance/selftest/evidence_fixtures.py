"""Fixtures of evidence: invented facts, results and culprits, for self-tests of verdicts."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from conformance.conclusions.causes import causes
from conformance.conclusions.decisions import (
    Culprit,
    Fact,
    Trial,
    TrialResult,
    decide_requirement,
    decide_test,
    facts,
)
from conformance.configuration import Configuration
from conformance.definitions import protocols
from conformance.definitions.protocol import Protocol
from conformance.evidence import End, Evidence, Files, Kind, Observed, Place, Result
from conformance.verdicts import Verdict

ROOT, MIDDLE, TOP, OTHER, SHOULD = (
    "framing.json-lines",
    "handshake.answered",
    "ready.sent",
    "exit.exited-sent",
    "signature.sent",
)
"""Requirements of the fixtures.

MIDDLE is a prerequisite of TOP, and ROOT of MIDDLE. The others have no prerequisites.
"""

DEATH = End("was killed by SIGSEGV", "panic: no port", ("Touch",), crashed=True)
CLOSE = End("closed the stream", candidates=("USD",))


@cache
def protocol() -> Protocol:
    """Return the vexide protocol with the prerequisites of the fixtures."""
    usual = protocols.load("vexide")
    presumes = {MIDDLE: (ROOT,), TOP: (MIDDLE,)}
    changed = {
        name: replace(entry, presumes=presumes.get(name, ()))
        for name, entry in usual.requirements.items()
    }
    return replace(usual, requirements=changed)


class _Configuration(Configuration):
    """The configuration of a simulator, with the prerequisites of the fixtures."""

    @property
    def protocol(self) -> Protocol:
        return protocol()


def configuration() -> Configuration:
    """Return the configuration of a simulator that a command of two words starts."""
    given = "conformance run vexide/simulator --timing response=2 -- iut 'a b'"
    return _Configuration(
        protocols.role("vexide/simulator"),
        command=("iut", "a b"),
        report="report",
        invocation=given,
    )


def violation(requirement: str, event: int = 3, **more: Any) -> Evidence:
    """Return the fact that an event violates a requirement."""
    place = Place("transcripts/a.jsonl", event)
    return Evidence(Kind.VIOLATION, requirement, f"{requirement} is violated", place=place, **more)


def finding(requirement: str, event: int = 3, transcript: str = "transcripts/a.jsonl") -> Evidence:
    """Return the same fact as a finding of the judge."""
    return replace(violation(requirement, judged=True), place=Place(transcript, event))


def timeout(requirement: str, *names: str) -> Evidence:
    """Return the fact that none of these messages came before the timeout."""
    place = Place("transcripts/a.jsonl")
    text = f"expected {' or '.join(names)} within 1 s; received nothing"
    return Evidence(Kind.TIMEOUT, requirement, text, place=place, missing=(names,))


def ended(requirement: str, end: End, *names: str) -> Evidence:
    """Return the fact that the session ended before any of these messages came."""
    fact = timeout(requirement, *names)
    return replace(fact, kind=Kind.END, end=end, message=f"{fact.message}; the IUT {end.how}")


def other(kind: Kind, requirement: str = ROOT, amount: float = 0.0) -> Evidence:
    """Return a fact of a kind that does not violate its requirement."""
    return Evidence(kind, requirement, f"it is {kind}", amount=amount)


def result(name: str, requirement: str, *evidence: Evidence, **more: Any) -> Result:
    """Return the decided result of a test with this evidence."""
    level, presumed = protocol().requirement(requirement), protocol().prerequisites(requirement)
    verdict, detail = decide_test(level, evidence, presumed)
    return Result(
        name,
        "purpose",
        requirement,
        verdict,
        detail,
        evidence=evidence,
        files=Files(f"transcripts/{name}.jsonl"),
        reproduce=f"conformance run --test {name}",
        **more,
    )


def passed(name: str, requirement: str, *exercised: str) -> Result:
    """Return the result of a test that passed, and that also exercised these requirements."""
    return result(name, requirement, observed=Observed(frozenset(exercised)))


def culprit(label: str, end: End, *results: Result, **shown: TrialResult) -> Culprit:
    """Return a culprit that ended the sessions of these results.

    ``shown`` contains the result of the masked trial of each test, by the name of the test.
    """
    trials = tuple(
        Trial(each.requirement, each.id, shown[each.id], "why", f"again {each.id}")
        for each in results
        if each.id in shown
    )
    tests = tuple(each.id for each in results)
    return Culprit(end.way, label, "1", "counterexamples/c.jsonl", 2, 9, tests, trials)


def known(results: Sequence[Result], culprits: Sequence[Culprit] = ()) -> list[Fact]:
    """Return the facts of decided results."""
    return facts(results, culprits, protocol())


def verdicts(results: Sequence[Result], culprits: Sequence[Culprit] = ()) -> dict[str, Verdict]:
    """Return the verdicts of all requirements that were violated, decided or exercised."""
    decided = {
        name: decide_requirement(entry, results, known(results, culprits))[0]
        for name, entry in protocol().requirements.items()
    }
    return {name: verdict for name, verdict in decided.items() if verdict != "not-exercised"}


def causes_of(results: Sequence[Result], *culprits: Culprit) -> list[dict[str, Any]]:
    """Return the causes of results, as report.json has them."""
    entries = [
        {"id": name, "level": protocol().requirement(name).level, "verdict": verdict}
        for name, verdict in verdicts(results, culprits).items()
    ]
    return causes(known(results, culprits), results, entries, culprits, configuration())
