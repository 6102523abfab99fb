"""The reference owner of buffers: makes them, fills them with data, removes them at its end.

It talks to no hardware: what a device measures is what it is told. With `--moving` it simulates a
device of each type of the catalog: they come and go, their values change, and what consumers write
to a parameter that can be read as well is what it measures from then on.
"""

import argparse
import asyncio
import itertools
from typing import Any

from conformance.runtime.memory.catalog import Peripheral
from conformance.runtime.memory.layout import PLANS, Plan
from mocks import upper_tester
from mocks.runtime.devices import measured, there
from mocks.runtime.memory import peer
from mocks.runtime.memory.owning import Owning
from mocks.runtime.memory.peer import Asked, Buffer
from mocks.upper_tester import Operation, Warned

STEP = 0.1  # seconds from one measurement to the next
UID = "1"  # of the devices that move


class Owner(Owning, Asked):
    """The owner of any peripherals. Each of its operations is one method."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self.written: dict[str, dict[str, Any]] = {}
        """What consumers have written to the devices that move, by their types."""

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

    # A world of its own

    async def move(self) -> None:
        """Let devices come, move and go, until cancelled; the first of all types stays."""
        for step in itertools.count():
            seconds = step * STEP
            for number, peripheral in enumerate(self.catalog.values()):
                await self.live(peripheral, seconds, number == 0 or there(seconds, number))
            await asyncio.sleep(STEP)

    async def live(self, peripheral: Peripheral, seconds: float, connected: bool) -> None:
        """What one device does at a moment."""
        known = self.buffers.get(self.name(peripheral.name, UID))
        was = known is not None and bool(known["valid"])
        if connected != was:
            await (self.connect if connected else self.disconnect)(peripheral.name, UID)
            self.written.pop(peripheral.name, None)
        if not connected:
            return
        buffer = self.buffers[self.name(peripheral.name, UID)]
        written = self.written.setdefault(peripheral.name, {})
        if buffer.layout.control:
            written |= await self.get_write(buffer)
        readable = [param for param in peripheral.params if param.readable]
        taken = {param.name: written[param.name] for param in readable if param.name in written}
        await self.set_data(buffer, {**measured(readable, seconds), **taken})


PEER = Owner


def options(parser: argparse.ArgumentParser) -> None:
    peer.options(parser)
    parser.add_argument(
        "--moving", action="store_true", help="devices of the catalog that come, move and go"
    )


async def main(args: argparse.Namespace, peer: type[Owner]) -> int:
    """Do what the upper tester says, until its input ends, or with --moving until it is ended."""
    if args.moving and not args.catalog:
        raise ValueError("--moving needs --catalog, whose devices are to move")
    owner = peer(PLANS[args.layout])
    try:
        if args.catalog:
            owner.load(args.catalog)
        serving = upper_tester.serve(owner.operations(), wire=False)
        await (asyncio.gather(owner.move(), serving) if args.moving else serving)
    finally:
        owner.close()
    return 0
