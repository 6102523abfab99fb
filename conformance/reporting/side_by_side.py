"""Compares several reports: a table for each role, and a badge."""

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from conformance.conclusions.coverage_report import unite_reports
from conformance.reporting import coverage_text
from conformance.reporting.tables import Cell, Table
from conformance.reporting.wording import Report, run_word

Named = tuple[Path, Report]
"""A report, and the file or folder that it was read from."""

_COLOURS = {"conformant": "brightgreen", "nonconformant": "red", "inconclusive": "yellow"}
_CELL_VERDICTS = {"conformant": "pass", "nonconformant": "fail", "inconclusive": "inconclusive"}


def tables(reports: Sequence[Named], page: Path) -> Iterator[Table]:
    """Yield a table of all programs, then tables of requirements for each role."""
    yield Table(
        "Programs",
        ("Report", "Role", "Program", "Verdict", "In one line"),
        tuple(
            (
                _link(path, report, page),
                Cell(report["iut"]["role"]),
                Cell(report["iut"]["name"]),
                Cell(run_word(report), _CELL_VERDICTS[report["verdict"]]),
                Cell(report["headline"]),
            )
            for path, report in reports
        ),
    )
    for role in dict.fromkeys(report["iut"]["role"] for _, report in reports):
        of_role = [report for _, report in reports if report["iut"]["role"] == role]
        yield _matrix(role, of_role)
        yield from _coverage_tables(role, of_role)


def _matrix(role: str, reports: Sequence[Report]) -> Table:
    verdicts = [{e["id"]: e["verdict"] for e in report["requirements"]} for report in reports]
    levels = {e["id"]: e["level"] for report in reports for e in report["requirements"]}
    return Table(
        role,
        ("Requirement", "Level", *(report["iut"]["name"] for report in reports)),
        tuple(
            (Cell(name), Cell(level), *(_verdict(of.get(name, "")) for of in verdicts))
            for name, level in levels.items()
        ),
    )


def _coverage_tables(role: str, reports: Sequence[Report]) -> Iterator[Table]:
    """Yield a table of the coverage of each side; the runs of a program are united."""
    runs: dict[str, list[Report]] = {}
    for report in reports:
        if "coverage" in report:
            runs.setdefault(report["iut"]["name"], []).append(report["coverage"])
    united = {name: unite_reports(found) for name, found in runs.items()}
    columns = [
        (f"{name} ({len(runs[name])} runs)" if len(runs[name]) > 1 else name, each)
        for name, each in united.items()
        if each
    ]
    for party in dict.fromkeys(side["role"] for _, each in columns for side in each["sides"]):
        shares = [
            {
                group.title: f"{group.shown} of {group.of}"
                for side in each["sides"]
                if side["role"] == party
                for group in coverage_text.groups(side)
            }
            for _, each in columns
        ]
        titles = dict.fromkeys(title for share in shares for title in share)
        if titles:
            yield Table(
                f"{role}: shown by the {party}",
                ("Message or course", *(name for name, _ in columns)),
                tuple(
                    (Cell(title), *(Cell(share.get(title, "")) for share in shares))
                    for title in titles
                ),
            )


def _verdict(verdict: str) -> Cell:
    return Cell(verdict, verdict)


def _link(path: Path, report: Report, page: Path) -> Cell:
    """A cell with a link to a report's page, relative to the page of all reports."""
    folder = path if path.is_dir() else path.parent
    file = os.path.relpath(folder / "index.html", page.absolute().parent)
    return Cell(str(path), file=file)


def badge(reports: Iterable[Report]) -> dict[str, Any]:
    """The endpoint of a badge at shields.io: the worst verdict, and its numbers."""
    listed = list(reports)
    order = ("nonconformant", "inconclusive", "conformant")
    verdict = min((report["verdict"] for report in listed), key=order.index)
    # Reports of one role have the same requirements, so each counts once.
    bound = {(report["iut"]["role"], e["id"]) for report in listed for e in report["requirements"]}
    decided = {
        (report["iut"]["role"], entry["id"])
        for report in listed
        for entry in report["requirements"]
        if entry["verdict"] in ("pass", "fail", "warn", "known")
    }
    tried, total = len(decided), len(bound)
    shown = next(report for report in listed if report["verdict"] == verdict)
    roles = dict.fromkeys(report["iut"]["role"] for report in listed)
    return {
        "schemaVersion": 1,
        "label": next(iter(roles)) if len(roles) == 1 else "conformance",
        "message": f"{run_word(shown).lower()}, {tried} of {total} exercised",
        "color": _COLOURS[verdict],
    }
