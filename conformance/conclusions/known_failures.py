"""The list of known failures: compared with a run, or written from a run."""

import datetime
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from conformance.configuration import ConfigurationError, KnownFailure
from conformance.verdicts import VIOLATIONS, Verdict


def apply(
    claims: Mapping[str, KnownFailure],
    today: datetime.date,
    requirements: Sequence[dict[str, Any]],
    results: Sequence[dict[str, Any]],
    findings: Sequence[dict[str, Any]],
    judged: Callable[[str], bool],
) -> list[dict[str, str]]:
    """Mark what fails as it is known to; the claims that do not hold, as report.json has them.

    ``judged`` says whether a run says as much of a requirement as a whole one would.
    """
    stale: list[dict[str, str]] = []
    for name, known in claims.items():
        entry = next((entry for entry in requirements if entry["id"] == name), None)
        said = _statements_about(name, results, findings)
        why = _claim(entry, known, today, said)
        if entry:
            entry["known"] = known.reason
        if why and (said or judged(name)):
            stale.append({"requirement": name, "why": why})
    _mark(requirements, results, findings)
    return stale


def prepare(file: Path) -> None:
    """Raise ConfigurationError where the list cannot be written later."""
    if file.exists():
        raise ConfigurationError(
            f"--write-known-failures {file}: exists already, and is left as is"
        )
    if not file.absolute().parent.is_dir():
        raise ConfigurationError(f"--write-known-failures {file}: there is no such folder")


def write(report: Mapping[str, Any], file: Path) -> int:
    """Write every violated requirement of a report as an entry; how many there are."""
    day = report["started"][:10]
    lines = ["[known-failures]"]
    entries = [e for e in report["requirements"] if e["verdict"] in ("fail", "warn")]
    for entry in entries:
        # Nothing that the IUT has said may end the comment.
        said = json.dumps(entry["reason"])[:300]
        lines += [f"# {said}", f'"{entry["id"]}" = {{ reason = "known since {day}" }}']
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return len(entries)


def _claim(
    entry: dict[str, Any] | None, known: KnownFailure, today: datetime.date, said: Sequence[str]
) -> str | None:
    """Mark a requirement as known to fail, by what its failed tests and findings have ``said``.

    Returns why the claim does not hold, if so.
    """
    if entry is None:
        return "does not bind this role"
    if known.until and datetime.date.fromisoformat(known.until) < today:
        return f"expired on {known.until}"
    if entry["verdict"] == Verdict.PASS:
        return "passes now"
    if entry["verdict"] not in VIOLATIONS:
        return None
    if other := next((text for text in said if known.message not in text), ""):
        return f"fails in another way: {other}"
    entry["reason"] = f"{known.reason} ({entry['reason']})"
    entry["verdict"] = Verdict.KNOWN
    return None


def _statements_about(
    requirement: str, results: Sequence[Mapping[str, Any]], findings: Sequence[Mapping[str, Any]]
) -> list[str]:
    """How each failed test and each finding says that a requirement is violated."""
    said = [
        result["detail"]
        for result in results
        if result["requirement"] == requirement and result["verdict"] in VIOLATIONS
    ]
    return said + [entry["message"] for entry in findings if entry["requirement"] == requirement]


def _mark(
    requirements: Sequence[Mapping[str, Any]],
    results: Sequence[dict[str, Any]],
    findings: Sequence[dict[str, Any]],
) -> None:
    """Give what shows a known failure that verdict, too, so that no reader takes it for news."""
    known = {entry["id"] for entry in requirements if entry["verdict"] == Verdict.KNOWN}
    for shown in (*results, *findings):
        if shown["requirement"] in known and shown["verdict"] in VIOLATIONS:
            shown["verdict"] = Verdict.KNOWN
