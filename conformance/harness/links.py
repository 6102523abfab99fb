"""Byte streams between the suite and the IUT: pipes, TCP and unix sockets, all read alike."""

import asyncio
import contextlib
import errno
import math
import os
import re
import socket
import ssl
import struct
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

from conformance.exits import WrongUsage
from conformance.harness import unread

CHUNK = 256 * 1024
_NARROW, _SEGMENT = 1024, 128  # bytes received ahead, and in a segment, where few are to be
_TABLES = {False: ("tcp", "tcp6"), True: ("udp", "udp6")}  # below /proc/net, by datagrams or not
_LISTENS = "0A"  # the state of a socket that listens, as the tables of TCP have it
_AT_ONCE = struct.pack("ii", 1, 0)  # linger: not at all, which makes the end a reset
_SETTLE = 0.5  # seconds that a piece of a split write may wait to be read by the peer
_UNREAD = 0.02  # the same of a peer that has not read one in that time, until it has


class Link:
    """One open byte stream. ``read`` returns b"" at the end; a broken connection is an end, too."""

    datagrams = False
    """Each write arrives as one unit: message boundaries are preserved."""
    broken = False
    """It was reset, and did not end as a peer ends it that closes it."""
    reset = False
    """It was, or had ended before what was written last: that may not have been read."""
    _ahead = b""  # what has been read and nobody was given
    _unsent: unread.Count | None = None
    _unread: unread.Count | None = None
    _tcp: Any = None

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        unread: unread.Count | None = None,
        tcp: Any = None,
    ) -> None:
        """``tcp`` is its socket, where that is one of TCP."""
        self._reader = reader
        self._writer = writer
        self._unsent = writer.transport.get_write_buffer_size
        self._unread = unread
        self._tcp = tcp
        self.attentive = asyncio.Event()
        """Where it is not set, nothing is read."""
        self.attentive.set()
        self._settle = _SETTLE
        self._about_to_write = False

    async def read(self) -> bytes:
        if self._ahead:
            data, self._ahead = self._ahead, b""
            return data
        await self.attentive.wait()
        try:
            data = await self._reader.read(CHUNK)
        except OSError:
            self.broken = self.reset = True
            return self._last()
        self._acknowledge()
        self.reset = self.reset or (not data and (self._about_to_write or self._refused()))
        return data

    async def ends_unused(self, within: float) -> bool:
        """Whether the peer ends it in time without a word; to be asked before it is read."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within):
                self._ahead = await self.read()
                return not self._ahead
        return False

    def _acknowledge(self) -> None:
        """Acknowledge what has come at once: until then many a peer keeps its next write back."""
        if self._tcp:
            with contextlib.suppress(OSError):
                self._tcp.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)

    def _refused(self) -> bool:
        """Whether the peer has refused what was written, as it had closed its side before."""
        sock = self._writer.get_extra_info("socket")
        try:
            return bool(sock and sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))
        except OSError:
            return False

    def _last(self) -> bytes:
        """What has come before the connection broke, which its reader does not give any more."""
        kept: bytearray = getattr(self._reader, "_buffer", bytearray())
        data = bytes(kept)
        kept.clear()
        return data

    async def read_exactly(self, size: int) -> bytes:
        """That many bytes, or fewer where the stream ended before."""
        try:
            return await self._reader.readexactly(size)
        except (OSError, asyncio.IncompleteReadError) as error:
            return getattr(error, "partial", b"")

    async def caught_up(self) -> None:
        """Let what has come by now be read: a write that finds the connection broken drops it."""
        for _ in range(2):
            await asyncio.sleep(0)

    async def write(self, data: bytes) -> bool:
        """Write it all; False where the peer has gone."""
        self._about_to_write = True
        await self.caught_up()
        self._about_to_write = False
        try:
            self._writer.write(data)
            await self._writer.drain()
        except OSError:
            return False
        return not self._writer.is_closing()

    def pending(self) -> int:
        """How many bytes of what was written the peer has not read, as far as the system tells."""
        return sum(count() for count in (self._unsent, self._unread) if count)

    async def taken(self, within: float = math.inf) -> None:
        """Wait until the peer has probably read what was written, so that a split write is split.

        It is not waited longer than ``within``, which is what a peer may still have patience for.
        It is a pause where the system does not tell what is unread. No verdict rests on it.
        """
        loop = asyncio.get_running_loop()
        allowed = min(self._settle, within)
        deadline = loop.time() + allowed
        if self._unread is None:
            await asyncio.sleep(0.001)
            return
        # No event says that a peer has read.
        while self._unread() > 0:
            if loop.time() > deadline:
                if allowed == self._settle:
                    self._settle = _UNREAD
                return
            await asyncio.sleep(0.0002)
        # It has read everything: one that was late once is not given up for that.
        self._settle = _SETTLE

    def finish(self) -> None:
        """End our direction of the stream, where the stream has two."""
        try:
            if self._writer.can_write_eof():
                self._writer.write_eof()
            else:
                self._writer.close()
        except OSError:
            pass

    def break_off(self) -> None:
        """Let it end by a reset once it is closed, where it is of TCP; else as usual."""
        if self._tcp:
            with contextlib.suppress(OSError):
                self._tcp.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)

    async def close(self) -> None:
        """Close both directions, dropping what was not written yet."""
        # A pipe's transport that has already closed has dropped its loop, and fails here.
        with contextlib.suppress(AttributeError):
            self._writer.transport.abort()
        # A pipe's reading end is a transport of its own.
        reading = getattr(self._reader, "_transport", None)
        if reading is not None:
            reading.close()
        await asyncio.sleep(0)


class NoWire(Link):
    """Stands for the stream of an IUT without a wire: silent, and ended with its process."""

    def __init__(self, end: Callable[[], Awaitable[object]]) -> None:
        self._end = end

    async def read(self) -> bytes:
        await self._end()
        return b""

    async def write(self, data: bytes) -> bool:
        raise TypeError("an IUT without a wire cannot be written to")

    async def taken(self, within: float = math.inf) -> None:
        pass

    def finish(self) -> None:
        pass

    async def close(self) -> None:
        pass


def paired() -> tuple[int, int]:
    """Two sockets in the place of a pipe."""
    one, other = socket.socketpair()
    return one.detach(), other.detach()


async def pipe(read_fd: int) -> asyncio.StreamReader:
    """What reads a pipe that is ours from now on."""
    reader = asyncio.StreamReader(limit=CHUNK)
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(read_fd, "rb", buffering=0)
    )
    return reader


async def pipes(read_fd: int, write_fd: int) -> Link:
    """A link over two pipes that are ours from now on."""
    loop = asyncio.get_running_loop()
    reader = await pipe(read_fd)
    transport, protocol = await loop.connect_write_pipe(
        lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()),
        os.fdopen(write_fd, "wb", buffering=0),
    )
    writer = asyncio.StreamWriter(transport, protocol, None, loop)
    return Link(reader, writer, unread.of_pipe(write_fd))


def over(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Link:
    """A link over a connected socket."""
    sock: Any = writer.get_extra_info("socket")
    tcp = sock if sock.family != socket.AF_UNIX else None
    if tcp:
        tcp.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return Link(reader, writer, unread.of_socket(sock), tcp)


class AddressError(WrongUsage):
    """An address that is neither HOST:PORT nor unix:PATH."""


def parse_address(address: str) -> tuple[str, int] | str:
    """``HOST:PORT`` or ``http[s]://HOST[:PORT]`` as a pair, ``unix:PATH`` as the path.

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
    """Connect once; ``narrow``: over TCP so that few bytes are under way to us at a time.

    Raises OSError where nothing accepts.
    """
    where = parse_address(address)
    if isinstance(where, str):
        return over(*await asyncio.open_unix_connection(where, limit=CHUNK))
    if narrow:
        return over(*await asyncio.open_connection(sock=await _narrow(*where), limit=_NARROW))
    return over(*await asyncio.open_connection(*where, limit=CHUNK, ssl=tls))


async def _narrow(host: str, port: int) -> socket.socket:
    """A connected socket; the size of its segments bounds how much its peer's system keeps."""
    loop = asyncio.get_running_loop()
    failed = OSError(f"no address of {host}")
    for family, kind, *_, place in await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM):
        sock = socket.socket(family, kind)
        try:
            sock.setblocking(False)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _NARROW)
            # Not every system takes one so small.
            with contextlib.suppress(OSError):
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, _SEGMENT)
            await loop.sock_connect(sock, place)
            return sock
        except OSError as error:
            sock.close()
            failed = error
    raise failed


def reason(error: OSError) -> str:
    """Why an address cannot be used, in the system's words, which asyncio replaces by its own."""
    if error.errno is not None and error.errno > 0:
        return os.strerror(error.errno)
    return error.strerror or str(error)


class Listener:
    """Accepts the IUT's connections, in the order in which they come."""

    def __init__(self) -> None:
        self._accepted: asyncio.Queue[Link] = asyncio.Queue()
        self._server: asyncio.Server | None = None
        self.address = ""

    async def start(self, address: str, tls: ssl.SSLContext | None = None) -> "Listener":
        """Listen at an address; port 0 lets the system choose. Raises OSError."""
        where = parse_address(address)
        if isinstance(where, str):
            self._server = await asyncio.start_unix_server(self._accept, where, limit=CHUNK)
            self.address = address
        else:
            self._server = await asyncio.start_server(self._accept, *where, limit=CHUNK, ssl=tls)
            port = self._server.sockets[0].getsockname()[1]
            self.address = f"{where[0]}:{port}"
        return self

    async def accept(self) -> Link:
        return await self._accepted.get()

    async def close(self) -> None:
        if self._server:
            self._server.close()
        while not self._accepted.empty():
            await self._accepted.get_nowait().close()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._accepted.put_nowait(over(reader, writer))


def served(address: str, datagrams: bool = False) -> bool:
    """Whether somebody accepts, or receives, at an address on this machine.

    The system's tables are looked at, for to connect or send would disturb, and to bind would be in
    the way. Where the system does not tell, it counts as so.
    """
    where = parse_address(address)
    if isinstance(where, str):
        return os.path.exists(where)
    tables = [path for name in _TABLES[datagrams] if (path := Path("/proc/net") / name).is_file()]
    ending = f":{where[1]:04X}"
    rows = (line.split() for table in tables for line in table.read_text("ascii").splitlines()[1:])
    return not tables or any(
        row[1].endswith(ending) and (datagrams or row[3] == _LISTENS) for row in rows
    )


def free_port(kind: int = socket.SOCK_STREAM) -> int:
    """A port on loopback, of TCP or of UDP, that the system says is free."""
    with socket.socket(type=kind) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def free(address: str, kind: int | None) -> bool:
    """Whether a program can be at an address: HOST:PORT of a kind of socket, or unix:PATH."""
    where = parse_address(address)
    if isinstance(where, str) or kind is None:
        return True
    with socket.socket(type=kind) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, int(kind == socket.SOCK_STREAM))
        try:
            probe.bind(where)
        except OSError:
            return False
    return True


@contextlib.contextmanager
def reserved_port(kind: int = socket.SOCK_STREAM) -> Iterator[int]:
    """A free port, reserved among all processes that ask here until it is released.

    A program that is to listen there has not started yet, so the system might hand it out again.
    """
    with socket.socket(socket.AF_UNIX) as mark:
        while True:
            port = free_port(kind)
            try:
                # An abstract address has the port's network namespace, and ends with the process.
                mark.bind(f"\0conformance-port-{port}")
            except OSError as error:
                if error.errno == errno.EADDRINUSE:
                    continue
            break
        yield port
