"""Writes a comparison of two reports for a terminal, as Markdown or as tables."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from conformance.reporting import coverage_text
from conformance.reporting.markdown import escape, table
from conformance.reporting.tables import Cell, Table
from conformance.reporting.text import one_line

TITLES = {
    "regressions": "Regressions: violated now",
    "lost": "No longer decided",
    "fixes": "Fixed",
    "gained": "Decided now",
    "added": "New requirements",
    "removed": "Requirements that no longer exist",
}
UNSHOWN = "Not covered any more"
MAX_CHANGES = 40  # changes of a kind that a terminal shows

Groups = Mapping[str, Sequence[Mapping[str, Any]]]


def lines(groups: Groups) -> Iterator[str]:
    """Yield the lines for a terminal. ``groups`` are the changes by kind, as in report.json."""
    for kind, title in TITLES.items():
        changes = groups.get(kind, ())
        if changes:
            yield f"{title}: {len(changes)}"
        for change in changes[:MAX_CHANGES]:
            verdicts = f"{change['before'] or '-'} > {change['after'] or '-'}"
            why = f"  {one_line(change['reason'], 120)}" if kind in ("regressions", "lost") else ""
            yield f"  {one_line(change['requirement'], 80)}  {verdicts}{why}"
        if len(changes) > MAX_CHANGES:
            yield f"  and {len(changes) - MAX_CHANGES} more"
    if not any(groups.get(kind) for kind in TITLES):
        yield "No requirement has changed its verdict."
    gone = groups.get("unshown", ())
    if gone:
        yield f"{UNSHOWN}: {len(gone)}"
    yield from (f"  {coverage_text.thing(each)}" for each in gone[:MAX_CHANGES])
    if len(gone) > MAX_CHANGES:
        yield f"  and {len(gone) - MAX_CHANGES} more"


def markdown(groups: Groups) -> Iterator[str]:
    for kind, title in TITLES.items():
        if changes := groups.get(kind, ()):
            yield from ("", f"**{title}**", "")
            yield from table(
                ("Requirement", "Level", "Before", "After", "Why"),
                [
                    tuple(
                        escape(change[key], 400)
                        for key in ("requirement", "level", "before", "after", "reason")
                    )
                    for change in changes
                ],
            )
    if not any(groups.get(kind) for kind in TITLES):
        yield "No requirement has changed its verdict."
    if gone := groups.get("unshown", ()):
        yield from ("", f"**{UNSHOWN}**", "")
        yield from table(
            ("Role", "Message or course", "Place", "What"),
            [
                tuple(escape(each[key], 400) for key in ("role", "name", "place", "what"))
                for each in gone
            ],
        )


def tables(groups: Groups) -> Iterator[Table]:
    for kind, title in TITLES.items():
        if changes := groups.get(kind, ()):
            yield Table(
                title,
                ("Requirement", "Level", "Before", "After", "Why"),
                tuple(
                    (
                        Cell(change["requirement"]),
                        Cell(change["level"]),
                        Cell(change["before"], change["before"]),
                        Cell(change["after"], change["after"]),
                        Cell(change["reason"]),
                    )
                    for change in changes
                ),
            )
    if gone := groups.get("unshown", ()):
        head = ("Role", "Message or course", "Place", "What")
        keys = ("role", "name", "place", "what")
        yield Table(UNSHOWN, head, tuple(tuple(Cell(each[key]) for key in keys) for each in gone))
