"""A report as test cases, for JUnit XML, which knows only test cases.

A requirement can also be violated in a session of another requirement's test. If no test of its own
shows the verdict, the requirement becomes a test case. A nonconformant run always has a case that
failed or is in error; a conformant run has none.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from conformance.reporting.wording import Report, area, run_word

ERROR = "error"
"""The result of a case that should have decided something of the IUT, and could not."""


@dataclass(frozen=True, slots=True)
class Case:
    """A case: its group, its name, a verdict of the report or ``ERROR``, and its texts.

    ``test`` and ``requirement`` are the entries of the report that it stands for, if any.
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
        said = f"{run_word(report)}: {report['headline']}"
        found.append(Case("run", "verdict", verdict, said, said))
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
