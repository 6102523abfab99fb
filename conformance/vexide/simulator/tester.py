"""The tester of a simulator: plays the frontend, and reads what the simulator shows."""

import base64
import binascii
import math
from collections.abc import Callable
from typing import Any

from conformance.cases import check
from conformance.iut import Iut
from conformance.session import Message, Session
from conformance.verdicts import Inconclusive, NotExercised, Violation
from conformance.vexide.commands import START, competition, hello, motor
from conformance.vexide.tester import received

GREETING = b"Hello World!\n"

EXECUTION = (
    "Serial",
    "Exited",
    "ScreenDraw",
    "ScreenClear",
    "ScreenRender",
    "ScreenDoubleBufferMode",
    "DeviceUpdate",
    "RobotPose",
    "RobotState",
    "VEXLinkConnect",
)
"""Events by which a running program shows."""

SHOWN = "program shows"
"""What is remembered of the IUT's own program: whether it has shown."""


async def shake_hands(session: Session) -> Message:
    """The handshake; returns the simulator's answer."""
    await session.send(hello())
    return await session.expect("Handshake", to="in answer to the Handshake command")


async def make_ready(session: Session, *setup: Any) -> None:
    """Handshake and setup, until the simulator is ready to start."""
    await shake_hands(session)
    await session.send(*setup, competition())
    await session.expect("Ready", to="after the handshake")


async def start(session: Session, *setup: Any) -> None:
    """Everything up to and including StartExecution."""
    await make_ready(session, *setup)
    await session.send(START)


async def goes_on(session: Session) -> None:
    """Raise Violation where the simulator has ended the session, and its program had not ended."""
    if session.ended and not received(session, "Exited"):
        if process := session.instance.process:
            await process.wait(0.5)
        raise Violation("the session to go on", f"it ended{session.instance.describe_end()}")


async def lives_on(iut: Iut, session: Session, after: str, may_close: bool = True) -> None:
    """Raise Violation unless the simulator serves on and runs its program, or may close and did.

    Where its own program shows nothing: Inconclusive if it does not end with its input either.
    """
    silent = session.instance.program is None and iut.memory[SHOWN] is False
    if not session.ended and not received(session, "Ready"):
        await session.watch("Ready", within=session.seconds("response"))
    if not session.ended and received(session, "Ready"):
        await session.send(START)
        await session.watch(*EXECUTION, within=session.seconds("quiet" if silent else "program"))
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
    else:
        ran = any(message.name in EXECUTION for message in session.received)
        check(ran, f"the program to run after {after}", "the simulator hangs")


async def shows(iut: Iut, session: Session) -> bool:
    """Whether the running program shows, within the time that it may take.

    Raises NotExercised where it is the IUT's own and has been seen to show nothing at all.
    """
    if session.instance.program is None and iut.memory.get(SHOWN) is False:
        raise NotExercised(
            "the program that the simulator runs shows nothing on the wire; put {program} into the "
            "command and declare [programs] print"
        )
    return await session.watch(*EXECUTION, within=session.seconds("program")) is not None


async def visible_program(iut: Iut) -> str | None:
    """The name of a program that shows on the wire once it runs; None for the IUT's own choice.

    Whether the latter shows is found out here, for ``shows``.
    """
    if "print" in iut.configuration.programs:
        return "print"
    if SHOWN not in iut.memory:
        async with iut.session() as session:
            await start(session, motor(session, 1))
            iut.memory[SHOWN] = await shows(iut, session)
    return None


def serial_bytes(session: Session, channel: int = 1) -> bytes:
    """All data that has come over a serial channel, whatever events it came in.

    Raises Inconclusive where some of it cannot be read, which its schema has reported.
    """
    data = b""
    for message in received(session, "Serial"):
        try:
            fields = message.value["Serial"]
            if fields["channel"] == channel:
                data += base64.b64decode(fields["data"], validate=True)
        except (binascii.Error, ValueError, LookupError, TypeError):
            raise Inconclusive("Serial came whose data is no Base64 (serial.base64)") from None
    return data


async def serial_until(session: Session, wanted: bytes) -> bytes:
    """Serial data until it holds what is wanted, or the program's time is over."""
    deadline = session.now + session.seconds("program")
    while wanted not in (data := serial_bytes(session)) and session.now < deadline:
        if not await session.watch("Serial", within=deadline - session.now):
            break
    return data


async def probed(session: Session, kind: str, accept: Callable[[str], bool]) -> str:
    """What the probe program says of a kind, without the kind: once it is accepted, or at last.

    Raises Violation where the session ends before, Inconclusive where it says nothing of anything.
    """
    deadline = session.now + session.seconds("program")
    while True:
        lines = serial_bytes(session).decode("utf-8", "replace").splitlines()
        said = [line.removeprefix(f"{kind} ") for line in lines if line.startswith(f"{kind} ")]
        latest = said[-1] if said else "nothing"
        if accept(latest):
            return latest
        if not await session.watch("Serial", within=deadline - session.now):
            await goes_on(session)
            if not lines:
                raise Inconclusive("the probe program reported nothing on serial channel 1")
            return latest


async def holds(session: Session, wanted: float, stale: int = 0) -> None:
    """The battery holds so much, as the probe says or else the first Battery event that counts.

    The first ``stale`` of them do not count.
    """
    if "probe" in session.instance.configuration.programs:
        said = await probed(session, "battery", lambda line: _close(line, wanted))
        check(_close(said, wanted), f"the program to see {wanted} Wh", f"it saw {said}")
        return
    deadline = session.now + session.seconds("program")
    while len(received(session, "Battery")) <= stale:
        if not await session.watch("Battery", within=deadline - session.now):
            raise NotExercised("nothing showed what the battery holds; declare [programs] probe")
    battery = received(session, "Battery")[stale]
    capacity = battery.value["Battery"]["capacity"]
    # A running program has already drawn from it; in a session as short as this not much.
    check(
        0.9 * wanted <= capacity <= 1.01 * wanted,
        f"a battery that holds {wanted} Wh, or little less",
        f"it holds {capacity} Wh",
        battery.event,
    )


def _close(line: str, wanted: float) -> bool:
    try:
        return math.isclose(float(line.removesuffix("Wh")), wanted, rel_tol=0.01)
    except ValueError:
        return False
