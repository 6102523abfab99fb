"""The reference owner of buffers: creates them, writes data, and removes them at exit.

It uses no hardware: the upper tester passes the sensed values. With `--moving` it simulates a
device of each type of the catalog. These devices connect, change their values and disconnect. A
value that a consumer writes to a readable parameter becomes its sensed value.
"""

import argparse
import asyncio
import itertools
from typing import Any

from conformance.runtime.memory.catalog import Peripheral
from conformance.runtime.memory.layout import PLANS, Plan
from mocks import upper_tester
from mocks.runtime.devices import is_connected, measure
from mocks.runtime.memory import peer
from mocks.runtime.memory.owner import BufferOwner
from mocks.runtime.memory.peer import Asked, Buffer
from mocks.upper_tester import Operation, Warned

STEP = 0.1  # seconds between two measurements
UID = "1"  # UID of each simulated device


class Owner(BufferOwner, Asked):
    """The owner of any peripherals. Each of its operations is a method."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self.written: dict[str, dict[str, Any]] = {}
        """By type: the values that consumers have written to the simulated devices."""

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
        """Run one cycle of the device process; return the messages to the device."""
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

    # Simulated devices

    async def move(self) -> None:
        """Simulate all devices until cancelled; the device of the first type stays connected."""
        for step in itertools.count():
            seconds = step * STEP
            for number, peripheral in enumerate(self.catalog.values()):
                await self.live(peripheral, seconds, number == 0 or is_connected(seconds, number))
            await asyncio.sleep(STEP)

    async def live(self, peripheral: Peripheral, seconds: float, connected: bool) -> None:
        """Simulate one step of one device."""
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
        await self.set_data(buffer, {**measure(readable, seconds), **taken})


PEER = Owner


def options(parser: argparse.ArgumentParser) -> None:
    peer.options(parser)
    parser.add_argument(
        "--moving",
        action="store_true",
        help="simulate devices of the catalog that connect, change and disconnect",
    )


async def main(args: argparse.Namespace, peer: type[Owner]) -> int:
    """Run operations of the upper tester until its input ends; with --moving, until terminated."""
    if args.moving and not args.catalog:
        raise ValueError("--moving needs --catalog, which defines the devices")
    owner = peer(PLANS[args.layout])
    try:
        if args.catalog:
            owner.load(args.catalog)
        serving = upper_tester.serve(owner.operations(), wire=False)
        await (asyncio.gather(owner.move(), serving) if args.moving else serving)
    finally:
        owner.close()
    return 0
