"""ZeroMQ between the suite and the IUT. A message of the protocol is the last frame.

Needs pyzmq, which is optional (`conformance[zmq]`). The suite uses these sockets:

- DEALER to a server, with the name of a service before the payload
- ROUTER for clients; an answer repeats the frames that preceded the payload
- SUB for a publisher
"""

import asyncio
import math
from typing import Any

import zmq
import zmq.asyncio
from zmq.utils.monitor import recv_monitor_message

from conformance.harness.links import Link, parse_address

SERVICE = b"service"
"""Name of the service in requests, for a proxy with several servers."""

# Seconds until a connected publisher knows the subscription; ZeroMQ reports no event for this.
_SETTLE = 0.05


class ZeroLink(Link):
    """Messages from and to the IUT. ``read`` returns a message; the stream never ends."""

    datagrams = True

    def __init__(self, socket: Any, before: list[bytes], shared: bool) -> None:
        """``before``: the frames before a payload; ``shared``: a listener closes the socket."""
        self._socket = socket
        self._before = before
        self._shared = shared

    async def read(self) -> bytes:
        while True:
            *before, payload = await self._socket.recv_multipart()
            if self._socket.type == zmq.ROUTER:
                self._before = before
            # A peer introduces itself with an empty message.
            if payload:
                return bytes(payload)

    async def write(self, data: bytes) -> bool:
        await self._socket.send_multipart([*self._before, data])
        return True

    async def wait_until_taken(self, within: float = math.inf) -> None:
        await asyncio.sleep(0.001)

    def finish(self) -> None:
        """Do nothing: a ZeroMQ socket has no direction that could end."""

    async def close(self) -> None:
        if not self._shared:
            self._socket.close(linger=0)
        await asyncio.sleep(0)


async def connect(address: str) -> ZeroLink:
    """Return a link to a server after the handshake."""
    socket = zmq.asyncio.Context.instance().socket(zmq.DEALER)
    try:
        connected = _wait_for_peer(socket)
        socket.connect(f"tcp://{_place(address)}")
        await connected
    except BaseException:
        socket.close(linger=0)
        raise
    return ZeroLink(socket, [SERVICE], shared=False)


class ZeroListener:
    """Socket for an IUT that connects: ROUTER, or SUB if the suite only receives."""

    def __init__(self, answers: bool) -> None:
        self._answers = answers
        self._socket: Any = None
        self._connected: asyncio.Future[None] | None = None
        self.address = ""

    async def start(self, address: str) -> "ZeroListener":
        """Listen at an address; port 0 lets the system choose."""
        self._socket = zmq.asyncio.Context.instance().socket(
            zmq.ROUTER if self._answers else zmq.SUB
        )
        if not self._answers:
            self._socket.subscribe(b"")
        self._connected = asyncio.ensure_future(_wait_for_peer(self._socket))
        self._socket.bind(f"tcp://{_place(address)}")
        self.address = self._socket.getsockopt(zmq.LAST_ENDPOINT).decode().strip("\0")[6:]
        return self

    async def accept(self) -> ZeroLink:
        assert self._connected is not None, "started before"
        await asyncio.shield(self._connected)
        return ZeroLink(self._socket, [], shared=True)

    async def close(self) -> None:
        if self._connected:
            self._connected.cancel()
        if self._socket:
            self._socket.close(linger=0)


def _wait_for_peer(socket: Any) -> asyncio.Task[None]:
    """Return a task that ends when a peer has completed the handshake."""
    monitor = socket.get_monitor_socket(zmq.EVENT_HANDSHAKE_SUCCEEDED)

    async def wait() -> None:
        try:
            await recv_monitor_message(monitor)
            await asyncio.sleep(_SETTLE)
        finally:
            socket.disable_monitor()

    return asyncio.create_task(wait())


def _place(address: str) -> str:
    where = parse_address(address)
    return where if isinstance(where, str) else f"{where[0]}:{where[1]}"
