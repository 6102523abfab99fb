"""How a session ends, and the code signature that belongs to its program."""

import base64
import binascii
import tempfile

import pytest

from conformance.cases import absent, check, requirement
from conformance.iut import Iut
from conformance.session import Session
from conformance.verdicts import Inconclusive, NotExercised, Violation
from conformance.vexide.codec import name_of
from conformance.vexide.commands import START, competition, hello, motor, raw
from conformance.vexide.simulator.plain import (
    ALL_PORTS,
    driving,
    opened,
    own_program,
    shows,
    taken,
    visible_program,
)
from conformance.vexide.simulator.reading import EXECUTION, probed
from conformance.vexide.simulator.tester import (
    SETUP,
    another_session,
    make_ready,
    shake_hands,
    start,
)
from conformance.vexide.tester import received
from conformance.wire import Message

ENDINGS = ["return", "crash", "exit"]
AT_FIRST = {
    "competition": ["enabled=true connected=false mode=Driver is_competition=false"],
    "battery": ["14.0", "14"],
    "controller": ["none", "axis1=0"],
    "sdcard": ["absent"],
}
"""What the probe program may say where nothing was set."""


async def exited(session: Session) -> Message:
    """The Exited event of a program that ends by itself."""
    return await session.expect(
        "Exited",
        within="program",
        to="from a program that ends",
        requirement="exit.exited-sent",
    )


async def own_end(iut: Iut, session: Session) -> None:
    """Wait for the IUT's own program to end; it need not, and then NotExercised is raised."""
    plain = await own_program(iut)
    if not plain.ended and not plain.exited:
        raise NotExercised("the simulator's own program does not end; declare [programs] return")
    await start(session, *(motor(session, number) for number in ALL_PORTS), requirement=SETUP)
    # It is known to end, so that more time costs nothing.
    if await session.watch("Exited", within=session.left(*3 * ["program"])):
        return
    if session.ended:
        came = f"the stream ended without it{session.instance.describe_end()}"
        raise Violation("Exited from a program that ends", came, "exit.exited-sent")
    raise Inconclusive("the simulator's own program ended in one session and not in another")


@requirement("exit.exited-sent")
@pytest.mark.parametrize("program", [None, *ENDINGS])
async def test_exited_is_sent(iut: Iut, program: str | None) -> None:
    """However the program ends, Exited comes."""
    async with opened(iut, program=program) as session:
        if program:
            await start(session)
            await exited(session)
        else:
            await own_end(iut, session)


@requirement("exit.closes-stream")
@pytest.mark.parametrize("program", [None, *ENDINGS])
async def test_stream_is_closed(iut: Iut, program: str | None) -> None:
    """After Exited the stream is closed, however the program ended."""
    async with opened(iut, program=program) as session:
        if program:
            await start(session)
            await exited(session)
        else:
            await own_end(iut, session)
        check(
            await session.until_closed(), "the stream to be closed after Exited", "it stayed open"
        )


@requirement("exit.nothing-after")
@pytest.mark.parametrize("program", [None, *ENDINGS])
async def test_nothing_after_exited(iut: Iut, program: str | None) -> None:
    """Exited is the last event, whatever the program had under way."""
    async with opened(iut, program=program) as session:
        if program:
            await start(session, motor(session, 1))
            await exited(session)
        else:
            await own_end(iut, session)
        later = await session.watch(*EXECUTION)
        absent(later, "nothing but a Log after Exited")


@requirement("exit.error-log")
async def test_fatal_error_is_logged(iut: Iut) -> None:
    """A program that ends by a fatal error is explained by a Log of level Error before Exited."""
    async with opened(iut, program="crash") as session:
        await start(session)
        end = await exited(session)
        errors = [
            m for m in received(session, "Log") if name_of(m.value["Log"].get("level")) == "Error"
        ]
        check(
            any(message.event < end.event for message in errors),
            "a Log of level Error before Exited",
            "it came after" if errors else "none came",
            end.event,
        )
        check(
            any(str(message.value["Log"].get("message")).strip() for message in errors),
            "an explanation in the Log",
            "its message is empty",
            errors[0].event,
        )


@requirement("signature.sent")
async def test_signature_is_sent(iut: Iut) -> None:
    """A VCodeSig comes between the handshake and the start of the program."""
    async with opened(iut) as session:
        await shake_hands(session)
        await session.expect("Ready")
        await _signature(session)


@requirement("signature.base64")
async def test_signature_is_base64(iut: Iut) -> None:
    """The signature is Base64 with its padding and without line breaks."""
    async with opened(iut) as session:
        await shake_hands(session)
        await session.expect("Ready")
        message = await _signature(session)
        text = message.value["VCodeSig"]
        try:
            good = base64.b64encode(base64.b64decode(text, validate=True)).decode() == text
        except (binascii.Error, TypeError, ValueError):
            good = False
        check(good, "Base64 as RFC 4648 has it", f"{text!r:.100} came", message.event)


@requirement("signature.cold-header")
async def test_signature_is_a_cold_header(iut: Iut) -> None:
    """The signature decodes to at least 16 bytes that begin XVX5."""
    async with opened(iut) as session:
        await shake_hands(session)
        await session.expect("Ready")
        await _signature(session)


async def _signature(session: Session) -> Message:
    early = received(session, "VCodeSig")
    message = early[0] if early else await session.watch("VCodeSig")
    if message is None:
        came = "it had not come when Ready had"
        raise Violation("VCodeSig before the program starts", came, "signature.sent")
    return message


@requirement("robustness.input-end")
@pytest.mark.parametrize("when", ["opened", "ready", "running"])
async def test_end_of_input(iut: Iut, when: str) -> None:
    """When the frontend closes the stream the simulator ends the session on its side, too."""
    program = "idle" if "idle" in iut.configuration.programs else None
    async with opened(iut, program=program) as session:
        if when == "opened":
            await shake_hands(session)
        elif when == "ready":
            await make_ready(session)
        else:
            await start(session)
        await session.finish()
        check(await session.until_closed(), "the end of the session", "the stream stayed open")
        await session.unharmed("the end of its input")


@requirement("session.independent")
async def test_second_session(iut: Iut) -> None:
    """A second session with the same simulator begins from the start."""
    program = await visible_program(iut)
    async with iut.instance(program) as running:
        async with iut.connect(running) as session:
            await session.send(hello(extensions=["x-first"]))
            to = "in answer to the first Handshake"
            await session.expect("Handshake", to=to, requirement="handshake.answered")
            await session.send(motor(session, 1), competition())
            await session.expect("Ready", to="after the handshake")
            await session.send(START)
            check(
                await shows(iut, session), "the program to run in the first session", "nothing came"
            )
            await session.close()
        async with another_session(iut, running) as session:
            early = await session.watch()
            absent(early, "nothing before the handshake of the second session")
            # The oracle sees whether this is answered as the offer of a first session is.
            await session.send(hello(extensions=["x-second"], x={"y": [1]}))
            await session.expect("Handshake", to="in answer to the Handshake of a second session")
            await session.send(motor(session, 2), competition())
            await session.expect("Ready", to="in a second session")
            await session.send(START)
            check(
                await shows(iut, session),
                "the program to run in the second session",
                "nothing came",
            )


@requirement("session.independent")
async def test_a_session_that_breaks_off(iut: Iut) -> None:
    """A frontend that is killed, and so resets the stream, leaves a simulator able to serve."""
    async with iut.instance(await visible_program(iut)) as running:
        for reset in (False, True, True):
            async with iut.connect(running) as session:
                await make_ready(session)
                await (session.break_off() if reset else session.close())
                # One that ends in order, as it may, has the time to.
                await session.unharmed("the end of a session")
            try:
                async with another_session(iut, running) as session:
                    await make_ready(session)
            except NotExercised as over:
                if not reset:
                    raise
                expected = (
                    "a further session after one that was reset, as after one that was closed"
                )
                raise Violation(expected, f"it takes none{running.describe_end()}") from over


@requirement("session.independent")
async def test_devices_are_not_carried_over(iut: Iut) -> None:
    """A motor that one session configured is not there in the next."""
    known = await driving(iut, 5)
    async with iut.instance(known.program) as running:
        async with iut.connect(running) as session:
            await start(session, *(motor(session, number) for number in known.configured))
            await session.watch("DeviceUpdate", within="program")
            await session.close()
        async with another_session(iut, running) as session:
            await start(session)
            update = await session.watch("DeviceUpdate")
            absent(update, "no report of a motor that this session has not configured")


@requirement("session.independent")
async def test_setup_is_not_carried_over(iut: Iut) -> None:
    """Mode, battery, controller and card of one session are not carried over to the next."""
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        async with iut.instance("probe") as running:
            async with iut.connect(running) as session:
                await start(
                    session,
                    competition(enabled=False, mode="Auto", is_competition=True),
                    {"SetBatteryCapacity": {"capacity": 2.0}},
                    {"USD": {"root": folder}},
                    *await taken(iut, raw(axis1=99)),
                    requirement=SETUP,
                )
                await probed(session, "competition", lambda said: said != "nothing")
                await session.close()
            async with another_session(iut, running) as session:
                await shake_hands(session)
                await session.expect("Ready")
                await session.send(START)
                for kind, wanted in AT_FIRST.items():
                    said = await probed(session, kind, lambda line: line != "nothing")
                    check(
                        said in wanted,
                        f"the program to see {kind} {wanted[0]} as in a first session",
                        f"it saw {said}",
                    )
