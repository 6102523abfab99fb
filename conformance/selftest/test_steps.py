"""Words for simple deviations, tried on a peer of a few lines."""

import asyncio
from typing import Any

import pytest

from mocks.deviations import Deviation, Fault, Subtle, Table
from mocks.steps import (
    Change,
    after,
    alter,
    before,
    call,
    delay,
    differing,
    every,
    fail,
    first,
    from_connection,
    hang,
    having,
    instead,
    later,
    note,
    noted,
    novel,
    nth,
    only,
    put,
    repeat,
    returning,
    send,
    since,
    skip,
    then,
    wait,
    write,
)


class Peer:
    """Answers numbers, and records what it sends and writes."""

    def __init__(self, number: int = 1) -> None:
        self.number = number
        self.open = True
        self.sent: list[Any] = []

    def receive(self, data: bytes) -> None:
        for byte in data:
            self.take(byte)

    def take(self, number: int) -> None:
        self.send(self.answer(number))

    def answer(self, number: int) -> int:
        return number

    def send(self, message: Any) -> None:
        self.sent.append(message)

    def write(self, data: bytes) -> None:
        self.sent.append(data)

    def close(self) -> None:
        self.open = False

    async def ask(self, number: int) -> int:
        return number


def changed(*changes: Change, number: int = 1) -> Any:
    table = Table(Peer)
    table["some.requirement"] = {"some-fault": Fault("Does something else.", *changes)}
    (peer,) = table.peers
    return peer(number)


def is_odd(_: Peer, number: int) -> bool:
    return number % 2 == 1


@pytest.mark.parametrize(
    ("changes", "sent"),
    [
        ([skip("take")], []),
        ([skip("take", is_odd)], [2, 4]),
        ([only("take", is_odd)], [1, 3]),
        ([instead("take", send("?"), is_odd)], ["?", 2, "?", 4]),
        ([before("take", send("?"), nth(2))], [1, "?", 2, 3, 4]),
        ([then("take", write(b"!"), nth(2))], [1, 2, b"!", 3, 4]),
        ([then("take", call("send", "!"), every(2))], [1, 2, "!", 3, 4, "!"]),
        ([alter("send", lambda _, number: -number, is_odd)], [-1, 2, -3, 4]),
        ([returning("answer", lambda result: 2 * result)], [2, 4, 6, 8]),
        ([repeat("take", first(1))], [1, 1, 2, 3, 4]),
        ([skip("take", after(2))], [1, 2]),
        ([skip("take", ~first(1) & is_odd)], [1, 2, 4]),
        ([skip("take", nth(1) | is_odd)], [2, 4]),
        ([skip("take", since(lambda _, number: number == 3))], [1, 2]),
        ([skip("take", noted("done")), then("take", note("done", is_odd))], [1, 3]),
        ([then("take", "close", nth(3)), only("send", having("open"))], [1, 2, 3]),
        ([then("take", put("open", False)), only("send", having("open"))], [1]),
        ([then("take", hang, nth(2))], [1, 2, 3, 4]),
        ([skip("take", from_connection(2))], [1, 2, 3, 4]),
        ([only("take", novel(is_odd))], [1, 2]),
        ([only("take", differing(lambda _, number: number // 3))], [1, 3]),
    ],
)
def test_changes(changes: list[Change], sent: list[Any]) -> None:
    peer = changed(*changes)
    peer.receive(bytes([1, 2, 3, 4]))
    assert peer.sent == sent


def test_a_later_change_is_made_around_the_earlier_ones() -> None:
    peer = changed(skip("take", is_odd), alter("take", lambda _, number: number + 1))
    peer.receive(bytes([1, 2]))
    assert peer.sent == [2]


def test_conditions_count_in_each_session() -> None:
    one = changed(skip("take", first(1)))
    other = type(one)()
    for peer in (one, other):
        peer.receive(bytes([1, 2]))
        assert peer.sent == [2]


def test_a_later_connection() -> None:
    peer = changed(skip("take", from_connection(2)), number=2)
    peer.receive(bytes([1]))
    assert peer.sent == []


def test_a_hanging_peer_reads_and_writes_nothing() -> None:
    peer = changed(then("take", hang))
    peer.receive(bytes([1]))
    peer.receive(bytes([2]))
    peer.write(b"!")
    assert peer.sent == [1] and peer.open


def test_later_steps() -> None:
    async def play() -> None:
        peer = changed(delay("take", 0.01, is_odd), then("take", later(0.02, send("!")), nth(2)))
        peer.receive(bytes([1, 2]))
        assert peer.sent == [2]
        await asyncio.sleep(0.1)
        assert peer.sent == [2, 1, "!"]

    asyncio.run(play())


def test_asynchronous_steps() -> None:
    peer = changed(skip("ask", is_odd))
    assert asyncio.run(peer.ask(1)) is None
    assert asyncio.run(peer.ask(2)) == 2


def test_asynchronous_deeds() -> None:
    async def record(peer: Peer, number: int) -> None:
        await asyncio.sleep(0)
        peer.send(number)

    async def ask(usual: Any, peer: Peer, number: int) -> Any:
        peer.send("?")
        return await usual(peer, number)

    peer = changed(
        Change("ask", ask),
        before("ask", record),
        then("ask", record, is_odd),
        returning("ask", lambda answer: -answer),
    )
    assert asyncio.run(peer.ask(1)) == -1
    assert asyncio.run(peer.ask(2)) == -2
    assert peer.sent == [1, "?", 1, 2, "?"]


def test_repeated_and_waiting_asynchronous_steps() -> None:
    async def record(peer: Peer, number: int) -> None:
        peer.send(number)

    peer = changed(before("ask", record), repeat("ask"), before("ask", wait(0.001)))
    assert asyncio.run(peer.ask(1)) == 1
    assert peer.sent == [1, 1]


def test_a_failing_step() -> None:
    peer = changed(before("take", fail(ValueError, "no"), nth(2)))
    with pytest.raises(ValueError, match="no"):
        peer.receive(bytes([1, 2, 3]))
    assert peer.sent == [1]


def test_a_table_declares_deviations() -> None:
    table = Table(Peer)
    table["some.requirement"] = {
        "deaf": Fault("Takes nothing.", skip("take"), needs={"transport": "tcp"}, company=5),
        "odd": Subtle("Takes even numbers.", skip("take", is_odd), roles=("server",)),
    }
    deaf, odd = (peer.deviation for peer in table.peers)
    needs = {"transport": "tcp"}
    assert deaf == Deviation("deaf", "some.requirement", "Takes nothing.", False, needs, company=5)
    assert odd == Deviation(
        "odd", "some.requirement", "Takes even numbers.", True, roles=("server",)
    )


def test_an_unknown_step_is_refused() -> None:
    with pytest.raises(AttributeError, match="tak"):
        changed(skip("tak"))
