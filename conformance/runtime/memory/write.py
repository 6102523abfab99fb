"""Tests of operations that write a value together with its bit and its timestamp."""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from conformance.cases import check
from conformance.harness.upper_tester import Answer
from conformance.iut import Iut
from conformance.runtime.memory.buffer import Buffer
from conformance.runtime.memory.contention import ROUNDS, require_success, run_often
from conformance.runtime.memory.tester import Tester, memory_tester


@dataclass(frozen=True)
class Writing:
    """An operation that writes a parameter of an arm.

    ``fields`` are the value, the timestamp and the bitmap of its block. ``bit`` is the requirement
    about the bit. ``given`` makes the arguments for a value. ``second`` is another parameter that
    is written with the same value.
    """

    operation: str
    fields: tuple[str, str, str]
    bit: str
    given: Callable[[int], Mapping[str, Any]]
    second: str = ""


async def write(tester: Tester, buffer: Buffer, writing: Writing, number: int) -> None:
    """Write a value other than zero that belongs to a number."""
    await tester.ask(writing.operation, **buffer.arguments, **writing.given(number + 1))


async def check_writes_whole(iut: Iut, writing: Writing) -> None:
    """Check a thousand writes while another process reads and clears: no bit is lost.

    A new value always has its bit, its timestamp and the second value. A cleared bit is set again
    only with a new value.
    """
    operation, (value, timestamp, bitmap) = writing.operation, writing.fields
    block, _, name = value.split(".")
    stamped = f"{operation.replace('_', '-')}.timestamp"
    async with memory_tester(iut) as tester:
        buffer = await tester.valid_buffer("arm")
        names = [name, writing.second] if writing.second else [name]
        bit, values = buffer.bits(names), [f"{block}.params.{each}" for each in names]
        await buffer.put({bitmap: 0, timestamp: 1.0, **dict.fromkeys(values, 0)})
        came: list[Answer] = []
        began = time.time()
        await tester.require(operation, **buffer.arguments, **writing.given(0))
        first = await buffer.look()
        first.check_fields({bitmap: bit}, writing.bit)
        first.check_stamped(block, began, stamped)
        # No process has cleared the bit, so it stays set.
        await tester.require(operation, **buffer.arguments, **writing.given(0))
        (await buffer.look()).check_fields({bitmap: bit}, writing.bit)
        await buffer.put({bitmap: 0, timestamp: 1.0})

        running = asyncio.create_task(
            run_often(tester, buffer, operation, map(writing.given, range(1, ROUNDS + 1)), came)
        )
        before, looks, over, since = 0, 0, False, time.time()
        while not over:
            over = running.done()
            async with buffer.hold():
                now, found, stamp = map(buffer.peek_at, (value, bitmap, timestamp))
                if now != before or found:
                    image = buffer.peek()
                    image.check_fields({bitmap: bit, **dict.fromkeys(values, now)})
                    # A write that is seen before its end has an old timestamp, never a future one.
                    image.check_stamped(block, since, stamped if stamp > image.at else None)
                    check(
                        now != before or stamp > 1.0,
                        f"{buffer.place(bitmap)} to be set only for a new value",
                        f"it is set, but the value is still {now}",
                    )
                    before, looks, since = now, looks + 1, time.time()
                    buffer.poke({bitmap: 0, timestamp: 1.0})
            await asyncio.sleep(0)
        await running
        tester.session.note("contention", None, written=ROUNDS, taken=looks)
        require_success(operation, came)
        check(looks > 0, "values to be written", "none was written")
