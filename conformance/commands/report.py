"""Show several reports on one page, or merge the parts of one run.

Each REPORT is a report.json, or a folder that contains one. The page has a table for each role,
with a row for each requirement and a column for each program, and links to the reports.

With --merge DIR the reports are parts of one run of one implementation: shards, or runs with
several seeds. The merged report is written to DIR, and its exit code is returned. Otherwise the
exit code is 0.
"""

import argparse
import json
import sys
from pathlib import Path

from conformance.conclusions import stored_reports
from conformance.conclusions.report_merge import merge_reports
from conformance.configuration import ConfigurationError
from conformance.exits import CONFORMANT
from conformance.reporting import side_by_side
from conformance.reporting.files import display_path, write
from conformance.reporting.summary import terminal_summary
from conformance.reporting.table_page import write_tables
from conformance.reporting.text import one_line
from conformance.reporting.wording import run_word

PAGE = "conformance-reports.html"


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("reports", metavar="REPORT", nargs="+", type=Path)
    parser.add_argument("--page", metavar="FILE", type=Path, help=f"default: {PAGE}")
    parser.add_argument("--badge", metavar="FILE", type=Path, help="write a badge for shields.io")
    parser.add_argument("--merge", metavar="DIR", type=Path, help="merge the reports into DIR")


def execute(args: argparse.Namespace) -> int:
    reports = [(path, stored_reports.load(path)) for path in args.reports]
    if args.merge:
        if args.merge.exists() and any(args.merge.iterdir()):
            raise ConfigurationError(f"--merge {args.merge}: expected a new or empty folder")
        whole = merge_reports(reports, args.merge)
        write(whole, args.merge)
        reports = [(args.merge, whole)]
        folder = display_path(args.merge)
        print(terminal_summary(whole, folder, colour=sys.stdout.isatty()))
    else:
        for path, report in reports:
            line = f"{run_word(report).upper()}  {report['iut']['role']}  {report['iut']['name']}"
            print(f"{one_line(line, 160)}  ({one_line(path)})")
    if args.badge:
        text = json.dumps(side_by_side.badge(report for _, report in reports))
        args.badge.write_text(text + "\n", encoding="utf-8")
    if args.page or not args.merge:
        page = args.page or Path(PAGE)
        title = f"{len(reports)} reports" if len(reports) > 1 else "One report"
        write_tables(page, title, [], side_by_side.tables(reports, page))
        print(f"Page: {page}")
    return int(reports[0][1]["exit_code"]) if args.merge else CONFORMANT
