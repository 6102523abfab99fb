"""The byte streams of a mock: standard streams, TCP and unix sockets."""

import asyncio
import contextlib
import os
import selectors
import socket
import struct
import sys
from collections.abc import Awaitable, Callable
from typing import IO, Any

from mocks import run
from mocks.run import Connection

CHUNK = 65536
CONGESTED = 1024 * 1024  # bytes that wait for a slow peer before the mock's world pauses
FLUSH = 2.0  # seconds for a closing stream to deliver its last bytes


class Stream:
    """A byte stream in both directions. Errors never raise; a lost peer is the stream's end."""

    connection: Connection | None = None
    broken = False
    """True if the stream ended by a reset or another error."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        incoming: asyncio.BaseTransport | None = None,
        kind: str = "stdio",
        connection: Connection | None = None,
    ) -> None:
        """Make a stream; `kind` is stdio, tcp or unix.

        `incoming` is the transport that feeds `reader` on stdio. If this stream is the wire,
        `connection` gets a report of all traffic.
        """
        self.kind = kind
        self._reader = reader
        self._writer = writer
        self._incoming = incoming
        if connection:
            self.serves_as(connection)

    def serves_as(self, connection: Connection) -> None:
        """Report all traffic of this stream to a connection of the run."""
        self.connection = connection
        connection.write, connection.close = self.write, self.close

    async def read(self) -> bytes:
        """Return the next bytes; empty at the end of the stream."""
        try:
            data = await self._reader.read(CHUNK)
        except OSError:
            data, self.broken = b"", True
        if self.connection:
            if data:
                self.connection.came(data)
            else:
                self.connection.peer_ended()
        return data

    def write(self, data: bytes) -> None:
        if not self._writer.is_closing():
            if self.connection:
                self.connection.went(data)
            self._writer.write(data)

    def tell(self, event: str, text: str, **facts: Any) -> None:
        """Log an entry about this connection (see `mocks.run`)."""
        if self.connection:
            self.connection.tell(event, text, **facts)

    @property
    def congested(self) -> bool:
        """True if so many bytes wait for the peer that the mock's world should pause."""
        return self._writer.transport.get_write_buffer_size() > CONGESTED

    @property
    def is_behind(self) -> bool:
        """True if bytes still wait for the peer to read."""
        return self._writer.transport.get_write_buffer_size() > 0

    async def drain(self) -> None:
        with contextlib.suppress(OSError):
            await self._writer.drain()

    def close(self, why: str = "") -> None:
        """Close both directions; written bytes are still delivered, and `read` returns."""
        if self.connection:
            self.connection.closed(why)
        self._writer.close()
        if self._incoming is not None:
            self._incoming.close()

    def finish(self) -> None:
        """Close our direction; the peer's bytes can still be read."""
        self._writer.write_eof()

    def abandon(self) -> None:
        """Close both directions; bytes that still wait for the peer are lost."""
        self.close()
        self._writer.transport.abort()

    def reset(self) -> None:
        """Close both directions by a reset: a linger time of 0 discards unsent bytes."""
        sock = self._writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close("by a reset")
        self._writer.transport.abort()

    async def closed(self) -> None:
        """Close, and wait at most `FLUSH` seconds until all written bytes are delivered."""
        self.close()
        try:
            async with asyncio.timeout(FLUSH):
                await self._writer.wait_closed()
        except TimeoutError:
            self._writer.transport.abort()
        except OSError:
            pass  # the peer has closed first


class _File(asyncio.WriteTransport):
    """A transport for files that the event loop cannot watch."""

    def __init__(self, file: IO[bytes], protocol: asyncio.BaseProtocol) -> None:
        super().__init__()
        self._file = file
        self._protocol = protocol
        self._closing = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self._file.write(data)
        self._file.flush()

    def get_write_buffer_size(self) -> int:
        return 0

    def is_closing(self) -> bool:
        return self._closing

    def close(self) -> None:
        if not self._closing:
            self._closing = True
            self._protocol.connection_lost(None)

    abort = close


async def standard_streams() -> Stream:
    """Return a stream of this process's standard input and output."""
    return await pipes(sys.stdin.buffer, sys.stdout.buffer)


async def wire() -> Stream:
    """Return standard input and output as the wire of the mock's only connection."""
    stream = await standard_streams()
    stream.serves_as(run.here().connection("stdio", "connected by standard streams"))
    return stream


async def pipes(source: IO[bytes], sink: IO[bytes]) -> Stream:
    """Return a stream of two one-way files: pipes, sockets, terminals or regular files."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    incoming: asyncio.BaseTransport | None = None
    if _watchable(source):
        incoming, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), source
        )
    else:
        reader.feed_data(source.read())
        reader.feed_eof()
    protocol = asyncio.StreamReaderProtocol(asyncio.StreamReader())
    outgoing: asyncio.WriteTransport
    if _watchable(sink):
        outgoing, _ = await loop.connect_write_pipe(lambda: protocol, sink)
    else:
        outgoing = _File(sink, protocol)
    return Stream(reader, asyncio.StreamWriter(outgoing, protocol, None, loop), incoming)


def _watchable(file: IO[bytes]) -> bool:
    """Return whether the system reports the file's readiness.

    It does not for regular files and /dev/null.
    """
    with selectors.DefaultSelector() as selector:
        try:
            selector.register(file, selectors.EVENT_READ)
        except OSError:
            return False
        return True


async def connect(address: str) -> Stream:
    """Connect to `HOST:PORT` or `unix:PATH`. Raises OSError."""
    path, host, port = parse(address)
    if path:
        kind = "unix"
        reader, writer = await asyncio.open_unix_connection(path)
    else:
        kind = "tcp"
        reader, writer = await asyncio.open_connection(host, port)
    made = run.here().connection(kind, f"connected to {address}")
    return Stream(reader, writer, kind=kind, connection=made)


async def serve(
    address: str, session: Callable[[Stream], Awaitable[None]], channel: str = ""
) -> None:
    """Listen, and run a session for each connection in parallel, until cancelled.

    `channel` names the port if the role has several.
    """
    path, host, port = parse(address)
    kind = "unix" if path else "tcp"
    here = run.here()

    async def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        whence = "" if path else " from {}:{}".format(*writer.get_extra_info("peername")[:2])
        connection = here.connection(kind, f"{channel or 'a peer'} connected{whence}", channel)
        # If the mock is ended, its sessions are cancelled, and no caller waits for the error.
        with contextlib.suppress(asyncio.CancelledError):
            await session(Stream(reader, writer, kind=kind, connection=connection))

    if path:
        server = await asyncio.start_unix_server(accepted, path)
        here.listening(channel, f"unix:{path}")
    else:
        server = await asyncio.start_server(accepted, host, port)
        here.listening(channel, f"{host}:{server.sockets[0].getsockname()[1]}")
    try:
        # `serve_forever` would also wait, since Python 3.12, until all connections have ended.
        await asyncio.Event().wait()
    finally:
        server.close()
        if path:
            with contextlib.suppress(OSError):
                os.unlink(path)


Serving = Callable[[str, Callable[[Stream], Awaitable[None]]], Awaitable[None]]
"""Listen at an address, and run a session for each connection."""


async def accept(address: str, serving: Serving = serve) -> Stream:
    """Listen for a single connection. Raises the error of listening."""
    arrived: asyncio.Future[Stream] = asyncio.get_running_loop().create_future()

    async def session(stream: Stream) -> None:
        if arrived.done():
            stream.close()
        else:
            arrived.set_result(stream)

    server = asyncio.ensure_future(serving(address, session))
    either: list[asyncio.Future[Any]] = [server, arrived]
    await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
    if not arrived.done():
        await server  # listening failed: raise its error
    server.cancel()
    return arrived.result()


def parse(address: str) -> tuple[str, str, int]:
    """Split an address: `(path, "", 0)` for unix, or `("", host, port)`. Raises ValueError."""
    if address.startswith("unix:"):
        return address.removeprefix("unix:"), "", 0
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise ValueError(f"{address!r} is not an address: expected HOST:PORT or unix:PATH")
    return "", host.strip("[]") or "127.0.0.1", int(port)
