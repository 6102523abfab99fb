"""Setup, Ready and the start of the program."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

from conformance import generation
from conformance.cases import absent, check, compared, explore, however_cut, lasting, requirement
from conformance.iut import Iut
from conformance.segmentation import Segmentation, whole
from conformance.session import Session
from conformance.verdicts import Inconclusive, Violation
from conformance.vexide import strategies
from conformance.vexide.commands import (
    START,
    competition,
    hello,
    motor,
    raw_state,
    with_accepted_port,
)
from conformance.vexide.courses import EVENTS_OF_ROBOT_CODE
from conformance.vexide.simulator.observations import EXECUTION, UPDATES
from conformance.vexide.simulator.probe_sessions import (
    accepted_commands,
    can_take_mode,
    find_driving_program,
    open_session,
    slow_program,
    visible_program,
    wait_for_output,
)
from conformance.vexide.simulator.tester import (
    RUNS,
    SETUP,
    check_still_served,
    expect_ready,
    first_answer_deadline,
    make_ready,
    program_or_own,
    shake_hands,
    start,
)
from conformance.vexide.tester import messages_named
from conformance.wire import Message

SHORT_PAUSE = 0.005
"""Seconds between two commands: a frontend can read a gamepad 200 times a second."""
SURELY_LATER = 0.25
"""Seconds from StartExecution to Ready after which StartExecution was surely early."""
IN_HAND = 0.05
"""Seconds from Handshake to Ready after which the rest of the write was surely read."""


@requirement("ready.sent")
async def test_ready_unasked(iut: Iut) -> None:
    """Ready comes after the handshake without any further command."""
    async with open_session(iut) as session:
        await shake_hands(session)
        await expect_ready(session, "after the handshake, with no further command")


@requirement("ready.sent")
async def test_ready_when_loading_takes_long(iut: Iut) -> None:
    """A program that loads slowly delays Ready, but Ready comes."""
    async with open_session(iut, program="slow") as session:
        await shake_hands(session)
        await expect_ready(session)


@requirement("ready.sent")
async def test_ready_while_commands_keep_coming(iut: Iut) -> None:
    """Ready comes although commands come at a high rate while the program loads."""
    program = program_or_own(iut, "slow")

    async def play(pause: float | None) -> None:
        async with open_session(iut, program=program) as session:
            await shake_hands(session)
            async with _keep_commanding(session, pause):
                await expect_ready(session, "while commands keep coming")

    await compared(iut, play, SHORT_PAUSE, None, "ready.sent")


@requirement("ready.once")
async def test_ready_once(iut: Iut) -> None:
    """Ready comes exactly once, even if setup continues afterwards."""
    async with open_session(iut) as session:
        await make_ready(session, motor(session, 1))
        await session.send(motor(session, 1), competition(enabled=False), competition())
        await session.wait_for("Ready")
        await session.send(START)
        await session.wait_for(*EXECUTION)
        await session.send(competition(mode="Auto"), competition(), motor(session, 1))
        await session.wait_for("Ready")
        every = messages_named(session, "Ready")
        check(len(every) == 1, "Ready once", f"received Ready {len(every)} times", every[-1].event)


@requirement("setup.commands-handled")
async def test_setup_before_ready(iut: Iut) -> None:
    """Many setup commands directly after the handshake are handled, and Ready follows."""
    # While a slow program loads, all commands come before Ready.
    program = await slow_program(iut)
    async with open_session(iut, program=program) as session:
        await shake_hands(session)
        motors = [motor(session, number) for number in range(21)]
        await session.send(
            *motors,
            competition(enabled=False),
            {"SetBatteryCapacity": {"capacity": 10.0}},
            *await accepted_commands(iut, raw_state(axis1=127, axis2=-127)),
            competition(),
        )
        await _expect_ready(iut, session, "after many setup commands in one burst")
        await check_still_served(iut, session, "many setup commands in one burst", may_close=False)


async def _expect_ready(iut: Iut, session: Session, to: str) -> Message:
    """Return the Ready of a program that possibly loads slowly.

    Raises Inconclusive if no Ready comes without the earlier commands either.
    """
    try:
        return await expect_ready(session, to)
    except Violation:
        program = session.instance.program
        if session.ended or await iut.cached(
            f"Ready of {program}", lambda: _check_becomes_ready(iut, program)
        ):
            raise
    raise Inconclusive("no Ready comes without any command either (ready.sent)")


async def _check_becomes_ready(iut: Iut, program: str | None) -> bool:
    async with open_session(iut, program=program) as session:
        await shake_hands(session)
        return await session.wait_for("Ready", within="startup") is not None


@requirement("setup.commands-handled")
async def test_setup_after_ready(iut: Iut) -> None:
    """Setup commands between Ready and StartExecution are handled, and the program starts."""
    program = await visible_program(iut)
    async with open_session(iut, program=program) as session:
        await make_ready(session)
        await session.send(motor(session, 3, "Red", 0.5), {"SetBatteryCapacity": {"capacity": 7.5}})
        await session.send(competition(), START)
        check(
            await wait_for_output(iut, session),
            "the program to run after setup commands that follow Ready",
            "received no output",
        )


@requirement("setup.commands-handled")
async def test_mode_after_ready(iut: Iut) -> None:
    """A mode that is set between Ready and StartExecution reaches the program."""
    iut.require("probe")
    if await can_take_mode(iut):
        return
    missed = iut.sessions[-1]
    if not await can_take_mode(iut, running=True):
        raise Inconclusive("a later mode does not reach the program either (competition.update)")
    expected = "a mode between Ready and StartExecution to reach the program, like a later mode"
    raise Violation(expected, "the program does not see it").shown_in(missed)


@requirement("setup.commands-handled")
@explore(commands=strategies.setups(), cuts=generation.cuts())
async def test_any_setup(iut: Iut, commands: list[Any], cuts: list[int]) -> None:
    """The program runs after any sequence of sensible setup commands with any segmentation."""

    async def play(cut: Segmentation | None) -> None:
        # Commands in separate writes take longer, and a slow program keeps them before Ready.
        program = await (visible_program if cut else slow_program)(iut)
        async with open_session(iut, program=program) as session:
            await shake_hands(session)
            given = [
                with_accepted_port(session, command)
                for command in await accepted_commands(iut, *commands)
            ]
            given.append(competition())
            await session.send(*given, segmentation=cut)
            await expect_ready(session, "after setup")
            await check_still_served(
                iut, session, f"a setup of {len(given)} commands", may_close=False
            )

    await however_cut(iut, cuts, "framing.segmentation", play)


@requirement("start.begins-execution")
async def test_start_begins_execution(iut: Iut) -> None:
    """After Ready, StartExecution makes the program run."""
    program = await visible_program(iut)
    async with open_session(iut, program=program) as session:
        await start(session, motor(session, 1), requirement=SETUP)
        check(
            await wait_for_output(iut, session),
            "the program to run after StartExecution",
            "StartExecution had no effect",
        )


@requirement("start.begins-execution")
async def test_start_without_setup(iut: Iut) -> None:
    """The program runs without any setup commands."""
    program = await visible_program(iut)
    async with open_session(iut, program=program) as session:
        await shake_hands(session)
        await expect_ready(session)
        await session.send(START)
        check(
            await wait_for_output(iut, session),
            "the program to run without any setup",
            "StartExecution had no effect",
        )


@requirement("start.begins-execution")
async def test_start_while_commands_keep_coming(iut: Iut) -> None:
    """The program runs although commands come at a high rate."""
    program = await visible_program(iut)

    async def play(pause: float | None) -> None:
        async with open_session(iut, program=program) as session:
            await start(session, motor(session, 1), requirement=SETUP)
            async with _keep_commanding(session, pause):
                ran = await wait_for_output(iut, session)
            check(
                ran, "the program to run while commands keep coming", "StartExecution had no effect"
            )

    await compared(iut, play, SHORT_PAUSE, None, RUNS)


@contextlib.asynccontextmanager
async def _keep_commanding(session: Session, pause: float | None) -> AsyncIterator[None]:
    """Send commands with this pause between two of them; none if there is no pause."""

    async def send() -> None:
        while pause is not None and not session.ended:
            await session.send(competition())
            await asyncio.sleep(pause)

    keeping = asyncio.create_task(send())
    try:
        yield
    finally:
        keeping.cancel()
        await asyncio.wait({keeping})


@requirement("start.begins-execution")
@lasting
async def test_start_after_a_while(iut: Iut) -> None:
    """StartExecution can come long after Ready."""
    program = await visible_program(iut)
    async with open_session(iut, program=program) as session:
        await make_ready(session, motor(session, 1), requirement=SETUP)
        early = await session.wait_for("Exited", within="response")
        absent(early, "no Exited of a program that was not started")
        await session.send(START)
        check(
            await wait_for_output(iut, session),
            "the program to run after a late StartExecution",
            "StartExecution had no effect",
        )


@requirement("start.not-before")
async def test_nothing_runs_before_start(iut: Iut) -> None:
    """After setup and Ready, no robot code runs before StartExecution."""
    program = await visible_program(iut)
    async with open_session(iut, program=program) as session:
        setup = motor(session, 1), *await accepted_commands(iut, raw_state(axis1=100))
        await make_ready(session, *setup, requirement=SETUP)
        await session.send(competition(enabled=False), competition(), motor(session, 2))
        early = await session.wait_for("Serial", "Exited")
        absent(early, "no output of the program before StartExecution")
        await session.send(START)
        if not await wait_for_output(iut, session, RUNS):
            raise Violation(
                "the program to run after StartExecution", "StartExecution had no effect", RUNS
            )


@requirement("start.not-before")
async def test_no_motor_moves_before_start(iut: Iut) -> None:
    """No motor gets a voltage between Ready and StartExecution."""
    known = await find_driving_program(iut, 1, 20)
    async with open_session(iut, program=known.program) as session:
        motors = [motor(session, number) for number in known.configured]
        await make_ready(session, *motors, requirement=SETUP)
        await session.send(competition(enabled=False), competition(), motors[0])
        # Reports of the state at rest are allowed, at any rate; the oracle judges every report.
        exited = await session.wait_for("Exited")
        absent(exited, "no end of the program before StartExecution")
        session.pass_over()
        await session.send(START)
        if not await session.wait_for("DeviceUpdate", within="program"):
            raise Inconclusive(f"no motor moved after StartExecution either ({UPDATES})")


@lasting
@requirement("start.ignored-before-ready")
async def test_start_before_ready_is_ignored(iut: Iut) -> None:
    """A StartExecution before Ready starts nothing; the next StartExecution does."""
    program = await slow_program(iut)
    async with open_session(iut, program=program) as session:
        await shake_hands(session)
        early = session.now
        await session.send(START)
        ready = await _expect_ready(iut, session, "despite a StartExecution before it")
        await _check_ignored(iut, session, ready, ready.at - early > SURELY_LATER)


@requirement("start.ignored-before-ready")
async def test_start_with_the_handshake(iut: Iut) -> None:
    """A StartExecution in the same write as the Handshake has no effect."""
    visible, slow = await visible_program(iut), await slow_program(iut)
    # The time between two events does not always show their order, because it depends on the
    # machine, too. A program that loads slowly shows the order.
    for program, last in ((visible, False), (visible, False), (slow, True)):
        async with open_session(iut, program=program) as session:
            await session.send(hello(), START, segmentation=whole)
            answer = await session.wait_for("Handshake", within=first_answer_deadline(session))
            ready = await session.wait_for("Ready", within="startup")
            if not (answer and ready):
                raise Inconclusive(
                    "the simulator did not continue after a StartExecution before the "
                    "handshake finished"
                )
            try:
                await _check_ignored(iut, session, ready, ready.at - answer.at > IN_HAND)
                return
            except Violation as violation:
                if last or violation.event is None:
                    raise
            except Inconclusive:
                if last:
                    raise


async def _check_ignored(iut: Iut, session: Session, ready: Message, surely: bool) -> None:
    """Check that a StartExecution before Ready has no effect.

    A later StartExecution must start the program. Raises Inconclusive if the early command has an
    effect and was not ``surely`` read before Ready.
    """
    first = (message for message in session.received if message.name in EVENTS_OF_ROBOT_CODE)
    sign = next(first, None) or await session.wait_for(
        *EVENTS_OF_ROBOT_CODE, within=2 * session.seconds("quiet")
    )
    if sign is not None and sign.event > ready.event and not surely:
        raise Inconclusive(
            "Ready came so soon after StartExecution that the simulator possibly sent Ready "
            "before reading StartExecution; a program that loads slowly would decide: declare "
            f"[programs] slow ({session.role.programs['slow']})"
        )
    try:
        absent(sign, "no effect of a StartExecution before Ready")
    except Violation as violation:
        violation.shown_in(session)
        if await _is_running_unasked(iut, session.instance.program):
            raise Inconclusive(
                "the program also runs without any StartExecution (start.not-before)"
            ) from None
        raise
    await session.send(START)
    if not await wait_for_output(iut, session):
        raise Violation("the program to run after the second StartExecution", "received no output")


async def _is_running_unasked(iut: Iut, program: str | None) -> bool:
    """Return True if the program runs without any StartExecution."""
    async with open_session(iut, program=program) as session:
        await shake_hands(session)
        await expect_ready(session)
        quiet = 2 * session.seconds("quiet")
        return await session.wait_for(*EVENTS_OF_ROBOT_CODE, within=quiet) is not None
