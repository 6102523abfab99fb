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
    """Mark known failures in the report's entries, and return the stale claims.

    ``judged`` returns whether the run judged a requirement as fully as a run of all tests.
    """
    stale: list[dict[str, str]] = []
    for name, known in claims.items():
        entry = next((entry for entry in requirements if entry["id"] == name), None)
        failed = _failed_tests(name, results)
        texts = [result["detail"] for result in failed]
        texts += [finding["message"] for finding in findings if finding["requirement"] == name]
        why = _apply_claim(entry, known, today, [result["id"] for result in failed], texts)
        if entry:
            entry["known"] = known.reason
        if why and (texts or judged(name)):
            stale.append({"requirement": name, "why": why})
    _mark(requirements, results, findings)
    return stale


def prepare(file: Path) -> None:
    """Raise ConfigurationError if the list cannot be written at the end of the run."""
    if file.exists():
        raise ConfigurationError(
            f"--write-known-failures {file}: the file exists already and is not overwritten"
        )
    if not file.absolute().parent.is_dir():
        raise ConfigurationError(f"--write-known-failures {file}: there is no such folder")


def write(report: Mapping[str, Any], file: Path) -> int:
    """Write an entry for each violated requirement of a report; return their number.

    An entry names the failed tests, so that it does not hide the failure of another test.
    """
    day = report["started"][:10]
    lines = ["[known-failures]"]
    entries = [e for e in report["requirements"] if e["verdict"] in VIOLATIONS]
    for entry in entries:
        tests = [test["id"] for test in _failed_tests(entry["id"], report["tests"])]
        members = f'reason = "known since {day}", tests = {json.dumps(tests)}'
        # JSON escapes line breaks in output of the IUT, which would end the comment.
        lines += [f"# {json.dumps(entry['reason'])[:300]}", f'"{entry["id"]}" = {{ {members} }}']
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return len(entries)


def _failed_tests(
    requirement: str, results: Sequence[Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    return [
        result
        for result in results
        if result["requirement"] == requirement and result["verdict"] in VIOLATIONS
    ]


def _apply_claim(
    entry: dict[str, Any] | None,
    known: KnownFailure,
    today: datetime.date,
    failed: Sequence[str],
    texts: Sequence[str],
) -> str | None:
    """Mark a requirement as a known failure, or return why the claim is stale.

    ``failed`` are the names of its failed tests; ``texts`` are those of these tests and of its
    findings.
    """
    if entry is None:
        return "does not bind this role"
    if known.until and datetime.date.fromisoformat(known.until) < today:
        return f"expired on {known.until}"
    if entry["verdict"] == Verdict.PASS:
        return "passes now"
    if entry["verdict"] not in VIOLATIONS:
        return None
    if other := next((text for text in texts if known.message not in text), ""):
        return f"fails in another way: {other}"
    if known.tests is not None and (more := [name for name in failed if name not in known.tests]):
        return f"fails in another test: {more[0]}"
    entry["reason"] = f"{known.reason} ({entry['reason']})"
    entry["verdict"] = Verdict.KNOWN
    return None


def _mark(
    requirements: Sequence[Mapping[str, Any]],
    results: Sequence[dict[str, Any]],
    findings: Sequence[dict[str, Any]],
) -> None:
    """Give the tests and findings of known failures the verdict `known`, too."""
    known = {entry["id"] for entry in requirements if entry["verdict"] == Verdict.KNOWN}
    for entry in (*results, *findings):
        if entry["requirement"] in known and entry["verdict"] in VIOLATIONS:
            entry["verdict"] = Verdict.KNOWN
