"""How many deadlines a run waits in full for what never comes."""

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from typing import Any
from unittest import mock

import pytest

from conformance.configuration import Configuration
from conformance.definitions import protocols
from conformance.harness.instance import Instance
from conformance.harness.links import NoWire
from conformance.harness.process import GRACE
from conformance.iut import Iut
from conformance.judging.captures import Event
from conformance.running.machine import Crowding
from conformance.running.testbed import LINGERING, Testbed
from conformance.session import Session
from conformance.verdicts import Inconclusive, Late, Violation
from conformance.wire import Message

ROLE = protocols.role("runtime/rpc-server")
ANSWERED = "rpc.each-answered"


async def vain(
    monkeypatch: Any, tests: Sequence[tuple[str, str | None]], plainly: str = ""
) -> tuple[list[float], list[type]]:
    """The seconds that tests wait, each for a response, and how each is concluded.

    A test is what it decides, and what the absence of the response violates. What is ``plainly``
    violated a session without any peculiarity has shown before, in which no response came either.
    """
    waited: list[float] = []

    async def elapsed(
        session: Session, found: Callable[[], bool], deadline: Callable[[], float], _: object
    ) -> bool:
        waited.append(round(deadline() - session.now, 1))
        return False

    monkeypatch.setattr(Session, "_until", elapsed)
    monkeypatch.setattr(Crowding, "factor", lambda _: 1.0)
    configuration = Configuration(ROLE, connect="127.0.0.1:1")
    testbed = Testbed(configuration)
    concluded = []

    async def hold(iut: Iut, requirement: str | None) -> Violation:
        instance = Instance(configuration, "tcp")
        instance.spoke = True
        link = NoWire(asyncio.Event().wait)
        with mock.patch.object(instance, "link", return_value=link):
            async with iut.connect(instance) as session:
                with pytest.raises(Violation) as raised:
                    await session.expect("Response", requirement=requirement)
        return raised.value

    async def basis(iut: Iut) -> str:
        await hold(iut, None)
        return plainly

    monkeypatch.setattr("conformance.runtime.rpc_server.basis", basis)
    if plainly:
        await Iut(testbed, "").plainly_violated()
    for deciding, requirement in tests:
        iut = Iut(testbed, deciding)
        violation = await hold(iut, requirement)
        concluded.append(type(iut.concluded(violation, iut.sessions)))
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


def test_what_a_plain_session_has_shown_is_not_waited_for_in_full(monkeypatch: Any) -> None:
    tests = [(ANSWERED, None), ("rpc.bytes", None)]
    waited, concluded = asyncio.run(vain(monkeypatch, tests, plainly=ANSWERED))
    assert waited[0] == waited[2] > waited[1]
    assert concluded == [Violation, Violation]


def looked_for(monkeypatch: Any, abouts: Sequence[str]) -> tuple[list[float], list[type]]:
    """The seconds for which tests of rpc.result look for what never shows, and what comes of it.

    Each lays it to one of these requirements, and has noted what it saw.
    """
    monkeypatch.setattr(Crowding, "factor", lambda _: 1.0)
    configuration = Configuration(ROLE, connect="127.0.0.1:1")
    testbed = Testbed(configuration)
    waited, concluded = [], []

    async def hold(about: str) -> None:
        iut, instance = Iut(testbed, "rpc.result"), Instance(configuration, "tcp")
        with mock.patch.object(instance, "link", return_value=NoWire(asyncio.Event().wait)):
            async with iut.connect(instance) as session:
                with contextlib.suppress(TimeoutError), session.deadline("it", 2.0, about) as left:
                    waited.append(round(left(), 1))
                    raise TimeoutError
                seen = Violation("it", "nothing was seen", about, session.note("a look"))
                concluded.append(type(iut.concluded(seen, iut.sessions)))

    async def all_of_them() -> None:
        for about in abouts:
            await hold(about)

    asyncio.run(all_of_them())
    return waited, concluded


def test_what_is_looked_for_is_awaited_in_full_once(monkeypatch: Any) -> None:
    """A look that the tester takes shows a lack, as nothing does that comes."""
    waited, concluded = looked_for(monkeypatch, [ANSWERED, ANSWERED])
    assert waited[0] > waited[1]
    assert concluded == [Violation, Violation]


class Rubbish(NoWire):
    """Brings a byte that begins no message, and then nothing."""

    async def read(self) -> bytes:
        if self.first:
            self.first = False
            return b"\xc1"
        return await super().read()

    first = True


def test_nothing_is_waited_for_where_no_message_can_be_found_any_more() -> None:
    """However long the deadline is; what is told is what came."""

    async def hold() -> Violation:
        configuration = Configuration(ROLE, connect="127.0.0.1:1", timing={"response": 3600})
        instance = Instance(configuration, "tcp")
        with mock.patch.object(instance, "link", return_value=Rubbish(asyncio.Event().wait)):
            async with Iut(Testbed(configuration), ANSWERED).connect(instance) as session:
                with pytest.raises(Violation) as raised:
                    await session.expect("Response")
        assert session.missed == []
        return raised.value

    violation = asyncio.run(asyncio.wait_for(hold(), 60))
    assert violation.expected == "Response"
    assert violation.came.startswith(r"came bytes that are not a message (b'\xc1'), then nothing")


def lagging(monkeypatch: Any, lag: float, factor: float) -> tuple[list[type], list[float]]:
    """How sessions end, on a machine that busy, with one that answers each request so late.

    In each session two requests are sent at once, then a third. The seconds are those awaited.
    """
    monkeypatch.setattr(Crowding, "factor", lambda _: factor)
    configuration = Configuration(ROLE, connect="127.0.0.1:1")
    testbed = Testbed(configuration)
    ended: list[type] = []
    clock = 0.0

    async def elapsed(
        session: Session, found: Callable[[], bool], deadline: Callable[[], float], _: object
    ) -> bool:
        nonlocal clock
        if found():
            return True
        due = max(event.at for event in session.events if event.data) + lag
        if due > deadline():
            clock = max(clock, deadline())
            return False
        clock = max(clock, due)
        for _ in range(2):
            session.received.append(Message("Response", None, due, len(session.events)))
        return found()

    monkeypatch.setattr(Session, "_until", elapsed)
    monkeypatch.setattr(Session, "now", property(lambda _: clock))
    waited = []

    async def hold() -> None:
        nonlocal clock
        for _ in range(12):
            clock = 0.0
            iut = Iut(testbed, ANSWERED)
            instance = Instance(configuration, "tcp")
            instance.spoke = True
            with mock.patch.object(instance, "link", return_value=NoWire(asyncio.Event().wait)):
                async with iut.connect(instance) as session:
                    try:
                        for number in range(2):
                            sent = Event(clock, session.peer, b"x", "Request", number)
                            session.events.append(sent)
                            for _ in range(2):
                                await session.expect("Response")
                        ended.append(type(None))
                    except (Violation, Late) as conclusion:
                        ended.append(type(conclusion))
            waited.append(clock)

    asyncio.run(hold())
    return ended, waited


@pytest.mark.parametrize("factor", [1.0, 2.0, 4.0])
@pytest.mark.parametrize("lag", [3.0, 5.0])
def test_one_that_always_answers_late_is_found_late_and_never_failed(
    monkeypatch: Any, lag: float, factor: float
) -> None:
    """Soon no answer is waited for longer than was declared, be the machine busy or not."""
    ended, waited = lagging(monkeypatch, lag, factor)
    assert Violation not in ended
    assert set(ended[-6:]) == {Late}
    declared = Configuration(ROLE, connect="127.0.0.1:1").seconds("response")
    assert set(waited[-6:]) == {declared}


def test_one_that_answers_in_time_is_never_late(monkeypatch: Any) -> None:
    assert set(lagging(monkeypatch, 1.5, 1.0)[0]) == {type(None)}


@pytest.mark.parametrize(
    ("stretched", "graces"), [(1.0, [GRACE, GRACE, GRACE, LINGERING]), (2.0, [GRACE] * 4)]
)
def test_who_outlives_its_input_again_and_again_is_ended_sooner(
    stretched: float, graces: list[float]
) -> None:
    testbed = Testbed(Configuration(ROLE, connect="127.0.0.1:1"))
    testbed.patience.stretched = stretched

    class Lasting(Instance):
        async def stop(self, grace: float = GRACE) -> bool:
            given.append(grace)
            return False

    given: list[float] = []
    for _ in graces:
        asyncio.run(testbed.stop(Lasting(testbed.configuration, "tcp")))
    assert given == graces
