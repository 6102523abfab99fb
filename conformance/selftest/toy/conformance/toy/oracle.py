"""The passive judge of a toy session: which Pings are still to be answered."""

from collections.abc import Iterator
from typing import Any

from conformance.judge import Finding


class Oracle:
    """The state of one session: the numbers of the Pings that no Pong has answered yet."""

    def __init__(self) -> None:
        self.exercised: set[str] = set()
        self._open: list[int] = []

    def message(self, sender: str, name: str, value: Any) -> Iterator[Finding]:
        number = value["number"]
        if name == "Ping":
            self.exercised.add("ping.waits")
            if self._open:
                yield Finding("ping.waits", f"Ping {number} came before {self._open} was answered")
            self._open.append(number)
        else:
            self.exercised.add("pong.answers")
            wanted = self._open.pop(0) if self._open else None
            if number != wanted:
                yield Finding("pong.answers", f"Pong {number} came where {wanted} was to come")

    def unknown(self, sender: str, name: str, value: Any, foreign: bool) -> Iterator[Finding]:
        yield Finding("framing.layout", f"a {sender} sent a {name}, which is its peer's")

    def broken(self, sender: str) -> None:
        """A frame that is no message answers no Ping."""

    def closed(self, sender: str) -> Iterator[Finding]:
        yield from ()
