"""Writes Markdown in which text from an IUT has no markup."""

import re
from collections.abc import Iterable, Iterator

from conformance.reporting.text import one_line


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    """Yield the lines of a table; the cells must be escaped already."""
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def escape(text: object, limit: int = 200) -> str:
    """Escape text: each character that can be markup becomes an entity."""
    return re.sub(
        r"[^\w ,;–—…()/-]", lambda match: f"&#{ord(match[0])};", one_line(text, limit)
    ).replace("_", "&#95;")
