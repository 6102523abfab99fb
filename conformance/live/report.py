"""What each of two peers that were watched has shown: a report a side, on the usual page."""

import datetime
import shutil
from pathlib import Path
from typing import Any

from conformance.configuration import Configuration
from conformance.live.watch import Watch
from conformance.outcome import Run
from conformance.report import build
from conformance.reporting.files import write
from conformance.results import Result
from conformance.verdicts import Verdict, violated

SHOWN = 16 * 1024 * 1024  # bytes of a recording that go into a report


def write_reports(
    watch: Watch,
    record: Path,
    folder: Path,
    started: datetime.datetime,
    invocation: str,
    names: dict[str, str],
) -> dict[str, dict[str, Any]]:
    """Write the report of each role to a folder of its name; returns them by role.

    ``names`` says what plays each role, where that is known.
    """
    return {
        role: _write(watch, record, folder / role, started, invocation, role, names.get(role, ""))
        for role in watch.roles
    }


def _write(
    watch: Watch,
    record: Path,
    folder: Path,
    started: datetime.datetime,
    invocation: str,
    role: str,
    name: str,
) -> dict[str, Any]:
    protocol = watch.protocol
    transcript = "transcripts/session.jsonl"
    (folder / "transcripts").mkdir(parents=True, exist_ok=True)
    if record.stat().st_size <= SHOWN:
        shutil.copyfile(record, folder / transcript)
    else:
        with record.open(encoding="utf-8") as lines, (folder / transcript).open("w") as shown:
            shown.writelines(lines.readlines(SHOWN))
    result = Result(
        "session",
        "Everything that passed between the two peers",
        protocol.schema_requirement,
        transcript=transcript,
        reproduce=f"conformance check --role {role} {record}",
        exercised=sorted(watch.exercised[role]),
    )
    for seen in watch.about(role):
        finding = seen.finding
        result.findings.append(
            {
                "requirement": finding.requirement,
                "message": finding.message + (f" ({seen.times} times)" if seen.times > 1 else ""),
                "transcript": transcript,
                "event": finding.event,
                "path": list(finding.path),
                "concluded": False,
                "at_death": False,
            }
        )
        if finding.requirement == result.requirement and result.verdict == Verdict.PASS:
            result.verdict = violated(protocol.requirement(finding.requirement).level)
            result.detail, result.offending = finding.message, finding.event
    if not watch.messages[role]:
        result.verdict, result.detail = Verdict.NOT_EXERCISED, "no message of it has passed"
    configuration = Configuration(
        protocol.role(role), name=name or f"{role}, live", invocation=invocation
    )
    run = Run(configuration, started, live=True, tests=[result.to_json()])
    report = build(run)
    write(report, folder)
    return report
