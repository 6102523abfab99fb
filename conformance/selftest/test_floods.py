"""Limits on reading from an IUT that writes without end."""

import asyncio
from unittest import mock

import pytest

from conformance.configuration import Configuration
from conformance.definitions import protocols
from conformance.harness.instance import Instance
from conformance.harness.links import NoWire
from conformance.iut import Iut
from conformance.judging.packed_values import PackedValue
from conformance.running import floods, transcripts
from conformance.running.floods import (
    ALL_SESSIONS,
    FLOOD_DIVISOR,
    FLOODS_IN_A_ROW,
    KNOWN_AFTER,
    MIN_BYTES,
    SESSION_LIMIT,
    Floods,
    Read,
)
from conformance.running.testbed import Testbed
from conformance.simspark import codec
from conformance.verdicts import Flooded

NOTHING = Read(0, 0, 0)


@pytest.mark.parametrize("column", Read._fields)
def test_each_bound_cuts_a_session_off(column: str) -> None:
    most = getattr(SESSION_LIMIT, column)
    assert not Floods().cut_off("one", NOTHING._replace(**{column: most}))
    assert Floods().cut_off("one", NOTHING._replace(**{column: most + 1}))


@pytest.mark.parametrize("column", Read._fields)
def test_floods_side_by_side_are_cut_off_as_one(column: str) -> None:
    """Sessions that have ended do not count, and a session with little data continues."""
    followed, much = (
        Floods(),
        NOTHING._replace(**{column: int(0.9 * getattr(SESSION_LIMIT, column))}),
    )
    assert not any(followed.cut_off(session, much) for session in range(ALL_SESSIONS))
    assert followed.cut_off("last", much)
    assert not followed.cut_off("last", Read(10, 10, 10))
    followed.close(0)
    assert not followed.cut_off("last", NOTHING._replace(**{column: getattr(much, column) // 2}))


def test_one_that_floods_is_not_followed_any_more() -> None:
    """After a flood of a few megabytes of costly messages, no further message is decoded."""
    followed, size = Floods(), 2 * FLOOD_DIVISOR * MIN_BYTES
    for session in range(KNOWN_AFTER):
        assert followed.limit == SESSION_LIMIT
        assert followed.cut_off(session, Read(size, 3, SESSION_LIMIT.blocks + 1))
        followed.close(session)
    assert followed.limit.bytes == size // FLOOD_DIVISOR
    assert not followed.cut_off("further", Read(MIN_BYTES, 1, 1))
    assert followed.cut_off("further", Read(size // FLOOD_DIVISOR + 1, 0, 0))


def test_one_that_floods_every_session_is_not_tried_any_more() -> None:
    followed, flood = Floods(), Read(SESSION_LIMIT.bytes + 1, 3, 3)
    for session in range(FLOODS_IN_A_ROW - 1):
        assert followed.cut_off(session, flood)
        followed.close(session)
    assert not followed.is_endless
    assert not followed.cut_off("can be followed", Read(10, 1, 1))
    followed.close("can be followed")
    followed.close("has said nothing")
    for session in range(FLOODS_IN_A_ROW):
        assert not followed.is_endless
        assert followed.cut_off(session, flood)
        followed.close(session)
    assert followed.is_endless


class Pouring(NoWire):
    """A stream that delivers the same message endlessly."""

    async def read(self) -> bytes:
        await asyncio.sleep(0)
        return STATE


STATE_VALUE = [[["time", "1"]], ["RDS", "0", "1"], ["nd", *[["nd", ["nd"]]] * 500]]
STATE = codec.encode(STATE_VALUE)


@pytest.mark.asyncio
async def test_what_is_decoded_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The decoded size counts, even if bytes and messages are few."""
    monkeypatch.setattr(floods, "SESSION_LIMIT", Read(1 << 30, 1 << 30, 20_000))
    configuration = Configuration(
        protocols.role("simspark/server"), connect="127.0.0.1:1,127.0.0.1:2"
    )
    iut, instance = Iut(Testbed(configuration), ""), Instance(configuration, "monitor-tcp")
    with mock.patch.object(instance, "link", return_value=Pouring(asyncio.Event().wait)):
        async with iut.connect(instance) as session:
            with pytest.raises(Flooded, match="more than a session can have") as raised:
                await session.expect("Ack")
    assert raised.value.size == session.size < 100 * len(STATE)
    assert iut.testbed.timeouts.floods.count == 1


@pytest.mark.asyncio
async def test_what_is_old_and_large_is_packed() -> None:
    """Packed events have the same values, in the session and the transcript, and are smaller."""
    configuration = Configuration(
        protocols.role("simspark/server"), connect="127.0.0.1:1,127.0.0.1:2"
    )
    iut, instance = Iut(Testbed(configuration), ""), Instance(configuration, "monitor-tcp")
    with mock.patch.object(instance, "link", return_value=Pouring(asyncio.Event().wait)):
        async with iut.connect(instance) as session:
            for _ in range(100):
                await session.expect()
    first, latest = session.received[0], session.received[-1]
    assert isinstance(first.decoded, PackedValue) and not isinstance(latest.decoded, PackedValue)
    assert first.value == latest.value == STATE_VALUE
    events, _ = transcripts._insert_gaps(session.events, [first.event, latest.event])
    assert [event.value for event in events if event.message] == [STATE_VALUE] * 2


@pytest.mark.asyncio
async def test_what_a_session_that_is_over_has_read_does_not_count() -> None:
    """Data read by a session that has ended does not count for a flood."""
    configuration = Configuration(
        protocols.role("simspark/server"), connect="127.0.0.1:1,127.0.0.1:2"
    )
    iut, instance = Iut(Testbed(configuration), ""), Instance(configuration, "monitor-tcp")

    async def answering() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.05)  # the reader continues during this time

    with mock.patch.object(instance, "link", return_value=Pouring(asyncio.Event().wait)):
        async with iut.connect(instance) as session:
            session._answering.append(asyncio.create_task(answering()))
            await session.expect()
    left = iut.testbed.timeouts.floods
    assert session.size and not left.count
    assert not left._read
