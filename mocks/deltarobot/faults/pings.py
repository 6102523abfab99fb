"""Faults of the server in its pings, and in its reaction to pongs."""

import asyncio
import time
from dataclasses import replace
from itertools import count
from random import Random
from typing import Any, ClassVar

from conformance.codec import Frame
from conformance.deltarobot.codec import message
from mocks.deltarobot.exercise import State
from mocks.deltarobot.faults.building import LATER, Tiring, named
from mocks.deltarobot.server import Server
from mocks.deltarobot.session import VERSION
from mocks.deviations import Fault, Subtle, Table, fault
from mocks.steps import before, die, first, instead, note, noted, only, send, skip, then


def _ping_with_32_bits(server: Server, number: int) -> None:
    server.write(b"\x04\x30" + (number % 2**32).to_bytes(4, "little"))


def _answer(server: Server, value: Any) -> None:
    server.send(message("Pong", number=value["number"]))


def _ping_often(server: Server) -> None:
    server.settings = replace(server.settings, ping=0.25)


def _ping_later(server: Server, _: int) -> None:
    server.settings = replace(server.settings, ping=2 * server.settings.ping)


FAULTS = Table(Server)

FAULTS["ping.sent"] = {
    "no-pings": Fault("Sends no pings.", skip("start_pings")),
    "two-pings": Subtle("Stops after two pings.", only("next_ping", first(2))),
    "no-pings-during-exercise": Subtle(
        "Sends no pings during an exercise, because other messages are sent then.",
        skip("send_ping", noted("exercising")),
        before("begin", note("exercising")),
    ),
    "pings-grow-rare": Subtle(
        "Doubles the time to the next ping after each ping.", then("send_ping", _ping_later)
    ),
}

FAULTS["ping.random"] = {
    "one-number": Fault(
        "Sends the same number in all pings.", instead("number_of_ping", lambda _: 0xC0FFEE)
    ),
    "later-number-fixed": Subtle(
        "Sends the same number in all pings to every client but the first.",
        instead("number_of_ping", lambda _: 42, LATER),
    ),
    "time-as-number": Subtle(
        "Sends the time in microseconds, four times per second.",
        before("opened", _ping_often),
        instead("number_of_ping", lambda _: time.monotonic_ns() // 1000),
    ),
}

FAULTS["frame.fixed-lengths"] = {
    "pings-of-32-bits": Subtle(
        "Sends four bytes of number under an identifier that announces eight.",
        instead("send_ping", _ping_with_32_bits),
    ),
}

FAULTS["handshake.before-service"] = {
    "pings-at-once": Fault(
        "Sends pings before the client's handshake has arrived.",
        then("opened", "start_pings"),
        instead("welcome", lambda server: server.machine.join(server)),
    ),
    "serves-after-magic": Subtle(
        "Serves a client whose version has not arrived yet.",
        then(
            "handshake",
            "start_pings",
            lambda server, _: server.missing == {VERSION} and not server.ended,
        ),
    ),
}

FAULTS["messages.unknown-skipped"] = {
    "unknown-stops-pings": Subtle(
        "Stops sending pings after it has received an unknown message.",
        skip("send_ping", noted("puzzled")),
        then("skip", note("puzzled")),
    ),
}

FAULTS["end.nothing-after"] = {
    "ping-after-its-end": Subtle(
        "Sends a ping after its end of transmission, also to a client that it refuses.",
        then("announce_end", send(message("Ping", number=12345))),
    ),
}

FAULTS["messages.own-direction"] = {
    "answers-itself": Fault("Sends a pong in reply to each pong.", then("pong", _answer)),
    "answers-pings": Subtle(
        "Sends a pong in reply to a ping, which clients must not send.",
        then("skip", lambda server, ping: _answer(server, ping.value), named("Ping")),
    ),
}

FAULTS["robustness.odd-pongs"] = {
    "dies-of-wrong-pongs": Fault(
        "Crashes on a pong that answers no ping.",
        before("pong", die, lambda server, value: value["number"] not in server.waiting),
    ),
    "odd-pongs-end-all": Subtle(
        "Ends the sessions of all clients if one of them sends a pong that answers no ping.",
        before(
            "pong",
            lambda server, _: server.machine.shut_down("an odd pong"),
            lambda server, value: value["number"] not in server.waiting,
        ),
    ),
    "dies-of-missing-pongs": Subtle(
        "Crashes if three pings are not answered.",
        before("next_ping", die, lambda server: len(server.waiting) >= 3),
    ),
}


@fault("tires-of-pings", violates="ping.sent", subtle=True)
class TiresOfPings(Tiring, Server):
    """Stops sending pings after 1.5 times its patience for a handshake, if only pongs arrive."""

    PINGS = "Pong"

    def next_ping(self) -> None:
        if not self.tired:
            super().next_ping()


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


@fault("pings-to-the-silent-only", violates="ping.sent", subtle=True)
class PingsToTheSilentOnly(Server):
    """Waits for its next ping again after each message of its client."""

    heard = 0.0

    def take(self, frame: Frame) -> None:
        self.heard = asyncio.get_running_loop().time()
        super().take(frame)

    def next_ping(self) -> None:
        left = self.heard + self.settings.ping - asyncio.get_running_loop().time()
        if left > 0:
            self.call_later(left, self.next_ping)
        else:
            super().next_ping()
