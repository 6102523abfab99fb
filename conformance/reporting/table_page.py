"""Writes a page of tables, such as a comparison of reports."""

from collections.abc import Iterable
from pathlib import Path

from conformance.atomic_files import replace
from conformance.reporting import page, wording
from conformance.reporting.tables import Table


def write_tables(path: Path, title: str, lead: Iterable[str], tables: Iterable[Table]) -> None:
    """Write a page with a title and a few lines of text before its tables."""
    style = page.inline_source("style.css")
    text = page.template("tables.html").render(
        title=title,
        lead=list(lead),
        tables=list(tables),
        style=style,
        policy=page.policy(style, ""),
        symbols=wording.SYMBOLS,
        address=page.address,
    )
    replace(path, text)
