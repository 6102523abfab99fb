"""The reference frontend: sets a simulator up, starts its program and shows it in a terminal.

It draws the screen as text, and does what options and operations say. It has no window, and reads
no gamepad.
"""

import argparse
import asyncio
import base64
import contextlib
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mocks import streams, upper_tester
from mocks.shapes import Unfit, read
from mocks.vexide import messages
from mocks.vexide.child import simulator
from mocks.vexide.choices import GAMEPAD, NEUTRAL, World, controller
from mocks.vexide.display import HEIGHT, WIDTH, Display
from mocks.vexide.messages import EVENTS, Port, port_form
from mocks.vexide.session import Session
from mocks.vexide.terminal import Terminal

VERSION = 1
STATUS = {
    "exited": 0,
    "stopped": 0,
    "error": 70,
    "incompatible": 76,
}  # as in sysexits.h

HANDLERS = {
    "ScreenDraw": "draw",
    "ScreenClear": "clear",
    "ScreenDoubleBufferMode": "double_buffer",
    "ScreenRender": "render",
    "VCodeSig": "signature",
    "Ready": "ready",
    "Exited": "exited",
    "Serial": "serial",
    "DeviceUpdate": "device",
    "Battery": "battery",
    "RobotPose": "pose",
    "RobotState": "state",
    "Log": "log",
    "VEXLinkConnect": "link",
    "VEXLinkDisconnect": "unlink",
}


class Frontend(Session):
    """One session, and the user's hand on it."""

    INCOMING = EVENTS
    HANDLERS = HANDLERS

    def __init__(self, world: World, terminal: Terminal) -> None:
        super().__init__()
        self.world = world
        self.terminal = terminal
        self.display = Display()
        self.outcome = "running"
        self.is_ready = False
        self.started = False
        self.wanted = not world.hold  # whether the user wants the program to run
        self.touched: dict[str, int] | None = None
        self._holding: asyncio.TimerHandle | None = None

    def complain(self, text: str) -> None:
        self.stream.tell("ignored", text)
        self.terminal.say(f"frontend: {text}")

    def simulator_said(self, line: str) -> None:
        """A line of the simulator's standard error: text for the user, whatever it looks like."""
        self.terminal.say(f"simulator: {line}")

    # The handshake

    def opened(self) -> None:
        self.send(self.greeting())

    def greeting(self) -> dict[str, Any]:
        return {"Handshake": {"version": VERSION, "extensions": list(self.world.extensions)}}

    def greeted(self, content: dict[str, Any], strange: list[str]) -> None:
        version, extensions = content["version"], content["extensions"]
        if not 1 <= version <= VERSION:
            self.refuse(f"the simulator wants version {version} of the protocol")
        elif alien := [name for name in extensions if name not in self.world.extensions]:
            self.refuse(f"the simulator wants the extensions {', '.join(alien)[:200]}")
        else:
            self.handshaken = True
            self.stream.tell("agreed", "the handshake is finished")
            self.set_up()

    def unusable_handshake(self, error: Unfit) -> None:
        self.refuse(f"the simulator's Handshake cannot be used: {error}")

    def refuse(self, why: str) -> None:
        self.conclude("incompatible", why)
        self.close(why)

    # Setup and start

    def set_up(self) -> None:
        self.configure_devices()
        self.send_competition()
        self.send_state()

    def configure_devices(self) -> None:
        for port in self.world.devices:
            self.configure_device(port)

    def configure_device(self, port: Port) -> None:
        device = self.world.devices[port]
        self.send({"ConfigureDevice": {"port": port_form(port), "device": device}})

    def send_competition(self) -> None:
        self.send({"CompetitionMode": self.world.competition})

    def send_state(self) -> None:
        """Whatever else the user has chosen for the start."""
        if self.world.battery is not None:
            self.send({"SetBatteryCapacity": {"capacity": self.world.battery}})
        if self.world.card is not None:
            self.send({"USD": {"root": self.world.card}})
        for port, voltage in self.world.adi.items():
            self.send({"AdiInput": {"port": port, "voltage": voltage}})
        self.send_controller()

    def send_controller(self) -> None:
        if self.world.controller is not None:
            self.send({"ControllerUpdate": self.world.controller})

    def ready(self, content: None) -> None:
        self.is_ready = True
        self.start_if_wanted()

    def start_if_wanted(self) -> None:
        if self.is_ready and self.wanted and not self.started:
            self.start()

    def start(self) -> None:
        self.started = True
        self.stream.tell("started", "the program is told to start")
        self.send("StartExecution")

    # What the simulator tells

    def draw(self, content: dict[str, Any]) -> None:
        self.display.draw(content["command"], content["color"])

    def clear(self, content: dict[str, Any]) -> None:
        self.display.clear(content["color"])

    def double_buffer(self, content: dict[str, Any]) -> None:
        self.display.double_buffer(content["enable"])

    def render(self, content: None) -> None:
        self.display.render()

    def signature(self, content: str) -> None:
        self.terminal.say(f"code signature {content[:64]}")

    def serial(self, content: dict[str, Any]) -> None:
        text = content["data"].decode(errors="replace")
        for line in text.removesuffix("\n").split("\n"):
            self.terminal.say(f"serial {content['channel']}: {line}")

    def device(self, content: dict[str, Any]) -> None:
        kind, number = content["port"]
        _, motor = content["status"]
        self.terminal.say(
            f"{kind} port {number}: {motor['velocity']} rad/s at {motor['position']} rad, "
            f"{motor['voltage']} V, {motor['brake_mode']}"
        )

    def battery(self, content: dict[str, Any]) -> None:
        self.terminal.say("battery: {voltage} V, {current} A, {capacity} Wh".format_map(content))

    def pose(self, content: dict[str, Any]) -> None:
        self.terminal.say("robot at {x}, {y}".format_map(content))

    def state(self, content: Any) -> None:
        """Nobody knows yet what this event tells."""

    def log(self, content: dict[str, Any]) -> None:
        self.terminal.say(f"{content['level']}: {content['message']}")

    def link(self, content: dict[str, Any]) -> None:
        opened = {"port": content["port"], "mode": content["mode"]}
        self.send({"VEXLinkOpened": opened})

    def unlink(self, content: dict[str, Any]) -> None:
        self.send({"VEXLinkClosed": {"port": content["port"]}})

    # The end

    def exited(self, content: None) -> None:
        self.conclude("exited", "the robot program has ended")
        self.close("the program has ended")

    def input_ended(self) -> None:
        if self.handshaken:
            self.internal_error()
        else:
            self.conclude("incompatible", "the simulator closed the stream before the handshake")
        self.close()

    def internal_error(self) -> None:
        self.conclude("error", "internal simulator error: it closed the stream without Exited")

    def conclude(self, outcome: str, text: str) -> None:
        """Settle how the session has ended, once, and show the user what was left."""
        if self.outcome == "running":
            self.outcome = outcome
            if self.display.drawn:
                self.terminal.picture(self.display.text())
            self.terminal.say(text)

    def close(self, why: str = "") -> None:
        if self._holding is not None:
            self._holding.cancel()
        super().close(why)

    def stop(self) -> None:
        """The user ends the session."""
        self.conclude("stopped", "stopped by the user")

    # The user's hand

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
            raise ValueError("there is no session to touch")
        point = read(messages.POINT, {"x": args["x"], "y": args["y"]}, [])
        if args["event"] == "Released":
            self.release()
        elif args["event"] == "Held" and self.touched is not None:
            self.still_touching()
        else:
            self.press(point)

    async def user_looks(self, args: dict[str, Any]) -> Any:
        outcome = "error" if self.outcome == "incompatible" else self.outcome
        return {"outcome": outcome, "log": self.terminal.text()}

    async def user_sees(self, args: dict[str, Any]) -> Any:
        pixels = base64.b64encode(self.display.pixels()).decode()
        return {"width": WIDTH, "height": HEIGHT, "pixels": pixels}

    def press(self, point: dict[str, int]) -> None:
        """Touch a point; a touch somewhere else ends by it."""
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
    parser.add_argument("--simulator", metavar="PATH", help="an executable to start and talk to")
    parser.add_argument("arguments", nargs="*", help="of the simulator, after --")
    parser.add_argument("--upper-tester", action="store_true", help="operations on stdin")
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
    parser.add_argument("--sd", metavar="DIR", type=_folder, help="the folder that is the SD card")
    parser.add_argument("--extensions", default="", metavar="A,B")
    parser.add_argument("--hold-time", type=float, default=0.3, metavar="S", help="until Held")


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
    """Play one session; the exit status says how it ended (see `STATUS`)."""
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
            await frontend.run(await streams.connect(args.connect))
        else:
            command = [args.simulator, *args.arguments]
            async with simulator(command, frontend.simulator_said) as stream:
                await frontend.run(stream)
    except OSError as error:
        frontend.conclude("error", f"no simulator: {error}")
        if not args.upper_tester:
            raise
