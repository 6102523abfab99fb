"""How many deadlines a run waits in full for what never comes."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any
from unittest import mock

from conformance.configuration import Configuration
from conformance.definitions import protocols
from conformance.harness.instance import Instance
from conformance.harness.links import NoWire
from conformance.iut import Iut
from conformance.running.machine import Crowding
from conformance.running.testbed import Testbed
from conformance.session import Session
from conformance.verdicts import Inconclusive, Violation

ROLE = protocols.role("runtime/rpc-server")
ANSWERED = "rpc.each-answered"


async def vain(
    monkeypatch: Any, tests: Sequence[tuple[str, str | None]]
) -> tuple[list[float], list[type]]:
    """The seconds that tests wait, each for a response, and how each is concluded.

    A test is what it decides, and what the absence of the response violates.
    """
    waited: list[float] = []

    async def elapsed(
        session: Session, found: Callable[[], bool], deadline: Callable[[], float]
    ) -> bool:
        waited.append(round(deadline() - session.now, 1))
        return False

    monkeypatch.setattr(Session, "_until", elapsed)
    monkeypatch.setattr(Crowding, "factor", lambda _: 1.0)
    configuration = Configuration(ROLE, connect="127.0.0.1:1")
    testbed = Testbed(configuration)
    concluded = []
    for deciding, requirement in tests:
        iut = Iut(testbed, deciding)
        instance = Instance(configuration, "tcp")
        instance.spoke = True
        link = NoWire(asyncio.Event().wait)
        with mock.patch.object(instance, "link", return_value=link):
            async with iut.connect(instance) as session:
                try:
                    await session.expect("Response", requirement=requirement)
                except Violation as violation:
                    concluded.append(type(iut.concluded(violation, [session])))
    return waited, concluded


def test_a_requirement_waits_in_full_once(monkeypatch: Any) -> None:
    tests = [(name, ANSWERED) for name in ("rpc.result", "rpc.values", "rpc.bytes", ANSWERED)]
    waited, concluded = asyncio.run(vain(monkeypatch, tests))
    assert waited[0] > max(waited[1:])
    assert set(concluded) == {Violation}


def test_what_decides_something_else_is_waited_for_in_full(monkeypatch: Any) -> None:
    tests = [("rpc.result", ANSWERED), ("rpc.bytes", None)]
    waited, concluded = asyncio.run(vain(monkeypatch, tests))
    assert waited[0] == waited[1]
    assert concluded == [Violation, Violation]


def test_what_was_cut_short_decides_nothing_else(monkeypatch: Any) -> None:
    """Where a test lays it to a requirement that has not failed for it before."""
    tests = [(ANSWERED, None), (ANSWERED, "rpc.bytes")]
    waited, concluded = asyncio.run(vain(monkeypatch, tests))
    assert waited[0] > waited[1]
    assert concluded == [Violation, Inconclusive]
