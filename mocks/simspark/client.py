"""What the clients of a SimSpark server do alike: connect, and play until either side ends it."""

import argparse
import asyncio
from collections.abc import Mapping
from typing import Any

from mocks import streams, upper_tester
from mocks.simspark.connection import Connection, Endpoint
from mocks.streams import Stream

AGAIN = 0.1  # seconds until a server that is still starting is tried again
TRIES = 20


class Client(Endpoint, Connection):
    """One connection to a server."""

    def __init__(self, settings: argparse.Namespace) -> None:
        super().__init__(self)
        self.settings = settings

    async def connect(self, address: str) -> Stream:
        for _ in range(TRIES):
            try:
                return await streams.connect(address)
            except ConnectionRefusedError:
                await asyncio.sleep(AGAIN)
        return await streams.connect(address)

    def operations(self) -> Mapping[str, upper_tester.Operation]:
        """What the upper tester may ask for."""
        return {}


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--upper-tester", action="store_true", help="operations on stdin")


async def play(args: argparse.Namespace, client: Client, port: int) -> int:
    """Play one connection to its end."""
    if args.listen:
        raise ValueError("a client does not listen; --connect HOST:PORT says where its server is")
    address = args.connect or f"127.0.0.1:{port}"
    playing = asyncio.ensure_future(client.run(await client.connect(address)))
    try:
        if args.upper_tester:
            await upper_tester.serve(client.operations())
        else:
            await playing
    finally:
        playing.cancel()
    return 0


def text_of(args: dict[str, Any], name: str) -> str:
    """A text that the upper tester gives. Raises ValueError."""
    value = args.get(name)
    if not isinstance(value, str):
        raise ValueError(f"{name} must be a text")
    return value
