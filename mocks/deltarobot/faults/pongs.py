"""Faults of the client in its pongs, and in its other messages."""

import secrets
from typing import Any, ClassVar

from conformance.deltarobot.codec import encode, message
from mocks.deltarobot.client import Client
from mocks.deltarobot.faults.building import Tiring, named
from mocks.deviations import Fault, Subtle, Table, fault
from mocks.steps import (
    alter,
    before,
    delay,
    die,
    every,
    first,
    instead,
    only,
    repeat,
    send,
    skip,
    then,
)


def _pong_as_text(client: Client, number: int) -> None:
    client.write(encode(message("Pong", number=number)).decode("latin-1").encode())


def _pong_with_32_bits(client: Client, number: int) -> None:
    client.write(b"\x05\x30" + (number % 2**32).to_bytes(4, "little"))


def _pong_with_line_ends(client: Client, number: int) -> None:
    client.write(encode(message("Pong", number=number)).replace(b"\n", b"\r\n"))


def _is_during_exercise(client: Client, _: Any) -> bool:
    return client.view.curve is not None and client.view.position is not None


FAULTS = Table(Client)

FAULTS["pong.each"] = {
    "no-pongs": Fault("Answers no ping.", skip("ping")),
    "hundred-pongs": Subtle(
        "Answers only the first hundred pings of a connection.", only("ping", first(100))
    ),
    "tenth-ping-lost": Subtle("Answers nine of ten pings.", skip("ping", every(10))),
    "no-pong-to-zero": Subtle(
        "Ignores a ping with the number 0.", skip("send_pong", lambda _, number: not number)
    ),
    "two-pongs": Subtle("Sends two pongs to every third ping.", repeat("ping", every(3))),
    "no-pongs-during-exercise": Subtle(
        "Answers no pings after it has received a curve and a position.",
        skip("ping", _is_during_exercise),
    ),
    "pongs-back": Subtle(
        "Sends a pong of the server back.",
        then("skip", lambda client, pong: client.send(pong.value), named("Pong")),
    ),
}

FAULTS["pong.number"] = {
    "pongs-as-text": Subtle(
        "Sends the bytes of a pong as letters in UTF-8.", instead("send_pong", _pong_as_text)
    ),
    "own-numbers": Fault(
        "Puts its own random numbers into its pongs.",
        alter("send_pong", lambda *_: secrets.randbits(64)),
    ),
    "zero-numbers": Fault("Puts the number 0 into each pong.", alter("send_pong", lambda *_: 0)),
    "numbers-of-32-bits": Subtle(
        "Keeps only the lower 32 bits of the number.",
        alter("send_pong", lambda _, number: number % 2**32),
    ),
    "numbers-of-53-bits": Subtle(
        "Keeps the number in a double, as JavaScript does.",
        alter("send_pong", lambda _, number: min(int(float(number)), 2**64 - 1)),
    ),
    "numbers-of-63-bits": Subtle(
        "Loses the highest bit, which is the sign of a signed number.",
        alter("send_pong", lambda _, number: number % 2**63),
    ),
    "numbers-saturate": Subtle(
        "Limits numbers to the largest signed number.",
        alter("send_pong", lambda _, number: min(number, 2**63 - 1)),
    ),
    "big-endian-pongs": Subtle(
        "Reads numbers in little-endian and writes them in big-endian.",
        alter("send_pong", lambda _, number: int.from_bytes(number.to_bytes(8, "little"), "big")),
    ),
}

FAULTS["frame.fixed-lengths"] = {
    "pongs-of-32-bits": Subtle(
        "Sends four bytes of number under an identifier that announces eight.",
        instead("send_pong", _pong_with_32_bits),
    ),
    "pongs-with-line-ends": Subtle(
        "Puts a carriage return before each line feed of a pong, as in a text file.",
        instead("send_pong", _pong_with_line_ends),
    ),
}

FAULTS["pong.prompt"] = {
    "slow-pongs": Fault("Needs 1.15 s for a pong.", delay("send_pong", 1.15)),
}

FAULTS["messages.own-direction"] = {
    "pings-back": Fault(
        "Sends a ping after the handshake.", then("welcome", send(message("Ping", number=1)))
    ),
    "echoes-curves": Subtle(
        "Sends a curve back, as if to acknowledge it.",
        then("curve", send(message("Curve", points=[]))),
    ),
}

FAULTS["robustness.foreign-messages"] = {
    "dies-of-pongs": Subtle(
        "Crashes on a pong from the server with the largest number.",
        before("skip", die, named("Pong") & (lambda _, pong: pong.value["number"] == 2**64 - 1)),
    ),
}

FAULTS["end.no-storm"] = {
    "storms": Fault(
        "Connects again at once, whatever the reason of the end.",
        instead("pause", lambda *_: 0.001),
    ),
}


@fault("storms-after-ends", violates="end.no-storm", subtle=True)
class StormsAfterEnds(Client):
    """Connects again at once after an end of transmission, and only then."""

    told = False

    def peer_ends(self, value: Any) -> None:
        self.told = True
        super().peer_ends(value)

    def pause(self, again: float | None) -> float | None:
        return 0.001 if self.told else again


@fault("last-ping-of-a-read", violates="frame.segmentation", subtle=True)
class LastPingOfARead(Client):
    """Answers only the last of several pings that arrive together."""

    latest: int | None = None

    def receive(self, data: bytes) -> None:
        super().receive(data)
        if self.latest is not None and not self.ended:
            self.send_pong(self.latest)
        self.latest = None

    def ping(self, value: Any) -> None:
        self.latest = value["number"]


@fault("tires", violates="pong.each", subtle=True)
class Tires(Tiring, Client):
    """Stops answering after 1.5 times its patience for a handshake, if only pings arrive."""

    PINGS = "Ping"

    def ping(self, value: Any) -> None:
        if not self.tired:
            super().ping(value)


@fault("each-number-once", violates="pong.each", subtle=True)
class EachNumberOnce(Client):
    """Does not answer a ping whose number it has answered before."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.answered: set[int] = set()

    def send_pong(self, number: int) -> None:
        if number not in self.answered:
            super().send_pong(number)
        self.answered.add(number)


@fault("latest-ping-in-a-while", violates="pong.each", subtle=True)
class LatestPingInAWhile(Client):
    """Answers only the latest ping of each 0.02 s."""

    waiting: int | None = None

    def send_pong(self, number: int) -> None:
        if self.waiting is None:
            self.call_later(0.02, self.answer)
        self.waiting = number

    def answer(self) -> None:
        if self.waiting is not None and not self.ended:
            super().send_pong(self.waiting)
        self.waiting = None


@fault("pongs-outlive-connections", violates="pong.each", subtle=True)
class PongsOutliveConnections(Client):
    """Answers pings after 0.03 s, those of a broken connection in the next one."""

    waiting: ClassVar[list[int]] = []

    def welcome(self) -> None:
        super().welcome()
        self.answer_all()

    def send_pong(self, number: int) -> None:
        self.waiting.append(number)
        self.call_later(0.03, self.answer_all)

    def answer_all(self) -> None:
        while self.waiting:
            super().send_pong(self.waiting.pop(0))
