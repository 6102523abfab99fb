"""The reference server."""

import argparse

from conformance.codec import Frame
from mocks import streams
from mocks.toy.peer import Peer


class Server(Peer):
    """Answers every Ping."""

    def take(self, frame: Frame) -> None:
        if frame.name == "Ping":
            self.answer(frame.value["number"])

    def answer(self, number: int) -> None:
        self.send({"kind": 2, "number": number})


PEER = Server


def options(parser: argparse.ArgumentParser) -> None:
    """Add no options."""


async def main(args: argparse.Namespace, peer: type[Server]) -> int:
    """Serve any number of sessions by listening, or one on the standard streams."""
    if args.listen:
        await streams.serve(args.listen, lambda stream: peer().run(stream))
    else:
        await peer().run(await streams.standard_streams())
    return 0
