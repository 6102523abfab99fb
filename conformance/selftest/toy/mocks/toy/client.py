"""The reference client."""

import argparse

from conformance.toy.codec import Decoder
from mocks import streams
from mocks.streams import Stream
from mocks.toy.peer import Peer


class Client(Peer):
    """A few Pings, each when the one before has been answered."""

    def __init__(self, stream: Stream, pings: int) -> None:
        super().__init__(stream)
        self.left = list(range(1, pings + 1))

    async def run(self) -> None:
        decoder = Decoder()
        self.begin()
        while self.left and (data := await self.stream.read()):
            for frame in decoder.feed(data):
                if frame.name == "Pong":
                    self.answered()
        await self.stream.closed()

    def begin(self) -> None:
        self.ping()

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
    await peer(connected or await streams.standard_streams(), args.pings).run()
    return 0
