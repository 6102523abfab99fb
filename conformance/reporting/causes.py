"""The causes of a report, with one entry for each mistake of the IUT."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from conformance.reporting.wording import Report

Entry = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Cause:
    """A cause, with the test that shows it best.

    - ``anchor``: the fragment of the cause on the page
    - ``entry``: the cause as in the report
    - ``path``: the path to the wrong member of the offending message
    - ``others``: the ids of further tests that show the cause
    - ``also``: further requirements that the cause violates
    """

    anchor: str
    entry: Entry
    requirement: Entry | None
    test: Entry | None
    path: tuple[str | int, ...]
    others: tuple[str, ...]
    also: tuple[str, ...]


def causes(report: Report, *verdicts: str) -> list[Cause]:
    """The causes with these verdicts, in the order of the report."""
    found = [*report["causes"], *_known_failures(report)]
    return [
        _cause(report, cause, number)
        for number, cause in enumerate(found)
        if cause["verdict"] in verdicts
    ]


def _cause(report: Report, cause: Entry, number: int) -> Cause:
    tests = {test["id"]: test for test in report["tests"]}
    requirement = next((e for e in report["requirements"] if e["id"] == cause["requirement"]), None)
    shown = [tests[name] for name in cause["tests"] if name in tests]
    best = next((test for test in shown if test["transcript"] == cause["transcript"]), None)
    best = best or next(iter(shown), None)
    return Cause(
        cause["requirement"] or f"{cause['kind']}-{number}",
        cause,
        requirement,
        best,
        path_of(report, cause),
        tuple(test["id"] for test in shown if test is not best),
        tuple(cause["requirements"][1:]),
    )


def path_of(report: Report, cause: Entry) -> tuple[str | int, ...]:
    """The path to the wrong member of the offending message; empty if unknown."""
    about = cause["requirement"], cause["transcript"], cause["event"]
    paths = (
        tuple(found.get("path", ()))
        for found in report["findings"]
        if (found["requirement"], found["transcript"], found["event"]) == about
    )
    return next(filter(None, paths), ())


def _known_failures(report: Report) -> Iterator[dict[str, Any]]:
    """Yield each known failure in the form of a cause."""
    for entry in report["requirements"]:
        if entry["verdict"] != "known":
            continue
        tests = [test for test in report["tests"] if test["requirement"] == entry["id"]]
        failed = [test for test in tests if test["verdict"] == "known"]
        nothing = {"transcript": None, "offending": None, "reproduce": ""}
        first: Entry = failed[0] if failed else nothing
        yield {
            "kind": "known",
            "requirement": entry["id"],
            "requirements": [entry["id"]],
            "verdict": entry["verdict"],
            "what": entry["reason"],
            "said": "",
            "tests": [test["id"] for test in failed],
            "consequences": [],
            "undecided": [],
            "culprit": None,
            "transcript": first["transcript"],
            "event": first["offending"],
            "reproduce": first["reproduce"],
            "replay": "",
        }
