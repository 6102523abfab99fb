"""UDP datagrams of a mock, to one peer or from any peer."""

import asyncio

from mocks import run
from mocks.run import Connection
from mocks.streams import parse

_KEPT = 1024  # datagrams that can wait to be read; the oldest are dropped first


class Datagrams(asyncio.DatagramProtocol):
    """A UDP socket; ``read`` returns one datagram, which can be empty."""

    def __init__(self) -> None:
        self._received: asyncio.Queue[bytes] = asyncio.Queue()
        self._transport: asyncio.DatagramTransport | None = None
        self.connection: Connection | None = None
        self.closed = asyncio.Event()

    def connection_made(self, transport: asyncio.DatagramTransport) -> None:  # type: ignore[override]
        self._transport = transport

    def datagram_received(self, data: bytes, addr: object) -> None:
        if self.connection:
            self.connection.came(data)
        if self._received.qsize() >= _KEPT:
            self._received.get_nowait()
        self._received.put_nowait(data)

    def serves_as(self, connection: Connection) -> None:
        """Report all traffic of this socket to a connection of the run."""
        self.connection = connection
        connection.write, connection.close = self.write, self.close

    async def read(self) -> bytes:
        return await self._received.get()

    def write(self, data: bytes) -> None:
        """Send one datagram; the sender does not learn whether it arrives."""
        if self._transport:
            if self.connection:
                self.connection.went(data)
            self._transport.sendto(data)

    def close(self, why: str = "") -> None:
        if self.connection:
            self.connection.closed(why)
        if self._transport:
            self._transport.close()
            self._transport = None
        self.closed.set()


async def connect(address: str) -> Datagrams:
    """Open a socket that sends to `HOST:PORT`. Raises OSError or ValueError."""
    _, made = await asyncio.get_running_loop().create_datagram_endpoint(
        Datagrams, remote_addr=_place(address)
    )
    made.serves_as(run.here().connection("udp", f"sends to {address}"))
    return made


async def bind(address: str) -> Datagrams:
    """Open a socket that receives at `HOST:PORT`; the system replaces port 0. Raises OSError."""
    place = _place(address)
    try:
        transport, made = await asyncio.get_running_loop().create_datagram_endpoint(
            Datagrams, local_addr=place
        )
    except OSError as error:
        raise OSError(error.errno, f"cannot listen at {address}: {error.strerror}") from error
    host, port, *_ = transport.get_extra_info("sockname")
    run.here().listening("", f"{host}:{port}")
    made.serves_as(run.here().connection("udp", "receives from any peer"))
    return made


def _place(address: str) -> tuple[str, int]:
    path, host, port = parse(address)
    if path:
        raise ValueError(f"expected an address HOST:PORT for datagrams; received {address!r}")
    return host, port
