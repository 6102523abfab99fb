"""Writes a report for its readers: a page, JUnit XML, Allure, a terminal, GitHub Actions.

Everything here is a function of the report (``reports/report.schema.json``) and of the transcripts
beside it. All text in a report may come from an IUT and is treated as hostile.
"""

import json
from pathlib import Path

from conformance.reporting.allure import write_allure
from conformance.reporting.github import github_annotations, github_step_summary
from conformance.reporting.junit import write_junit
from conformance.reporting.page import write_page
from conformance.reporting.summary import terminal_summary
from conformance.reporting.wording import Report

__all__ = [
    "Report",
    "github_annotations",
    "github_step_summary",
    "terminal_summary",
    "write",
    "write_allure",
    "write_junit",
    "write_page",
]


def write(report: Report, folder: Path, allure: str = "") -> None:
    """Write every file of a report to its folder, and Allure results to another if one is named."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(report, indent=1)
    (folder / "report.json").write_text(text + "\n", encoding="utf-8")
    write_page(report, folder)
    write_junit(report, folder)
    if allure:
        write_allure(report, folder, Path(allure))
