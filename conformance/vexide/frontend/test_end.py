"""The end of a session, as the simulator brings it about."""

import pytest

from conformance.cases import check, lasting, requirement
from conformance.iut import Iut
from conformance.session import Session
from conformance.verdicts import Inconclusive
from conformance.vexide.codec import encode
from conformance.vexide.events import EXITED, PROGRAM, READY, SIGNATURE, log
from conformance.vexide.frontend.forms import taken
from conformance.vexide.frontend.tester import (
    ends,
    finishes,
    hang_up,
    in_setup,
    opened,
    outcome,
    starts,
)


@requirement("exit.internal-error")
async def test_exited_is_a_normal_end(iut: Iut) -> None:
    """A session that ends with Exited has ended normally for the user."""
    async with in_setup(iut) as session:
        await starts(session)
        await session.send(EXITED)
        await hang_up(session)
        said = await outcome(session)
        check(said == "exited", "outcome to tell a normal end", f"it told {said}")


@requirement("exit.internal-error")
async def test_exited_after_an_error_is_a_normal_end(iut: Iut) -> None:
    """A crashed program ends a session normally: a Log of level Error, then Exited."""
    async with in_setup(iut) as session:
        await starts(session)
        await session.send(log("the program panicked", "Error"), EXITED)
        await hang_up(session)
        said = await outcome(session)
        check(said == "exited", "outcome to tell a normal end", f"it told {said}")


@requirement("exit.internal-error")
async def test_exited_without_a_newline(iut: Iut) -> None:
    """The last line of a stream needs no newline: an Exited that has none is a normal end."""
    async with in_setup(iut) as session:
        await starts(session)
        await session.send_bytes(encode(EXITED).removesuffix(b"\n"))
        await hang_up(session)
        said = await outcome(session)
        expected = "outcome to tell a normal end after an Exited without a newline"
        check(said == "exited", expected, f"it told {said}")


@requirement("exit.internal-error")
@pytest.mark.parametrize("when", ["handshake", "loading", "ready", "running", "busy", "failed"])
async def test_close_without_exited(iut: Iut, when: str) -> None:
    """A stream that closes after the handshake without Exited is an internal error to the user."""
    busy = await taken(iut, *PROGRAM.values()) if when == "busy" else []
    if when == "failed":
        # A text that reads like the event is none.
        busy = [log("Exited", "Error")]
    async with in_setup(iut, starting=when in ("running", "busy", "failed")) as session:
        await _come_to(session, when)
        if session.deserted:
            raise Inconclusive("the frontend has ended the session itself")
        await session.send(*busy)
        await hang_up(session)
        said = await outcome(session)
        check(said == "error", "outcome to tell an internal error", f"it told {said}")


@requirement("exit.internal-error")
@lasting
async def test_silence_is_no_end(iut: Iut) -> None:
    """A running program that shows nothing for a while ends nothing; Exited does."""
    async with in_setup(iut) as session:
        await starts(session)
        await session.until_closed()
        await finishes(iut, session, "a while of silence")


@requirement("robustness.input-end")
@pytest.mark.parametrize("when", ["handshake", "loading", "ready", "running", "exited"])
async def test_simulator_closes(iut: Iut, when: str) -> None:
    """When the simulator closes the stream, the frontend ends the session on its own side, too."""
    async with in_setup(iut, starting=when in ("running", "exited")) as session:
        await _come_to(session, when)
        await _both_end(session)


@requirement("robustness.input-end")
async def test_simulator_closes_before_the_handshake(iut: Iut) -> None:
    """When the simulator closes the stream instead of answering, the frontend ends, too."""
    async with opened(iut, starting=False) as session:
        await _both_end(session)


@requirement("robustness.input-end")
async def test_simulator_closes_inside_a_line(iut: Iut) -> None:
    """When the stream ends in the middle of an event, the frontend ends, too."""
    async with in_setup(iut, starting=False) as session:
        await session.send_bytes(b'{"Log": {"level": "Info", "mess')
        await _both_end(session)


async def _come_to(session: Session, when: str) -> None:
    """Go on from the handshake to a certain point of the session."""
    if when == "handshake":
        await session.watch("CompetitionMode")
        return
    await session.send(SIGNATURE)
    if when == "ready":
        await session.send(READY)
        await session.watch("StartExecution")
    elif when != "loading":
        await starts(session)
    if when == "exited":
        await session.send(EXITED)


async def _both_end(session: Session) -> None:
    ended = await ends(session)
    await session.unharmed("the end of the stream")
    if ended is None:
        raise Inconclusive(
            "the frontend keeps its simulator's standard input open, and the process goes on, as a "
            "window may; give --hook outcome=COMMAND to show how the session ended for its user"
        )
    check(ended, "the frontend to end the session when the simulator has", "it did not")
