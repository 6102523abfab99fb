"""Streams of a mock over ZeroMQ: each write is one message, in its last frame.

Needs pyzmq, which is optional (`conformance[zmq]`). An address is `zmq:HOST:PORT`; any other
address is one of a byte stream.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from mocks import run, streams
from mocks.run import Connection
from mocks.streams import Stream, parse

PREFIX = "zmq:"
SERVICE = b"service"
"""The name under which a client reaches the server."""


class Messages(Stream):
    """The messages of one peer; they end only when this side closes the stream."""

    def __init__(self, socket: Any, before: list[bytes], connection: Connection) -> None:
        """`before` are the frames sent in front of each payload."""
        self.kind = "zmq"
        self.wire = connection
        self.serves_as(connection)
        self.coming: asyncio.Queue[bytes] = asyncio.Queue()
        self._socket = socket
        self._before = before
        self._closed = False
        self.reader: asyncio.Future[None] | None = None

    async def read(self) -> bytes:
        data = b"" if self._closed else await self.coming.get()
        if data and not self._closed:
            self.wire.came(data)
        return data

    def write(self, data: bytes) -> None:
        if not self._closed:
            self.wire.went(data)
            self._socket.send_multipart([*self._before, data])

    @property
    def congested(self) -> bool:
        return False

    async def drain(self) -> None:
        await asyncio.sleep(0)

    @property
    def over(self) -> bool:
        """True if the stream was closed."""
        return self._closed

    def close(self, why: str = "") -> None:
        self.wire.closed(why)
        self._closed = True
        if self.reader:
            self.reader.cancel()
        self.coming.put_nowait(b"")

    async def closed(self) -> None:
        self.close()


async def serve(address: str, session: Callable[[Stream], Awaitable[None]]) -> None:
    """Listen as a ROUTER, and run one session for each client, until cancelled."""
    if not address.startswith(PREFIX):
        return await streams.serve(address, session)
    import zmq
    import zmq.asyncio

    socket = zmq.asyncio.Context.instance().socket(zmq.ROUTER)
    socket.bind(_endpoint(address))
    here = run.here()
    endpoint: Any = socket.last_endpoint
    where = endpoint.decode().removeprefix("tcp://").rstrip("\0")
    here.listening("", f"{PREFIX}{where}")
    clients: dict[bytes, Messages] = {}
    running: set[asyncio.Future[None]] = set()
    try:
        while True:
            *before, payload = await socket.recv_multipart()
            stream = clients.get(before[0])
            if stream is None or stream.over:
                connection = here.connection("zmq", "a peer connected by ZeroMQ")
                stream = clients[before[0]] = Messages(socket, before, connection)
                running.add(asyncio.ensure_future(session(stream)))
            if payload:
                stream.coming.put_nowait(payload)
    finally:
        for task in running:
            task.cancel()
        socket.close(linger=0)


async def accept(address: str) -> Stream:
    """Listen as a ROUTER, and wait for the first client."""
    return await streams.accept(address, serve)


async def connect(address: str, publishes: bool = False) -> Stream:
    """Connect as a DEALER, or as a PUB, which never reads. Raises OSError."""
    if not address.startswith(PREFIX):
        return await streams.connect(address)
    import zmq
    import zmq.asyncio

    socket = zmq.asyncio.Context.instance().socket(zmq.PUB if publishes else zmq.DEALER)
    socket.connect(_endpoint(address))
    connection = run.here().connection("zmq", f"connected to {address}")
    stream = Messages(socket, [b"" if publishes else SERVICE], connection)
    if not publishes:
        stream.reader = asyncio.ensure_future(_read(socket, stream))
    return stream


async def _read(socket: Any, stream: Messages) -> None:
    while True:
        *_, payload = await socket.recv_multipart()
        if payload:
            stream.coming.put_nowait(payload)


def _endpoint(address: str) -> str:
    _, host, port = parse(address.removeprefix(PREFIX))
    return f"tcp://{host}:{port}"
