"""The ports that implementations under test are told to listen at."""

from collections.abc import Iterator

import pytest

from conformance.harness import links


def test_a_port_is_reserved_for_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The system offers a port again as long as nobody listens; it is not given twice."""
    offers: Iterator[int] = iter([70_001, 70_001, 70_002, 70_001])
    monkeypatch.setattr(links, "free_port", lambda kind: next(offers))
    with links.reserved_port() as first, links.reserved_port() as second:
        assert (first, second) == (70_001, 70_002)
    with links.reserved_port() as again:
        assert again == 70_001
