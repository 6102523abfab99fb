"""Build results of tests, as a run has them, for the self-tests of causes."""

import dataclasses
from functools import cache
from typing import Any

from conformance.conclusions import following
from conformance.conclusions.causes import causes
from conformance.configuration import Configuration
from conformance.definitions import protocols
from conformance.definitions.protocol import Protocol
from conformance.running.results import Result

ROOT, ON_IT, FAR, OTHER = (
    "framing.json-lines",
    "handshake.answered",
    "ready.sent",
    "exit.exited-sent",
)

DEATH = {
    "how": "was killed by SIGSEGV",
    "after": "Touch",
    "unanswered": [],
    "events": 7,
    "said": "panic: no port",
    "behind": "",
    "met": True,
    "sent": {"Touch": 5},
}


@cache
def protocol() -> Protocol:
    """Return the vexide protocol, changed: FAR presumes ON_IT, which presumes ROOT."""
    usual = protocols.load("vexide")
    rests = {ON_IT: (ROOT,), FAR: (ON_IT,)}
    changed = {
        name: dataclasses.replace(entry, presumes=rests.get(name, ()))
        for name, entry in usual.requirements.items()
    }
    return dataclasses.replace(usual, requirements=changed)


def settle(results: list[dict[str, Any]], known: Protocol | None = None) -> None:
    following.settle(results, known or protocol())


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
    """Return the causes of results; a requirement has the worst verdict of its tests."""
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
