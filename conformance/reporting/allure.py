"""Describes tests to allure-pytest, which writes the results.

The package allure is imported only if a user asks for its results.
"""

import contextlib
import json
from pathlib import Path

import pytest

from conformance.definitions.protocol import Protocol, Role
from conformance.evidence import Result
from conformance.reporting import ladder
from conformance.reporting.text import make_visible, one_line
from conformance.reporting.wording import Report, properties

_SEVERITY = {"must": "critical", "should": "normal", "may": "minor"}
_STEPS = 60  # messages of a session that become steps; the attachment has all messages
_CATEGORIES = (
    ("Violations (must)", "failed", ""),
    ("Warnings (should)", "passed", "warn"),
    ("Known failures", "skipped", "known"),
    ("Inconclusive", "skipped", "inconclusive"),
    ("Not exercised", "skipped", "not-exercised"),
    ("Not applicable", "skipped", "not-applicable"),
)


def is_active(config: pytest.Config) -> bool:
    """True if allure-pytest writes results of this run."""
    return bool(config.getoption("allure_report_dir", None))


def describe(result: Result, protocol: Protocol, role: Role, folder: Path) -> None:
    """Describe the test that pytest runs now; transcripts are below ``folder``."""
    import allure

    requirement = protocol.requirement(result.requirement)
    _, bracket, parameter = result.id.partition("[")
    purpose = result.purpose.removesuffix(".")
    allure.dynamic.title(make_visible(f"{purpose} [{parameter}" if bracket else purpose, keep=""))
    allure.dynamic.epic(str(role))
    allure.dynamic.feature(requirement.area)
    allure.dynamic.story(requirement.id)
    allure.dynamic.severity(_SEVERITY[requirement.level])
    allure.dynamic.tag(requirement.level)
    if protocol.address:
        allure.dynamic.link(protocol.address, name=f"Specification, section {requirement.section}")
    section = f"{requirement.id} ({requirement.level}, section {requirement.section})"
    lines = (f"{section}: {requirement.text}", purpose, f"Reproduce: {result.reproduce}")
    allure.dynamic.description("\n\n".join(f"    {one_line(line, 2000)}" for line in lines))
    own = result.own_evidence
    if result.verdict != "pass" and result.files.transcript:
        _steps(folder / result.files.transcript, role.name, own.place.event if own else None)
    for name in ("transcript", "counterexample"):
        path = getattr(result.files, name)
        if path and (folder / path).is_file():
            allure.attach.file(str(folder / path), name, "text/plain", "jsonl")
    allure.attach(make_visible(result.reproduce), "reproduce", allure.attachment_type.TEXT)


def _steps(path: Path, role: str, offending: int | None) -> None:
    """Add the messages of a session as steps; the offending message is a failed step."""
    import allure

    marks: ladder.Marks = {} if offending is None else {offending: []}
    steps = ladder.read(path, role, marks).steps
    last = next((n for n, step in enumerate(steps) if step.index == offending), len(steps))
    for step in steps[max(0, last - _STEPS + 5) : last + 5][:_STEPS]:
        text = one_line(f"{step.sender or ''} {step.label} {step.preview}".strip(), 200)
        with contextlib.suppress(AssertionError), allure.step(text):
            assert step.index != offending, "the offending message"


def write_context(report: Report, folder: Path) -> None:
    """Write the environment of the run and the categories of its verdicts."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [
        f"{key}={one_line(value, 500).replace(chr(92), chr(92) * 2)}\n"
        for key, value in properties(report)
    ]
    (folder / "environment.properties").write_text("".join(lines), encoding="utf-8")
    entries = [
        {
            "name": name,
            "matchedStatuses": [status],
            **({"messageRegex": f"(?s).*{word}: .*"} if word else {}),
        }
        for name, status, word in _CATEGORIES
    ]
    (folder / "categories.json").write_text(json.dumps(entries, indent=1), encoding="utf-8")
