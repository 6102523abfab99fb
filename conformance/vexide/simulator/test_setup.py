"""Setup, Ready and the start of the program."""

import asyncio
from typing import Any

from conformance import generation
from conformance.cases import absent, check, compared, explore, however_cut, lasting, requirement
from conformance.iut import Iut
from conformance.segmentation import Segmentation, whole
from conformance.session import Session
from conformance.verdicts import Inconclusive, Violation
from conformance.vexide import strategies
from conformance.vexide.commands import START, adapted, competition, hello, motor, raw
from conformance.vexide.simulator.plain import (
    opened,
    shows,
    slow_program,
    taken,
    takes_mode,
    visible_program,
)
from conformance.vexide.simulator.reading import EXECUTION
from conformance.vexide.simulator.tester import (
    RUNS,
    SETUP,
    lives_on,
    make_ready,
    shake_hands,
    soon,
    start,
)
from conformance.vexide.tester import received
from conformance.wire import Message

ROBOT_CODE = ("Serial", "ScreenDraw", "Exited")  # what only a running program brings about
OFTEN = 0.005  # seconds between two commands: a gamepad may be read 200 times a second
SURELY_LATER = 0.25  # seconds between StartExecution and Ready from which on it was early for sure
IN_HAND = 0.05  # seconds between the answer to a write and Ready: what else it held had been read


@requirement("ready.sent")
async def test_ready_unasked(iut: Iut) -> None:
    """Ready comes after the handshake although no further command does."""
    async with opened(iut) as session:
        await shake_hands(session)
        await session.expect("Ready", to="after the handshake, with no further command")


@requirement("ready.sent")
async def test_ready_when_loading_takes_long(iut: Iut) -> None:
    """A program that takes its time to load makes Ready late, not absent."""
    async with opened(iut, program="slow") as session:
        await shake_hands(session)
        await session.expect("Ready", within="startup")


@requirement("ready.once")
async def test_ready_once(iut: Iut) -> None:
    """Ready comes once, whatever is set up after it."""
    async with opened(iut) as session:
        await make_ready(session, motor(session, 1))
        await session.send(motor(session, 1), competition(enabled=False), competition())
        await session.watch("Ready")
        await session.send(START)
        await session.watch(*EXECUTION)
        await session.send(competition(mode="Auto"), competition(), motor(session, 1))
        await session.watch("Ready")
        every = received(session, "Ready")
        check(len(every) == 1, "Ready once", f"it came {len(every)} times", every[-1].event)


@requirement("setup.commands-handled")
async def test_setup_before_ready(iut: Iut) -> None:
    """Setup commands that come one upon another after the handshake are taken; Ready follows."""
    # While a slow program loads, the commands surely come before Ready.
    program = await slow_program(iut)
    async with opened(iut, program=program) as session:
        await shake_hands(session)
        motors = [motor(session, number) for number in range(21)]
        await session.send(
            *motors,
            competition(enabled=False),
            {"SetBatteryCapacity": {"capacity": 10.0}},
            *await taken(iut, raw(axis1=127, axis2=-127)),
            competition(),
        )
        await _loaded(iut, session, "although many setup commands came at once")
        await lives_on(iut, session, "many setup commands at once", may_close=False)


async def _loaded(iut: Iut, session: Session, to: str) -> Message:
    """The Ready of a program that may be slow to load.

    Raises Inconclusive where none comes either if nothing at all is sent before.
    """
    try:
        return await session.expect("Ready", to=to, within="startup")
    except Violation:
        program = session.instance.program
        if session.ended or await iut.once(f"Ready of {program}", lambda: _loads(iut, program)):
            raise
    raise Inconclusive("without any command no Ready comes either (ready.sent)")


async def _loads(iut: Iut, program: str | None) -> bool:
    async with opened(iut, program=program) as session:
        await shake_hands(session)
        return await session.watch("Ready", within="startup") is not None


@requirement("setup.commands-handled")
async def test_setup_after_ready(iut: Iut) -> None:
    """Setup goes on until StartExecution: commands after Ready are taken, the program starts."""
    program = await visible_program(iut)
    async with opened(iut, program=program) as session:
        await make_ready(session)
        await session.send(motor(session, 3, "Red", 0.5), {"SetBatteryCapacity": {"capacity": 7.5}})
        await session.send(competition(), START)
        check(
            await shows(iut, session), "the program to run after setup behind Ready", "nothing came"
        )


@requirement("setup.commands-handled")
async def test_mode_after_ready(iut: Iut) -> None:
    """Setup after Ready has its effect: the program sees the mode that was chosen then."""
    iut.require("probe")
    if await takes_mode(iut):
        return
    missed = iut.sessions[-1]
    if not await takes_mode(iut, running=True):
        raise Inconclusive("nor does a mode count that comes later (competition.update)")
    expected = "the mode between Ready and StartExecution to count, as one behind that does"
    raise Violation(expected, "the program does not see it").shown_in(missed)


@requirement("setup.commands-handled")
@explore(commands=strategies.setups(), cuts=generation.cuts())
async def test_any_setup(iut: Iut, commands: list[Any], cuts: list[int]) -> None:
    """Any sequence of sensible setup commands, however it is cut, lets the program run."""

    async def play(cut: Segmentation | None) -> None:
        # One by one they take longer, and are to come before Ready as they do together.
        program = await (visible_program if cut else slow_program)(iut)
        async with opened(iut, program=program) as session:
            await shake_hands(session)
            given = [adapted(session, command) for command in await taken(iut, *commands)]
            given.append(competition())
            await session.send(*given, segmentation=cut)
            await session.expect("Ready", to="after setup")
            await lives_on(iut, session, f"a setup of {len(given)} commands", may_close=False)

    await however_cut(iut, cuts, "framing.segmentation", play)


@requirement("start.begins-execution")
async def test_start_begins_execution(iut: Iut) -> None:
    """After Ready, StartExecution makes the program run."""
    program = await visible_program(iut)
    async with opened(iut, program=program) as session:
        await start(session, motor(session, 1), requirement=SETUP)
        check(
            await shows(iut, session),
            "the program to run after StartExecution",
            "it had no effect",
        )


@requirement("start.begins-execution")
async def test_start_without_setup(iut: Iut) -> None:
    """Nothing need be set up for the program to run."""
    program = await visible_program(iut)
    async with opened(iut, program=program) as session:
        await shake_hands(session)
        await session.expect("Ready")
        await session.send(START)
        check(await shows(iut, session), "the program to run without any setup", "it had no effect")


@requirement("start.begins-execution")
async def test_start_while_commands_keep_coming(iut: Iut) -> None:
    """The program runs however often commands come, such as those of a gamepad that is read."""
    program = await visible_program(iut)

    async def play(pause: float | None) -> None:
        async with opened(iut, program=program) as session:
            await start(session, motor(session, 1), requirement=SETUP)
            keeping = asyncio.create_task(_keep_commanding(session, pause))
            try:
                ran = await shows(iut, session)
            finally:
                keeping.cancel()
                await asyncio.wait({keeping})
            check(ran, "the program to run while commands keep coming", "it had no effect")

    await compared(iut, play, OFTEN, None, RUNS)


async def _keep_commanding(session: Session, pause: float | None) -> None:
    while pause is not None and not session.ended:
        await session.send(competition())
        await asyncio.sleep(pause)


@requirement("start.begins-execution")
@lasting
async def test_start_after_a_while(iut: Iut) -> None:
    """StartExecution need not follow Ready at once."""
    program = await visible_program(iut)
    async with opened(iut, program=program) as session:
        await make_ready(session, motor(session, 1), requirement=SETUP)
        early = await session.watch("Exited", within="response")
        absent(early, "no Exited of a program that was not started")
        await session.send(START)
        check(
            await shows(iut, session),
            "the program to run after a StartExecution that took its time",
            "it had no effect",
        )


@requirement("start.not-before")
async def test_nothing_runs_before_start(iut: Iut) -> None:
    """With setup complete and Ready sent, no robot code runs until StartExecution comes."""
    program = await visible_program(iut)
    async with opened(iut, program=program) as session:
        setup = motor(session, 1), *await taken(iut, raw(axis1=100))
        await make_ready(session, *setup, requirement=SETUP)
        await session.send(competition(enabled=False), competition(), motor(session, 2))
        early = await session.watch("Serial", "Exited")
        absent(early, "no output of the program before StartExecution")
        await session.send(START)
        if not await shows(iut, session, RUNS):
            raise Violation("the program to run after StartExecution", "it had no effect", RUNS)


@lasting
@requirement("start.ignored-before-ready")
async def test_start_before_ready_is_ignored(iut: Iut) -> None:
    """A StartExecution that comes before Ready starts nothing; the next one does."""
    program = await slow_program(iut)
    async with opened(iut, program=program) as session:
        await shake_hands(session)
        early = session.now
        await session.send(START)
        ready = await _loaded(iut, session, "in spite of a StartExecution before it")
        await _ignored(iut, session, ready, ready.at - early > SURELY_LATER)


@requirement("start.ignored-before-ready")
async def test_start_with_the_handshake(iut: Iut) -> None:
    """A StartExecution in one write with the Handshake has no effect, whenever Ready follows."""
    visible, slow = await visible_program(iut), await slow_program(iut)
    # Between two events time may pass for reasons of the machine's, or hardly any: what loads
    # slowly tells in the end.
    for program, last in ((visible, False), (visible, False), (slow, True)):
        async with opened(iut, program=program) as session:
            await session.send(hello(), START, segmentation=whole)
            answer = await session.watch("Handshake", within=soon(session))
            ready = await session.watch("Ready", within="startup")
            if not (answer and ready):
                raise Inconclusive("a StartExecution before the handshake was finished ended it")
            try:
                await _ignored(iut, session, ready, ready.at - answer.at > IN_HAND)
                return
            except Violation as violation:
                if last or violation.event is None:
                    raise
            except Inconclusive:
                if last:
                    raise


async def _ignored(iut: Iut, session: Session, ready: Message, surely: bool) -> None:
    """A StartExecution that was sent before Ready came has no effect; another one has.

    Raises Inconclusive where it has one and was not ``surely`` read before Ready was sent.
    """
    first = (message for message in session.received if message.name in ROBOT_CODE)
    sign = next(first, None) or await session.watch(
        *ROBOT_CODE, within=2 * session.seconds("quiet")
    )
    if sign is not None and sign.event > ready.event and not surely:
        raise Inconclusive(
            "Ready came so soon after StartExecution that it may have been sent before that was "
            "read; a program that is slow to load would tell: declare [programs] "
            f"slow ({session.role.programs['slow']})"
        )
    try:
        absent(sign, "no effect of a StartExecution before Ready")
    except Violation as violation:
        violation.shown_in(session)
        if await _runs_unasked(iut, session.instance.program):
            raise Inconclusive("without any it runs as well (start.not-before)") from None
        raise
    await session.send(START)
    if not await shows(iut, session):
        raise Violation("the program to run after the second StartExecution", "nothing came")


async def _runs_unasked(iut: Iut, program: str | None) -> bool:
    """Whether the program runs although no StartExecution was sent at all."""
    async with opened(iut, program=program) as session:
        await shake_hands(session)
        await session.expect("Ready", within="startup")
        quiet = 2 * session.seconds("quiet")
        return await session.watch(*ROBOT_CODE, within=quiet) is not None
