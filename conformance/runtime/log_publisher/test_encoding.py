"""Tests of the encoding: complete messages, without gaps, and text as str."""

import asyncio

from conformance.cases import requirement
from conformance.harness.deadlines import countdown_from
from conformance.iut import Iut
from conformance.runtime.log_publisher.tester import (
    expect_published,
    log,
    log_and_expect,
    open_publisher,
)
from conformance.session import Session
from conformance.verdicts import NotExercised, Violation

_MESSAGES = 60  # messages of 100 kB; more than the buffers of an unread connection can hold


@requirement("encoding.messagepack")
async def test_back_to_back(iut: Iut) -> None:
    """Messages of all sizes follow each other directly, without bytes between them."""
    async with open_publisher(iut) as publisher:
        for number in range(40):
            await log(publisher, "x" * 100 * number + str(number), extra={"n": number})
        await expect_published(publisher, "x" * 3900 + "39")


@requirement("encoding.messagepack")
async def test_for_a_reader_that_waits(iut: Iut) -> None:
    """If the client pauses its reading, each message arrives complete or not at all."""
    if iut.transport == "zmq":
        raise NotExercised("a message of ZeroMQ arrives complete or not at all")
    async with open_publisher(iut) as publisher:
        session = publisher.session
        with session.stop_reading():
            for number in range(_MESSAGES):
                logging = asyncio.create_task(log(publisher, f"{number}" + "x" * 100_000))
                # The publisher can wait until the client reads, or close the connection.
                done, _ = await asyncio.wait({logging}, timeout=session.seconds("quiet"))
                if not done:
                    break
        await logging
        for _ in range(3):
            await log(publisher, "y" * 100_000)
        await log(publisher, "afterwards")
        await _wait_while_bytes_arrive(session)
        try:
            await expect_published(publisher, "afterwards")
        except Violation as missing:
            if publisher.has_begun and not session.closed_by_iut:
                expected = "only complete messages after the client reads again"
                raise Violation(
                    expected, f"the end of a message is missing; {missing.came}"
                ) from missing
        if session.closed_by_iut:
            # The publisher may give up a client that does not read, also inside a message.
            session.excuse_end()


async def _wait_while_bytes_arrive(session: Session) -> None:
    """Wait until the publisher sends nothing for a moment: it can send long messages slowly."""
    left, size = countdown_from(session.instance.configuration.max_wait), -1
    while size != session.size and left() > 0:
        size = session.size
        await session.until_closed("quiet")


@requirement("encoding.strings")
async def test_strings(iut: Iut) -> None:
    """All text is str of UTF-8."""
    async with open_publisher(iut) as publisher:
        await log_and_expect(publisher, "ä€😀", extra={"ä": "€"})
