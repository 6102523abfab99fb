"""The reference client."""

import argparse

from conformance.toy.codec import Decoder, encode
from mocks import streams
from mocks.streams import Stream


class Client:
    """One session: a few Pings, each when the one before has been answered."""

    def __init__(self, pings: int) -> None:
        self.left = list(range(1, pings + 1))

    async def run(self, stream: Stream) -> None:
        decoder = Decoder()
        self.begin(stream)
        while data := await stream.read():
            for frame in decoder.feed(data):
                if frame.name == "Pong" and self.left:
                    self.ping(stream)
            if not self.left:
                break
        await stream.closed()

    def begin(self, stream: Stream) -> None:
        self.ping(stream)

    def ping(self, stream: Stream) -> None:
        stream.write(encode({"kind": 1, "number": self.left.pop(0)}))


PEER = Client


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--pings", type=int, default=3, metavar="N")


async def main(args: argparse.Namespace, peer: type[Client]) -> int:
    """Play one session over a connection or on the standard streams."""
    connected = args.connect and await streams.connect(args.connect)
    await peer(args.pings).run(connected or await streams.standard_streams())
    return 0
