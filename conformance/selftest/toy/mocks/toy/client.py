"""The reference client."""

import argparse

from conformance.codec import Frame
from mocks import streams
from mocks.toy.peer import Peer


class Client(Peer):
    """Sends a few Pings, each after the answer to the previous Ping."""

    def __init__(self, pings: int) -> None:
        super().__init__()
        self.left = list(range(1, pings + 1))

    def opened(self) -> None:
        self.ping()

    def take(self, frame: Frame) -> None:
        if frame.name == "Pong":
            self.answered()
            if not self.left:
                self.close()

    def answered(self) -> None:
        self.ping()

    def ping(self) -> None:
        if self.left:
            self.send({"kind": 1, "number": self.left.pop(0)})


PEER = Client


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--pings", type=int, default=3, metavar="N")


async def main(args: argparse.Namespace, peer: type[Client]) -> int:
    """Play one session over a connection or on the standard streams."""
    connected = args.connect and await streams.connect(args.connect)
    await peer(args.pings).run(connected or await streams.standard_streams())
    return 0
