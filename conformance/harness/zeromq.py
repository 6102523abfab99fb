"""ZeroMQ between the suite and the IUT: one message of ours is one of ZeroMQ's, in its last frame.

Needs pyzmq, which is optional (`conformance[zmq]`). We ask a server as a DEALER that puts the name
of a service before the payload, serve clients as a ROUTER that answers with whatever frames came
before the payload, and read a publisher as a SUB.
"""

import asyncio
import math
from typing import Any

import zmq
import zmq.asyncio
from zmq.utils.monitor import recv_monitor_message

from conformance.harness.links import Link, parse_address

SERVICE = b"service"
"""The name by which we ask for a server: where one address has several, a proxy looks at it."""

# Seconds in which a publisher that has connected learns of our subscription; nothing tells of it.
_SETTLE = 0.05


class ZeroLink(Link):
    """Messages from and to the IUT. ``read`` returns one; there is no end."""

    datagrams = True

    def __init__(self, socket: Any, before: list[bytes], shared: bool) -> None:
        """``before`` are the frames in front of a payload; ``shared``: a listener closes it."""
        self._socket = socket
        self._before = before
        self._shared = shared

    async def read(self) -> bytes:
        while True:
            *before, payload = await self._socket.recv_multipart()
            if self._socket.type == zmq.ROUTER:
                self._before = before
            # An empty one is how a peer introduces itself.
            if payload:
                return bytes(payload)

    async def write(self, data: bytes) -> bool:
        await self._socket.send_multipart([*self._before, data])
        return True

    async def taken(self, within: float = math.inf) -> None:
        await asyncio.sleep(0.001)

    def finish(self) -> None:
        """Nothing: a socket of ZeroMQ has no direction that could end."""

    async def close(self) -> None:
        if not self._shared:
            self._socket.close(linger=0)
        await asyncio.sleep(0)


async def connect(address: str) -> ZeroLink:
    """A link to a server, once it is there."""
    socket = zmq.asyncio.Context.instance().socket(zmq.DEALER)
    try:
        connected = _connected(socket)
        socket.connect(f"tcp://{_place(address)}")
        await connected
    except BaseException:
        socket.close(linger=0)
        raise
    return ZeroLink(socket, [SERVICE], shared=False)


class ZeroListener:
    """What the IUT connects to: a ROUTER, or a SUB where we only listen."""

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
        self._connected = asyncio.ensure_future(_connected(self._socket))
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


def _connected(socket: Any) -> asyncio.Task[None]:
    """Ends once a peer has completed ZeroMQ's handshake."""
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
