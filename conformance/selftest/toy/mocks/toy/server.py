"""The reference server."""

import argparse

from conformance.toy.codec import Decoder, encode
from mocks import streams
from mocks.streams import Stream


class Server:
    """One session."""

    async def run(self, stream: Stream) -> None:
        decoder = Decoder()
        while data := await stream.read():
            for frame in decoder.feed(data):
                if frame.name == "Ping":
                    stream.write(self.answer(frame.value["number"]))
            await stream.drain()
        await stream.closed()

    def answer(self, number: int) -> bytes:
        return encode({"kind": 2, "number": number})


PEER = Server


def options(parser: argparse.ArgumentParser) -> None:
    """There are none."""


async def main(args: argparse.Namespace, peer: type[Server]) -> int:
    """Serve any number of sessions by listening, or one on the standard streams."""
    if args.listen:
        await streams.serve(args.listen, lambda stream: peer().run(stream))
    else:
        await peer().run(await streams.standard_streams())
    return 0
