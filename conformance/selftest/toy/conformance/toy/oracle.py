"""The passive judge of a toy session: it compares Pongs with unanswered Pings."""

from collections.abc import Iterator
from enum import StrEnum
from typing import Any

from conformance.course import Course, Violates, Walk
from conformance.judging.judge import Finding

CLIENT, SERVER = "client", "server"


class Turn(StrEnum):
    """The side that must send next."""

    CLIENT = "nothing was asked"
    SERVER = "a Ping waits"


TURNS = Course(
    "whose turn it is",
    {
        Turn.CLIENT: {(CLIENT, "Ping"): Turn.SERVER},
        Turn.SERVER: {
            (CLIENT, "Ping"): Violates(
                "ping.waits", "Ping {number} came before the previous Ping was answered"
            ),
            (SERVER, "Pong"): Turn.CLIENT,
        },
    },
)
COURSES = (TURNS,)


class Oracle:
    """The state of a session: the numbers of the unanswered Pings."""

    def __init__(self) -> None:
        self.exercised: set[str] = set()
        self._turn = Walk(TURNS)
        self._open: list[int] = []

    def message(self, sender: str, name: str, value: Any) -> Iterator[Finding]:
        number = value["number"]
        yield from self._turn.step(sender, name, number=str(number))
        if name == "Ping":
            self.exercised.add("ping.waits")
            self._open.append(number)
        else:
            self.exercised.add("pong.answers")
            wanted = self._open.pop(0) if self._open else None
            if number != wanted:
                yield Finding("pong.answers", f"expected Pong {wanted}; received Pong {number}")

    def unknown(self, sender: str, name: str, value: Any, foreign: bool) -> Iterator[Finding]:
        yield Finding("framing.layout", f"a {sender} sent a {name}, which is its peer's")

    def broken(self, sender: str) -> None:
        """A frame that is not a message answers no Ping."""

    def closed(self, sender: str) -> Iterator[Finding]:
        yield from ()
