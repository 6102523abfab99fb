"""The ports at which IUTs must listen, or to which they must connect."""

import asyncio
import socket
from collections.abc import Iterator

import pytest

from conformance.configuration import mock_configuration
from conformance.definitions import protocols
from conformance.harness import links
from conformance.harness.instance import Instance


def test_a_port_is_reserved_for_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The system offers a port again while no process listens; it is reserved only once."""
    offers: Iterator[int] = iter([70_001, 70_001, 70_002, 70_001])
    monkeypatch.setattr(links, "free_port", lambda kind: next(offers))
    with links.reserved_port() as first, links.reserved_port() as second:
        assert (first, second) == (70_001, 70_002)
    with links.reserved_port() as again:
        assert again == 70_001


def test_where_one_connects_nobody_else_is_to_listen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two listeners, the operating system can also choose the port of a client."""

    async def connects() -> tuple[int, int]:
        instance = Instance(mock_configuration(protocols.role("deltarobot/client")), "tcp")
        try:
            await instance.start(None, {})
            taken = int(instance.values["port"])
            offers: Iterator[int] = iter([taken, 70_001])
            monkeypatch.setattr(links, "free_port", lambda kind: next(offers))
            with links.reserved_port() as other:
                return taken, other
        finally:
            await instance.stop()

    taken, other = asyncio.run(connects())
    assert taken != other


@pytest.mark.parametrize(("family", "host"), [("AF_INET", "127.0.0.1"), ("AF_INET6", "::1")])
def test_an_address_is_free_until_it_is_used(family: str, host: str) -> None:
    with socket.socket(getattr(socket, family)) as server:
        server.bind((host, 0))
        address = f"[{host}]:{server.getsockname()[1]}"
        server.listen()
        assert not links.is_free(address, socket.SOCK_STREAM)
    assert links.is_free(address, socket.SOCK_STREAM)


def test_an_ended_connection_keeps_the_port_of_its_server() -> None:
    """The side that closes first keeps its port, and not every server sets SO_REUSEADDR."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        assert not links.is_lingering(address)
        with socket.create_connection(server.getsockname()):
            server.accept()[0].close()
    assert links.is_lingering(address)


def test_nothing_is_written_after_a_half_close() -> None:
    """A task can still be about to write while another one ends the stream."""

    async def write() -> tuple[bool, bool, bytes]:
        ours, theirs = socket.socketpair()
        with theirs:
            link = links.socket_link(*await asyncio.open_unix_connection(sock=ours))
            before = await link.write(b"before")
            link.finish()
            after = await link.write(b"after")
            await link.close()
            return before, after, theirs.recv(64)

    assert asyncio.run(write()) == (True, False, b"before")
