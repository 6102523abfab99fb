"""The options that select tests of a run."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from conformance.conclusions import stored_reports
from conformance.configuration import Configuration, ConfigurationError
from conformance.definitions.protocol import UnknownName
from conformance.running.selection import SMOKE, Selection, is_matching


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options; ``selection_from`` evaluates them."""
    parser.add_argument("-k", dest="keyword", metavar="EXPR", help="only tests whose names match")
    parser.add_argument(
        "--requirement",
        metavar="ID",
        action="append",
        default=[],
        help="only tests that decide this requirement; * matches any text",
    )
    parser.add_argument(
        "--test",
        metavar="ID",
        action="append",
        default=[],
        help="only the test with this id, as in a report; can be repeated",
    )
    parser.add_argument(
        "--failed", action="store_true", help="only tests that failed in the latest run"
    )
    parser.add_argument("--shard", type=_shard, metavar="I/N", help="only part I of N equal parts")


def selection_from(
    args: argparse.Namespace, configuration: Configuration, folders: Sequence[str]
) -> Selection:
    """Return the selection; ``folders`` can contain reports of earlier runs.

    Raises ConfigurationError or UnknownName.
    """
    return Selection(
        args.keyword or "",
        _requirements(args, configuration),
        tuple(args.test),
        _failed_tests(configuration, folders) if args.failed else (),
        args.shard or "",
    )


def _requirements(args: argparse.Namespace, configuration: Configuration) -> tuple[str, ...]:
    """Return the patterns of ``--requirement``. Raises UnknownName if one matches nothing."""
    bound = [entry.id for entry in configuration.protocol.requirements_for(configuration.role)]
    for pattern in args.requirement:
        if not any(is_matching(id_, [pattern]) for id_ in bound):
            raise UnknownName(f"requirement of {configuration.role}", pattern, bound)
    return tuple(args.requirement)


def _failed_tests(configuration: Configuration, folders: Sequence[str]) -> tuple[str, ...]:
    """Return the tests that failed in the latest report. Raises ConfigurationError."""
    written = [file for folder in folders if (file := Path(folder, "report.json")).is_file()]
    reports = [stored_reports.load(file) for file in written]
    latest = max(
        (report for report in reports if report["iut"]["role"] == str(configuration.role)),
        key=lambda report: str(report["started"]),
        default=None,
    )
    if latest is None:
        raise ConfigurationError(f"--failed: found no earlier report of {configuration.role}")
    bad = ("fail", "warn")
    tests = {test["id"] for test in latest["tests"] if test["verdict"] in bad}
    tests |= {found["test"] for found in latest["findings"] if found["verdict"] in bad}
    if not tests:
        raise ConfigurationError("--failed: no test failed in the latest run")
    # If the smoke session failed, no other test ran.
    return tuple(sorted(tests - {None, SMOKE}))


def _shard(text: str) -> str:
    part, slash, parts = text.partition("/")
    if not (slash and part.isdigit() and parts.isdigit() and 1 <= int(part) <= int(parts)):
        raise argparse.ArgumentTypeError(f"expected I/N, such as 1/3; received {text!r}")
    return text
