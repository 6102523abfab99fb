"""Variants of pings and pongs."""

import asyncio
from dataclasses import replace
from random import Random
from typing import Any

from mocks.deltarobot.client import Client
from mocks.deltarobot.server import Server
from mocks.deviations import variant


@variant("numbers-again", of="ping.fresh")
class NumbersAgain(Server):
    """Generates the same random numbers in every session."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.numbers = Random(1)

    def number_of_ping(self) -> int:
        return self.numbers.getrandbits(64)


@variant("small-numbers", of="ping.random")
class SmallNumbers(Server):
    """Draws its ping numbers from 0 to 999."""

    def number_of_ping(self) -> int:
        return super().number_of_ping() % 1000


@variant("drops-the-silent", of="ping.unanswered")
class DropsTheSilent(Server):
    """Closes the connection without an end of transmission if a pong is 1 s late."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.settings = replace(self.settings, pong=1.0)

    def unanswered(self) -> None:
        self.close()


@variant("latest-ping-first", of="pong.number")
class LatestPingFirst(Client):
    """Answers pings that arrive together from the last to the first."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.asked: list[int] = []

    def receive(self, data: bytes) -> None:
        super().receive(data)
        while self.asked and not self.ended:
            super().send_pong(self.asked.pop())

    def send_pong(self, number: int) -> None:
        self.asked.append(number)


@variant("answers-one-by-one", of="pong.prompt")
class AnswersOneByOne(Client):
    """Needs 0.05 s for each ping, one after the other."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.busy = 0.0

    def send_pong(self, number: int) -> None:
        now = asyncio.get_running_loop().time()
        self.busy = max(self.busy, now) + 0.05
        self.call_later(self.busy - now, lambda: super(AnswersOneByOne, self).send_pong(number))
