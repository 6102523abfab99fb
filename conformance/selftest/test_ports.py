"""The ports at which IUTs must listen, or to which they must connect."""

import asyncio
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
