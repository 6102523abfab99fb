"""Messages that a run leaves out of what it sends, by their labels."""

from collections.abc import Awaitable, Callable

import pytest

from conformance.iut import Iut
from conformance.segmentation import in_halves, whole
from conformance.selftest.scripted import Scripted, connected, idle_testbed, run
from conformance.session import Session
from conformance.vexide.codec import encode
from conformance.vexide.commands import START, competition, hello
from conformance.wire import NOISE, PART

MODE, BATTERY = competition(), {"SetBatteryCapacity": {"capacity": 1.0}}
Sending = Callable[[Session], Awaitable[None]]


def sent(send: Sending, *mask: str, **options: object) -> tuple[bytes, list[str]]:
    """Return what is written and the labels of what is sent, without the masked messages."""
    link = Scripted()

    async def played() -> list[str]:
        iut = Iut(idle_testbed(**options), "ready.sent", frozenset(mask))
        async with connected(iut, link) as session:
            await send(session)
            return session.sent

    labels = run(played())
    return b"".join(link.written), labels


async def one_by_one(session: Session) -> None:
    await session.send(hello(), MODE, BATTERY, START)


async def together(session: Session) -> None:
    await session.send(hello(), MODE, BATTERY, START, segmentation=whole)


async def in_pieces(session: Session) -> None:
    await session.send(hello(), MODE, BATTERY, START, segmentation=in_halves)


@pytest.mark.parametrize("send", [one_by_one, together, in_pieces])
def test_masked_messages_are_left_out(send: Sending) -> None:
    """In whatever writes they would have been sent."""
    every = [encode(value) for value in (hello(), MODE, BATTERY, START)]
    assert sent(send) == (
        b"".join(every),
        ["Handshake", "CompetitionMode", "SetBatteryCapacity", "StartExecution"],
    )
    hidden = ("SetBatteryCapacity", "CompetitionMode")
    assert sent(send, *hidden) == (every[0] + every[3], ["Handshake", "StartExecution"])


def test_nothing_is_written_if_all_is_masked() -> None:
    assert sent(one_by_one, "Handshake", "CompetitionMode", "SetBatteryCapacity", START) == (
        b"",
        [],
    )


def test_masked_messages_are_not_judged() -> None:
    """The IUT need not answer a message that was not sent."""

    async def answers() -> set[str]:
        iut = Iut(idle_testbed(), "ready.sent", frozenset({"Handshake"}))
        async with connected(iut, Scripted()) as session:
            await session.send(hello())
            assert not [event for event in session.events if event.data]
            return session.judge.exercised

    assert "handshake.answered" not in run(answers())


def test_bytes_that_are_no_whole_message_are_sent() -> None:
    """Labels are those of whole messages; noise and parts have labels of their own."""

    async def send(session: Session) -> None:
        await session.send_bytes(b"hello\n")
        await session.send_bytes(encode(BATTERY)[:10])
        await session.send_bytes(encode(BATTERY)[10:])

    data, labels = sent(send, "Touch")
    assert data == b"hello\n" + encode(BATTERY)
    assert labels == [NOISE, PART, "SetBatteryCapacity"]


def test_messages_of_an_unsupported_part_are_left_out_as_well() -> None:
    data, labels = sent(one_by_one, unsupported={"battery": "there is none"})
    assert (encode(BATTERY) in data, "SetBatteryCapacity" in labels) == (False, False)
