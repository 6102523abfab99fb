"""The reference client: stores the exercise that the server describes, and shows it as text.

The client has no three-dimensional picture.
"""

import argparse
import asyncio
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from conformance.deltarobot.codec import message
from mocks import streams, upper_tester
from mocks.deltarobot.exercise import Vector
from mocks.deltarobot.picture import draw
from mocks.deltarobot.session import Session
from mocks.run import note
from mocks.streams import Stream

HANDLERS = {
    "Ping": "ping",
    "EndOfTransmission": "peer_ends",
    "Curve": "curve",
    "CurrentActuatorPosition": "position",
    "CurrentDirectionVector": "current",
    "DesiredDirectionVector": "desired",
}


@dataclass(slots=True)
class View:
    """The values of the exercise that the application knows; None for unknown values."""

    curve: list[Vector] | None = None
    position: Vector | None = None
    current: Vector | None = None
    desired: Vector | None = None


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a client; times are in seconds.

    `patience` is the longest wait for the server's handshake. `show` is none, lines or picture; the
    client shows the exercise every `every` seconds.
    """

    patience: float = 5.0
    show: str = "none"
    every: float = 1.0


class Client(Session):
    """A connection to a server."""

    HANDLERS = HANDLERS

    def __init__(self, settings: Settings, number: int = 1) -> None:
        super().__init__(settings.patience, number)
        self.settings = settings
        self.view = View()

    def welcome(self) -> None:
        if self.settings.show != "none":
            self.call_later(self.settings.every, self.show)

    def ping(self, value: Any) -> None:
        self.send_pong(value["number"])

    def send_pong(self, number: int) -> None:
        self.send(message("Pong", number=number))

    def curve(self, value: Any) -> None:
        # An incomplete point at the end of the contents is ignored.
        self.view.curve = value["points"]

    def position(self, value: Any) -> None:
        self.view.position = self.vector(value)

    def current(self, value: Any) -> None:
        self.view.current = self.vector(value)

    def desired(self, value: Any) -> None:
        self.view.desired = self.vector(value)

    def vector(self, value: Any) -> Vector:
        return [value["x"], value["y"], value["z"]]

    async def connect(self, address: str) -> Stream:
        return await streams.connect(address)

    def pause(self, again: float | None) -> float | None:
        """Return the seconds until the client connects again after the end; None for never."""
        return again

    def state(self) -> dict[str, Any]:
        return asdict(self.view)

    def show(self) -> None:
        view = self.view
        if self.settings.show == "picture":
            print(draw(view.curve or [], view.position), flush=True)
        points = "no curve" if view.curve is None else f"curve of {len(view.curve)} points"
        told = {"at": view.position, "moves": view.current, "should": view.desired}
        parts = [f"{word} {_shown(vector)}" for word, vector in told.items() if vector is not None]
        print("; ".join([points, *parts]), flush=True)
        self.call_later(self.settings.every, self.show)


def _shown(vector: Vector) -> str:
    return ", ".join(c if isinstance(c, str) else f"{c:.3f}" for c in vector)


PEER = Client


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--upper-tester", action="store_true", help="operations on stdin")
    parser.add_argument("--handshake", type=float, default=5.0, metavar="S", help="patience")
    parser.add_argument("--show", choices=["none", "lines", "picture"], default="lines")
    parser.add_argument(
        "--every", type=float, default=1.0, metavar="S", help="time between two outputs"
    )
    parser.add_argument(
        "--again", type=float, metavar="S", help="connect again this long after the end"
    )


async def main(args: argparse.Namespace, peer: type[Client]) -> int:
    """Play one connection; with --again, play one after another until the process is ended."""
    if not (args.connect or args.listen):
        raise ValueError("a client needs --connect")
    settings = Settings(
        args.handshake, "none" if args.upper_tester else args.show, max(args.every, 0.01)
    )
    clients = [peer(settings, 1)]
    playing = asyncio.ensure_future(_play(args, clients))
    try:
        if args.upper_tester:
            await upper_tester.serve(operations(clients))
        else:
            # The client announces its end before it is cancelled.
            await asyncio.shield(playing)
    finally:
        if hasattr(clients[-1], "stream"):
            clients[-1].end("the client shuts down")
        playing.cancel()
    return 0


async def _play(args: argparse.Namespace, clients: list[Client]) -> None:
    """Play the last client, then its successors while further connections are wanted."""
    while True:
        client = clients[-1]
        try:
            await client.run(await _stream(args, client))
        except OSError as error:
            if args.again is None and not args.upper_tester:
                raise
            note(f"cannot connect: {error}")
        pause = client.pause(args.again)
        if pause is None:
            break
        await asyncio.sleep(pause)
        clients[:] = [type(client)(client.settings, client.number + 1)]


async def _stream(args: argparse.Namespace, client: Client) -> Stream:
    if args.connect:
        return await client.connect(args.connect)
    return await streams.accept(args.listen)


def operations(clients: list[Client]) -> Mapping[str, upper_tester.Operation]:
    async def state(args: dict[str, Any]) -> Any:
        return clients[-1].state()

    async def close(args: dict[str, Any]) -> None:
        clients[-1].end("the user has left")

    return {"state": state, "close": close}
