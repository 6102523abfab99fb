"""Relay ZeroMQ messages between two peers, and pass them to a watch.

Needs pyzmq, which is optional (`conformance[zmq]`). The relay uses these sockets:

- ROUTER for clients, and a DEALER to the server for each of them
- SUB for a publisher, and PUB for subscribers

The judge gets the last frame of a message, unless it is empty.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

from conformance.configuration import ConfigurationError
from conformance.live.sides import Side
from conformance.live.watch import Watch

PREFIX = "zmq:"
"""Beginning of a ZeroMQ address."""


class Messages:
    """Relay for an address that clients use instead of their server's address."""

    def __init__(self, side: Side, target: str, watch: Watch) -> None:
        try:
            import zmq.asyncio
        except ImportError as error:
            raise ConfigurationError(
                f"{PREFIX} needs pyzmq: pip install 'conformance[zmq]'"
            ) from error
        self._zmq: Any = zmq
        self._context: Any = zmq.asyncio.Context.instance()
        self._side = side
        self._target = target
        self._watch = watch
        self._servers: dict[bytes, tuple[Any, int]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    @contextlib.asynccontextmanager
    async def listen(self, address: str, publishes: bool) -> AsyncIterator[str]:
        """Relay messages within the block; yield the address for clients."""
        zmq = self._zmq
        clients = self._context.socket(zmq.SUB if publishes else zmq.ROUTER)
        if publishes:
            clients.subscribe(b"")
        try:
            clients.bind(_endpoint(address))
            bound = clients.getsockopt(zmq.LAST_ENDPOINT).decode().strip("\0")
            self._start(
                self._relay_publications(clients) if publishes else self._relay_requests(clients)
            )
            yield PREFIX + bound.removeprefix("tcp://")
        except zmq.ZMQError as error:
            raise ConfigurationError(f"{address}: {error}") from error
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            for server, _ in self._servers.values():
                server.close(linger=0)
            clients.close(linger=0)

    def _start(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _server(self, client: bytes, kind: int) -> tuple[Any, int]:
        """Return the socket to the server for a client, and the number of its connection."""
        if client not in self._servers:
            server = self._context.socket(kind)
            server.connect(_endpoint(self._target))
            self._servers[client] = server, self._watch.connected(self._side)
        return self._servers[client]

    async def _relay_requests(self, clients: Any) -> None:
        while True:
            client, *frames = await clients.recv_multipart()
            known = client in self._servers
            server, number = self._server(client, self._zmq.DEALER)
            if not known:
                self._start(self._relay_answers(clients, client))
            await server.send_multipart(frames)
            self._report(number, self._side.client, frames)

    async def _relay_answers(self, clients: Any, client: bytes) -> None:
        server, number = self._servers[client]
        while True:
            frames = await server.recv_multipart()
            await clients.send_multipart([client, *frames])
            self._report(number, self._side.server, frames)

    async def _relay_publications(self, publishers: Any) -> None:
        server, number = self._server(b"", self._zmq.PUB)
        while True:
            frames = await publishers.recv_multipart()
            await server.send_multipart(frames)
            self._report(number, self._side.client, frames)

    def _report(self, number: int, sender: str, frames: list[bytes]) -> None:
        if frames and frames[-1]:
            self._watch.passed(number, sender, frames[-1])


def _endpoint(address: str) -> str:
    return f"tcp://{address.removeprefix(PREFIX)}"
