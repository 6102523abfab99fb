"""The reference simulator: a robot, a few built-in programs, any number of sessions.

It simulates motors without load, the battery, the screen and the SD card. The simulator runs no
code of a user. VEXlink and ADI ports are only recorded, without any effect.
"""

import argparse
import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mocks import streams
from mocks.shapes import Unfit
from mocks.streams import Stream
from mocks.vexide.messages import COMMANDS
from mocks.vexide.programs import LOAD_TIMES, PROGRAMS, Exit
from mocks.vexide.robot import Robot
from mocks.vexide.session import Session

SIGNATURE = "WFZYNQIAAAAAAAAAAAAAAAAAAAAAAAAA"  # 24 bytes: XVX5, version 2, zeros

HANDLERS = {
    "Touch": "touch",
    "ControllerUpdate": "control",
    "USD": "mount",
    "VEXLinkOpened": "link_opened",
    "VEXLinkClosed": "link_closed",
    "CompetitionMode": "compete",
    "ConfigureDevice": "configure",
    "AdiInput": "adi_input",
    "StartExecution": "start",
    "SetBatteryCapacity": "set_capacity",
}


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of a simulator.

    `tick` and `load_time` are in seconds. `extensions` are the supported extensions.
    """

    program: str
    tick: float
    load_time: float
    extensions: tuple[str, ...]


class Simulator(Session):
    """One session; `number` counts the sessions of this process from 1."""

    INCOMING = COMMANDS
    HANDLERS = HANDLERS

    def __init__(self, settings: Settings, number: int = 1) -> None:
        super().__init__()
        self.settings = settings
        self.number = number
        self.robot = self.build()
        self.program: Iterator[None] = iter(())
        self.ready = False
        self.started = False
        self._timer: asyncio.TimerHandle | None = None

    def complain(self, text: str) -> None:
        self.stream.tell("ignored", text)
        self.log("Warn", text)

    def log(self, level: str, message: str) -> None:
        self.send({"Log": {"level": level, "message": message}})

    def schedule(self, seconds: float, action: Callable[[], None]) -> None:
        """Call the action after some seconds; only one action can be pending."""
        self._timer = asyncio.get_running_loop().call_later(seconds, action)

    def close(self, why: str = "") -> None:
        if self._timer is not None:
            self._timer.cancel()
        super().close(why)

    # The handshake

    def handle_handshake(self, content: dict[str, Any], strange: list[str]) -> None:
        if content["version"] < 1:
            self.incompatible(content)
        else:
            self.agree(content)

    def unusable_handshake(self, error: Unfit) -> None:
        self.close(f"the Handshake is not usable: {error}")

    def incompatible(self, offer: dict[str, Any]) -> None:
        self.close(f"no version of the protocol up to {offer['version']} is supported")

    def agree(self, offer: dict[str, Any]) -> None:
        self.handshaken = True
        self.answer(self.version(offer["version"]), self.common_extensions(offer["extensions"]))
        self.send_signature()
        self.stream.tell("agreed", "the handshake is finished")
        self.load()

    def answer(self, version: Any, extensions: Any) -> None:
        self.send({"Handshake": {"version": version, "extensions": extensions}})

    def version(self, offered: int) -> int:
        return 1

    def common_extensions(self, offered: list[str]) -> list[str]:
        return [name for name in self.settings.extensions if name in offered]

    def send_signature(self) -> None:
        self.send({"VCodeSig": self.signature()})

    def signature(self) -> str:
        return SIGNATURE

    # Setup

    def build(self) -> Robot:
        return Robot()

    def load(self) -> None:
        self.schedule(self.settings.load_time, self.become_ready)

    def become_ready(self) -> None:
        self.ready = True
        self.stream.tell("ready", f"the program {self.settings.program} is loaded")
        self.send("Ready")

    def configure(self, content: dict[str, Any]) -> None:
        _, motor = content["device"]
        self.robot.configure(content["port"], motor["physical_gearset"], motor["moment_of_inertia"])

    def compete(self, content: dict[str, Any]) -> None:
        self.robot.competition = content

    def control(self, content: tuple[str, Any]) -> None:
        self.robot.control(*content)

    def set_capacity(self, content: dict[str, Any]) -> None:
        self.robot.capacity = content["capacity"]

    def mount(self, content: dict[str, Any]) -> None:
        root = content["root"]
        self.robot.card = None if root is None else Path(root)
        self.log("Info", "the SD card is removed" if root is None else f"the SD card is {root}")

    def touch(self, content: dict[str, Any]) -> None:
        self.robot.touch = content
        self.log("Trace", f"touch {content['event']}")

    def adi_input(self, content: dict[str, Any]) -> None:
        self.robot.adi[content["port"]] = content["voltage"]
        self.log("Trace", f"ADI port {content['port']} reads {content['voltage']} V")

    def link_opened(self, content: dict[str, Any]) -> None:
        self.robot.links[content["port"]] = True
        self.log("Trace", f"VEXlink on port {content['port']} is open")

    def link_closed(self, content: dict[str, Any]) -> None:
        self.robot.links[content["port"]] = False
        self.log("Trace", f"VEXlink on port {content['port']} is closed")

    # Execution

    def start(self, content: None) -> None:
        if not self.ready:
            self.early_start()
        elif self.started:
            self.second_start()
        else:
            self.execute()

    def early_start(self) -> None:
        self.complain("StartExecution was ignored: the program is not loaded yet")

    def second_start(self) -> None:
        self.complain("StartExecution was ignored: the program runs already")

    def execute(self) -> None:
        self.started = True
        self.stream.tell("started", f"the program {self.settings.program} runs")
        self.program = PROGRAMS[self.settings.program](self.robot)
        self.tick()

    def tick(self) -> None:
        """Run one step of the program and the world; pause while the peer reads slowly."""
        if not self.stream.congested:
            self.step()
        if not self.ended:
            self.schedule(self.settings.tick, self.tick)

    def step(self) -> None:
        try:
            next(self.program)
        except (StopIteration, Exit):
            self.end_program(None)
        except Exception as error:
            self.end_program(str(error))
        else:
            self.robot.step(self.settings.tick)
            self.report()

    def report(self) -> None:
        """Send the events of the world since the last report."""
        events = list(self.robot.events)
        self.robot.events.clear()
        for event in events:
            self.send(event)

    def end_program(self, error: str | None) -> None:
        """End the session after the program's end; `error` is the program's error, if any."""
        self.report()
        if error is not None:
            self.log("Error", error)
        self.send("Exited")
        self.close("the program has ended" + (f": {error}" if error else ""))


PEER = Simulator


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--program", choices=PROGRAMS, default="demo")
    parser.add_argument("--tick", type=float, default=0.02, metavar="S", help="duration of a step")
    parser.add_argument("--load-time", type=float, metavar="S", help="time until Ready")
    parser.add_argument("--extensions", default="", metavar="A,B", help="supported extensions")


async def main(args: argparse.Namespace, peer: type[Simulator]) -> int:
    """Serve one session on standard streams or a connection, or any number with --listen."""
    extensions = tuple(filter(None, args.extensions.split(",")))
    usual = LOAD_TIMES.get(args.program, 0.02)
    load_time = usual if args.load_time is None else args.load_time
    settings = Settings(args.program, args.tick, load_time, extensions)
    sessions = 0

    async def session(stream: Stream) -> None:
        nonlocal sessions
        sessions += 1
        await peer(settings, sessions).run(stream)

    if args.listen:
        await streams.serve(args.listen, session)
    elif args.connect:
        await session(await streams.connect(args.connect))
    else:
        await session(await streams.wire())
    return 0
