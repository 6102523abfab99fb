"""The tester of a simulator: plays the frontend, step by step."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any

from conformance.cases import check
from conformance.harness.deadlines import Left
from conformance.harness.instance import Instance
from conformance.iut import Iut
from conformance.segmentation import Segmentation
from conformance.session import Session
from conformance.verdicts import Inconclusive, NotExercised, Unreachable, Violation
from conformance.vexide.commands import START, competition, hello
from conformance.vexide.simulator.plain import SHOWS_NOTHING, opened, own_program
from conformance.vexide.simulator.reading import EXECUTION, goes_on, printed_as_log, probed, runs
from conformance.vexide.tester import received
from conformance.wire import Message

SETUP = "setup.commands-handled"
"""What a Ready violates that does not come after setup, where a test tries nothing unusual."""

RUNS = "start.begins-execution"
ENDS = "exit.exited-sent"
"""The same of a program that does not show, and of an Exited that does not come."""


async def shake_hands(session: Session) -> Message:
    """The handshake; returns the simulator's answer."""
    await session.send(hello())
    return await session.expect("Handshake", to="in answer to the Handshake command")


def soon(session: Session) -> Left:
    """How long a fresh process may take to answer, which may still be starting."""
    return session.left(session.due)


async def make_ready(session: Session, *setup: Any, requirement: str | None = None) -> None:
    """Handshake and setup, until the simulator is ready to start.

    ``requirement`` is what a missing Ready violates, if not the one that the test decides.
    """
    await shake_hands(session)
    await session.send(*setup, competition())
    await session.expect("Ready", to="after the handshake", requirement=requirement)


async def start(session: Session, *setup: Any, requirement: str | None = None) -> None:
    """Everything up to and including StartExecution; ``requirement`` as of ``make_ready``."""
    await make_ready(session, *setup, requirement=requirement)
    await session.send(START)


async def lives_on(iut: Iut, session: Session, after: str, may_close: bool = True) -> None:
    """Raise Violation unless the simulator serves on and runs its program, or may close and did.

    Where its own program shows nothing, neither does survival: NotExercised, or Inconclusive if it
    does not end with its input either. Who reads on to that end need not take anything any more.
    """
    silent = session.instance.program is None and not (await own_program(iut)).ran
    if not session.ended and not received(session, "Ready"):
        await session.watch("Ready", within="response")
    if not session.ended and received(session, "Ready"):
        await session.send(START)
        await runs(session, "quiet" if silent else "program")
    await session.unharmed(after)
    if not may_close:
        await goes_on(session)
    if session.ended:
        return
    check(bool(received(session, "Ready")), f"Ready after {after}", "the simulator hangs")
    if silent:
        await session.finish()
        if not await session.until_closed():
            raise Inconclusive(
                f"after {after} nothing came, and the stream stayed open when its input had ended: "
                "the simulator may hang, or may run a program that shows nothing"
            )
        await session.unharmed(after)
        raise NotExercised(SHOWS_NOTHING)
    shown = any(message.name in EXECUTION for message in session.received)
    ran = shown or printed_as_log(session)
    check(bool(ran), f"the program to run after {after}", "the simulator hangs")


async def undisturbed(iut: Iut, command: Any, after: str, may_close: bool = False) -> None:
    """Raise Violation unless a running program sees what comes after a command as it did before.

    Or unless the simulator may close the stream upon it, and does.
    """
    async with opened(iut, program="probe") as session:
        await start(session)
        if not await _follows(session, "Auto"):
            raise Inconclusive(
                "the program does not see a change before either (competition.update)"
            )
        await session.send(command)
        if may_close and await session.until_closed("quiet"):
            await session.unharmed(after)
            return
        if await _follows(session, "Driver"):
            return
    if not await iut.once("a second change of mode is seen", lambda: _sees_two_changes(iut)):
        raise Inconclusive(
            "the program does not see a second change of the mode either (competition.update)"
        )
    check(False, f"the running program to see what comes after {after}", "the simulator hangs")


async def _sees_two_changes(iut: Iut) -> bool:
    async with opened(iut, program="probe") as session:
        await start(session)
        return await _follows(session, "Auto") and await _follows(session, "Driver")


async def _follows(session: Session, mode: str) -> bool:
    """Whether the program sees that the mode is changed to this one."""
    await session.send(competition(mode=mode))
    wanted = f"mode={mode}"
    said = await probed(session, "competition", lambda line: wanted in line.split())
    return wanted in said.split()


def either(iut: Iut, program: str) -> str | None:
    """A declared program, or the IUT's own choice: it may show the same."""
    return program if program in iut.configuration.programs else None


@contextlib.asynccontextmanager
async def another_session(
    iut: Iut, running: Instance, segmentation: Segmentation | None = None
) -> AsyncIterator[Session]:
    """A further session with a simulator. Raises NotExercised where it serves only one."""
    process = running.process
    try:
        async with iut.connect(running, segmentation=segmentation) as session:
            yield session
    except (Unreachable, Violation) as error:
        served = isinstance(error, Violation) and session.received
        alive = isinstance(error, Violation) and (process is None or not process.exit)
        if served or alive or (process and process.crashed):
            raise
        raise NotExercised(
            "the simulator serves one session and accepts no other; one that accepts several "
            f"would show whether they are independent{running.describe_end()}"
        ) from error
