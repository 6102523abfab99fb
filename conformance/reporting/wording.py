"""The words, symbols and order in which every kind of report shows verdicts and requirements."""

import shlex
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

Report: TypeAlias = Mapping[str, Any]
"""A report as ``reports/report.schema.json`` describes it."""

# In the order in which a reader wants them: what is wrong, what is open, what is fine.
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


def worst_first(entries: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Requirements or tests by verdict; within a verdict they keep their order."""
    return sorted(entries, key=lambda entry: VERDICTS.index(entry["verdict"]))


def area(requirement: str) -> str:
    """The area of a requirement: what stands before the dot of its id."""
    return requirement.partition(".")[0]


def counted(counts: Mapping[str, int]) -> str:
    """The verdicts that occurred, with their numbers: ``2 failed, 58 passed``."""
    return ", ".join(f"{counts[v]} {WORDS[v]}" for v in VERDICTS if counts[v]) or "none"


def reached(iut: Mapping[str, Any]) -> str:
    """How the IUT was reached: its command line or its address."""
    if iut["command"]:
        return shlex.join(iut["command"])
    return str(iut["address"] or "the reference mock")


def by_reason(report: Report, verdict: str = "not-exercised") -> list[tuple[str, list[str]]]:
    """The reasons of all requirements of a verdict, the most frequent first, with their ids."""
    groups: dict[str, list[str]] = {}
    for requirement in report["requirements"]:
        if requirement["verdict"] == verdict:
            groups.setdefault(requirement["reason"], []).append(requirement["id"])
    return sorted(groups.items(), key=lambda group: -len(group[1]))
