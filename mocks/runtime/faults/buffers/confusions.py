"""Faults of consumers that confuse bits, lengths or names."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mocks.deviations import fault
from mocks.runtime.buffer_consumer import Consumer
from mocks.runtime.memory.peer import Buffer
from mocks.upper_tester import Warned


@fault("bits-of-the-write-block", violates="format.bitmaps", subtle=True)
class BitsOfTheWriteBlock(Consumer):
    """Counts bits of writes in the write block, and bits of updates in the catalog."""

    def mark(self, buffer: Buffer, bitmap: str, names: Any) -> None:
        order = [*buffer.layout.params("write")]
        if buffer.layout.control:
            buffer[f"control.{bitmap}"] |= sum(1 << order.index(name) for name in names)


@fault("long-arrays-overflow", violates="robustness.odd-operations", subtle=True)
class LongArraysOverflow(Consumer):
    """Writes all elements of a long array, also over the next fields."""

    async def set_value(self, buffer: Buffer, name: str, value: Any) -> Warned:
        field = buffer.param("write", name) if isinstance(value, list) else None
        if field is None or field.count is None or len(value) <= field.count:
            return await super().set_value(buffer, name, value)
        size = field.size // field.count * len(value)
        raw = replace(field, count=len(value), size=size).encode(value)
        async with self.operation(buffer):
            buffer.mapped.data[field.offset : field.offset + size] = raw
        return Warned(None, [])


@fault("types-without-dashes", violates="get-value.value", subtle=True)
class TypesWithoutDashes(Consumer):
    """Takes the text between the first two dashes of a buffer's name for its type."""

    def buffer(self, args: Mapping[str, Any]) -> Buffer:
        return super().buffer({"buffer": args["buffer"]})

    def type(self, name: str) -> str:
        super().type(name)
        return name.split("-")[1]
