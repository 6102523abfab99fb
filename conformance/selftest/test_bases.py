"""What the plainest sessions show of an IUT, on which the verdicts of other tests rest."""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TypeVar

import pytest
from hypothesis import strategies as st

from conformance import configuration
from conformance.cases import explore
from conformance.configuration import Configuration
from conformance.definitions import protocols
from conformance.iut import Iut
from conformance.running.testbed import Testbed
from conformance.runtime.rpc_server.tester import SEGMENTATION, blame_pieces
from conformance.verdicts import Violation

T = TypeVar("T")
ANSWERED = "rpc.each-answered"


def seen(role: str, fault: str, find: Callable[[Iut], Awaitable[T]]) -> T:
    """What is found out about a mock with this fault, or a sound one."""
    mock = configuration.embedded(protocols.role(role))
    if fault:
        mock = replace(mock, command=(*mock.command, "--fault", fault))

    async def look() -> T:
        async with Testbed(mock) as testbed:
            return await find(Iut(testbed, ""))

    return asyncio.run(look())


@pytest.mark.parametrize(
    ("role", "fault", "violated"),
    [
        ("vexide/simulator", "", ""),
        ("vexide/simulator", "never-ready", "ready.sent"),
        ("vexide/simulator", "last-port-deafens", "setup.commands-handled"),
        ("vexide/simulator", "never-starts", "start.begins-execution"),
        ("vexide/simulator", "no-exited", ""),
        ("vexide/simulator", "serial-overflows", "serial.bytes-exact"),
        ("vexide/simulator", "serial-through-text", ""),
        ("runtime/rpc-server", "", ""),
        ("runtime/rpc-server", "one-decoder-for-all", "rpc.clients-apart"),
        ("deltarobot/server", "", ""),
        ("deltarobot/server", "curve-length-big-endian", "frame.variable-length"),
        ("deltarobot/server", "points-of-four", "exercise.curve-structure"),
        ("deltarobot/server", "last-point-missing", "exercise.curve-values"),
        ("deltarobot/server", "signs-lost", "frame.floats"),
        ("deltarobot/server", "z-mirrored", ""),
        ("deltarobot/client", "", ""),
        ("deltarobot/client", "no-pongs-during-exercise", "pong.each"),
        ("vexide/frontend", "", ""),
        ("vexide/frontend", "one-line-a-read", "framing.segmentation"),
        ("vexide/frontend", "log-before-ready-stalls", "log.tolerated"),
        ("vexide/frontend", "never-starts", ""),
    ],
)
def test_the_plainest_sessions_show_what_is_violated(role: str, fault: str, violated: str) -> None:
    assert seen(role, fault, lambda iut: iut.plainly_violated()) == violated


@pytest.mark.parametrize("fault", ["", "a-read-is-a-request"])
def test_what_fails_where_nothing_in_pieces_is_answered_is_laid_to_that(fault: str) -> None:
    async def laid(iut: Iut) -> str | None:
        with pytest.raises(Violation) as raised:
            async with blame_pieces(iut):
                raise Violation("all to be answered", "nothing came", ANSWERED)
        return raised.value.requirement

    assert seen("runtime/rpc-server", fault, laid) == (SEGMENTATION if fault else ANSWERED)


@pytest.mark.parametrize("plainly", ["", ANSWERED, "rpc.argument-count"])
def test_no_smaller_example_is_drawn_of_what_is_plainly_violated(
    monkeypatch: pytest.MonkeyPatch, plainly: str
) -> None:
    async def basis(_: Iut) -> str:
        return plainly

    tried: list[list[int]] = []

    @explore(numbers=st.lists(st.integers(), min_size=3))
    async def violates(iut: Iut, numbers: list[int]) -> None:
        tried.append(numbers)
        raise Violation("an answer", "nothing came", event=0)

    monkeypatch.setattr("conformance.runtime.rpc_server.basis", basis)
    connecting = Configuration(protocols.role("runtime/rpc-server"), connect="127.0.0.1:1")
    with pytest.raises(Violation, match="nothing came"):
        asyncio.run(violates(Iut(Testbed(connecting), ANSWERED)))  # type: ignore[arg-type]
    assert (len(tried) == 1) == (plainly == ANSWERED)


@pytest.mark.parametrize("holds", [False, True])
def test_what_is_held_again_begins_with_what_failed(
    monkeypatch: pytest.MonkeyPatch, holds: bool
) -> None:
    async def basis(_: Iut) -> str:
        return ""

    tried: list[list[int]] = []

    @explore(numbers=st.lists(st.integers(), min_size=3))
    async def violates(iut: Iut, numbers: list[int]) -> None:
        tried.append(numbers)
        if not (again and holds):
            raise Violation("an answer", "nothing came", event=0)

    monkeypatch.setattr("conformance.runtime.rpc_server.basis", basis)
    connecting = Configuration(protocols.role("runtime/rpc-server"), connect="127.0.0.1:1")
    first, again = Iut(Testbed(connecting), ANSWERED), False
    with pytest.raises(Violation, match="nothing came"):
        asyncio.run(violates(first))  # type: ignore[arg-type]
    again, smallest = True, (first.tried.example or {})["numbers"]
    tried.clear()
    if holds:
        asyncio.run(violates(first.anew()))  # type: ignore[arg-type]
        assert tried.count(smallest) == 1 and len(tried) > 1
    else:
        with pytest.raises(Violation, match="nothing came"):
            asyncio.run(violates(first.anew()))  # type: ignore[arg-type]
        assert tried == [smallest]
    assert tried[0] == smallest


def test_a_loop_that_ends_leaves_no_thread_that_draws() -> None:
    """Not even where it goes no further, as when a run is interrupted again."""
    loop, threads = asyncio.new_event_loop(), ThreadPoolExecutor()
    loop.set_default_executor(threads)
    begun = asyncio.Event()

    @explore(number=st.integers())
    async def lasts(iut: Iut, number: int) -> None:
        begun.set()
        await asyncio.Event().wait()

    connecting = Configuration(protocols.role("runtime/rpc-server"), connect="127.0.0.1:1")
    iut = Iut(Testbed(connecting), ANSWERED)
    test: asyncio.Task[None] = loop.create_task(lasts(iut))  # type: ignore[arg-type]
    loop.run_until_complete(begun.wait())
    test.cancel()
    loop.run_until_complete(asyncio.wait([test]))
    threads.shutdown(wait=True)
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()
