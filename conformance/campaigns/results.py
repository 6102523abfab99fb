"""The results of a campaign on disk: archive and summary of each finished task."""

import contextlib
import io
import json
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.campaigns.plan import Task
from conformance.campaigns.task import CONFIGURATION, Outcome
from conformance.conclusions import stored_reports
from conformance.configuration import ConfigurationError
from conformance.evidence import generalize
from conformance.exits import INCONCLUSIVE

_MAX_CAUSES = 50  # causes of a run that a summary keeps


@dataclass(frozen=True)
class Results:
    """The folder of a campaign."""

    folder: Path

    @property
    def plan(self) -> Path:
        return self.folder / "plan.json"

    def configuration(self, program: str) -> Path:
        """The conformance.toml of a program, with which a run is repeated on this machine."""
        return self.folder / "programs" / f"{program}.toml"

    def has_ended(self, task: Task) -> bool:
        """True if a task has ended, with or without a report."""
        return self._summary(task).is_file()

    def has_report(self, task: Task) -> bool:
        """True if a task has ended with a report."""
        return self.has_ended(task) and not self.summary(task)["ended"]

    def summary(self, task: Task) -> dict[str, Any]:
        """The summary of a task that has ended."""
        summary: dict[str, Any] = json.loads(self._summary(task).read_text("utf-8"))
        return summary

    def summaries(self, tasks: list[Task]) -> Iterator[dict[str, Any]]:
        """Yield the summaries of all tasks that have ended."""
        for task in tasks:
            if self.has_ended(task):
                yield self.summary(task)

    def prepare(self, tasks: list[Task]) -> None:
        """Make the folders, and write the configuration of each program."""
        (self.folder / "results").mkdir(parents=True, exist_ok=True)
        (self.folder / "programs").mkdir(exist_ok=True)
        for task in tasks:
            if task.configuration:
                self.configuration(task.program).write_text(task.configuration, encoding="utf-8")

    def keep(self, task: Task, outcome: Outcome) -> dict[str, Any]:
        """Write the outcome of a task to the folder; return its summary.

        Each file is replaced as a whole, so a reader never sees a part.
        """
        archive = self.folder / "results" / f"{task.id}.tar.gz"
        if outcome.packed:
            temporary = archive.with_suffix(".tmp")
            temporary.write_bytes(outcome.packed)
            temporary.replace(archive)
        summary = self._summary_of(task, outcome)
        temporary = self._summary(task).with_suffix(".tmp")
        temporary.write_text(json.dumps(summary) + "\n", encoding="utf-8")
        temporary.replace(self._summary(task))
        return summary

    def _summary(self, task: Task) -> Path:
        return self.folder / "results" / f"{task.id}.json"

    def _summary_of(self, task: Task, outcome: Outcome) -> dict[str, Any]:
        reports = _reports(outcome.packed)
        summary: dict[str, Any] = {
            "task": task.id,
            "program": task.program,
            "role": task.role,
            "seed": task.seed,
            "code": outcome.code if reports else INCONCLUSIVE,
            "seconds": outcome.seconds,
            "ended": outcome.ended,
            "requirements": {},
            "causes": [],
        }
        if not reports:
            summary["ended"] = outcome.ended or f"no report: {outcome.output.strip()[-400:]}"
        for report in reports:
            # A pair has a report for each of its roles.
            role = f"{report['iut']['role']}: " if len(reports) > 1 else ""
            for entry in report["requirements"]:
                summary["requirements"][role + entry["id"]] = entry["verdict"]
            summary["causes"] += [
                {
                    "requirements": [role + name for name in cause["requirements"]],
                    "verdict": cause["verdict"],
                    "what": cause["what"],
                    "alike": generalize(cause["what"]),
                    "reproduce": self._local_command(task, outcome, cause["reproduce"]),
                }
                for cause in report["causes"][:_MAX_CAUSES]
            ]
        return summary

    def _local_command(self, task: Task, outcome: Outcome, command: str) -> str:
        """The command that repeats a failure on this machine, without the cluster."""
        if not task.configuration:
            return command
        name = str(self.configuration(task.program))
        return command.replace(f"{outcome.folder}/{CONFIGURATION}", name).replace(
            "conformance run", f"conformance run --config {name}", 1
        )


def _reports(packed: bytes) -> list[dict[str, Any]]:
    """The reports in a packed folder that can be read; a pair has one for each role."""
    found = []
    with (
        contextlib.suppress(tarfile.TarError, EOFError, OSError),
        tarfile.open(fileobj=io.BytesIO(packed), mode="r:gz") as archive,
    ):
        for member in archive.getmembers():
            file = archive.extractfile(member) if _is_report(member) else None
            with contextlib.suppress(ValueError, ConfigurationError):
                found += [stored_reports.check_report(json.load(file), member.name)] if file else []
    return found


def _is_report(member: tarfile.TarInfo) -> bool:
    return member.isfile() and Path(member.name).name == "report.json"
