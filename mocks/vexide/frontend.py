"""The reference frontend: sets up a simulator, starts its program, shows it in a terminal.

The frontend draws the screen as text. Options and operations replace the user; it has no window and
reads no gamepad.
"""

import argparse
import asyncio
import base64
import contextlib
import sys
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

from mocks import streams, upper_tester
from mocks.shapes import read
from mocks.vexide import messages
from mocks.vexide.child import simulator
from mocks.vexide.choices import GAMEPAD, NEUTRAL, World, controller
from mocks.vexide.display import HEIGHT, WIDTH
from mocks.vexide.frontend_session import FrontendSession
from mocks.vexide.messages import Port
from mocks.vexide.terminal import Terminal

STATUS = {
    "exited": 0,
    "stopped": 0,
    "error": 70,
    "incompatible": 76,
}  # exit codes as in sysexits.h


class Frontend(FrontendSession):
    """A session with the operations of its user."""

    def __init__(self, world: World, terminal: Terminal) -> None:
        super().__init__(world, terminal)
        self.touched: dict[str, int] | None = None
        self._holding: asyncio.TimerHandle | None = None

    def start_simulator(self, command: list[str]) -> AbstractAsyncContextManager[streams.Stream]:
        return simulator(command, self.simulator_said)

    async def connect(self, address: str) -> streams.Stream:
        return await streams.connect(address)

    def close(self, why: str = "") -> None:
        if self._holding is not None:
            self._holding.cancel()
        super().close(why)

    @property
    def live(self) -> bool:
        return self.handshaken and not self.ended

    def operations(self) -> Mapping[str, upper_tester.Operation]:
        return {
            "start": self.user_starts,
            "configure": self.user_configures,
            "competition": self.user_competes,
            "controller": self.user_controls,
            "touch": self.user_touches,
            "sdcard": self.user_mounts,
            "battery": self.user_charges,
            "adi": self.user_wires,
            "outcome": self.user_looks,
            "screen": self.user_sees,
        }

    async def user_starts(self, args: dict[str, Any]) -> Any:
        self.wanted = True
        if self.live:
            self.start_if_wanted()

    async def user_configures(self, args: dict[str, Any]) -> Any:
        port = messages.port(args["port"])
        read(messages.DEVICE, args["device"], [])
        self.world.devices[port] = args["device"]
        if self.live:
            self.configure_device(port)

    async def user_competes(self, args: dict[str, Any]) -> Any:
        wanted = {**self.world.competition, **args}
        self.world.competition = read(messages.COMPETITION, wanted, [])
        if self.live:
            self.send_competition()

    async def user_controls(self, args: dict[str, Any]) -> Any:
        self.world.controller = controller(args)
        if self.live:
            self.send_controller()

    async def user_touches(self, args: dict[str, Any]) -> Any:
        if not self.live:
            raise ValueError("no session is open for a touch")
        point = read(messages.POINT, {"x": args["x"], "y": args["y"]}, [])
        if args["event"] == "Released":
            self.release()
        elif args["event"] == "Held" and self.touched is not None:
            self.still_touching()
        else:
            self.press(point)

    async def user_mounts(self, args: dict[str, Any]) -> Any:
        self.world.card = None if args["root"] is None else _folder(args["root"])
        if self.live:
            self.send_card()

    async def user_charges(self, args: dict[str, Any]) -> Any:
        self.world.battery = float(args["capacity"])
        if self.live:
            self.send_battery()

    async def user_wires(self, args: dict[str, Any]) -> Any:
        port = messages.ADI_PORT(args["port"])
        self.world.adi[port] = float(args["voltage"])
        if self.live:
            self.send_adi(port)

    async def user_looks(self, args: dict[str, Any]) -> Any:
        outcome = "error" if self.outcome == "incompatible" else self.outcome
        return {"outcome": outcome, "log": self.terminal.text()}

    async def user_sees(self, args: dict[str, Any]) -> Any:
        pixels = base64.b64encode(self.display.pixels()).decode()
        return {"width": WIDTH, "height": HEIGHT, "pixels": pixels}

    def press(self, point: dict[str, int]) -> None:
        """Touch a point; a touch at another point ends first."""
        if self.touched == point:
            return
        self.release()
        self.touched = point
        self.send_touch("Pressed")
        self.watch_touch()

    def watch_touch(self) -> None:
        loop = asyncio.get_running_loop()
        self._holding = loop.call_later(self.world.hold_time, self.still_touching)

    def still_touching(self) -> None:
        if self._holding is not None:
            self._holding.cancel()
        self.send_touch("Held")
        self.watch_touch()

    def release(self) -> None:
        if self.touched is not None:
            if self._holding is not None:
                self._holding.cancel()
            self.send_touch("Released")
            self.touched = None

    def send_touch(self, event: str) -> None:
        self.send({"Touch": {"pos": self.touched, "event": event}})


PEER = Frontend


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--simulator", metavar="PATH", help="an executable to start as the simulator"
    )
    parser.add_argument("arguments", nargs="*", help="arguments of the simulator, after --")
    parser.add_argument("--upper-tester", action="store_true", help="read operations from stdin")
    parser.add_argument("--hold", action="store_true", help="wait for the operation start")
    parser.add_argument(
        "--motor",
        action="append",
        default=[],
        type=_motor,
        metavar="PORT=GEARSET[:INERTIA]",
    )
    parser.add_argument("--adi", action="append", default=[], type=_adi, metavar="PORT=VOLTS")
    parser.add_argument("--controller", choices=["raw", "uuid"])
    parser.add_argument("--battery", type=float, metavar="WH")
    parser.add_argument("--sd", metavar="DIR", type=_folder, help="the directory of the SD card")
    parser.add_argument("--extensions", default="", metavar="A,B")
    parser.add_argument("--hold-time", type=float, default=0.3, metavar="S", help="time until Held")


def _folder(text: str) -> str:
    return str(Path(text).absolute())


def _motor(text: str) -> tuple[Port, Any]:
    port, _, motor = text.partition("=")
    gearset, _, inertia = motor.partition(":")
    form = {
        "physical_gearset": gearset.capitalize(),
        "moment_of_inertia": float(inertia or 1.0),
    }
    read(messages.DEVICE, device := {"Motor": form}, [])
    return messages.port(int(port)), device


def _adi(text: str) -> tuple[int, float]:
    port, _, voltage = text.partition("=")
    return messages.ADI_PORT(int(port)), float(voltage)


async def main(args: argparse.Namespace, peer: type[Frontend]) -> int:
    """Play one session; the exit status shows the outcome (see `STATUS`)."""
    if not (args.simulator or args.connect or args.listen):
        raise ValueError("a frontend needs --simulator, --connect or --listen")
    update = {"raw": NEUTRAL, "uuid": {"UUID": GAMEPAD}}
    world = World(
        devices=dict(args.motor),
        adi=dict(args.adi),
        controller=controller(update[args.controller]) if args.controller else None,
        battery=args.battery,
        card=args.sd,
        extensions=tuple(filter(None, args.extensions.split(","))),
        hold=args.hold,
        hold_time=args.hold_time,
    )
    frontend = peer(world, Terminal(sys.stderr if args.upper_tester else sys.stdout))
    playing = asyncio.ensure_future(_play(args, frontend))
    try:
        if args.upper_tester:
            await upper_tester.serve(frontend.operations())
            frontend.stop()
        else:
            await playing
    finally:
        playing.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await playing
    return STATUS[frontend.outcome]


async def _play(args: argparse.Namespace, frontend: Frontend) -> None:
    try:
        if args.listen:
            await frontend.run(await streams.accept(args.listen))
        elif args.connect:
            await frontend.run(await frontend.connect(args.connect))
        else:
            command = [args.simulator, *args.arguments]
            async with frontend.start_simulator(command) as stream:
                await frontend.run(stream)
    except OSError as error:
        frontend.conclude("error", f"no simulator: {error}")
        if not args.upper_tester:
            raise
