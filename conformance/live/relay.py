"""Relay bytes between two peers, unchanged and without delay, and pass them to a watch.

On request the relay disturbs connections: it delays, splits, cuts or stalls them.
"""

import asyncio
import contextlib
import socket
import sys
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from conformance.harness import links
from conformance.harness.links import Link
from conformance.judging.judge_queue import CUT
from conformance.live.sides import Side
from conformance.live.tls import Security
from conformance.live.watch import DISTURBED, STALLED, Watch
from conformance.live.zeromq import Messages

# client addresses of datagrams that are remembered; the oldest is forgotten first
MAX_CLIENTS = 256
_PIECE_INTERVAL = 0.002  # seconds between pieces of a split write, so that they arrive separately


@dataclass(frozen=True)
class Disturbance:
    """Disturbance of each connection; none by default.

    - ``delay``: seconds by which all bytes are delayed
    - ``chop``: bytes of the largest piece
    - ``cut``: bytes of a direction after which the connection is closed
    - ``stall``: a pair; after this number of bytes of a direction, pause once for this time in
      seconds
    """

    delay: float = 0.0
    chop: int = 0
    cut: int = 0
    stall: tuple[int, float] = (0, 0.0)

    @property
    def steady_disturbances(self) -> dict[str, float]:
        """Return the disturbances that affect all bytes, by name."""
        return {name: value for name in ("delay", "chop") if (value := getattr(self, name))}


class Relay:
    """Relay for a port of a server, with the address that clients use instead."""

    def __init__(
        self,
        side: Side,
        target: str,
        watch: Watch,
        disturbance: Disturbance,
        secured: Security | None = None,
    ) -> None:
        self.side = side
        self.address = ""
        self._target = target
        self._watch = watch
        self._disturbance = disturbance
        self._secured = secured
        self._tasks: set[asyncio.Task[None]] = set()
        self._open: set[int] = set()
        self._unreached = ""  # reason why the last connection to the server failed
        self.used = asyncio.Event()
        """Set once a client has connected."""

    async def wait_until_idle(self) -> None:
        """Wait until no connection is open."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    def excuse_disconnects(self) -> None:
        """Stop blaming the connected peers: the relay is about to disconnect them."""
        for number in self._open:
            self._watch.disturbed(number, CUT)

    @contextlib.asynccontextmanager
    async def listen(self, address: str, kind: str) -> AsyncIterator["Relay"]:
        """Accept clients at an address within the block. Raises OSError."""
        if kind == "zmq":
            messages = Messages(self.side, self._target, self._watch)
            publishes = not any(who == self.side.server for who, _ in self._watch.protocol.messages)
            async with messages.listen(address, publishes) as self.address:
                yield self
            return
        if kind == "udp":
            async with self._datagrams(address):
                yield self
            return
        shown = self._secured.shown if self._secured else None
        listener = await links.Listener().start(address, shown)
        self.address = listener.address
        accepting = asyncio.create_task(self._accept(listener))
        try:
            yield self
        finally:
            accepting.cancel()
            await listener.close()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(accepting, *self._tasks, return_exceptions=True)

    async def _accept(self, listener: links.Listener) -> None:
        while True:
            task = asyncio.create_task(self._serve(await listener.accept()))
            self._tasks.add(task)
            self.used.set()
            task.add_done_callback(self._tasks.discard)

    async def _serve(self, client: Link) -> None:
        try:
            tls = self._secured.of(self._target) if self._secured else None
            server = await links.connect(self._target, tls)
        except OSError as error:
            before, self._unreached = self._unreached, links.reason(error)
            # A client can try many times a second, so repeated reasons are not printed.
            if self._unreached != before:
                print(f"conformance: {self._target}: {self._unreached}", file=sys.stderr)
            await client.close()
            return
        self._unreached = ""
        await self.join(client, server)

    async def join(self, client: Link, server: Link) -> None:
        """Relay both directions until both have ended or a party has disconnected."""
        number = self._watch.connected(self.side)
        self._open.add(number)
        if steady := self._disturbance.steady_disturbances:
            self._watch.disturbed(number, DISTURBED, **steady)
        try:
            await asyncio.gather(
                self._pass(number, self.side.client, client, server),
                self._pass(number, self.side.server, server, client),
            )
        except (_Cut, asyncio.CancelledError) as ended:
            # The relay disconnects the peers, so later errors are not their fault.
            self._watch.disturbed(number, CUT)
            if not isinstance(ended, _Cut):
                raise
        finally:
            self._open.discard(number)
            await client.close()
            await server.close()

    async def _pass(self, number: int, sender: str, source: Link, target: Link) -> None:
        passed = 0
        stall_at, seconds = self._disturbance.stall
        while data := await source.read():
            if self._disturbance.delay:
                await asyncio.sleep(self._disturbance.delay)
            # The watch gets the bytes first, because the target can answer before all pieces are
            # sent.
            self._watch.passed(number, sender, data)
            for place, piece in enumerate(self._pieces(data)):
                if place:
                    await asyncio.sleep(_PIECE_INTERVAL)
                await target.write(piece)
            passed += len(data)
            if seconds and passed >= stall_at:
                self._watch.disturbed(number, STALLED, seconds=seconds, of=sender)
                await asyncio.sleep(seconds)
                seconds = 0.0
            if self._disturbance.cut and passed >= self._disturbance.cut:
                raise _Cut
        self._watch.closed(number, sender, source.reset)
        target.finish()

    def _pieces(self, data: bytes) -> Sequence[bytes]:
        size = self._disturbance.chop
        return [data[at : at + size] for at in range(0, len(data), size)] if size else [data]

    @contextlib.asynccontextmanager
    async def _datagrams(self, address: str) -> AsyncIterator[None]:
        """Relay datagrams within the block; each client address is a connection of its own."""
        loop = asyncio.get_running_loop()
        where, target = links.parse_address(address), links.parse_address(self._target)
        assert isinstance(where, tuple) and isinstance(target, tuple)
        transport, protocol = await loop.create_datagram_endpoint(
            lambda: _Datagrams(self._watch, self.side, target), local_addr=where
        )
        host, port = transport.get_extra_info("sockname")[:2]
        self.address = f"{host}:{port}"
        try:
            yield
        finally:
            protocol.end()
            transport.close()


class _Cut(Exception):
    """The connection has reached the limit of ``cut``."""


class _Datagrams(asyncio.DatagramProtocol):
    """Relays datagrams to a target, and its answers to the right client."""

    def __init__(self, watch: Watch, side: Side, target: tuple[str, int]) -> None:
        self._watch = watch
        self._side = side
        self._target = target
        self._numbers: dict[tuple[str, int], int] = {}
        self._out: dict[tuple[str, int], socket.socket] = {}

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.DatagramTransport)
        self._transport = transport

    def datagram_received(self, data: bytes, address: tuple[str, int]) -> None:
        if address not in self._numbers:
            if len(self._numbers) >= MAX_CLIENTS:
                self._close(next(iter(self._numbers)))
            self._numbers[address] = self._watch.connected(self._side)
            self._open(address)
        with contextlib.suppress(OSError):
            self._out[address].send(data)
        self._watch.passed(self._numbers[address], self._side.client, data)

    def _open(self, address: tuple[str, int]) -> None:
        out = socket.socket(type=socket.SOCK_DGRAM)
        out.setblocking(False)
        out.connect(self._target)
        self._out[address] = out

        def relay_answer() -> None:
            with contextlib.suppress(OSError):
                data = out.recv(links.CHUNK)
                self._transport.sendto(data, address)
                self._watch.passed(self._numbers[address], self._side.server, data)

        asyncio.get_running_loop().add_reader(out, relay_answer)

    def _close(self, address: tuple[str, int]) -> None:
        self._watch.disturbed(self._numbers.pop(address), CUT)
        with self._out.pop(address) as out:
            asyncio.get_running_loop().remove_reader(out)

    def end(self) -> None:
        for address in list(self._numbers):
            self._close(address)
