"""Faults of the server in its pings, and in its reaction to pongs."""

import time
from dataclasses import replace
from itertools import count
from random import Random
from typing import Any, ClassVar

from conformance.deltarobot.codec import message
from mocks.deltarobot.exercise import State, Vector
from mocks.deltarobot.faults.building import Tiring, die
from mocks.deltarobot.server import Server
from mocks.deviations import fault


@fault("no-pings", violates="ping.sent")
class NoPings(Server):
    """Sends no pings."""

    def start_pings(self) -> None:
        pass


@fault("two-pings", violates="ping.sent", subtle=True)
class TwoPings(Server):
    """Stops after two pings."""

    sent = 0

    def next_ping(self) -> None:
        self.sent += 1
        if self.sent <= 2:
            super().next_ping()


@fault("tires-of-pings", violates="ping.sent", subtle=True)
class TiresOfPings(Tiring, Server):
    """Stops sending pings after 1.5 times its patience for a handshake, if only pongs arrive."""

    PINGS = "Pong"

    def next_ping(self) -> None:
        if not self.tired:
            super().next_ping()


@fault("no-pings-during-exercise", violates="ping.sent", subtle=True)
class NoPingsDuringExercise(Server):
    """Sends no pings during an exercise, because other messages are sent then."""

    exercising = False

    def begin(self, curve: list[Vector]) -> None:
        self.exercising = True
        super().begin(curve)

    def send_ping(self, number: int) -> None:
        if not self.exercising:
            super().send_ping(number)


@fault("no-pings-after-exercise", violates="ping.sent", subtle=True)
class NoPingsAfterExercise(Server):
    """Sends no more pings after an exercise has ended."""

    told = float("inf")

    def show(self, state: State) -> None:
        self.told = time.monotonic()
        super().show(state)

    def send_ping(self, number: int) -> None:
        if time.monotonic() < self.told + 0.05 or self.told == float("inf"):
            super().send_ping(number)


@fault("one-number", violates="ping.random")
class OneNumber(Server):
    """Sends the same number in all pings."""

    def number_of_ping(self) -> int:
        return 0xC0FFEE


@fault("counted-pings", violates="ping.random", subtle=True)
class CountedPings(Server):
    """Numbers its pings consecutively, from a random start."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.numbers = count(super().number_of_ping())

    def number_of_ping(self) -> int:
        return next(self.numbers) % 2**64


@fault("same-numbers-again", violates="ping.fresh")
class SameNumbersAgain(Server):
    """Draws one random start in a process, and begins there again in each session."""

    start: ClassVar = Random().getrandbits(64)

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.numbers = Random(self.start)

    def number_of_ping(self) -> int:
        return self.numbers.getrandbits(64)


@fault("same-numbers-in-each-process", violates="ping.fresh", subtle=True)
class SameNumbersInEachProcess(Server):
    """Sends the same numbers in every process."""

    numbers = Random(1)

    def number_of_ping(self) -> int:
        return self.numbers.getrandbits(64)


@fault("later-number-fixed", violates="ping.random", subtle=True)
class LaterNumberFixed(Server):
    """Sends the same number in all pings to every client but the first."""

    def number_of_ping(self) -> int:
        return super().number_of_ping() if self.number == 1 else 42


@fault("time-as-number", violates="ping.random", subtle=True)
class TimeAsNumber(Server):
    """Sends the time in microseconds, four times per second."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.settings = replace(self.settings, ping=0.25)

    def number_of_ping(self) -> int:
        return time.monotonic_ns() // 1000


@fault("each-number-twice", violates="ping.random", subtle=True)
class EachNumberTwice(Server):
    """Draws a new number only for every second ping."""

    number_of_last = -1

    def number_of_ping(self) -> int:
        if self.number_of_last < 0:
            self.number_of_last = super().number_of_ping()
            return self.number_of_last
        number, self.number_of_last = self.number_of_last, -1
        return number


@fault("pings-of-32-bits", violates="frame.fixed-lengths", subtle=True)
class PingsOf32Bits(Server):
    """Sends four bytes of number under an identifier that announces eight."""

    def send_ping(self, number: int) -> None:
        self.write(b"\x04\x30" + (number % 2**32).to_bytes(4, "little"))


@fault("pings-at-once", violates="handshake.before-service")
class PingsAtOnce(Server):
    """Sends pings before the client's handshake has arrived."""

    def opened(self) -> None:
        super().opened()
        self.start_pings()

    def welcome(self) -> None:
        self.machine.join(self)


@fault("serves-after-magic", violates="handshake.before-service", subtle=True)
class ServesAfterMagic(Server):
    """Serves a client whose version has not arrived yet."""

    def handshake(self, frame: Any) -> None:
        before = len(self.missing)
        super().handshake(frame)
        if before == 2 and "ProtocolMagic" not in self.missing and not self.ended:
            self.start_pings()


@fault("unknown-stops-pings", violates="messages.unknown-skipped", subtle=True)
class UnknownStopsPings(Server):
    """Stops sending pings after it has received an unknown message."""

    puzzled = False

    def skip(self, frame: Any) -> None:
        self.puzzled = True

    def send_ping(self, number: int) -> None:
        if not self.puzzled:
            super().send_ping(number)


@fault("answers-itself", violates="messages.own-direction")
class AnswersItself(Server):
    """Sends a pong in reply to each pong."""

    def pong(self, value: Any) -> None:
        super().pong(value)
        self.send(message("Pong", number=value["number"]))


@fault("answers-pings", violates="messages.own-direction", subtle=True)
class AnswersPings(Server):
    """Sends a pong in reply to a ping, which clients must not send."""

    HANDLERS: ClassVar = {**Server.HANDLERS, "Ping": "ping"}

    def ping(self, value: Any) -> None:
        self.send(message("Pong", number=value["number"]))


@fault("dies-of-wrong-pongs", violates="robustness.odd-pongs")
class DiesOfWrongPongs(Server):
    """Crashes on a pong that answers no ping."""

    def pong(self, value: Any) -> None:
        if value["number"] not in self.waiting:
            die()
        super().pong(value)


@fault("dies-of-missing-pongs", violates="robustness.odd-pongs", subtle=True)
class DiesOfMissingPongs(Server):
    """Crashes if three pings are not answered."""

    def next_ping(self) -> None:
        if len(self.waiting) >= 3:
            die()
        super().next_ping()
