"""What is wrong with an IUT, one entry for each thing to mend."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from conformance.reporting.wording import Report

Entry = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Cause:
    """One thing that is wrong: a violated requirement, or a death, and the test that shows it best.

    ``event`` of ``transcript`` is the offending one, of which the member at ``path`` is wrong;
    ``others`` are the further tests that show it, by their ids; ``consequences`` the requirements
    that may have suffered from it. ``replay`` is empty where there is no counterexample.
    """

    anchor: str
    verdict: str
    what: str
    said: str
    requirement: Entry | None
    test: Entry | None
    transcript: str | None
    event: int | None
    path: tuple[str | int, ...]
    others: tuple[str, ...]
    consequences: tuple[str, ...]
    reproduce: str
    replay: str


def causes(report: Report, *verdicts: str) -> list[Cause]:
    """The causes of these verdicts, in the order of the report."""
    told = [*report["causes"], *_known(report)]
    return [
        _cause(report, cause, number)
        for number, cause in enumerate(told)
        if cause["verdict"] in verdicts
    ]


def _cause(report: Report, cause: Entry, number: int) -> Cause:
    tests = {test["id"]: test for test in report["tests"]}
    requirement = next((e for e in report["requirements"] if e["id"] == cause["requirement"]), None)
    shown = [tests[name] for name in cause["tests"] if name in tests]
    best = next((test for test in shown if test["transcript"] == cause["transcript"]), None)
    best = best or next(iter(shown), None)
    return Cause(
        cause["requirement"] or f"death-{number}",
        cause["verdict"],
        cause["what"],
        cause["said"],
        requirement,
        best,
        cause["transcript"],
        cause["event"],
        path_of(report, cause),
        tuple(test["id"] for test in shown if test is not best),
        tuple(dict.fromkeys(entry["requirement"] for entry in cause["consequences"])),
        cause["reproduce"],
        cause["replay"],
    )


def path_of(report: Report, cause: Entry) -> tuple[str | int, ...]:
    """What leads to the wrong member of the message that shows a cause; nothing if unknown."""
    about = cause["requirement"], cause["transcript"], cause["event"]
    paths = (
        tuple(found.get("path", ()))
        for found in report["findings"]
        if (found["requirement"], found["transcript"], found["event"]) == about
    )
    return next(filter(None, paths), ())


def _known(report: Report) -> Iterator[dict[str, Any]]:
    """A known failure, in the form of a cause."""
    for entry in report["requirements"]:
        if entry["verdict"] != "known":
            continue
        mine = [test for test in report["tests"] if test["requirement"] == entry["id"]]
        bad = [test for test in mine if test["verdict"] == "known"]
        first: Entry = bad[0] if bad else {"transcript": None, "offending": None, "reproduce": ""}
        yield {
            "requirement": entry["id"],
            "verdict": entry["verdict"],
            "what": entry["reason"],
            "said": "",
            "tests": [test["id"] for test in bad],
            "consequences": [],
            "transcript": first["transcript"],
            "event": first["offending"],
            "reproduce": first["reproduce"],
            "replay": "",
        }
