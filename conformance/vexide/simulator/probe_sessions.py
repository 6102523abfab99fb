"""Observations of a simulator in a plain session, made once in a run."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

from conformance.harness.deadlines import Countdown
from conformance.iut import Iut
from conformance.segmentation import Segmentation
from conformance.session import Session
from conformance.verdicts import Inconclusive, NotExercised, Violation
from conformance.vexide.commands import PORTS, START, competition, hello, motor, port_in_form
from conformance.vexide.dialects import command_in_dialect
from conformance.vexide.simulator.observations import (
    EXECUTION,
    logs_with_output,
    motors_reported,
    serial_bytes,
    wait_for_report,
    wait_until_running,
)
from conformance.vexide.tester import messages_named

ALL_PORTS = tuple(range(21))
ALL = bytes(range(256))  # the output of the program `bytes`
TEXT = ALL[32:127]
SHOWS_NOTHING = (
    "the program that the simulator runs shows nothing on the wire; put {program} into the "
    "command and declare [programs] print"
)
_OTHERS = ("draw", "return")  # programs that show that they run by other events than `print`


@dataclass(frozen=True)
class Shown:
    """Observations of a program with motors on all Smart ports and no further commands.

    - ``ready``: Ready came
    - ``ran``: an event came that only a running program causes
    - ``motors``: the Smart ports in DeviceUpdates
    - ``serial``: the data of serial channel 1
    - ``exited``: Exited came
    - ``ended``: the stream ended
    """

    ready: bool = False
    ran: bool = False
    motors: frozenset[object] = frozenset()
    serial: bytes = b""
    exited: bool = False
    ended: bool = False


@dataclass(frozen=True)
class Driving:
    """A program that moves motors, the Smart ports to configure, and the ports that report."""

    program: str | None
    configured: tuple[int, ...]
    reporting: tuple[int, ...]

    def left(self, session: Session) -> Countdown:
        """Return the deadline for updates of all motors."""
        return session.countdown("program")


@contextlib.asynccontextmanager
async def open_session(
    iut: Iut, *, program: str | None = None, segmentation: Segmentation | None = None
) -> AsyncIterator[Session]:
    """Open a session with its own instance, after the accepted form of ports is known."""
    await port_form(iut)
    async with iut.session(program=program, segmentation=segmentation) as session:
        yield session


async def port_form(iut: Iut) -> str:
    """Return the form of ports that the simulator accepts: declared, or found by trial."""
    declared = iut.configuration.value("ports")
    return await iut.cached(PORTS, lambda: _learn_form(iut)) if declared == "auto" else declared


async def _learn_form(iut: Iut) -> str:
    program = _first_declared(iut, "drive", "print")
    trying = asyncio.create_task(_observe(iut, program, "tagged"))
    try:
        # An event that does not come within a short time probably never comes. The other
        # observations then run in parallel, if several instances are possible.
        await asyncio.wait({trying}, timeout=iut.configuration.seconds("response"))
        floods = any(iut.testbed.timeouts.floods.is_long(session) for session in iut.sessions)
        if not (trying.done() or floods or iut.configuration.has_fixed_address):
            bare, tagged = await asyncio.gather(_observe(iut, program, "bare"), trying)
        else:
            tagged = await trying
            # If the program cannot show motors, its other output is sufficient.
            if tagged.motors or (tagged.ran and program == "print"):
                return "tagged"
            bare = await _observe(iut, program, "bare")
    finally:
        trying.cancel()
        await asyncio.wait({trying})
    better = (bool(bare.motors), bare.ran) > (bool(tagged.motors), tagged.ran)
    return "bare" if better else "tagged"


async def can_take_mode(iut: Iut, *, running: bool = False) -> bool:
    """Return True if the program sees a mode sent after Ready.

    With ``running``, the mode is sent after StartExecution. A program that reports no mode at all
    counts as True.
    """
    commands = [competition(mode="Auto"), START]
    return await _is_seen(
        iut,
        [*(reversed(commands) if running else commands)],
        "competition",
        lambda line: "mode=Auto" in line,
    )


async def _is_seen(iut: Iut, commands: list[Any], kind: str, accept: Callable[[str], bool]) -> bool:
    """Return True if the probe program reports the expected effect of commands sent after Ready.

    A program that reports nothing of this kind counts as True.
    """
    async with iut.session(program="probe") as session:
        await session.send(hello())
        with contextlib.suppress(Inconclusive, Violation):
            await session.expect("Handshake")
            await session.expect("Ready", within="startup")
            await session.send(*commands)
            report = await wait_for_report(session, kind, accept)
            return accept(report) or report == "nothing"
    return False


async def own_program(iut: Iut) -> Shown:
    """Return the observations of the simulator's own program."""
    form = await port_form(iut)
    return await iut.cached("what its own program shows", lambda: _observe(iut, None, form))


async def own_first_line(iut: Iut) -> bytes:
    """Return the first line that the IUT's own program writes.

    A second run of the program would repeat the line. Raises NotExercised if the program writes
    nothing or repeats the line itself.
    """
    serial = (await own_program(iut)).serial
    line = serial[: serial.find(b"\n") + 1] or serial
    if not line or serial.count(line) > 1:
        raise NotExercised(
            "the program that the simulator runs has no unique first line on serial channel 1; "
            "put {program} into the command and declare [programs] print"
        )
    return line


async def visible_program(iut: Iut) -> str | None:
    """Return the name of a program that shows on the wire that it runs; None for the IUT's own.

    The observations of the own program are cached for ``wait_for_output``.
    """
    await port_form(iut)
    if _first_declared(iut, "print"):
        return await _find_showing_program(iut) or "print"
    await own_program(iut)
    return None


async def slow_program(iut: Iut) -> str | None:
    """Return `slow` if `print` is visible, else any visible program.

    The program `slow` writes the same text as `print`.
    """
    program = await visible_program(iut)
    return "slow" if program == "print" and "slow" in iut.configuration.programs else program


async def _find_showing_program(iut: Iut) -> str | None:
    """Return `print`, or another program if only that program's events arrive.

    Returns None if no program shows events.
    """
    return await iut.cached("a program that shows", lambda: _first_to_show(iut))


async def _first_to_show(iut: Iut) -> str | None:
    printing = asyncio.create_task(_observe(iut, "print", ""))
    try:
        # An event that does not come within a short time probably never comes, so the other
        # programs are tried, too.
        await asyncio.wait({printing}, timeout=iut.configuration.seconds("response"))
        others = [name for name in _OTHERS if _first_declared(iut, name)]
        if not printing.done() and not iut.configuration.has_fixed_address:
            shown = await asyncio.gather(*(_observe(iut, name, "") for name in others))
            printed = printing.done() and printing.result().ran
            for name, each in zip(others, shown, strict=True):
                if each.ran and not printed:
                    return name
        return "print" if (await printing).ran else None
    finally:
        printing.cancel()
        await asyncio.wait({printing})


async def find_driving_program(iut: Iut, *ports: int) -> Driving:
    """Return the program that moves motors at these Smart ports.

    The IUT's own program moves only its own motors. Raises NotExercised if it moves no motor.
    """
    if _first_declared(iut, "drive"):
        return Driving("drive", ports, ports)
    plain = await own_program(iut)
    if not plain.motors:
        raise NotExercised(
            "the program that the simulator runs reports no motor; put {program} into the "
            f"command and declare [programs] drive ({iut.role.programs['drive']})"
        )
    return Driving(None, ALL_PORTS, tuple(n for n in ALL_PORTS if n in plain.motors))


async def wait_for_output(iut: Iut, session: Session, requirement: str | None = None) -> bool:
    """Wait for output of the running program; return True if output comes in time.

    ``requirement`` is the requirement to blame if the program stays silent; the default is the one
    under test. Raises NotExercised if the IUT's own program never shows output.
    """
    if session.instance.program is None and not (await own_program(iut)).ran:
        raise NotExercised(SHOWS_NOTHING)
    return await wait_until_running(session, requirement=requirement)


async def refused_form(iut: Iut, command: Any) -> tuple[Session, ...]:
    """Return two sessions that show that a command is read only in a dialect.

    The command is a ControllerUpdate or a Touch. The first session refuses the command in the
    specified form, and the second accepts a dialect's form. The result is empty if the specified
    form is accepted, is ignored, or has no visible effect.
    """
    name = next(iter(command))
    return await iut.cached(f"form of {name}", lambda: _find_refused_form(iut, command))


async def _find_refused_form(iut: Iut, command: Any) -> tuple[Session, ...]:
    if await _does_run_after(iut, command) or not await _does_run_after(
        iut, command_in_dialect(command)
    ):
        return ()
    return tuple(iut.sessions[-2:])


async def _does_run_after(iut: Iut, command: Any) -> bool:
    program = await visible_program(iut)
    async with iut.session(program=program) as session:
        await session.send(hello())
        with contextlib.suppress(Violation):
            await session.expect("Handshake")
            await session.send(motor(session, 1), command, competition())
            await session.expect("Ready", within="startup")
            await session.send(START)
            with contextlib.suppress(NotExercised):
                return await wait_for_output(iut, session)
        return not session.ended


async def accepted_commands(iut: Iut, *commands: Any) -> list[Any]:
    """Return the commands except those that the simulator reads only in a dialect's form."""
    return [
        command
        for command in commands
        if command_in_dialect(command) is None or not await refused_form(iut, command)
    ]


async def require_form(iut: Iut, command: Any) -> None:
    """Raise Inconclusive if the simulator reads a command only in a dialect's form."""
    if await refused_form(iut, command):
        raise Inconclusive(
            f"the simulator reads {next(iter(command))} only in the form of another version "
            "(encoding.externally-tagged)"
        )


def _first_declared(iut: Iut, *programs: str) -> str | None:
    """Return the first of these programs that the simulator can be asked to run."""
    if "{program}" not in " ".join(iut.configuration.command):
        return None
    return next((name for name in programs if name in iut.configuration.programs), None)


async def _observe(iut: Iut, program: str | None, form: str) -> Shown:
    """Play a session with motors on all ports in this form.

    Without a form, the session has no setup.
    """
    async with iut.session(program=program) as session:
        await session.send(hello())
        # Other test cases judge the handshake.
        with contextlib.suppress(Violation):
            await session.expect("Handshake")
            await session.send(*(_setup(session, form) if form else ()))
            if await session.wait_for("Ready", within="startup"):
                await session.send(START)
                await _run(session, program)
        return Shown(
            bool(messages_named(session, "Ready")),
            any(message.name in EXECUTION for message in session.received)
            or bool(logs_with_output(session)),
            frozenset(motors_reported(session)),
            serial_bytes(session),
            bool(messages_named(session, "Exited")),
            session.ended,
        )


def _setup(session: Session, form: str) -> list[Any]:
    motors = [motor(session, number) for number in ALL_PORTS]
    for number, command in enumerate(motors):
        command["ConfigureDevice"]["port"] = port_in_form(number, form)
    return [*motors, competition()]


async def _run(session: Session, program: str | None) -> None:
    """Follow the program: a program of the suite runs for ever, other programs can end."""
    left = session.countdown("program")
    if program is not None:
        if not await wait_until_running(session):
            return
        left = session.countdown("response")
    wanted = {"drive": "DeviceUpdate", "print": "Serial"}.get(program or "", "Exited")
    while not messages_named(session, wanted):
        if not await session.wait_for(wanted, within=left):
            break
    await session.wait_for("Exited")
