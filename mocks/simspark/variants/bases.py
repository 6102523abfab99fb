"""Building blocks of the variants."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from mocks.steps import Change, alter, instead, returning


def has(**settings: Any) -> Change:
    """Run a server with other settings."""
    return alter("__init__", lambda _, usual: replace(usual, **settings))


def writes(change: Callable[[str], str]) -> Change:
    """Write messages in another form."""
    return alter("encode", lambda _, text, connection: (change(text), connection))


def spaced(text: str) -> str:
    """Return a text with blanks and a line end that have no meaning."""
    return text.replace("(", "( ").replace(")", " )") + "\r\n"


def knows(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Change:
    """Return other knowledge to the upper tester."""
    return returning("state", change)


NOTHING = instead("state", lambda _: {})
"""Return no knowledge to the upper tester."""
