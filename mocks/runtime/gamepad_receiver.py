"""The reference receiver of gamepad input, which owns the buffers of all gamepads.

It stores the input for readers of the buffers, and does not use it.
"""

import argparse
import asyncio
from collections.abc import Callable
from typing import Any

from conformance.runtime.codec import Decoder
from conformance.runtime.memory.catalog import BOOLEAN, REAL, Parameter
from conformance.runtime.memory.layout import PLANS
from conformance.runtime.shapes import GAMEPADS
from mocks import datagrams, upper_tester
from mocks.datagrams import Datagrams
from mocks.run import note
from mocks.runtime.memory import peer
from mocks.runtime.memory.owner import BufferOwner
from mocks.runtime.memory.peer import Buffer
from mocks.upper_tester import Operation, Warned

TYPE = "gamepad"
AXES = ("lx", "ly", "rx", "ry")


class Receiver(BufferOwner):
    """Stores the last input of every gamepad in a buffer. Each step is a method."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.pads: dict[str, Buffer] = {}
        self.warnings: list[str] = []

    async def run(self, socket: Datagrams) -> None:
        """Receive datagrams until cancelled."""
        while True:
            await self.received(await socket.read())

    async def received(self, data: bytes) -> None:
        for message in self.messages(data):
            for index, pad in message.items():
                if self.proper(index, pad):
                    await self.play(index, pad)

    def messages(self, data: bytes) -> list[dict[str, Any]]:
        """Return the gamepads of an input message, or an empty list."""
        decoder = Decoder()
        frames = [*decoder.feed(data), *decoder.end()]
        if len(frames) != 1 or frames[0].name != GAMEPADS:
            return []
        pads = frames[0].value.get("gamepads")
        return [pads] if isinstance(pads, dict) else []

    def proper(self, index: str, pad: Any) -> bool:
        """Return True if the index and the type of the input are valid."""
        return index.isascii() and index.isdecimal() and isinstance(pad, dict)

    async def play(self, index: str, pad: dict[str, Any]) -> None:
        """Write the input of one gamepad to its buffer. Missing values stay unchanged."""
        values: dict[str, Any] = {}
        warnings: list[str] = []
        for params, read in ((BOOLEAN, self.buttons), (REAL, self.axes)):
            read(pad, [p for p in self.peripheral(TYPE).params if p.kind == params], values)
        try:
            buffer = await self.pad(index)
            warnings = await self.set_data(buffer, values)
        except ValueError as error:
            note(f"gamepad {index}: {error}")
        except OSError:  # the index is too long for the name of an object
            note(f"gamepad {index[:8]}… has no buffer")
        self.warnings += warnings
        for warning in warnings:
            note(f"gamepad {index}: {warning}")

    def buttons(self, pad: dict[str, Any], params: list[Parameter], into: dict[str, Any]) -> None:
        btn = pad.get("btn", 0)
        if isinstance(btn, int) and not isinstance(btn, bool):
            into |= {param.name: self.button(btn, i) for i, param in enumerate(params)}

    def button(self, btn: int, number: int) -> bool:
        return bool(btn >> number & 1)

    def axes(self, pad: dict[str, Any], params: list[Parameter], into: dict[str, Any]) -> None:
        for axis, param in zip(AXES, params, strict=False):
            value = pad.get(axis)
            if isinstance(value, int | float) and not isinstance(value, bool):
                into[param.name] = self.axis(value)

    def axis(self, value: float) -> float:
        return float(value)

    async def pad(self, index: str) -> Buffer:
        """Return the buffer of a gamepad; connect the gamepad at its first input."""
        if index not in self.pads:
            self.pads[index] = await self.connect(TYPE, index)
        return self.pads[index]

    def operations(self) -> dict[str, Operation]:
        async def buffers(args: dict[str, Any]) -> Warned:
            warnings, self.warnings = self.warnings, []
            return Warned({index: buffer.name for index, buffer in self.pads.items()}, warnings)

        mine: dict[str, Callable[..., Any]] = {"buffers": buffers}
        return {**super().operations(), **mine}


PEER = Receiver


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--upper-tester", action="store_true", help="serve operations on stdin")
    peer.options(parser)


async def main(args: argparse.Namespace, peer: type[Receiver]) -> int:
    """Receive until terminated, or until the upper tester's input ends."""
    if not args.listen:
        raise ValueError("a receiver needs --listen")
    receiver = peer(PLANS[args.layout])
    try:
        if args.catalog:
            receiver.load(args.catalog)
        running = asyncio.ensure_future(receiver.run(await datagrams.bind(args.listen)))
        if args.upper_tester:
            await upper_tester.serve(receiver.operations())
        else:
            await running
        running.cancel()
    finally:
        receiver.close()
    return 0
