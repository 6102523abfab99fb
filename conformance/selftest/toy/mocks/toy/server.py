"""The reference server."""

import argparse

from conformance.toy.codec import Decoder
from mocks import streams
from mocks.toy.peer import Peer


class Server(Peer):
    """Answers every Ping."""

    async def run(self) -> None:
        decoder = Decoder()
        while data := await self.stream.read():
            for frame in decoder.feed(data):
                if frame.name == "Ping":
                    self.answer(frame.value["number"])
            await self.stream.drain()
        await self.stream.closed()

    def answer(self, number: int) -> None:
        self.send({"kind": 2, "number": number})


PEER = Server


def options(parser: argparse.ArgumentParser) -> None:
    """There are none."""


async def main(args: argparse.Namespace, peer: type[Server]) -> int:
    """Serve any number of sessions by listening, or one on the standard streams."""
    if args.listen:
        await streams.serve(args.listen, lambda stream: peer(stream).run())
    else:
        await peer(await streams.standard_streams()).run()
    return 0
