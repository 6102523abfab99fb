"""Common code of owners and consumers: the catalog, buffers by name, and their mutex."""

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

PATIENCE = 5.0  # seconds to wait for a mutex at most
_POLL = 0.0002  # seconds between two attempts to lock it


class Buffer:
    """A buffer, with its fields by name."""

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
        """Return the field of a parameter. Raises ValueError if the block does not contain it."""
        try:
            return self.layout[f"{block}.params.{name}"]
        except KeyError:
            raise ValueError(f"{name} is not in the {block} block") from None


class Peer:
    """A peer that works with buffers. Each step of an operation is a method."""

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
        return layout.plan_layout(peripheral, self.plan)

    # Begin and end of every operation

    @contextlib.asynccontextmanager
    async def operation(self, buffer: Buffer) -> AsyncIterator[None]:
        """Hold the mutex of a valid buffer. Raises ValueError if the buffer is invalid."""
        await self.acquire(buffer)
        try:
            self.check_valid(buffer)
            yield
        finally:
            self.release(buffer)

    async def acquire(self, buffer: Buffer) -> None:
        deadline = time.monotonic() + PATIENCE
        # No event shows that another process has unlocked the mutex.
        while not buffer.mapped.trylock(buffer.layout["mutex"].offset):
            if time.monotonic() > deadline:
                raise ValueError(f"the mutex of {buffer.name} is held by another process")
            await asyncio.sleep(_POLL)

    def release(self, buffer: Buffer) -> None:
        buffer.mapped.unlock(buffer.layout["mutex"].offset)

    def check_valid(self, buffer: Buffer) -> None:
        if not buffer["valid"]:
            raise ValueError(f"{buffer.name} is invalid")

    # Steps of operations

    def now(self) -> float:
        return time.time()

    def clamp(self, param: Parameter, value: Any, warnings: list[str]) -> Any:
        """Return a value within its bounds; add a warning if it was clamped."""
        try:
            clamped = param.clamp(value)
        except TypeError:
            raise ValueError(f"{value!r} is not a {param.type}") from None
        if clamped != value and value == value:
            self.warn(f"{param.name}: {value} was clamped to {clamped}", warnings)
        return clamped

    def warn(self, text: str, warnings: list[str]) -> None:
        warnings.append(text)

    def put(self, buffer: Buffer, field: Field, raw: bytes) -> None:
        buffer.mapped.data[field.offset : field.end] = raw

    def mark(self, buffer: Buffer, bitmap: str, names: Any) -> None:
        """Set the bits of parameters in a bitmap, if the buffer has a control block."""
        if buffer.layout.control:
            buffer[f"control.{bitmap}"] |= self.bits(buffer.peripheral, names)

    def take(self, buffer: Buffer, bitmap: str) -> list[str]:
        """Return the parameters of a bitmap, and clear it."""
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

    # Operations for the upper tester

    def operations(self) -> dict[str, Operation]:
        async def load(args: dict[str, Any]) -> None:
            self.load(args["path"])

        async def tell(args: dict[str, Any]) -> Any:
            return self.layout(self.peripheral(args["type"])).to_json()

        return {"catalog": load, "layout": tell}

    def close(self) -> None:
        """Close all buffers."""
        for buffer in self.buffers.values():
            buffer.mapped.close()
        self.buffers.clear()


class Asked(Peer):
    """A peer that runs operations on buffers, named by its upper tester."""

    async def get_update(self, buffer: Buffer) -> dict[str, Any]:
        return await self.values(buffer, "update", "read")

    async def values(self, buffer: Buffer, bitmap: str, block: str) -> dict[str, Any]:
        """Return the values of the parameters in a bitmap, and clear the bitmap."""
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
        """Return the buffer that an operation names. Raises ValueError if it does not exist."""
        try:
            return self.buffers[args["buffer"].removeprefix("/")]
        except KeyError:
            raise ValueError(f"there is no buffer {args['buffer']!r}") from None


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of all roles with buffers."""
    parser.add_argument(
        "--layout", choices=layout.PLANS, default="natural", help="layout of buffers"
    )
    parser.add_argument(
        "--catalog", metavar="FILE", help="catalog to read before the first operation"
    )
