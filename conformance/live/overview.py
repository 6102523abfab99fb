"""Overview page of live sessions: the violations of each pair of peers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conformance.exits import CONFORMANT, INCONCLUSIVE, NONCONFORMANT
from conformance.reporting.table_page import write_tables
from conformance.reporting.tables import Cell, Table

_MAX_NAMES = 5  # requirements that are named in a line; the others are counted


@dataclass(frozen=True)
class PairResult:
    """A pair of peers: their names, their exit code, and the report of each role.

    ``folder`` is the folder of the reports, relative to the page. ``trouble`` is the reason if
    there are no reports.
    """

    server: str
    client: str
    code: int
    reports: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    folder: str = ""
    trouble: str = ""

    @property
    def line(self) -> str:
        """Violations of both roles, on a single line."""
        return self.trouble or "; ".join(
            f"{role} {_violation_text(report)}" for role, report in self.reports.items()
        )

    @property
    def verdict(self) -> str:
        """Verdict for both roles together."""
        known = {CONFORMANT: "pass", NONCONFORMANT: "fail"}
        return known.get(self.code, "inconclusive")


def write(path: Path, title: str, met: Sequence[PairResult]) -> None:
    """Write the page; several pairs begin with a table of servers and clients."""
    tables = [_sides(met)]
    if len(met) > 1:
        tables.insert(0, _matrix(met))
    lead = [each.line for each in met] if len(met) == 1 else [f"{len(met)} pairs"]
    write_tables(path, title, lead, tables)


def _matrix(met: Sequence[PairResult]) -> Table:
    by_names = {(each.server, each.client): each for each in met}
    servers = list(dict.fromkeys(each.server for each in met))
    clients = list(dict.fromkeys(each.client for each in met))
    rows = tuple(
        (
            Cell(server),
            *(Cell(_blamed_roles(by_names[server, client]), by_names[server, client].verdict)
              for client in clients),
        )
        for server in servers
    )  # fmt: skip
    return Table("Servers and clients: roles that violate a must", ("", *clients), rows)


def _blamed_roles(met: PairResult) -> str:
    """Return the roles that violate a must, or else the verdict."""
    blamed = [role for role, report in met.reports.items() if _failed_requirements(report)]
    return " and ".join(blamed) or {"pass": "nobody"}.get(met.verdict, met.verdict)


def _sides(met: Sequence[PairResult]) -> Table:
    rows = []
    for each in met:
        names = (Cell(each.server), Cell(each.client))
        if each.trouble:
            rows.append(
                (*names, Cell(""), Cell("inconclusive", "inconclusive"), Cell(each.trouble))
            )
        for role, report in each.reports.items():
            place = f"{each.folder}/{role}/index.html".lstrip("/")
            verdict = {CONFORMANT: "pass", NONCONFORMANT: "fail"}.get(report["exit_code"])
            rows.append(
                (
                    *names,
                    Cell(role, file=place),
                    Cell(str(report["verdict"]), verdict or "inconclusive"),
                    Cell(_violation_text(report)),
                )
            )
    return Table("Sides", ("Server", "Client", "Report", "Verdict", "Violated"), tuple(rows))


def _failed_requirements(report: Mapping[str, Any]) -> list[str]:
    """Return the violated requirements of level must."""
    return [entry["id"] for entry in report["requirements"] if entry["verdict"] == "fail"]


def _violation_text(report: Mapping[str, Any]) -> str:
    failed = _failed_requirements(report)
    warned = [entry["id"] for entry in report["requirements"] if entry["verdict"] == "warn"]
    parts = [
        f"violates {', '.join(names[:_MAX_NAMES])}"
        + (f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else "")
        + f" ({level})"
        for level, names in (("must", failed), ("should", warned))
        if names
    ]
    return ", ".join(parts) or (
        "shows nothing" if report["exit_code"] == INCONCLUSIVE else "violates nothing"
    )
