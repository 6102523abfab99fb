"""Whether the transcripts of a run show what it has found: no less, and of the sound no more."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from conformance.judging import recordings
from conformance.judging.judge import Finding

_CONCLUDED = "expected "  # how a test's conclusion begins, which takes more than a transcript


def unshown(report: Mapping[str, Any], folder: Path) -> Iterator[str]:
    """The findings of the judge that are not at their event in the transcript that is linked.

    Such a one is told by its requirement, its message and where it should be; and so is a cause
    without a transcript or without a command that repeats it.
    """
    judged = [each for each in report["findings"] if not each["message"].startswith(_CONCLUDED)]
    linked = {each["transcript"] for each in judged}
    recorded = {path: recordings.read(folder / path) for path in linked}
    for finding in judged:
        path, message, event = finding["transcript"], finding["message"], finding["event"]
        again = recorded[path]
        # A transcript that is kept short says so: behind a gap nothing is judged in its order.
        if again.capture.gaps and (event is None or event > again.capture.gaps[0]):
            continue
        if (finding["requirement"], message, event) not in map(_key, again.findings):
            yield f"{finding['requirement']}: {message} is not found in {path}, event {event}"
    for cause in report["causes"]:
        if not cause["transcript"] or not cause["reproduce"]:
            yield f"{cause['requirement'] or cause['kind']}: nothing shows or repeats it"


def alarms(folder: Path) -> Iterator[str]:
    """What is found in any transcript of a run in which nothing was."""
    for path in sorted(folder.glob("transcripts/*.jsonl")):
        for finding in recordings.read(path).findings:
            yield f"{finding.requirement}: {finding.message} is found in {path.name}"


def _key(finding: Finding) -> tuple[str, str, int | None]:
    return finding.requirement, finding.message, finding.event
