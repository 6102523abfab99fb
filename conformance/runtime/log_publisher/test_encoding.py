"""How messages are encoded: whole, behind each other, and their text as text."""

import asyncio

from conformance.cases import requirement
from conformance.iut import Iut
from conformance.runtime.log_publisher.tester import log, logged, published, publishing
from conformance.verdicts import NotExercised, Violation

# Messages, of a hundred thousand bytes each: more than is under way to who does not read.
_MUCH = 60


@requirement("encoding.messagepack")
async def test_back_to_back(iut: Iut) -> None:
    """Messages of all sizes stand right behind each other, with nothing between them."""
    async with publishing(iut) as publisher:
        for number in range(40):
            await log(publisher, "x" * 100 * number + str(number), extra={"n": number})
        await published(publisher, "x" * 3900 + "39")


@requirement("encoding.messagepack")
async def test_for_a_reader_that_waits(iut: Iut) -> None:
    """What is published while nothing is read comes whole afterwards, or not at all."""
    if iut.transport == "zmq":
        raise NotExercised("a message of ZeroMQ is whole, or does not come")
    async with publishing(iut) as publisher:
        session = publisher.session
        with session.inattentive():
            for number in range(_MUCH):
                logging = asyncio.create_task(log(publisher, f"{number}" + "x" * 100_000))
                # It may wait until there is room again, or end the session.
                done, _ = await asyncio.wait({logging}, timeout=session.seconds("quiet"))
                if not done:
                    break
        await logging
        for _ in range(3):
            await log(publisher, "y" * 100_000)
        try:
            await logged(publisher, "afterwards")
        except Violation as missing:
            if publisher.begun:
                expected = "each message to be whole that came once it was read again"
                raise Violation(expected, f"the end of one is missing; {missing.came}") from missing
            # It may have no time for who reads nothing.


@requirement("encoding.strings")
async def test_strings(iut: Iut) -> None:
    """All that is text is a str of UTF-8."""
    async with publishing(iut) as publisher:
        await logged(publisher, "ä€😀", extra={"ä": "€"})
