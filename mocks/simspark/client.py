"""Shared code of the clients of a SimSpark server: connect and run."""

import argparse
import asyncio
from collections.abc import Mapping
from typing import Any

from mocks import streams, upper_tester
from mocks.simspark.connection import Connection, Endpoint
from mocks.streams import Stream

AGAIN = 0.1  # seconds until the next attempt to connect to a starting server
TRIES = 20  # attempts, for two seconds


class Client(Endpoint, Connection):
    """A connection to a server."""

    def __init__(self, settings: argparse.Namespace) -> None:
        super().__init__(self)
        self.settings = settings
        self.address = ""
        """The address of the server."""

    async def connect(self, address: str) -> Stream:
        self.address = address
        for _ in range(TRIES):
            try:
                return await streams.connect(address)
            except ConnectionRefusedError:
                await asyncio.sleep(AGAIN)
        return await streams.connect(address)

    def operations(self) -> Mapping[str, upper_tester.Operation]:
        """Return the operations that the upper tester can call."""
        return {}


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--upper-tester", action="store_true", help="operations on stdin")


async def play(args: argparse.Namespace, client: Client, port: int) -> int:
    """Run one connection to its end."""
    if args.listen:
        raise ValueError(
            "a client does not listen; give the address of its server with --connect HOST:PORT"
        )
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
    """Return a text argument of the upper tester. Raises ValueError if it is not a text."""
    value = args.get(name)
    if not isinstance(value, str):
        raise ValueError(f"{name} must be a text")
    return value
