"""Test cases that draw examples: bounded, repeatable, and without leftovers."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import strategies as st

from conformance.cases import explore, however_cut
from conformance.configuration import Configuration
from conformance.definitions import protocols
from conformance.iut import SHRINKING, Iut
from conformance.judging.judge import Finding
from conformance.running.testbed import Testbed
from conformance.segmentation import Segmentation
from conformance.verdicts import Violation

ANSWERED = "rpc.each-answered"


def connecting() -> Iut:
    """Return an IUT that no test connects to."""
    role = protocols.role("runtime/rpc-server")
    return Iut(Testbed(Configuration(role, connect="127.0.0.1:1")), ANSWERED)


@pytest.mark.parametrize(
    ("requirement", "most"), [(None, SHRINKING + 1), (ANSWERED, SHRINKING + 1), ("rpc.bytes", 1)]
)
def test_a_smaller_example_is_looked_for_within_bounds(requirement: str | None, most: int) -> None:
    """The violation of another requirement ends the search, because it has tests of its own."""
    tried: list[list[int]] = []

    @explore(numbers=st.lists(st.integers(), min_size=3))
    async def violates(iut: Iut, numbers: list[int]) -> None:
        tried.append(numbers)
        raise Violation("an answer", "nothing came", requirement, event=0)

    with pytest.raises(Violation, match="nothing came"):
        asyncio.run(violates(connecting()))  # type: ignore[arg-type]
    assert 1 <= len(tried) <= most
    assert (len(tried) > 1) == (most > 1)


def test_an_error_that_is_no_conclusion_ends_the_drawing() -> None:
    """The verdict depends on this error, so no group of errors hides it."""
    tried: list[int] = []

    @explore(number=st.integers())
    async def reads(iut: Iut, number: int) -> None:
        tried.append(number)
        if len(tried) > 2:
            raise TypeError("a null is not a list")

    with pytest.raises(TypeError, match="a null"):
        asyncio.run(reads(connecting()))  # type: ignore[arg-type]
    assert len(tried) == 3


@pytest.mark.parametrize("passes", [False, True])
def test_another_run_begins_with_the_example_that_failed(passes: bool) -> None:
    """The other examples are drawn only if this one passes."""
    tried: list[list[int]] = []

    @explore(numbers=st.lists(st.integers(), min_size=3))
    async def violates(iut: Iut, numbers: list[int]) -> None:
        tried.append(numbers)
        if not (again and passes):
            raise Violation("an answer", "nothing came", event=0)

    first, again = connecting(), False
    with pytest.raises(Violation, match="nothing came"):
        asyncio.run(violates(first))  # type: ignore[arg-type]
    again, smallest = True, (first.drawn_examples.example or {})["numbers"]
    tried.clear()
    if passes:
        asyncio.run(violates(first.for_rerun()))  # type: ignore[arg-type]
        assert tried.count(smallest) == 1 and len(tried) > 1
    else:
        with pytest.raises(Violation, match="nothing came"):
            asyncio.run(violates(first.for_rerun()))  # type: ignore[arg-type]
        assert tried == [smallest]
    assert tried[0] == smallest


def test_a_loop_that_ends_leaves_no_thread_that_draws() -> None:
    """A run that is interrupted again leaves its loop without another step."""
    loop, threads = asyncio.new_event_loop(), ThreadPoolExecutor()
    loop.set_default_executor(threads)
    begun = asyncio.Event()

    @explore(number=st.integers())
    async def lasts(iut: Iut, number: int) -> None:
        begun.set()
        await asyncio.Event().wait()

    test: asyncio.Task[None] = loop.create_task(lasts(connecting()))  # type: ignore[arg-type]
    loop.run_until_complete(begun.wait())
    test.cancel()
    loop.run_until_complete(asyncio.wait([test]))
    threads.shutdown(wait=True)
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()


@pytest.mark.parametrize(
    ("found", "violated"), [([], "encoding.segmentation"), ([ANSWERED], ANSWERED)]
)
def test_segmentation_is_not_blamed_for_findings_of_whole_messages(
    found: list[str], violated: str
) -> None:
    iut = connecting()

    async def play(cut: Segmentation | None) -> None:
        session: Any = SimpleNamespace()
        session.judge = SimpleNamespace(findings=[Finding(each, "two answers") for each in found])
        iut.sessions.append(session)
        if cut:
            raise Violation("one answer", "received two", ANSWERED)

    with pytest.raises(Violation) as raised:
        asyncio.run(however_cut(iut, [1], "encoding.segmentation", play))
    assert raised.value.requirement == violated
