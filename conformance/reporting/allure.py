"""Writes Allure results: the cases of a report, with their transcripts, and what was tested.

Only a violated must is `failed`, and only a run that decided nothing has a case that is `broken`:
a warning is `passed` with a message, whatever was not decided is `skipped`.
"""

import hashlib
import json
import shutil
import uuid
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from conformance.reporting.cases import ERROR, Case, cases
from conformance.reporting.text import one_line, visible
from conformance.reporting.wording import Report, properties

_STATUS = {
    "pass": "passed",
    "warn": "passed",
    "fail": "failed",
    ERROR: "broken",
}
_SEVERITY = {"must": "critical", "should": "normal", "may": "minor"}
_CATEGORIES = [
    {"name": "Violations (must)", "matchedStatuses": ["failed"]},
    {"name": "Nothing decided", "matchedStatuses": ["broken"]},
    {
        "name": "Warnings (should)",
        "matchedStatuses": ["passed"],
        "messageRegex": "(?s)warn: .*",
    },
    *(
        {
            "name": name,
            "matchedStatuses": ["skipped"],
            "messageRegex": f"(?s){verdict}: .*",
        }
        for verdict, name in (
            ("known", "Known failures"),
            ("inconclusive", "Inconclusive"),
            ("not-exercised", "Not exercised"),
            ("not-applicable", "Not applicable"),
        )
    ),
]


def write_allure(report: Report, folder: Path, to: Path) -> None:
    """Write results of a report, whose transcripts are below ``folder``, to the folder ``to``."""
    to.mkdir(parents=True, exist_ok=True)
    at = int(datetime.fromisoformat(report["started"]).timestamp() * 1000)
    for case in cases(report):
        result = _result(report, case, at)
        at = result["stop"]
        result["attachments"] = list(_attached(case, folder, to))
        text = json.dumps(result, indent=1)
        (to / f"{result['uuid']}-result.json").write_text(text + "\n", encoding="utf-8")
    lines = [f"{key}={_property(value)}\n" for key, value in properties(report)]
    (to / "environment.properties").write_text("".join(lines), encoding="utf-8")
    (to / "categories.json").write_text(json.dumps(_CATEGORIES, indent=1), encoding="utf-8")


def _result(report: Report, case: Case, at: int) -> dict[str, Any]:
    role = report["iut"]["role"]
    full = visible(f"{role}.{case.suite}: {case.name}", keep="")
    identity = hashlib.sha256(full.encode("utf-8")).hexdigest()[:32]
    decided = case.requirement or {}
    labels = {
        "framework": "conformance",
        "language": "any",
        "parentSuite": role,
        "suite": case.suite,
        "epic": role,
        "feature": case.suite,
        "story": decided.get("id", case.name),
        "severity": _SEVERITY.get(decided.get("level", ""), "normal"),
        "tag": decided.get("level", ""),
    }
    said = f"{case.verdict}: {case.reason}" if case.verdict != "pass" else ""
    return {
        "uuid": str(uuid.uuid4()),
        "historyId": identity,
        "testCaseId": identity,
        "fullName": full,
        "name": visible(case.name, keep=""),
        "status": _STATUS.get(case.verdict, "skipped"),
        "statusDetails": {
            "known": case.verdict == "known",
            "message": visible(said),
            "trace": visible(case.text),
        },
        "stage": "finished",
        "description": _description(case),
        "labels": [
            {"name": name, "value": visible(value, keep="")}
            for name, value in labels.items()
            if value
        ],
        "start": at,
        "stop": at + int(case.duration_s * 1000),
    }


def _description(case: Case) -> str:
    """In Markdown; a code block keeps text from an IUT from being markup."""
    parts = []
    if case.requirement:
        entry = case.requirement
        parts.append(
            f"{entry['id']} ({entry['level']}, section {entry['section']}): {entry['text']}"
        )
    if case.test:
        parts += [case.test["purpose"], f"Reproduce: {case.test['reproduce']}"]
    return "\n\n".join(f"    {one_line(part, 2000)}" for part in parts)


def _attached(case: Case, folder: Path, to: Path) -> Iterator[dict[str, str]]:
    if case.test is None:
        return
    for kind in ("transcript", "counterexample"):
        path = case.test[kind] and (folder / case.test[kind]).resolve()
        if path and path.is_relative_to(folder.resolve()) and path.is_file():
            name = f"{uuid.uuid4()}-attachment.jsonl"
            shutil.copyfile(path, to / name)
            yield {"name": kind, "source": name, "type": "text/plain"}
    name = f"{uuid.uuid4()}-attachment.txt"
    (to / name).write_text(visible(case.test["reproduce"]) + "\n", encoding="utf-8")
    yield {"name": "reproduce", "source": name, "type": "text/plain"}


def _property(value: str) -> str:
    """A value of a properties file, in which a backslash begins an escape."""
    return one_line(value, 500).replace("\\", "\\\\")
