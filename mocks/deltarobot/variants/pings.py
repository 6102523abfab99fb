"""Variants of pings and pongs."""

import asyncio
from dataclasses import replace
from random import Random
from typing import Any

from mocks.deltarobot.client import Client
from mocks.deltarobot.server import Server
from mocks.deviations import Table, Variant, variant
from mocks.steps import before, having, instead, returning


def _expect_pongs_soon(server: Server) -> None:
    server.settings = replace(server.settings, pong=1.0)


def _next_known_number(server: Any) -> int:
    return int(server.numbers.getrandbits(64))


OF_SERVER = Table(Server)

OF_SERVER["ping.fresh"] = {
    "numbers-again": Variant(
        "Generates the same random numbers in every session.",
        before("opened", lambda server: setattr(server, "numbers", Random(1))),
        instead("number_of_ping", _next_known_number),
    ),
}

OF_SERVER["ping.random"] = {
    "small-numbers": Variant(
        "Draws its ping numbers from 0 to 999.",
        returning("number_of_ping", lambda number: number % 1000),
    ),
    "repeated-until-answered": Variant(
        "Sends a ping again, with its number, until it is answered.",
        instead("number_of_ping", lambda server: [*server.waiting][-1], having("waiting")),
    ),
}

OF_SERVER["ping.unanswered"] = {
    "drops-the-silent": Variant(
        "Closes the connection without an end of transmission if a pong is 1 s late.",
        before("opened", _expect_pongs_soon),
        instead("unanswered", "close"),
    ),
}


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

    busy_until = 0.0

    def send_pong(self, number: int) -> None:
        now = asyncio.get_running_loop().time()
        self.busy_until = max(self.busy_until, now) + 0.05
        self.call_later(
            self.busy_until - now, lambda: super(AnswersOneByOne, self).send_pong(number)
        )
