"""The byte streams of mocks, and those to an IUT."""

import asyncio
import contextlib
import socket
import struct
import sys

import pytest

from conformance.configuration import Configuration
from conformance.definitions import protocols
from conformance.harness import links, socket_backlog
from conformance.harness.instance import Instance
from conformance.harness.process import Process
from conformance.iut import Iut
from conformance.running.testbed import Testbed
from conformance.selftest.standing import DEADLINE
from mocks import streams

pytestmark = pytest.mark.asyncio


@pytest.mark.parametrize("steps", range(6))
async def test_who_is_cancelled_while_it_closes_goes_no_further(steps: int) -> None:
    """A mock that is cancelled while it closes must not play on, at any step."""

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async def play(stream: streams.Stream) -> None:
        await stream.closed()
        await asyncio.Event().wait()

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    stream = await streams.connect(f"127.0.0.1:{server.sockets[0].getsockname()[1]}")
    playing = asyncio.create_task(play(stream))
    for _ in range(steps):
        await asyncio.sleep(0)
    playing.cancel()
    await asyncio.wait([playing], timeout=DEADLINE)
    stream.close()
    server.close()
    assert playing.cancelled()


@pytest.mark.parametrize("writing", [False, True])
async def test_what_came_before_a_connection_broke_is_read(writing: bool) -> None:
    """A peer that closes with unread bytes resets the connection; its last message counts."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        link = await links.connect(f"127.0.0.1:{server.getsockname()[1]}")
        peer, _ = server.accept()
    await link.write(b"never read")
    peer.sendall(b"last words")
    peer.close()
    if writing:
        assert not await link.write(b"more")
    else:
        await asyncio.sleep(0.05)
    assert await link.read() == b"last words"
    assert await link.read() == b""
    await link.close()


async def test_who_breaks_off_resets_the_connection() -> None:
    """The peer gets an error, not the end of the stream as after a close."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        link = await links.connect(f"127.0.0.1:{server.getsockname()[1]}")
        peer, _ = server.accept()
    link.break_off()
    await link.close()
    await asyncio.sleep(0.05)
    with peer, pytest.raises(ConnectionResetError):
        peer.recv(1)


async def test_many_connections_can_begin_while_the_suite_is_busy() -> None:
    """Each of them is accepted, and none loses its first bytes."""
    listener = await links.Listener().start("127.0.0.1:0")
    where = ("127.0.0.1", int(listener.address.rpartition(":")[2]))
    with contextlib.ExitStack() as peers:
        for number in range(300):
            # Without an event loop that accepts, the system keeps the connections.
            peer = peers.enter_context(socket.create_connection(where, timeout=0.5))
            peer.sendall(b"abc")
            peer.sendall(b"%03d" % number)
        for number in range(300):
            link = await listener.accept()
            assert await link.read_exactly(6) == b"abc%03d" % number
            await link.close()
    await listener.close()


async def test_a_connection_of_which_nothing_came_is_a_look() -> None:
    """An empty connection is only a probe, so the peer's next connection is its session."""
    listener = await links.Listener().start("127.0.0.1:0")
    configuration = Configuration(protocols.role("vexide/frontend"), listen=listener.address)
    iut, instance = Iut(Testbed(configuration), ""), Instance(configuration, "tcp")
    await instance.start(None, {"": listener})
    where = ("127.0.0.1", int(listener.address.rpartition(":")[2]))
    greeting = b'{"Handshake": {"version": 1, "extensions": []}}\n'
    for last in (b"", b"", greeting):
        with socket.create_connection(where) as peer:
            if last:
                peer.sendall(last)
            else:
                peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    async with iut.connect(instance) as session:
        assert (await session.expect()).name == "Handshake"
        await session.until_closed()
        assert not session.reset
    assert [event.event for event in session.events] == ["connected", None, "closed"]
    await listener.close()


@pytest.mark.parametrize(
    ("ends", "reset"),
    [
        ("write, close", True),
        ("close, write", True),
        ("write, read, close", False),
        ("write, read, finish, close", False),
        ("close", False),
    ],
)
@pytest.mark.parametrize("waiting", [False, True])
async def test_what_was_written_last_may_not_have_been_read(
    ends: str, reset: bool, waiting: bool
) -> None:
    """A peer that closes before it reads all bytes has not read them."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        link = await links.connect(f"127.0.0.1:{server.getsockname()[1]}")
        peer, _ = server.accept()
    reading = asyncio.ensure_future(link.read())
    if waiting:
        await asyncio.sleep(0)
    for end in ends.split(", "):
        match end:
            case "write":
                await link.write(b"answer")
            case "read":
                peer.recv(100)
            case "finish":
                peer.shutdown(socket.SHUT_WR)
            case _:
                peer.close()
    assert (await reading, link.reset) == (b"", reset)
    await link.close()
    peer.close()


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
async def test_what_a_peer_has_not_read(host: str) -> None:
    """Over TCP, the system reports unread bytes of a local peer until the peer exits."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with (
        socket.create_server((host, 0), family=family) as server,
        socket.create_connection(server.getsockname()[:2]) as ours,
        server.accept()[0] as theirs,
    ):
        left = socket_backlog.of_socket(ours)
        if left is None:
            pytest.skip("this system does not tell")
        ours.sendall(b"twelve bytes")
        assert left() == 12
        theirs.recv(5)
        assert left() == 7
        theirs.close()
        assert left() == 0


DIES = """
import os, signal, socket
serving = socket.create_server(("127.0.0.1", 0))
print(serving.getsockname()[1], flush=True)
client, _ = serving.accept()
client.recv(1)
os.kill(os.getpid(), signal.SIGKILL)
"""


async def test_who_dies_is_gone_once_its_connections_are_closed() -> None:
    """The port can accept a client for a moment, and the exit is reported later."""
    process = await Process.start([sys.executable, "-Sc", DIES], env={}, cwd="", standard=True)
    try:
        port = int(await process.standard.read())
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        assert not process.is_gone
        writer.write(b"1")
        with contextlib.suppress(ConnectionError):
            await reader.read()
        assert process.is_gone
        writer.close()
    finally:
        await process.end()
