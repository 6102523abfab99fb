"""Compare two reports of one role: regressions, fixes, and requirements no longer decided.

OLD and NEW are report.json files, or folders that contain one, or two campaigns. The exit code is 0
without a regression, 1 with a regression, and 3 if one of the two runs was itself inconclusive.
With --strict the exit code is also 1 if a requirement is no longer decided.
"""

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from conformance.campaigns import summary
from conformance.conclusions import stored_reports
from conformance.conclusions.comparison import common_role, compare
from conformance.configuration import ConfigurationError
from conformance.exits import CONFORMANT, INCONCLUSIVE, NONCONFORMANT
from conformance.reporting import changes
from conformance.reporting.table_page import write_tables
from conformance.reporting.text import one_line

CAMPAIGN = "campaign.json"


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("old", metavar="OLD", type=Path)
    parser.add_argument("new", metavar="NEW", type=Path)
    parser.add_argument(
        "--strict", action="store_true", help="count requirements no longer decided as regressions"
    )
    parser.add_argument("--markdown", action="store_true", help="print Markdown")
    parser.add_argument("--page", metavar="FILE", type=Path, help="also write an HTML page")


def execute(args: argparse.Namespace) -> int:
    if all((folder / CAMPAIGN).is_file() for folder in (args.old, args.new)):
        return _campaigns(args.old, args.new)
    old, new = stored_reports.load(args.old), stored_reports.load(args.new)
    role = common_role([old, new])
    if not role:
        roles = f"{old['iut']['role']} and {new['iut']['role']}"
        raise ConfigurationError(f"expected two reports of one role; these are of {roles}")
    found = compare(old, new, str(args.old))
    groups = asdict(found)
    if args.markdown:
        print(f"## {role}: {args.new} since {args.old}\n")
    for line in (changes.markdown if args.markdown else changes.lines)(groups):
        print(line)
    if args.page:
        lead = [f"{role}: {new['iut']['name']}", f"Since {args.old}: {old['headline']}"]
        lead.append(f"In {args.new}: {new['headline']}")
        write_tables(args.page, f"Changes of {new['iut']['name']}", lead, changes.tables(groups))
    undecided = [r for r in (old, new) if r["verdict"] == "inconclusive"]
    if found.failure_text(args.strict):
        return NONCONFORMANT
    if undecided:
        print(f"inconclusive: {one_line(undecided[0]['headline'], 300)}")
        return INCONCLUSIVE
    return CONFORMANT


def _campaigns(old: Path, new: Path) -> int:
    """Compare two campaigns; print a line for each requirement whose worst verdict changed."""
    both = [json.loads((folder / CAMPAIGN).read_text("utf-8")) for folder in (old, new)]
    lines = summary.compare(*both)
    for line in lines or ["no requirement has another verdict"]:
        print(one_line(line, 300))
    if any(line.startswith("regression") for line in lines):
        return NONCONFORMANT
    undecided = any(campaign["exit_code"] == INCONCLUSIVE for campaign in both)
    return INCONCLUSIVE if undecided else CONFORMANT
