"""Writes the results of a proof as tables of a page."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from conformance.reporting.tables import Cell, Table


def tables(trials: Sequence[tuple[Mapping[str, Any], bool]]) -> Iterator[Table]:
    """Yield a table for each role.

    A trial is a pair: the trial as `prove --json` writes it, and True if its result is good.
    """
    for role in dict.fromkeys(trial["role"] for trial, _ in trials):
        yield Table(
            role,
            ("Mock", "Kind", "Requirement", "Outcome", "Seconds", "Also violated"),
            tuple(
                (
                    Cell(trial["name"] or f"the sound mock over {trial['transport']}"),
                    Cell(trial["kind"] + (", subtle" if trial["subtle"] else "")),
                    Cell(trial["requirement"]),
                    Cell(trial["verdict"].lower(), "pass" if good else "fail"),
                    Cell(f"{trial['seconds']:.1f}"),
                    Cell(", ".join(trial["others"])),
                )
                for trial, good in trials
                if trial["role"] == role
            ),
        )
