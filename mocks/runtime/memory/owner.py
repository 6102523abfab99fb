"""Common code of all owners of buffers: creating, writing and removing buffers."""

import os
from typing import Any

from mocks.run import note
from mocks.runtime.memory.mapped import Mapped
from mocks.runtime.memory.peer import Buffer, Peer


class BufferOwner(Peer):
    """The process that communicates with peripherals."""

    # Connecting

    async def connect(self, type_: str, uid: str) -> Buffer:
        """Connect a peripheral and return its buffer; create the buffer if it is new."""
        name = self.name(type_, uid)
        buffer = self.buffers.get(name)
        if buffer is None:
            buffer = self.buffers[name] = self.create(name, type_)
        await self.set_valid(buffer, True)
        return buffer

    def name(self, type_: str, uid: str) -> str:
        return f"rt-{type_}-{uid}-{os.getpid()}"

    def create(self, name: str, type_: str) -> Buffer:
        peripheral = self.peripheral(type_)
        layout = self.layout(peripheral)
        mapped = Mapped.create(name, layout.size)
        mapped.initialise(layout["mutex"].offset)
        note(f"created {name}")
        return Buffer(peripheral, layout, mapped)

    async def disconnect(self, type_: str, uid: str) -> None:
        buffer = self.buffers.get(self.name(type_, uid))
        if buffer is None:
            raise ValueError(f"no {type_} {uid} was ever connected")
        await self.set_valid(buffer, False)

    # Operations on a buffer

    async def set_valid(self, buffer: Buffer, valid: bool) -> None:
        # Unlike other operations, this operation works on an invalid buffer, because it makes the
        # buffer valid.
        await self.acquire(buffer)
        try:
            self.put_valid(buffer, valid)
        finally:
            self.release(buffer)

    def put_valid(self, buffer: Buffer, valid: bool) -> None:
        buffer["valid"] = int(valid)

    async def set_data(self, buffer: Buffer, values: dict[str, Any]) -> list[str]:
        """Write sensed values to the read block; return the warnings."""
        warnings: list[str] = []
        raw = {}
        for name, value in values.items():
            field = buffer.param("read", name)
            raw[field] = field.encode(self.clamp(buffer.peripheral[name], value, warnings))
        async with self.operation(buffer):
            for field, data in raw.items():
                self.put(buffer, field, data)
            self.mark(buffer, "update", values)
            self.stamp(buffer, "read")
        return warnings

    # Exit

    def close(self) -> None:
        for buffer in self.buffers.values():
            self.unlink(buffer)
        super().close()

    def unlink(self, buffer: Buffer) -> None:
        buffer.mapped.unlink()
