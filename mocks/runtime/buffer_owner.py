"""The reference owner of buffers: makes them, fills them with data, removes them at its end.

It talks to no hardware: what a device measures is what it is told.
"""

import argparse
from typing import Any

from conformance.runtime.memory.layout import PLANS
from mocks import upper_tester
from mocks.runtime.memory import peer
from mocks.runtime.memory.owning import Owning
from mocks.runtime.memory.peer import Asked, Buffer
from mocks.upper_tester import Operation, Warned


class Owner(Owning, Asked):
    """The owner of any peripherals. Each of its operations is one method."""

    async def set_sub(self, buffer: Buffer, uid: int, params: list[str], delay: float) -> None:
        if not buffer.layout.control:
            raise ValueError(f"{buffer.peripheral.name} is not a Smart Device")
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

    async def cycle(self, buffer: Buffer) -> list[dict[str, Any]]:
        """One cycle of the device process: the messages that the device is sent."""
        read, written = await self.get_read(buffer), await self.get_write(buffer)
        messages: list[dict[str, Any]] = [{"message": "DEV_READ", "params": read}] if read else []
        return messages + ([{"message": "DEV_WRITE", "values": written}] if written else [])

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

        async def cycle(args: dict[str, Any]) -> Any:
            return await self.cycle(self.buffer(args))

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
            "cycle": cycle,
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
