"""Links that keep message boundaries, UDP and ZeroMQ, between the suite and a mock."""

import asyncio
import re
import socket
from collections.abc import Awaitable, Callable

import pytest

from conformance.harness import datagrams, links
from conformance.harness.links import free_port
from mocks import datagrams as peers
from mocks import streams
from mocks import zeromq as mock

pytestmark = pytest.mark.asyncio

DEADLINE = 5.0
MESSAGES = [b"one", b"\x00" * 3000, b"three"]


async def test_datagrams_to_a_listener() -> None:
    listener = await datagrams.DatagramListener().start("127.0.0.1:0")
    peer = await peers.connect(listener.address)
    link = await listener.accept()
    for message in MESSAGES:
        peer.write(message)
        assert await asyncio.wait_for(link.read(), DEADLINE) == message
    with socket.socket(type=socket.SOCK_DGRAM) as plain:  # asyncio cannot send empty datagrams
        plain.sendto(b"", ("127.0.0.1", int(listener.address.rpartition(":")[2])))
    assert await asyncio.wait_for(link.read(), DEADLINE) == b""
    await link.close()
    peer.write(b"for the next session")
    link = await listener.accept()
    assert await asyncio.wait_for(link.read(), DEADLINE) == b"for the next session"
    peer.close()
    await listener.close()


async def test_datagrams_to_a_receiver(capsys: pytest.CaptureFixture[str]) -> None:
    peer = await peers.bind("127.0.0.1:0")
    address = re.search(r"listening on 127\.0\.0\.1:(\d+)", "".join(capsys.readouterr()))
    assert address is not None
    port = int(address[1])
    assert links.is_served(f"127.0.0.1:{port}", datagrams=True)
    link = await datagrams.connect(f"127.0.0.1:{port}")
    for message in (b"hello", b"", b"again"):
        assert await link.write(message)
        assert await asyncio.wait_for(peer.read(), DEADLINE) == message
    await link.close()
    peer.close()
    await asyncio.sleep(0)
    assert not links.is_served(f"127.0.0.1:{port}", datagrams=True)


async def test_no_more_datagrams_are_kept_than_have_room() -> None:
    received = datagrams._Received()
    for number in range(datagrams.QUEUE_SIZE + 5):
        received.datagram_received(b"%d" % number, None)
    assert received.queue.qsize() == datagrams.QUEUE_SIZE
    assert received.queue.get_nowait() == b"5"


async def test_zeromq_client_and_server() -> None:
    zeromq = pytest.importorskip("conformance.harness.zeromq")

    async def echo(stream: streams.Stream) -> None:
        while data := await stream.read():
            stream.write(data)

    port = free_port()
    serving = asyncio.ensure_future(mock.serve(f"zmq:127.0.0.1:{port}", echo))
    links = [await asyncio.wait_for(zeromq.connect(f"127.0.0.1:{port}"), 5) for _ in range(2)]
    for message in MESSAGES:
        for link in links:
            await link.write(message + bytes([links.index(link)]))
    for message in MESSAGES:
        for link in links:
            came = await asyncio.wait_for(link.read(), DEADLINE)
            assert came == message + bytes([links.index(link)])
    for link in links:
        await link.close()
    serving.cancel()
    await asyncio.gather(serving, return_exceptions=True)


@pytest.mark.parametrize("publishes", [False, True])
async def test_zeromq_listener(publishes: bool) -> None:
    zeromq = pytest.importorskip("conformance.harness.zeromq")
    listener = await zeromq.ZeroListener(answers=not publishes).start("127.0.0.1:0")
    peer = await mock.connect(f"zmq:{listener.address}", publishes)
    link = await asyncio.wait_for(listener.accept(), DEADLINE)

    async def until(read: Callable[[], Awaitable[bytes]], wanted: bytes) -> None:
        while await read() != wanted:
            pass

    coming = asyncio.ensure_future(until(link.read, b"hello"))
    deadline = asyncio.get_running_loop().time() + DEADLINE
    while not coming.done() and asyncio.get_running_loop().time() < deadline:
        peer.write(b"hello")
        await asyncio.wait({coming}, timeout=0.05)
    assert coming.done()
    if not publishes:
        await link.write(b"welcome")
        await asyncio.wait_for(until(peer.read, b"welcome"), DEADLINE)
    await peer.closed()
    await link.close()
    await listener.close()
