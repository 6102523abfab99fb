"""The tables of a page, such as a comparison of reports."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cell:
    """A text; ``verdict`` adds its colour, ``file`` a link relative to the page."""

    text: str
    verdict: str = ""
    file: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A heading, the titles of the columns, and the rows."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
