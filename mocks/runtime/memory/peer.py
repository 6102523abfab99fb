"""What owners and consumers have in common: the catalog, buffers by name, and their mutex."""

import argparse
import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

from conformance.runtime.memory import catalog, layout
from conformance.runtime.memory.catalog import Parameter, Peripheral
from conformance.runtime.memory.layout import Field, Layout
from mocks.runtime.memory.mapped import Mapped
from mocks.upper_tester import Operation

PATIENCE = 5.0  # seconds that a mutex is waited for
_POLL = 0.0002  # seconds between two attempts to lock it


class Buffer:
    """One buffer: its fields by their names."""

    def __init__(self, peripheral: Peripheral, layout: Layout, mapped: Mapped) -> None:
        self.peripheral = peripheral
        self.layout = layout
        self.mapped = mapped
        self.name = mapped.name

    def __getitem__(self, field: str) -> Any:
        where = self.layout[field]
        return where.decode(self.mapped.data[where.offset : where.end])

    def __setitem__(self, field: str, value: Any) -> None:
        where = self.layout[field]
        self.mapped.data[where.offset : where.end] = where.encode(value)

    def param(self, block: str, name: str) -> Field:
        """The field of a parameter. Raises ValueError where the block has none of that name."""
        try:
            return self.layout[f"{block}.params.{name}"]
        except KeyError:
            raise ValueError(f"{name} is not in the {block} block") from None


class Peer:
    """A peer that works with buffers. Each step of an operation is a method of its own."""

    def __init__(self, plan: layout.Plan) -> None:
        self.plan = plan
        self.catalog: dict[str, Peripheral] = {}
        self.buffers: dict[str, Buffer] = {}

    # The catalog

    def load(self, path: str) -> None:
        self.catalog = self.read_catalog(Path(path).read_bytes())

    def read_catalog(self, text: bytes) -> dict[str, Peripheral]:
        return catalog.load(text)

    def peripheral(self, name: str) -> Peripheral:
        try:
            return self.catalog[name]
        except KeyError:
            raise ValueError(f"the catalog has no {name!r}") from None

    def layout(self, peripheral: Peripheral) -> Layout:
        return layout.planned(peripheral, self.plan)

    # The frame of every operation

    @contextlib.asynccontextmanager
    async def operation(self, buffer: Buffer) -> AsyncIterator[None]:
        """Hold the mutex of a buffer that is valid. Raises ValueError where it is not."""
        await self.acquire(buffer)
        try:
            self.check_valid(buffer)
            yield
        finally:
            self.release(buffer)

    async def acquire(self, buffer: Buffer) -> None:
        deadline = time.monotonic() + PATIENCE
        # No event says that another process has unlocked it.
        while not buffer.mapped.trylock(buffer.layout["mutex"].offset):
            if time.monotonic() > deadline:
                raise ValueError(f"the mutex of {buffer.name} is held by another process")
            await asyncio.sleep(_POLL)

    def release(self, buffer: Buffer) -> None:
        buffer.mapped.unlock(buffer.layout["mutex"].offset)

    def check_valid(self, buffer: Buffer) -> None:
        if not buffer["valid"]:
            raise ValueError(f"{buffer.name} is invalid")

    # Their steps

    def now(self) -> float:
        return time.time()

    def clamp(self, param: Parameter, value: Any, warnings: list[str]) -> Any:
        """A value within its bounds; a warning is added where it was not."""
        try:
            clamped = param.clamp(value)
        except TypeError:
            raise ValueError(f"{value!r} is no {param.type}") from None
        if clamped != value and value == value:
            self.warn(f"{param.name}: {value} was clamped to {clamped}", warnings)
        return clamped

    def warn(self, text: str, warnings: list[str]) -> None:
        warnings.append(text)

    def put(self, buffer: Buffer, field: Field, raw: bytes) -> None:
        buffer.mapped.data[field.offset : field.end] = raw

    def mark(self, buffer: Buffer, bitmap: str, names: Any) -> None:
        """Set the bits of parameters in a bitmap, if there is one."""
        if buffer.layout.control:
            buffer[f"control.{bitmap}"] |= self.bits(buffer.peripheral, names)

    def take(self, buffer: Buffer, bitmap: str) -> list[str]:
        """The parameters of a bitmap, which is clear afterwards."""
        if not buffer.layout.control:
            raise ValueError(f"{buffer.peripheral.name} is not a Smart Device")
        names = self.names(buffer.peripheral, buffer[f"control.{bitmap}"])
        self.clear(buffer, bitmap)
        return names

    def clear(self, buffer: Buffer, bitmap: str) -> None:
        buffer[f"control.{bitmap}"] = 0

    def bits(self, peripheral: Peripheral, names: Any) -> int:
        return peripheral.bits(names)

    def names(self, peripheral: Peripheral, bitmap: int) -> list[str]:
        return peripheral.names(bitmap)

    def stamp(self, buffer: Buffer, block: str) -> None:
        buffer[f"{block}.timestamp"] = self.now()

    # For the upper tester

    def operations(self) -> dict[str, Operation]:
        async def load(args: dict[str, Any]) -> None:
            self.load(args["path"])

        async def tell(args: dict[str, Any]) -> Any:
            return self.layout(self.peripheral(args["type"])).to_json()

        return {"catalog": load, "layout": tell}

    def close(self) -> None:
        """Let go of everything."""
        for buffer in self.buffers.values():
            buffer.mapped.close()
        self.buffers.clear()


class Asked(Peer):
    """A peer that does operations on buffers which its upper tester names."""

    async def get_update(self, buffer: Buffer) -> dict[str, Any]:
        return await self.values(buffer, "update", "read")

    async def values(self, buffer: Buffer, bitmap: str, block: str) -> dict[str, Any]:
        """The values in a block of the parameters in a bitmap, which is clear afterwards."""
        async with self.operation(buffer):
            known = buffer.layout.params(block)
            names = [name for name in self.take(buffer, bitmap) if name in known]
            return {name: self.stored(buffer, block, name) for name in names}

    def stored(self, buffer: Buffer, block: str, name: str) -> Any:
        return buffer[f"{block}.params.{name}"]

    def operations(self) -> dict[str, Operation]:
        async def get_update(args: dict[str, Any]) -> Any:
            return await self.get_update(self.buffer(args))

        return {**super().operations(), "get_update": get_update}

    def buffer(self, args: Mapping[str, Any]) -> Buffer:
        """The buffer that an operation names. Raises ValueError where there is none."""
        try:
            return self.buffers[args["buffer"].removeprefix("/")]
        except KeyError:
            raise ValueError(f"there is no buffer {args['buffer']!r}") from None


def options(parser: argparse.ArgumentParser) -> None:
    """The options that all roles with buffers have."""
    parser.add_argument("--layout", choices=layout.PLANS, default="natural", help="of buffers")
    parser.add_argument("--catalog", metavar="FILE", help="read it before the first operation")
