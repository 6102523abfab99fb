"""Check that the transcripts of a run show exactly the findings of its report."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from conformance.judging import recordings
from conformance.judging.judge import Finding

# The beginning of a test's own conclusion, which a transcript alone does not show.
_CONCLUDED = "expected "


def unshown_findings(report: Mapping[str, Any], folder: Path) -> Iterator[str]:
    """Yield the findings and causes of a report that its transcripts do not show.

    A finding must be found again at its event in the linked transcript. A cause must have a
    transcript and a command that reproduces it.
    """
    judged = [each for each in report["findings"] if not each["message"].startswith(_CONCLUDED)]
    linked = {each["transcript"] for each in judged}
    recorded = {path: recordings.read(folder / path) for path in linked}
    for finding in judged:
        path, message, event = finding["transcript"], finding["message"], finding["event"]
        again = recorded[path]
        # In a shortened transcript, events after a gap are not judged in their order.
        if again.capture.gaps and (event is None or event > again.capture.gaps[0]):
            continue
        if (finding["requirement"], message, event) not in map(_key, again.findings):
            yield f"{finding['requirement']}: {message} was not found in {path}, event {event}"
    for cause in report["causes"]:
        if not cause["transcript"] or not cause["reproduce"]:
            yield f"{cause['requirement'] or cause['kind']}: it has no transcript or no command"


def alarms(folder: Path) -> Iterator[str]:
    """Yield the findings in transcripts of a run that reported no finding."""
    for path in sorted(folder.glob("transcripts/*.jsonl")):
        for finding in recordings.read(path).findings:
            yield f"{finding.requirement}: {finding.message} was found in {path.name}"


def _key(finding: Finding) -> tuple[str, str, int | None]:
    return finding.requirement, finding.message, finding.event
