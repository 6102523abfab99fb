"""Byte streams between the suite and the IUT: pipes, TCP and unix sockets."""

import asyncio
import contextlib
import errno
import math
import os
import re
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

from conformance.exits import WrongUsage
from conformance.harness import socket_backlog

CHUNK = 256 * 1024
# bytes in the receive buffer and in a segment, if few bytes should be in transit
_NARROW, _SEGMENT = 1024, 128
# below /proc/net; the key is True for datagrams
_TABLES = {False: ("tcp", "tcp6"), True: ("udp", "udp6")}
_LISTENS = "0A"  # state of a listening socket in the tables of TCP
_TIME_WAIT = "06"  # state of a connection that has ended, and still keeps its port
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)  # linger of 0 s, which turns a close into a reset
# connections that wait to be accepted: more than a test asks for at a time. Linux answers further
# ones with SYN cookies, and can then lose the first bytes that they carry.
_BACKLOG = 1024
_SETTLE = 0.5  # seconds to wait until the peer reads a piece of a split write
# seconds to wait instead after the peer did not read in `_SETTLE`, until it has read everything
_SHORT_SETTLE = 0.02


class Link:
    """An open byte stream. ``read`` returns b"" at its end, and after a broken connection."""

    datagrams = False
    """True if each write arrives as a unit, so that message boundaries are preserved."""
    reset = False
    """True if the peer can have missed the last write, for example after a reset."""
    _ahead = b""  # bytes that were read but not returned yet
    _unsent: socket_backlog.Count | None = None
    _unread: socket_backlog.Count | None = None
    _tcp: Any = None

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        unread: socket_backlog.Count | None = None,
        tcp: Any = None,
    ) -> None:
        """``tcp``: the socket, if it is a TCP socket."""
        self._reader = reader
        self._writer = writer
        self._unsent = writer.transport.get_write_buffer_size
        self._unread = unread
        self._tcp = tcp
        self.is_attentive = asyncio.Event()
        """Nothing is read while this event is not set."""
        self.is_attentive.set()
        self._settle = _SETTLE
        self._about_to_write = self._finished = False

    async def read(self) -> bytes:
        if self._ahead:
            data, self._ahead = self._ahead, b""
            return data
        await self.is_attentive.wait()
        try:
            data = await self._reader.read(CHUNK)
        except OSError:
            self.reset = True
            return self._last_bytes()
        self._acknowledge()
        self.reset = self.reset or (not data and (self._about_to_write or self._is_refused()))
        return data

    async def is_closed_unused(self, within: float) -> bool:
        """True if the peer closes the stream in time without sending. Call this before any read."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within):
                self._ahead = await self.read()
                return not self._ahead
        return False

    def _acknowledge(self) -> None:
        """Acknowledge received bytes immediately: many peers delay their next write until then."""
        if self._tcp:
            with contextlib.suppress(OSError):
                self._tcp.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)

    def _is_refused(self) -> bool:
        """True if the peer had closed its side and refused the last write."""
        sock = self._writer.get_extra_info("socket")
        try:
            return bool(sock and sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))
        except OSError:
            return False

    def _last_bytes(self) -> bytes:
        """Return the bytes that arrived before the connection broke; the reader withholds them."""
        kept: bytearray = getattr(self._reader, "_buffer", bytearray())
        data = bytes(kept)
        kept.clear()
        return data

    async def read_exactly(self, size: int) -> bytes:
        """Return ``size`` bytes, or fewer if the stream ended before."""
        try:
            return await self._reader.readexactly(size)
        except (OSError, asyncio.IncompleteReadError) as error:
            return getattr(error, "partial", b"")

    async def read_ahead(self) -> None:
        """Read what has arrived: a write that finds a broken connection discards it."""
        for _ in range(2):
            await asyncio.sleep(0)

    async def write(self, data: bytes) -> bool:
        """Write all bytes; return False if the peer has disconnected, or after `finish`."""
        self._about_to_write = True
        await self.read_ahead()
        self._about_to_write = False
        if self._finished:
            return False
        try:
            self._writer.write(data)
            await self._writer.drain()
        except OSError:
            return False
        return not self._writer.is_closing()

    def unread_bytes(self) -> int:
        """Return the number of written bytes that the peer has not read, if known."""
        return sum(count() for count in (self._unsent, self._unread) if count)

    async def wait_until_taken(self, within: float = math.inf) -> None:
        """Wait until the peer has probably read the last write, to separate two writes.

        The wait is at most ``within`` seconds, for a peer that can time out. If the system does not
        count unread bytes, this is a short pause. No verdict depends on it.
        """
        loop = asyncio.get_running_loop()
        allowed = min(self._settle, within)
        deadline = loop.time() + allowed
        if self._unread is None:
            await asyncio.sleep(0.001)
            return
        # No event reports that a peer has read.
        while self._unread() > 0:
            if loop.time() > deadline:
                if allowed == self._settle:
                    self._settle = _SHORT_SETTLE
                return
            await asyncio.sleep(0.0002)
        # The peer has read everything, so it gets the full time again.
        self._settle = _SETTLE

    def finish(self) -> None:
        """Half-close: end our direction of the stream, if the stream has two."""
        self._finished = True
        try:
            if self._writer.can_write_eof():
                self._writer.write_eof()
            else:
                self._writer.close()
        except OSError:
            pass

    def break_off(self) -> None:
        """Turn the next close into a reset, for TCP only."""
        if self._tcp:
            with contextlib.suppress(OSError):
                self._tcp.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)

    async def visit(self, data: bytes, within: float) -> None:
        """Write these bytes, finish, and close when the peer does, or after ``within`` seconds."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within):
                await self.write(data)
                self.finish()
                while await self.read():
                    pass
        await self.close()

    async def close(self) -> None:
        """Close both directions and discard unwritten bytes."""
        # A pipe's transport that is already closed has no event loop any more, and fails here.
        with contextlib.suppress(AttributeError):
            self._writer.transport.abort()
        # The reading end of a pipe has a transport of its own.
        reading = getattr(self._reader, "_transport", None)
        if reading is not None:
            reading.close()
        await asyncio.sleep(0)


class NoWire(Link):
    """Stream of an IUT without a wire: silent, and ended with its process."""

    def __init__(self, end: Callable[[], Awaitable[object]]) -> None:
        self._end = end

    async def read(self) -> bytes:
        await self._end()
        return b""

    async def write(self, data: bytes) -> bool:
        raise TypeError("an IUT without a wire cannot be written to")

    async def wait_until_taken(self, within: float = math.inf) -> None:
        pass

    def finish(self) -> None:
        pass

    async def close(self) -> None:
        pass


def socket_pair() -> tuple[int, int]:
    """Return two connected sockets that replace a pipe."""
    one, other = socket.socketpair()
    return one.detach(), other.detach()


async def pipe(read_fd: int) -> asyncio.StreamReader:
    """Return the reader of a pipe; the reader owns the descriptor."""
    reader = asyncio.StreamReader(limit=CHUNK)
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(read_fd, "rb", buffering=0)
    )
    return reader


async def pipes(read_fd: int, write_fd: int) -> Link:
    """Return a link over two pipes; the link owns the descriptors."""
    loop = asyncio.get_running_loop()
    reader = await pipe(read_fd)
    transport, protocol = await loop.connect_write_pipe(
        lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()),
        os.fdopen(write_fd, "wb", buffering=0),
    )
    writer = asyncio.StreamWriter(transport, protocol, None, loop)
    return Link(reader, writer, socket_backlog.of_pipe(write_fd))


def socket_link(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Link:
    """Return a link over a connected socket."""
    sock: Any = writer.get_extra_info("socket")
    tcp = sock if sock.family != socket.AF_UNIX else None
    if tcp:
        tcp.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return Link(reader, writer, socket_backlog.of_socket(sock), tcp)


class AddressError(WrongUsage):
    """An address is neither HOST:PORT nor unix:PATH."""


def parse_address(address: str) -> tuple[str, int] | str:
    """Parse ``HOST:PORT`` or ``http[s]://HOST[:PORT]`` to a pair, ``unix:PATH`` to the path.

    Raises AddressError.
    """
    if address.startswith("unix:"):
        return address.removeprefix("unix:")
    plain = re.sub("^https?://", "", address).rstrip("/") if "://" in address else address
    if plain != address and not plain.rpartition(":")[2].isdigit():
        plain += ":443" if address.startswith("https:") else ":80"
    host, _, port = plain.rpartition(":")
    if not host or "/" in host or not port.isdigit() or int(port) > 65535:
        raise AddressError(
            f"{address!r} is not an address: expected HOST:PORT, http://HOST:PORT or unix:PATH"
        )
    return host.strip("[]"), int(port)


async def connect(address: str, tls: ssl.SSLContext | None = None, *, narrow: bool = False) -> Link:
    """Connect once. ``narrow``: keep few bytes in transit from the peer, over TCP only.

    Raises OSError if nothing accepts the connection.
    """
    where = parse_address(address)
    if isinstance(where, str):
        return socket_link(*await asyncio.open_unix_connection(where, limit=CHUNK))
    if narrow:
        return socket_link(
            *await asyncio.open_connection(sock=await _narrow(*where), limit=_NARROW)
        )
    return socket_link(*await asyncio.open_connection(*where, limit=CHUNK, ssl=tls))


async def _narrow(host: str, port: int) -> socket.socket:
    """Return a connected socket; small segments limit the bytes that the peer's system buffers."""
    loop = asyncio.get_running_loop()
    failed = OSError(f"no address of {host}")
    for family, kind, *_, place in await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM):
        sock = socket.socket(family, kind)
        try:
            sock.setblocking(False)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _NARROW)
            # Some systems refuse a segment size this small.
            with contextlib.suppress(OSError):
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, _SEGMENT)
            await loop.sock_connect(sock, place)
            return sock
        except OSError as error:
            sock.close()
            failed = error
    raise failed


def reason(error: OSError) -> str:
    """Return the system's reason for an address error, which asyncio replaces by its own text."""
    if error.errno is not None and error.errno > 0:
        return os.strerror(error.errno)
    return error.strerror or str(error)


class Listener:
    """Accepts the IUT's connections in their order."""

    def __init__(self) -> None:
        self._accepted: asyncio.Queue[Link] = asyncio.Queue()
        self._server: asyncio.Server | None = None
        self._tls: ssl.SSLContext | None = None
        self.address = ""

    async def start(self, address: str, tls: ssl.SSLContext | None = None) -> "Listener":
        """Listen at an address; port 0 lets the system choose. Raises OSError."""
        self._tls = tls
        where = parse_address(address)
        if isinstance(where, str):
            self._server = await asyncio.start_unix_server(
                self._accept, where, limit=CHUNK, backlog=_BACKLOG
            )
            self.address = address
        else:
            self._server = await self._serve(host=where[0], port=where[1])
            port = self._server.sockets[0].getsockname()[1]
            self.address = f"{where[0]}:{port}"
        return self

    async def _serve(self, **where: Any) -> asyncio.Server:
        """Listen over TCP; `where` is a host and a port, or a bound socket."""
        return await asyncio.start_server(
            self._accept, limit=CHUNK, ssl=self._tls, backlog=_BACKLOG, **where
        )

    async def accept(self) -> Link:
        return await self._accepted.get()

    @contextlib.asynccontextmanager
    async def refusing(self) -> AsyncIterator[None]:
        """Refuse connections over TCP within the block, and keep the port."""
        if self._server:
            self._server.close()
        with socket.socket() as bound:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind(parse_address(self.address))
            yield
            self._server = await self._serve(sock=bound.dup())

    async def close(self) -> None:
        if self._server:
            self._server.close()
        while not self._accepted.empty():
            await self._accepted.get_nowait().close()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._accepted.put_nowait(socket_link(reader, writer))


def is_served(address: str, datagrams: bool = False) -> bool:
    """True if a socket on this machine listens or receives at an address.

    This reads the system's tables, because connecting or sending would disturb the server, and
    binding would block the port. Returns True if the system has no tables.
    """
    where = parse_address(address)
    if isinstance(where, str):
        return os.path.exists(where)
    states = _states_at(where[1], datagrams)
    return states is None or (bool(states) if datagrams else _LISTENS in states)


def is_lingering(address: str) -> bool:
    """True if an ended TCP connection still keeps the port of an address."""
    where = parse_address(address)
    return not isinstance(where, str) and _TIME_WAIT in (_states_at(where[1]) or ())


def _states_at(port: int, datagrams: bool = False) -> set[str] | None:
    """The states of all sockets with this local port; None if the system has no tables."""
    tables = [path for name in _TABLES[datagrams] if (path := Path("/proc/net") / name).is_file()]
    rows = (line.split() for table in tables for line in table.read_text("ascii").splitlines()[1:])
    return {row[3] for row in rows if row[1].endswith(f":{port:04X}")} if tables else None


def free_port(kind: int = socket.SOCK_STREAM) -> int:
    """Return a TCP or UDP port on loopback that is free now."""
    with socket.socket(type=kind) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def is_free(address: str, kind: int | None) -> bool:
    """True if a program can use an address: HOST:PORT of a kind of socket, or unix:PATH."""
    where = parse_address(address)
    if isinstance(where, str) or kind is None:
        return True
    try:
        family, *_, exact = socket.getaddrinfo(*where, type=kind)[0]
        with socket.socket(family, kind) as probe:
            reuse = int(kind == socket.SOCK_STREAM)
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, reuse)
            probe.bind(exact)
    except OSError as error:
        return error.errno != errno.EADDRINUSE
    return True


@contextlib.contextmanager
def reserved_port(kind: int = socket.SOCK_STREAM) -> Iterator[int]:
    """Reserve a free port among all processes that use this function, until the block ends.

    The program for this port starts later, so the system could give the port away again.
    """
    with socket.socket(socket.AF_UNIX) as mark:
        while True:
            port = free_port(kind)
            try:
                # An abstract address is released when the process ends, and belongs to the network
                # namespace, like the port.
                mark.bind(f"\0conformance-port-{port}")
            except OSError as error:
                if error.errno == errno.EADDRINUSE:
                    continue
            break
        yield port
