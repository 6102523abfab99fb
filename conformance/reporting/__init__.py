"""Writes a report for its readers: a page, JUnit XML, a terminal, GitHub Actions.

Everything here is a function of the report (``reports/report.schema.json``) and of the transcripts
beside it. All text in a report may come from an IUT and is treated as hostile.
"""

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
    "write_junit",
    "write_page",
]
