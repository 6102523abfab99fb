"""The reference gamepad sender: converts raw input to positions and a bitmask.

The input comes from the upper tester, from a file of moves (mocks/runtime/moves.py), or from a
simulated gamepad. It reads no hardware.
"""

import argparse
import asyncio
import itertools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from conformance.runtime.codec import encode
from mocks import datagrams, upper_tester
from mocks.datagrams import Datagrams
from mocks.runtime.moves import BUTTONS, make, read

Pad = Mapping[str, Any]
"""Raw input as in the DOM: `axes`, four numbers, and `buttons`, booleans."""


class Sender:
    """Sends messages to one receiver."""

    def __init__(self, out: Datagrams) -> None:
        self.out = out

    def gamepads(self, pads: Mapping[str, Pad]) -> None:
        """Send the state of all gamepads, by index."""
        self.send(self.message(pads))

    def message(self, pads: Mapping[str, Pad]) -> Any:
        return {"gamepads": {self.index(index): self.pad(pads[index]) for index in pads}}

    def index(self, index: str) -> Any:
        return str(int(index))

    def pad(self, raw: Pad) -> dict[str, Any]:
        lx, ly, rx, ry = map(float, raw["axes"])
        left, right = self.joystick(lx, ly), self.joystick(rx, ry)
        axes = dict(zip(("lx", "ly", "rx", "ry"), (*left, *right), strict=True))
        return {**{name: self.axis(value) for name, value in axes.items()}, **self.btn(raw)}

    def joystick(self, x: float, y: float) -> tuple[float, float]:
        """Return a position within the unit circle; a position outside is moved to its edge."""
        radius = max(math.hypot(x, y), 1.0)
        return x / radius, y / radius

    def axis(self, value: float) -> Any:
        return value

    def btn(self, raw: Pad) -> dict[str, Any]:
        return {"btn": self.mask(raw["buttons"])}

    def mask(self, buttons: Sequence[bool]) -> Any:
        return sum(1 << number for number, pressed in enumerate(buttons) if pressed)

    def send(self, message: Any) -> None:
        self.write(encode(message))

    def write(self, data: bytes) -> None:
        self.out.write(data)


PEER = Sender


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--upper-tester", action="store_true", help="serve operations on stdin")
    parser.add_argument(
        "--rate",
        type=float,
        default=50.0,
        metavar="HZ",
        help="messages per second without an upper tester",
    )
    parser.add_argument(
        "--moves",
        metavar="FILE",
        type=Path,
        help="file of moves: actions on gamepads with their times",
    )


async def main(args: argparse.Namespace, peer: type[Sender]) -> int:
    """Send input from the upper tester, a file or the simulation, until terminated."""
    if not args.connect:
        raise ValueError("a sender needs --connect")
    moves = read(args.moves) if args.moves else None
    out = await datagrams.connect(args.connect)
    sender = peer(out)
    try:
        if args.upper_tester:
            await upper_tester.serve(operations(sender))
        elif moves is not None:
            await _move(sender, moves, args.rate)
        else:
            await _play(sender, args.rate)
    finally:
        out.close()
    return 0


async def _play(sender: Sender, rate: float) -> None:
    """Simulate a gamepad: joysticks move in opposite circles, and buttons are pressed in turn."""
    for step in itertools.count():
        x, y = math.cos(step / rate), math.sin(step / rate)
        buttons = [number == step // int(rate + 1) % BUTTONS for number in range(BUTTONS)]
        sender.gamepads({"0": {"axes": [x, y, x, -y], "buttons": buttons}})
        await asyncio.sleep(1 / rate)


async def _move(sender: Sender, moves: Sequence[Mapping[str, Any]], rate: float) -> None:
    """Send the gamepads after all moves whose time has come."""
    loop = asyncio.get_running_loop()
    began, done = loop.time(), 0
    pads: dict[str, dict[str, Any]] = {}
    while True:
        while done < len(moves) and moves[done]["at"] <= loop.time() - began:
            make(pads, moves[done])
            done += 1
        sender.gamepads(pads)
        await asyncio.sleep(1 / rate)


def operations(sender: Sender) -> Mapping[str, upper_tester.Operation]:
    async def gamepads(args: dict[str, Any]) -> None:
        sender.gamepads(args)

    return {"gamepads": gamepads}
