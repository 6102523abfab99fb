"""The tester of operations that write a value together with its bit and its time."""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from conformance.cases import check
from conformance.harness.upper import Answer
from conformance.iut import Iut
from conformance.runtime.memory.contention import ROUNDS, often, some_succeed
from conformance.runtime.memory.tester import memory_tester


@dataclass(frozen=True)
class Writing:
    """An operation that writes a parameter of an arm.

    ``fields`` are its value, its block's timestamp and its bitmap, ``bit`` is the requirement that
    this has its bit, and ``given`` makes the arguments for a value, which a parameter ``beside`` it
    may be given as well.
    """

    operation: str
    fields: tuple[str, str, str]
    bit: str
    given: Callable[[int], Mapping[str, Any]]
    beside: str = ""


async def writes_whole(iut: Iut, writing: Writing) -> None:
    """A thousand times a value is written while another process takes values: no bit is lost.

    A look at a new value finds its bit and its time, and what was written beside it; a bit that was
    cleared comes with a new value only.
    """
    operation, (value, timestamp, bitmap) = writing.operation, writing.fields
    block, _, name = value.split(".")
    stamped = f"{operation.replace('_', '-')}.timestamp"
    async with memory_tester(iut) as tester:
        buffer = await tester.ready("arm")
        names = [name, writing.beside] if writing.beside else [name]
        bit, values = buffer.bits(names), [f"{block}.params.{each}" for each in names]
        await buffer.put({bitmap: 0, timestamp: 1.0, **dict.fromkeys(values, 0)})
        came: list[Answer] = []
        began = time.time()
        await tester.means(operation, **buffer.arguments, **writing.given(0))
        first = await buffer.look()
        first.holds({bitmap: bit}, writing.bit)
        first.stamped(block, began, stamped)
        # Nobody has cleared it: it stays.
        await tester.means(operation, **buffer.arguments, **writing.given(0))
        (await buffer.look()).holds({bitmap: bit}, writing.bit)
        await buffer.put({bitmap: 0, timestamp: 1.0})

        running = asyncio.create_task(
            often(tester, buffer, operation, map(writing.given, range(1, ROUNDS + 1)), came)
        )
        before, looks, over, since = 0, 0, False, time.time()
        while not over:
            over = running.done()
            async with buffer.held():
                now, found, stamp = map(buffer.peek_at, (value, bitmap, timestamp))
                if now != before or found:
                    image = buffer.peek()
                    image.holds({bitmap: bit, **dict.fromkeys(values, now)})
                    # A write that is seen in its midst leaves an old time, and never a later one.
                    image.stamped(block, since, stamped if stamp > image.at else None)
                    check(
                        now != before or stamp > 1.0,
                        f"{buffer.place(bitmap)} to be set for a new value only",
                        f"it is set, and the value is {now} as before",
                    )
                    before, looks, since = now, looks + 1, time.time()
                    buffer.poke({bitmap: 0, timestamp: 1.0})
            await asyncio.sleep(0)
        await running
        tester.session.note("contention", None, written=ROUNDS, taken=looks)
        some_succeed(operation, came)
        check(looks > 0, "values to be written", "none was seen")
