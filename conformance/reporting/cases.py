"""Turns a report into test cases, for JUnit XML, which has only test cases.

A requirement can also be violated in a session of another requirement's test. If none of its own
tests has its verdict, the requirement becomes a test case. A nonconformant run always has a case
that failed or is in error; a conformant run has none.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from conformance.reporting.wording import Report, area, run_word

ERROR = "error"
"""The result of a case that should have decided something, and could not."""


@dataclass(frozen=True, slots=True)
class Case:
    """A case: its group, name, verdict or ``ERROR``, and texts.

    ``test`` and ``requirement`` are the entries of the report that it represents, if any.
    """

    suite: str
    name: str
    verdict: str
    reason: str
    text: str
    duration_s: float = 0.0
    test: Mapping[str, Any] | None = None
    requirement: Mapping[str, Any] | None = None


def cases(report: Report) -> list[Case]:
    """All cases of a report."""
    found = list(_cases(report))
    bad = any(case.verdict in ("fail", ERROR) for case in found)
    if report["verdict"] != "conformant" and not bad:
        verdict = "fail" if report["verdict"] == "nonconformant" else ERROR
        text = f"{run_word(report)}: {report['headline']}"
        found.append(Case("run", "verdict", verdict, text, text))
    return found


def _cases(report: Report) -> Iterator[Case]:
    for problem in report["problems"]:
        yield Case("suite", "fault of the suite", ERROR, problem, problem)
    smoke = report["smoke"]
    if smoke["verdict"] in ("fail", "inconclusive"):
        yield Case("smoke", "smoke session", ERROR, smoke["detail"], smoke["detail"])
    for entry in report["stale"]:
        yield Case("known-failures", entry["requirement"], "fail", entry["why"], entry["why"])
    requirements = {entry["id"]: entry for entry in report["requirements"]}
    decided: dict[str, set[str]] = {}
    for test in report["tests"]:
        decided.setdefault(test["requirement"], set()).add(test["verdict"])
        text = f"{test['purpose']}\n\n{test['detail']}\n\nReproduce: {test['reproduce']}"
        yield Case(
            area(test["requirement"]),
            test["id"],
            test["verdict"],
            test["detail"],
            text,
            test["duration_s"],
            test,
            requirements.get(test["requirement"]),
        )
    for requirement in report["requirements"]:
        if requirement["verdict"] not in decided.get(requirement["id"], ()):
            yield Case(
                area(requirement["id"]),
                requirement["id"],
                requirement["verdict"],
                requirement["reason"],
                f"{requirement['text']}\n\n{requirement['reason']}",
                requirement=requirement,
            )
