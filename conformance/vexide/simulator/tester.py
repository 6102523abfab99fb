"""The tester of a simulator: it plays the frontend, step by step."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any

from conformance.cases import check
from conformance.harness.deadlines import Countdown
from conformance.harness.instance import Instance
from conformance.iut import Iut
from conformance.segmentation import Segmentation
from conformance.session import Session
from conformance.verdicts import Inconclusive, NotExercised, Unreachable, Violation
from conformance.vexide.commands import START, competition, hello
from conformance.vexide.simulator.observations import (
    EXECUTION,
    check_not_ended,
    logs_with_output,
    wait_for_report,
    wait_until_running,
)
from conformance.vexide.simulator.probe_sessions import SHOWS_NOTHING, open_session, own_program
from conformance.vexide.tester import messages_named
from conformance.wire import Message

SETUP = "setup.commands-handled"
"""The requirement that a missing Ready violates after a usual setup."""

LOADED = "ready.sent"
RUNS = "start.begins-execution"
ENDS = "exit.exited-sent"
"""RUNS is violated if the program shows no output, and ENDS if no Exited comes."""


async def shake_hands(session: Session) -> Message:
    """Perform the handshake; return the simulator's answer."""
    await session.send(hello())
    return await session.expect("Handshake", to="in answer to the Handshake command")


def first_answer_deadline(session: Session) -> Countdown:
    """Return the deadline for an answer of a new process, which is possibly still starting."""
    return session.countdown(session.reaction_time)


async def expect_ready(session: Session, to: str = "", requirement: str | None = None) -> Message:
    """Wait for Ready, for which the specification sets no time: a program can load slowly.

    ``requirement`` is the requirement that a missing Ready violates; the default is the one under
    test.
    """
    return await session.expect("Ready", to=to, within="startup", requirement=requirement)


async def make_ready(session: Session, *setup: Any, requirement: str | None = None) -> None:
    """Perform handshake and setup, until the simulator sends Ready.

    ``requirement`` is the requirement that a missing Ready violates; the default is the one under
    test.
    """
    await shake_hands(session)
    await session.send(*setup, competition())
    await expect_ready(session, "after the handshake", requirement)


async def start(session: Session, *setup: Any, requirement: str | None = None) -> None:
    """Play the session up to and including StartExecution.

    ``requirement`` is the requirement that a missing Ready violates; the default is the one under
    test.
    """
    await make_ready(session, *setup, requirement=requirement)
    await session.send(START)


async def check_still_served(
    iut: Iut, session: Session, after: str, may_close: bool = True
) -> None:
    """Raise Violation unless the simulator still serves the session and runs its program.

    With ``may_close``, the simulator can also close the session. If the simulator's own program
    shows nothing on the wire, survival cannot be observed. The function then raises NotExercised,
    or Inconclusive if the simulator does not exit at the end of its input.
    """
    silent = session.instance.program is None and not (await own_program(iut)).ran
    if not session.ended and not messages_named(session, "Ready"):
        await session.wait_for("Ready", within="startup")
    if not session.ended and messages_named(session, "Ready"):
        await session.send(START)
        await wait_until_running(session, "quiet" if silent else "program")
    await session.assert_alive(after)
    if not may_close:
        await check_not_ended(session)
    if session.ended:
        return
    check(bool(messages_named(session, "Ready")), f"Ready after {after}", "the simulator hangs")
    if silent:
        await session.finish()
        if not await session.until_closed():
            raise Inconclusive(
                f"after {after} no message came, and the stream stayed open after the end of "
                "input: the simulator possibly hangs, or runs a program that shows nothing"
            )
        await session.assert_alive(after)
        raise NotExercised(SHOWS_NOTHING)
    shown = any(message.name in EXECUTION for message in session.received)
    ran = shown or logs_with_output(session)
    check(bool(ran), f"the program to run after {after}", "the simulator hangs")


async def check_still_follows(iut: Iut, command: Any, after: str, may_close: bool = False) -> None:
    """Raise Violation unless a running program still sees changes after a command.

    With ``may_close``, the simulator can also close the stream after the command.
    """
    async with open_session(iut, program="probe") as session:
        await start(session)
        if not await _is_following(session, "Auto"):
            raise Inconclusive(
                "the program does not see a change before the command either (competition.update)"
            )
        await session.send(command)
        if may_close and await session.until_closed("quiet"):
            await session.assert_alive(after)
            return
        if await _is_following(session, "Driver"):
            return
    if not await iut.cached("a second change of mode is seen", lambda: _can_see_two_changes(iut)):
        raise Inconclusive(
            "the program does not see a second change of the mode either (competition.update)"
        )
    check(False, f"the running program to see a change after {after}", "the simulator hangs")


async def _can_see_two_changes(iut: Iut) -> bool:
    async with open_session(iut, program="probe") as session:
        await start(session)
        return await _is_following(session, "Auto") and await _is_following(session, "Driver")


async def _is_following(session: Session, mode: str) -> bool:
    """Change the competition mode; return True if the program sees the new mode."""
    await session.send(competition(mode=mode))
    wanted = f"mode={mode}"
    report = await wait_for_report(session, "competition", lambda line: wanted in line.split())
    return wanted in report.split()


def program_or_own(iut: Iut, program: str) -> str | None:
    """Return a declared program's name, or None for the IUT's own program.

    The own program possibly shows the same behaviour.
    """
    return program if program in iut.configuration.programs else None


@contextlib.asynccontextmanager
async def another_session(
    iut: Iut, running: Instance, segmentation: Segmentation | None = None
) -> AsyncIterator[Session]:
    """Open a further session with a running simulator, once the earlier session is over.

    Raises NotExercised if the simulator serves only one session. Then it accepts no further
    connection, or closes each before the Handshake.
    """
    process = running.process
    refused = False

    async def is_refusing(session: Session) -> bool:
        nonlocal refused
        refused = await session.is_refused() and not session.received
        return refused

    try:
        async with iut.connect(
            running, segmentation=segmentation, is_refusing=is_refusing
        ) as session:
            yield session
    except (Unreachable, Violation) as error:
        served = isinstance(error, Violation) and session.received
        alive = isinstance(error, Violation) and (process is None or not process.exit)
        if served or (alive and not refused) or (process and process.has_crashed):
            raise
        raise NotExercised(
            "the simulator serves one session and accepts no further session; only a simulator "
            f"with several sessions shows if they are independent{running.describe_end()}"
        ) from error
