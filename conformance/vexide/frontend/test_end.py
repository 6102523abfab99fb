"""The end of a session by the simulator."""

import asyncio

import pytest

from conformance.cases import check, lasting, requirement
from conformance.iut import Iut
from conformance.segmentation import whole
from conformance.session import Session
from conformance.verdicts import Inconclusive, NotExercised, Violation
from conformance.vexide.codec import encode
from conformance.vexide.commands import competition, raw_state
from conformance.vexide.events import EXITED, PROGRAM, READY, SIGNATURE, log
from conformance.vexide.frontend.port_notation import accepted_events
from conformance.vexide.frontend.tester import (
    check_normal_end,
    end_session,
    hang_up,
    open_in_setup,
    open_session,
    plain_session,
    start_program,
    user_outcome,
)

ACTIONS = {
    "competition": competition(enabled=False)["CompetitionMode"],
    "controller": raw_state(axis1=64)["ControllerUpdate"],
    "battery": {"capacity": 7.25},
}
"""By operation: the arguments of an action that a frontend reports to its simulator."""
_MANY = 500  # events; with Exited they just fit into a pipe, which keeps them after an exit
_BETWEEN = 0.02  # seconds between two rounds of actions, shorter than the end of a process


@requirement("exit.internal-error")
async def test_exited_is_a_normal_end(iut: Iut) -> None:
    """A session that ends with Exited is a normal end for the user."""
    async with open_in_setup(iut) as session:
        await start_program(session)
        await session.send(EXITED)
        await hang_up(session)
        outcome = await user_outcome(session)
        check(outcome == "exited", "'exited' from the operation 'outcome'", f"received {outcome}")


@requirement("exit.internal-error")
async def test_exited_after_an_error_is_a_normal_end(iut: Iut) -> None:
    """An Error Log followed by Exited is a normal end of a crashed program."""
    async with open_in_setup(iut) as session:
        await start_program(session)
        await session.send(log("the program panicked", "Error"), EXITED)
        await hang_up(session)
        outcome = await user_outcome(session)
        check(outcome == "exited", "'exited' from the operation 'outcome'", f"received {outcome}")


@requirement("exit.internal-error")
async def test_exited_without_a_newline(iut: Iut) -> None:
    """Exited without a newline at the end of the stream is a normal end."""
    async with open_in_setup(iut) as session:
        await start_program(session)
        await session.send_bytes(encode(EXITED).removesuffix(b"\n"))
        await hang_up(session)
        outcome = await user_outcome(session)
        expected = "'exited' from the operation 'outcome' after an Exited without a newline"
        check(outcome == "exited", expected, f"received {outcome}")


@requirement("exit.internal-error")
async def test_exited_behind_many_events(iut: Iut) -> None:
    """Exited is read behind many other events, although the simulator has already gone."""
    async with open_in_setup(iut) as session:
        await start_program(session)
        events = [log(f"line {number} {'.' * 60}") for number in range(_MANY)]
        await session.send(*events, EXITED, segmentation=whole)
        await hang_up(session)
        outcome = await user_outcome(session, lines=_MANY)
        expected = f"'exited' from the operation 'outcome' after {_MANY} events and Exited at once"
        check(outcome == "exited", expected, f"received {outcome}")


@requirement("exit.internal-error")
@pytest.mark.parametrize("when", ["handshake", "loading", "ready", "running", "busy", "failed"])
async def test_close_without_exited(iut: Iut, when: str) -> None:
    """A stream that closes without Exited is an internal error for the user."""
    busy = await accepted_events(iut, *PROGRAM.values()) if when == "busy" else []
    if when == "failed":
        # A text that resembles the event Exited is not that event.
        busy = [log("Exited", "Error")]
    async with open_in_setup(iut, starting=when in ("running", "busy", "failed")) as session:
        await _play_until(session, when)
        if session.closed_by_iut:
            raise Inconclusive("the frontend closed the session first")
        await session.send(*busy)
        await hang_up(session)
        outcome = await user_outcome(session)
        check(outcome == "error", "'error' from the operation 'outcome'", f"received {outcome}")


@requirement("exit.internal-error")
@pytest.mark.parametrize("outcome", ["exited", "error"])
async def test_user_acts_at_the_end(iut: Iut, outcome: str) -> None:
    """Actions of the user while the simulator leaves do not change how the session ends."""
    async with open_in_setup(iut) as session:
        actions = [name for name in ACTIONS if session.instance.upper.offers(name)]
        if not actions:
            raise NotExercised(f"needs an operation of the user: {' or '.join(ACTIONS)}")
        await start_program(session)
        if outcome == "exited":
            await session.send(EXITED)
        await hang_up(session)
        deadline = session.now + session.seconds("quiet")
        expected = f"'{outcome}' from the operation 'outcome', although the user acted at the end"
        try:
            while session.now < deadline:
                for name in actions:
                    await session.operate(name, **ACTIONS[name])
                await asyncio.sleep(_BETWEEN)
            await session.assert_alive("actions of the user while the simulator leaves")
            came = await user_outcome(session)
        except Inconclusive:
            # Without these actions, the frontend reports a normal end.
            if outcome == "exited" and (await plain_session(iut)).tells:
                came_instead = f"received no answer{session.instance.describe_end()}"
                raise Violation(expected, came_instead) from None
            raise
        check(came == outcome, expected, f"received {came}")


@requirement("exit.internal-error")
@lasting
async def test_silence_is_no_end(iut: Iut) -> None:
    """A program that shows nothing for a while stays running until Exited."""
    async with open_in_setup(iut) as session:
        await start_program(session)
        await session.until_closed()
        await check_normal_end(iut, session, "a while of silence")


@requirement("robustness.input-end")
@pytest.mark.parametrize("when", ["handshake", "loading", "ready", "running", "exited"])
async def test_simulator_closes(iut: Iut, when: str) -> None:
    """The frontend ends the session after the simulator has closed the stream."""
    async with open_in_setup(iut, starting=when in ("running", "exited")) as session:
        await _play_until(session, when)
        await _check_both_end(session)


@requirement("robustness.input-end")
async def test_simulator_closes_before_the_handshake(iut: Iut) -> None:
    """The frontend ends the session if the simulator closes the stream instead of answering."""
    async with open_session(iut, starting=False) as session:
        await _check_both_end(session)


@requirement("robustness.input-end")
async def test_simulator_closes_inside_a_line(iut: Iut) -> None:
    """The frontend ends the session if the stream ends inside an event."""
    async with open_in_setup(iut, starting=False) as session:
        await session.send_bytes(b'{"Log": {"level": "Info", "mess')
        await _check_both_end(session)


async def _play_until(session: Session, when: str) -> None:
    """Continue from the handshake to a certain point of the session."""
    if when == "handshake":
        await session.wait_for("CompetitionMode")
        return
    await session.send(SIGNATURE)
    if when == "ready":
        await session.send(READY)
        await session.wait_for("StartExecution")
    elif when != "loading":
        await start_program(session)
    if when == "exited":
        await session.send(EXITED)


async def _check_both_end(session: Session) -> None:
    ended = await end_session(session)
    await session.assert_alive("the end of the stream")
    if ended is None:
        raise Inconclusive(
            "the frontend keeps the simulator's standard input open and continues to run, as a "
            "window can; give --hook outcome=COMMAND to show how the session ended for its user"
        )
    check(
        ended,
        "the frontend to end the session after the simulator has ended",
        "the frontend did not end the session",
    )
