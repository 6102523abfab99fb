"""Tables of verdicts: several reports beside each other, or the changes between two."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cell:
    """A text, and the verdict or the file (by its path from the page) that it stands for, if so."""

    text: str
    verdict: str = ""
    file: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A heading, the titles of the columns, and the rows."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
