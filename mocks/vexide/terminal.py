"""What the user of the frontend mock sees: lines of text, made safe for a terminal."""

from collections import deque
from typing import TextIO

KEPT = 10_000  # lines


class Terminal:
    """Prints lines, and keeps the last ones for later reading."""

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
