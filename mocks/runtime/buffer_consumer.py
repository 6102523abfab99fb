"""The reference consumer of buffers: reads buffers of other owners, and requests changes.

It runs no student code. It only runs the operations of its upper tester.
"""

import argparse
import os
from collections.abc import Mapping
from typing import Any

from conformance.mutex import BrokenMutex
from conformance.runtime.memory.layout import PLANS
from mocks import upper_tester
from mocks.runtime.memory import peer
from mocks.runtime.memory.mapped import FOLDER, Mapped
from mocks.runtime.memory.peer import Asked, Buffer
from mocks.upper_tester import Operation, Warned


class Consumer(Asked):
    """A process that runs student code. Each of its operations is a method."""

    # Finding buffers

    def buffer(self, args: Mapping[str, Any]) -> Buffer:
        """Return the view of a buffer; open the buffer at its first use."""
        name = args["buffer"].removeprefix("/")
        known = self.buffers.get(name)
        if known is not None and self.current(known):
            return known
        # An operation that still uses the old view keeps it until the operation ends.
        self.buffers[name] = self.open(name, args.get("type") or self.type(name))
        return self.buffers[name]

    def current(self, buffer: Buffer) -> bool:
        return buffer.mapped.current

    def type(self, name: str) -> str:
        """Return the catalog type from the name of a buffer. Raises ValueError if there is none."""
        found = [type_ for type_ in self.catalog if name.startswith(f"rt-{type_}-")]
        if not found:
            raise ValueError(f"{name!r} is not the name of a buffer")
        return max(found, key=len)

    def open(self, name: str, type_: str) -> Buffer:
        """Open an existing buffer. Raises ValueError if it is missing or too short."""
        peripheral = self.peripheral(type_)
        layout = self.layout(peripheral)
        try:
            mapped = Mapped.open(name)
        except OSError as error:
            raise ValueError(f"there is no buffer {name!r}: {error.strerror}") from error
        if len(mapped.data) < layout.size:
            mapped.close()
            raise ValueError(f"{name!r} is too short to be a {type_}")
        return Buffer(peripheral, layout, mapped)

    async def list(self) -> list[str]:
        """Return the names of all buffers that are valid now."""
        # Drop the views of removed buffers, which would otherwise be kept forever.
        for gone in [name for name, buffer in self.buffers.items() if not self.current(buffer)]:
            del self.buffers[gone]
        found = []
        for name in sorted(os.listdir(FOLDER)):
            try:
                buffer = self.buffer({"buffer": name})
                async with self.operation(buffer):
                    found.append(name)
            except (ValueError, BrokenMutex):
                continue
        return found

    # Operations on a buffer

    async def get_value(self, buffer: Buffer, name: str) -> Warned:
        if not buffer.peripheral[name].readable:
            return self.refuse(f"{name} of {buffer.peripheral.name} cannot be read")
        async with self.operation(buffer):
            return Warned(self.value(buffer, name), [])

    def value(self, buffer: Buffer, name: str) -> Any:
        return buffer[buffer.param("read", name).name]

    async def set_value(self, buffer: Buffer, name: str, value: Any) -> Warned:
        param = buffer.peripheral[name]
        if not param.writeable:
            return self.refuse(f"{name} of {buffer.peripheral.name} cannot be written")
        warnings: list[str] = []
        field = buffer.param("write", name)
        raw = field.encode(self.clamp(param, value, warnings))
        async with self.operation(buffer):
            self.put(buffer, field, raw)
            self.mark(buffer, "write", [name])
            self.stamp(buffer, "write")
        return Warned(None, warnings)

    def refuse(self, warning: str) -> Warned:
        """Answer a forbidden access of student code with a warning."""
        return Warned(None, [warning])

    def operations(self) -> dict[str, Operation]:
        async def list_(args: dict[str, Any]) -> Any:
            return await self.list()

        async def get_value(args: dict[str, Any]) -> Warned:
            return await self.get_value(self.buffer(args), args["param"])

        async def set_value(args: dict[str, Any]) -> Warned:
            return await self.set_value(self.buffer(args), args["param"], args["value"])

        mine = {"list": list_, "get_value": get_value, "set_value": set_value}
        return {**super().operations(), **mine}


PEER = Consumer


def options(parser: argparse.ArgumentParser) -> None:
    peer.options(parser)


async def main(args: argparse.Namespace, peer: type[Consumer]) -> int:
    """Run operations of the upper tester until its input ends."""
    consumer = peer(PLANS[args.layout])
    try:
        if args.catalog:
            consumer.load(args.catalog)
        await upper_tester.serve(consumer.operations(), wire=False)
    finally:
        consumer.close()
    return 0
