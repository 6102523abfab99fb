"""The reference server: a simulated exercise robot and hand, for any number of clients.

The simulated hand always follows the curve with the same wobble. There is no real actuator: no
force, no limited reach, and no patient who stops.
"""

import argparse
import asyncio
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from conformance.deltarobot.codec import message
from mocks import streams, upper_tester
from mocks.deltarobot.exercise import CURVES, State, Vector, read
from mocks.deltarobot.machine import Machine, vector
from mocks.deltarobot.session import Session
from mocks.streams import Stream

SHUT_DOWN = "the server shuts down"


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a server in seconds.

    `patience` is the longest wait for a handshake, `ping` the time between two pings, and `pong`
    the longest wait for a pong.
    """

    patience: float = 5.0
    ping: float = 1.0
    pong: float = 10.0


class Server(Session):
    """The connection of a client."""

    HANDLERS: ClassVar = {"Pong": "pong", "EndOfTransmission": "peer_ends"}

    def __init__(self, settings: Settings, machine: Machine, number: int = 1) -> None:
        super().__init__(settings.patience, number)
        self.settings = settings
        self.machine = machine
        self.waiting: dict[int, float] = {}  # unanswered pings, each with its sending time

    def welcome(self) -> None:
        self.start_pings()
        self.machine.join(self)

    def closed(self) -> None:
        self.machine.leave(self)

    # Pings

    def start_pings(self) -> None:
        self.next_ping()

    def next_ping(self) -> None:
        now = asyncio.get_running_loop().time()
        if self.waiting and now - min(self.waiting.values()) > self.settings.pong:
            self.unanswered()
            return
        number = self.number_of_ping()
        self.waiting[number] = now
        self.send_ping(number)
        self.call_later(self.settings.ping, self.next_ping)

    def number_of_ping(self) -> int:
        return secrets.randbits(64)

    def send_ping(self, number: int) -> None:
        self.send(message("Ping", number=number))

    def pong(self, value: Any) -> None:
        self.waiting.pop(value["number"], None)

    def unanswered(self) -> None:
        self.end(f"a ping was not answered within {self.settings.pong:g} s")

    # The exercise

    def begin(self, curve: list[Vector]) -> None:
        self.send_curve(curve)

    def send_curve(self, curve: list[Vector]) -> None:
        self.send(message("Curve", points=curve))

    def show(self, state: State) -> None:
        """Send the state, unless the client has not read the earlier states."""
        if not self.stream.congested:
            self.send_position(state.position)
            self.send_current(state.current)
            self.send_desired(state.desired)

    def send_position(self, position: Vector) -> None:
        self.send_vector("CurrentActuatorPosition", position)

    def send_current(self, direction: Vector) -> None:
        self.send_vector("CurrentDirectionVector", direction)

    def send_desired(self, direction: Vector) -> None:
        self.send_vector("DesiredDirectionVector", direction)

    def send_vector(self, name: str, vector: Vector) -> None:
        x, y, z = vector
        self.send(message(name, x=x, y=y, z=z, u=0.0))


PEER = Server


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--upper-tester", action="store_true", help="operations on stdin")
    parser.add_argument(
        "--exercise",
        metavar="NAME",
        help=f"exercise that runs while there are clients: {', '.join(CURVES)}, none, or a file of "
        "points [X, Y, Z] in m; default: eight, or none with --upper-tester",
    )
    parser.add_argument(
        "--duration", type=float, default=60.0, metavar="S", help="length of the --exercise"
    )
    parser.add_argument(
        "--rate", type=float, default=30.0, metavar="HZ", help="rate of progress messages"
    )
    parser.add_argument("--handshake", type=float, default=5.0, metavar="S", help="patience")
    parser.add_argument(
        "--ping", type=float, default=1.0, metavar="S", help="time between two pings"
    )
    parser.add_argument(
        "--pong", type=float, default=10.0, metavar="S", help="longest wait for a pong"
    )


async def main(args: argparse.Namespace, peer: type[Server]) -> int:
    """Serve any number of clients until the process is ended."""
    if not (args.listen or args.connect):
        raise ValueError("a server needs --listen")
    name = args.exercise or ("none" if args.upper_tester else "eight")
    own = None if name == "none" else CURVES[name]() if name in CURVES else read(Path(name))
    machine = Machine(args.rate, own, args.duration)
    settings = Settings(args.handshake, args.ping, args.pong)
    sessions = 0

    async def session(stream: Stream) -> None:
        nonlocal sessions
        sessions += 1
        await peer(settings, machine, sessions).run(stream)

    async def serve() -> None:
        if args.connect:
            await session(await streams.connect(args.connect))
        else:
            await streams.serve(args.listen, session)

    serving = asyncio.ensure_future(serve())
    try:
        if args.upper_tester:
            await upper_tester.serve(operations(machine))
        else:
            # The server announces its end before it is cancelled.
            await asyncio.shield(serving)
    finally:
        machine.shut_down(SHUT_DOWN)
        serving.cancel()
    return 0


def operations(machine: Machine) -> Mapping[str, upper_tester.Operation]:
    async def exercise(args: dict[str, Any]) -> None:
        machine.begin([vector(point) for point in args["curve"]])

    async def progress(args: dict[str, Any]) -> None:
        given = (vector(args[name]) for name in ("position", "current", "desired"))
        machine.hold(State(*given))

    async def stop(args: dict[str, Any]) -> None:
        machine.stop()

    async def close(args: dict[str, Any]) -> None:
        machine.shut_down(SHUT_DOWN)

    return {"exercise": exercise, "progress": progress, "stop": stop, "close": close}
