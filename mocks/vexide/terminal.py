"""The text output of the frontend mock for its user, made safe for a terminal."""

from collections import deque
from typing import TextIO

KEPT = 10_000  # number of lines in memory, enough for a test session


class Terminal:
    """Print lines, and keep the last lines for later reading."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._lines: deque[str] = deque(maxlen=KEPT)

    def say(self, text: str) -> None:
        if not text.isprintable():
            shown = (c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
            text = "".join(shown)
        self._lines.append(text)
        print(text, file=self._out, flush=True)

    def picture(self, text: str) -> None:
        for line in text.split("\n"):
            print(f"| {line}", file=self._out)
        self._out.flush()

    def text(self) -> str:
        return "\n".join(self._lines)
