"""The words, symbols and order of verdicts and requirements in every kind of report."""

import shlex
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from conformance.exits import SUITE_FAILED
from conformance.running.selection import LEFT_OUT

Report: TypeAlias = Mapping[str, Any]
"""A report as ``reports/report.schema.json`` describes it."""

# In the order in which reports list them: violations, undecided requirements, passed ones.
SYMBOLS = {
    "fail": "✗",
    "warn": "!",
    "inconclusive": "?",
    "not-exercised": "○",
    "known": "≈",
    "pass": "✓",
    "not-applicable": "–",
}
VERDICTS = tuple(SYMBOLS)

WORDS = {
    "fail": "failed",
    "warn": "warned",
    "inconclusive": "inconclusive",
    "not-exercised": "not exercised",
    "known": "known to fail",
    "pass": "passed",
    "not-applicable": "not applicable",
}

RUN_WORDS = {
    "conformant": "Conformant",
    "nonconformant": "Not conformant",
    "inconclusive": "Inconclusive",
}
RUN_SYMBOLS = {"conformant": "✓", "nonconformant": "✗", "inconclusive": "?"}


def run_word(report: Report) -> str:
    """The verdict of a run in words; a selection is named as such."""
    if report["interrupted"]:
        return "Interrupted"
    if report["exit_code"] == SUITE_FAILED:
        return "The suite failed"
    word = RUN_WORDS[report["verdict"]]
    if report.get("live"):
        return f"{word} in this session"
    return f"{word} in this selection" if report["selection"] else word


def sort_worst_first(entries: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Requirements or tests sorted by verdict; within a verdict they keep their order."""
    return sorted(entries, key=lambda entry: VERDICTS.index(entry["verdict"]))


def area(requirement: str) -> str:
    """The area of a requirement: the part of its id before the dot."""
    return requirement.partition(".")[0]


def count_text(counts: Mapping[str, int]) -> str:
    """The verdicts that occurred, with their numbers: ``2 failed, 58 passed``."""
    return ", ".join(f"{counts[v]} {WORDS[v]}" for v in VERDICTS if counts[v]) or "none"


def iut_address(report: Report) -> str:
    """The command or address of the IUT; the IUT's name in a live session."""
    iut = report["iut"]
    if iut["command"]:
        return shlex.join(iut["command"])
    return str(iut["address"] or (iut["name"] if report.get("live") else "the reference mock"))


def properties(report: Report) -> list[tuple[str, str]]:
    """The IUT, the run and its outcome, as pairs of name and value."""
    return [
        ("suite.version", report["suite"]["version"]),
        ("iut.name", report["iut"]["name"]),
        ("iut.role", report["iut"]["role"]),
        ("iut.reached", iut_address(report)),
        ("seed", str(report["seed"])),
        ("verdict", run_word(report)),
        ("exit_code", str(report["exit_code"])),
    ]


def untestable_count(report: Report) -> int:
    """The number of statements that nothing can test."""
    return sum(entry["tested"] == "no" for entry in report["requirements"])


def group_by_reason(report: Report, verdict: str = "not-exercised") -> list[tuple[str, list[str]]]:
    """The reasons of the requirements with a verdict and their ids, most frequent first.

    Statements that nothing can test, or that a selection leaves out, are not included.
    """
    groups: dict[str, list[str]] = {}
    for requirement in report["requirements"]:
        left_out = requirement["reason"] == LEFT_OUT or requirement["tested"] == "no"
        if requirement["verdict"] == verdict and not left_out:
            groups.setdefault(requirement["reason"], []).append(requirement["id"])
    return sorted(groups.items(), key=lambda group: -len(group[1]))
