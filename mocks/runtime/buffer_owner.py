"""The reference owner of buffers: makes them, fills them with data, removes them at its end."""

import argparse
import os
from typing import Any

from conformance.runtime.memory.layout import PLANS
from mocks import upper_tester
from mocks.runtime.memory import peer
from mocks.runtime.memory.mapped import Mapped
from mocks.runtime.memory.peer import Buffer, Peer
from mocks.streams import note
from mocks.upper_tester import Operation, Warned


class Owner(Peer):
    """The process that talks to peripherals. Each of its operations is one method."""

    # Connecting

    async def connect(self, type_: str, uid: str) -> Buffer:
        """The buffer of a peripheral that is connected now, made if it is new."""
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
        note(f"made {name}")
        return Buffer(peripheral, layout, mapped)

    async def disconnect(self, type_: str, uid: str) -> None:
        buffer = self.buffers.get(self.name(type_, uid))
        if buffer is None:
            raise ValueError(f"no {type_} {uid} was ever connected")
        await self.set_valid(buffer, False)

    # Operations on a buffer

    async def set_valid(self, buffer: Buffer, valid: bool) -> None:
        # Not as others: it is what makes a buffer valid.
        await self.acquire(buffer)
        try:
            self.put_valid(buffer, valid)
        finally:
            self.release(buffer)

    def put_valid(self, buffer: Buffer, valid: bool) -> None:
        buffer["valid"] = int(valid)

    async def set_data(self, buffer: Buffer, values: dict[str, Any]) -> list[str]:
        """Put sensed values into the read block; returns the warnings."""
        warnings: list[str] = []
        raw = {}
        for name, value in values.items():
            field = buffer.param("read", name)
            raw[field] = field.encode(self.clamp(buffer.peripheral[name], value, warnings))
        async with self.operation(buffer):
            for field, data in raw.items():
                buffer.mapped.data[field.offset : field.end] = data
            self.mark(buffer, "update", values)
            self.stamp(buffer, "read")
        return warnings

    async def set_sub(self, buffer: Buffer, uid: int, params: list[str], delay: float) -> None:
        if not buffer.layout.control:
            raise ValueError(f"{buffer.peripheral.name} is no Smart Device")
        fields = {
            "control.uid": uid,
            "control.subscription": self.bits(buffer.peripheral, params),
            "control.delay": round(delay),
        }
        raw = {buffer.layout[name]: buffer.layout[name].encode(v) for name, v in fields.items()}
        async with self.operation(buffer):
            for field, data in raw.items():
                buffer.mapped.data[field.offset : field.end] = data

    async def get_read(self, buffer: Buffer) -> list[str]:
        async with self.operation(buffer):
            return self.take(buffer, "read")

    async def set_read(self, buffer: Buffer, params: list[str]) -> None:
        for name in params:
            buffer.param("read", name)
        async with self.operation(buffer):
            self.mark(buffer, "read", params)

    async def get_write(self, buffer: Buffer) -> dict[str, Any]:
        return await self.values(buffer, "write", "write")

    async def get_update(self, buffer: Buffer) -> dict[str, Any]:
        return await self.values(buffer, "update", "read")

    async def values(self, buffer: Buffer, bitmap: str, block: str) -> dict[str, Any]:
        """The values in a block of the parameters in a bitmap, which is clear afterwards."""
        async with self.operation(buffer):
            known = buffer.layout.params(block)
            names = [name for name in self.take(buffer, bitmap) if name in known]
            return {name: self.value(buffer, block, name) for name in names}

    def value(self, buffer: Buffer, block: str, name: str) -> Any:
        return buffer[f"{block}.params.{name}"]

    # The end

    def close(self) -> None:
        for buffer in self.buffers.values():
            self.unlink(buffer)
        super().close()

    def unlink(self, buffer: Buffer) -> None:
        buffer.mapped.unlink()

    def operations(self) -> dict[str, Operation]:
        async def connect(args: dict[str, Any]) -> Any:
            return {"buffer": (await self.connect(args["type"], str(args["uid"]))).name}

        async def disconnect(args: dict[str, Any]) -> None:
            await self.disconnect(args["type"], str(args["uid"]))

        async def set_valid(args: dict[str, Any]) -> None:
            await self.set_valid(self.buffer(args), args["valid"])

        async def set_data(args: dict[str, Any]) -> Any:
            return Warned(None, await self.set_data(self.buffer(args), args["values"]))

        async def set_sub(args: dict[str, Any]) -> None:
            uid, params, delay = int(args["uid"]), args["params"], args["delay"]
            await self.set_sub(self.buffer(args), uid, params, delay)

        async def get_read(args: dict[str, Any]) -> Any:
            return await self.get_read(self.buffer(args))

        async def set_read(args: dict[str, Any]) -> None:
            await self.set_read(self.buffer(args), args["params"])

        async def get_write(args: dict[str, Any]) -> Any:
            return await self.get_write(self.buffer(args))

        async def get_update(args: dict[str, Any]) -> Any:
            return await self.get_update(self.buffer(args))

        return {
            **super().operations(),
            "connect": connect,
            "disconnect": disconnect,
            "set_valid": set_valid,
            "set_data": set_data,
            "set_sub": set_sub,
            "set_read": set_read,
            "get_read": get_read,
            "get_write": get_write,
            "get_update": get_update,
        }


PEER = Owner


def options(parser: argparse.ArgumentParser) -> None:
    peer.options(parser)


async def main(args: argparse.Namespace, peer: type[Owner]) -> int:
    """Do what the upper tester says, until its input ends."""
    owner = peer(PLANS[args.layout])
    try:
        if args.catalog:
            owner.load(args.catalog)
        await upper_tester.serve(owner.operations())
    finally:
        owner.close()
    return 0
