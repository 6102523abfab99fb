"""Writes every file of a report."""

import json
from pathlib import Path

from conformance.reporting.junit import write_junit
from conformance.reporting.page import write_page
from conformance.reporting.wording import Report


def write(report: Report, folder: Path) -> None:
    """Write every file of a report to its folder."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(report, indent=1)
    (folder / "report.json").write_text(text + "\n", encoding="utf-8")
    write_page(report, folder)
    write_junit(report, folder)
