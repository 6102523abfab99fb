"""Datagrams between the suite and the IUT: UDP on loopback with the interface of a link."""

import asyncio
import contextlib
import math

from conformance.harness.links import AddressError, Link, parse_address

QUEUE_SIZE = 4096  # unread datagrams; the oldest are dropped first, as UDP permits


class _Received(asyncio.DatagramProtocol):
    """Queues received datagrams until they are read."""

    def __init__(self) -> None:
        self.queue: asyncio.Queue[bytes] = asyncio.Queue()

    def datagram_received(self, data: bytes, addr: object) -> None:
        if self.queue.qsize() >= QUEUE_SIZE:
            self.queue.get_nowait()
        self.queue.put_nowait(data)


class DatagramLink(Link):
    """Datagrams from and to the IUT. ``read`` returns a datagram, which can be empty.

    The stream never ends.
    """

    datagrams = True

    def __init__(
        self, transport: asyncio.DatagramTransport, received: _Received, shared: bool
    ) -> None:
        """``shared``: the socket belongs to a listener, which closes it."""
        self._transport = transport
        self._received = received
        self._shared = shared

    async def read(self) -> bytes:
        return await self._received.queue.get()

    async def write(self, data: bytes) -> bool:
        if data and not self._transport.is_closing():
            self._transport.sendto(data)
        elif not self._transport.is_closing():
            # asyncio does not send an empty datagram.
            with (
                contextlib.suppress(OSError),
                self._transport.get_extra_info("socket").dup() as own,
            ):
                own.send(data)
        return not self._transport.is_closing()

    async def wait_until_taken(self, within: float = math.inf) -> None:
        await asyncio.sleep(0.001)

    def finish(self) -> None:
        """Do nothing, because a datagram socket has no end of a direction."""

    async def close(self) -> None:
        if not self._shared:
            self._transport.abort()
        await asyncio.sleep(0)


async def connect(address: str) -> DatagramLink:
    """Return a link to a receiver."""
    transport, received = await asyncio.get_running_loop().create_datagram_endpoint(
        _Received, remote_addr=_parse(address)
    )
    return DatagramLink(transport, received, shared=False)


class DatagramListener:
    """Receives the IUT's datagrams; the session that accepts gets all of them."""

    def __init__(self) -> None:
        self._link: DatagramLink | None = None
        self._transport: asyncio.DatagramTransport | None = None
        self.address = ""

    async def start(self, address: str) -> "DatagramListener":
        """Receive at an address; port 0 lets the system choose. Raises OSError."""
        where = _parse(address)
        loop = asyncio.get_running_loop()
        self._transport, received = await loop.create_datagram_endpoint(_Received, local_addr=where)
        self.address = f"{where[0]}:{self._transport.get_extra_info('sockname')[1]}"
        self._link = DatagramLink(self._transport, received, shared=True)
        return self

    async def accept(self) -> DatagramLink:
        assert self._link is not None, "started before"
        return self._link

    async def close(self) -> None:
        if self._transport:
            self._transport.abort()


def _parse(address: str) -> tuple[str, int]:
    where = parse_address(address)
    if isinstance(where, str):
        raise AddressError(f"{address!r} is not an address of datagrams: expected HOST:PORT")
    return where
