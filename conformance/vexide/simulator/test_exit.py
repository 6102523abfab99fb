"""The end of a session, and the code signature of its program."""

import base64
import binascii
import contextlib
import tempfile
from typing import Any

import pytest

from conformance.cases import absent, check, requirement
from conformance.iut import Iut
from conformance.session import EXIT_TIME, Session
from conformance.verdicts import Inconclusive, NotExercised, Violation
from conformance.vexide.codec import name_of
from conformance.vexide.commands import START, competition, hello, motor, raw_state
from conformance.vexide.simulator.observations import EXECUTION, is_close, wait_for_report
from conformance.vexide.simulator.probe_sessions import (
    ALL_PORTS,
    accepted_commands,
    find_driving_program,
    open_session,
    own_program,
    visible_program,
    wait_for_output,
)
from conformance.vexide.simulator.tester import (
    LOADED,
    RUNS,
    SETUP,
    another_session,
    expect_ready,
    make_ready,
    shake_hands,
    start,
)
from conformance.vexide.tester import messages_named
from conformance.wire import Message

ENDINGS = ["return", "crash", "exit"]
AT_FIRST = {
    "competition": ["enabled=true connected=false mode=Driver is_competition=false"],
    "battery": ["14.0"],
    "controller": ["none", "axis1=0"],
    "sdcard": ["absent"],
}
"""Reports of the probe program that are valid before any setup command."""

INDEPENDENT = "session.independent"
DEFAULTS = {"competition": "setup.default-competition", "battery": "battery.default"}
"""Requirements of the values for which the specification has a default in every session."""


async def expect_exited(session: Session) -> Message:
    """Wait for the Exited event of a program that ends by itself."""
    return await session.expect(
        "Exited",
        within="program",
        to="from a program that ends",
        requirement="exit.exited-sent",
    )


async def wait_for_own_end(iut: Iut, session: Session) -> None:
    """Wait until the IUT's own program ends.

    Raises NotExercised if the own program does not end.
    """
    plain = await own_program(iut)
    if not plain.ended and not plain.exited:
        raise NotExercised("the simulator's own program does not end; declare [programs] return")
    await start(session, *(motor(session, number) for number in ALL_PORTS), requirement=SETUP)
    # The program is known to end, so a longer timeout is safe.
    if await session.wait_for("Exited", within=session.countdown(*3 * ["program"])):
        return
    if session.ended:
        came = f"the stream ended without Exited{session.instance.describe_end()}"
        raise Violation("Exited from a program that ends", came, "exit.exited-sent")
    raise Inconclusive(
        "the simulator's own program ended in another session, but not in this session"
    )


async def play_to_end(iut: Iut, session: Session, program: str | None, *setup: Any) -> None:
    """Start the program after a setup, or the IUT's own program, and wait for Exited."""
    if program:
        await start(session, *setup)
        await expect_exited(session)
    else:
        await wait_for_own_end(iut, session)


@requirement("exit.exited-sent")
@pytest.mark.parametrize("program", [None, *ENDINGS])
async def test_exited_is_sent(iut: Iut, program: str | None) -> None:
    """Exited comes after any kind of end of the program."""
    async with open_session(iut, program=program) as session:
        await play_to_end(iut, session, program)


@requirement("exit.closes-stream")
@pytest.mark.parametrize("program", [None, *ENDINGS])
async def test_stream_is_closed(iut: Iut, program: str | None) -> None:
    """The simulator closes the stream after Exited."""
    async with open_session(iut, program=program) as session:
        await play_to_end(iut, session, program)
        check(
            await session.until_closed(),
            "the end of the stream after Exited",
            "the stream stayed open",
        )


@requirement("exit.nothing-after")
@pytest.mark.parametrize("program", [None, *ENDINGS])
async def test_nothing_after_exited(iut: Iut, program: str | None) -> None:
    """No event except Log comes after Exited."""
    async with open_session(iut, program=program) as session:
        await play_to_end(iut, session, program, motor(session, 1))
        later = await session.wait_for(*EXECUTION)
        absent(later, "no event except Log after Exited")


@requirement("exit.nothing-after")
async def test_commands_after_exited(iut: Iut) -> None:
    """Commands after Exited, such as a second StartExecution, have no effect."""
    async with open_session(iut, program="return") as session:
        await start(session, motor(session, 1))
        await expect_exited(session)
        # A simulator can have closed the stream already.
        with contextlib.suppress(Violation):
            await session.send(START, competition(mode="Auto"), motor(session, 2), START)
        later = await session.wait_for(*EXECUTION, "Ready")
        absent(later, "no event except Log after Exited")


@requirement("exit.error-log")
async def test_fatal_error_is_logged(iut: Iut) -> None:
    """A Log of level Error comes before Exited after a fatal error."""
    async with open_session(iut, program="crash") as session:
        await make_ready(session)
        started = len(session.events)
        await session.send(START)
        end = await expect_exited(session)
        errors = [
            m
            for m in messages_named(session, "Log")
            if m.event >= started and name_of(m.value["Log"].get("level")) == "Error"
        ]
        check(
            any(message.event < end.event for message in errors),
            "a Log of level Error before Exited",
            "the Log came after Exited" if errors else "no Log of level Error came",
            end.event,
        )
        check(
            any(str(message.value["Log"].get("message")).strip() for message in errors),
            "a text in the field message of the Log",
            "the message is empty",
            errors[0].event,
        )


@requirement("signature.sent")
async def test_signature_is_sent(iut: Iut) -> None:
    """A VCodeSig comes between the handshake and the start of the program."""
    async with open_session(iut) as session:
        await shake_hands(session)
        await expect_ready(session)
        await _signature(session)


@requirement("signature.base64")
async def test_signature_is_base64(iut: Iut) -> None:
    """The signature is Base64 with padding and without line breaks."""
    async with open_session(iut) as session:
        await shake_hands(session)
        await expect_ready(session)
        message = await _signature(session)
        text = message.value["VCodeSig"]
        try:
            good = base64.b64encode(base64.b64decode(text, validate=True)).decode() == text
        except (binascii.Error, TypeError, ValueError):
            good = False
        check(good, "Base64 according to RFC 4648", f"received {text!r:.100}", message.event)


@requirement("signature.cold-header")
async def test_signature_is_a_cold_header(iut: Iut) -> None:
    """The decoded signature has at least 16 bytes and begins with XVX5."""
    async with open_session(iut) as session:
        await shake_hands(session)
        await expect_ready(session)
        await _signature(session)


async def _signature(session: Session) -> Message:
    early = messages_named(session, "VCodeSig")
    message = early[0] if early else await session.wait_for("VCodeSig")
    if message is None:
        came = "VCodeSig had not come before Ready"
        raise Violation("VCodeSig before the program starts", came, "signature.sent")
    return message


@requirement("robustness.input-end")
@pytest.mark.parametrize("when", ["connected", "inside-a-line", "opened", "ready", "running"])
async def test_end_of_input(iut: Iut, when: str) -> None:
    """The simulator ends the session after the frontend has closed the stream."""
    program = "idle" if "idle" in iut.configuration.programs else None
    async with open_session(iut, program=program) as session:
        if when == "inside-a-line":
            await session.send_bytes(b'{"Handshake": {"version": 1, "exten')
        elif when == "opened":
            await shake_hands(session)
        elif when == "ready":
            await make_ready(session)
        elif when == "running":
            await start(session)
        await session.finish()
        # A simulator that has not answered yet can still be starting.
        left = session.countdown(*(["response"] if session.received else ["startup", "response"]))
        ended = await session.until_closed(left)
        check(ended, "the end of the session after the end of its input", "the stream stayed open")
        await session.assert_alive("the end of its input")


@requirement("session.independent")
async def test_second_session(iut: Iut) -> None:
    """A second session with the same simulator begins from the initial state."""
    program = await visible_program(iut)
    async with iut.instance(program) as running:
        async with iut.connect(running) as session:
            await session.send(hello(extensions=["x-first"]))
            to = "in answer to the first Handshake"
            await session.expect("Handshake", to=to, requirement="handshake.answered")
            await session.send(motor(session, 1), competition())
            await expect_ready(session, "after the handshake")
            await session.send(START)
            check(
                await wait_for_output(iut, session),
                "the program to run in the first session",
                "received no output",
            )
            await session.close()
        async with another_session(iut, running) as session:
            early = await session.wait_for()
            absent(early, "no event before the handshake of the second session")
            # The oracle checks that the answer depends only on the second session's offer.
            await session.send(hello(extensions=["x-second"], x={"y": [1]}))
            await session.expect("Handshake", to="in answer to the Handshake of a second session")
            await session.send(motor(session, 2), competition())
            await expect_ready(session, "in a second session", LOADED)
            await session.send(START)
            if not await wait_for_output(iut, session):
                raise Violation(
                    "the program to run in the second session", "received no output", RUNS
                )


@requirement(LOADED)
async def test_ready_in_a_second_session(iut: Iut) -> None:
    """A simulator that answers the Handshake of a second session sends Ready, too."""
    async with iut.instance() as running:
        async with iut.connect(running) as session:
            await make_ready(session)
            await session.close()
        async with another_session(iut, running) as session:
            await shake_hands(session)
            await expect_ready(session, "in a second session")


@requirement("session.independent")
async def test_a_session_that_breaks_off(iut: Iut) -> None:
    """A simulator accepts a new session after a frontend has reset the stream."""
    async with iut.instance(await visible_program(iut)) as running:
        for reset in (False, True, True):
            async with iut.connect(running) as session:
                await make_ready(session)
                await (session.break_off() if reset else session.close())
                # A simulator that exits normally after its session has time to exit here.
                if reset and running.process:
                    await running.process.wait(EXIT_TIME)
                await session.assert_alive("the end of a session")
            try:
                async with another_session(iut, running) as session:
                    await make_ready(session, requirement=LOADED)
            except NotExercised as over:
                if not reset:
                    raise
                expected = "a further session after a reset session, as after a closed session"
                raise Violation(
                    expected, f"the simulator accepts none{running.describe_end()}"
                ) from over


@requirement("session.independent")
async def test_devices_are_not_carried_over(iut: Iut) -> None:
    """The next session does not have the motors that a session configured."""
    known = await find_driving_program(iut, 5)
    async with iut.instance(known.program) as running:
        async with iut.connect(running) as session:
            await start(session, *(motor(session, number) for number in known.configured))
            await session.wait_for("DeviceUpdate", within="program")
            await session.close()
        async with another_session(iut, running) as session:
            await start(session, requirement=LOADED)
            update = await session.wait_for("DeviceUpdate")
            absent(update, "no DeviceUpdate of a motor that this session has not configured")


@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=requirement(DEFAULTS.get(kind, INDEPENDENT))) for kind in AT_FIRST],
)
async def test_setup_is_not_carried_over(iut: Iut, kind: str) -> None:
    """Mode, battery, controller and card are not carried over to the next session."""
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        async with iut.instance("probe") as running:
            async with iut.connect(running) as session:
                await start(
                    session,
                    {"SetBatteryCapacity": {"capacity": 2.0}},
                    {"USD": {"root": folder}},
                    *await accepted_commands(iut, raw_state(axis1=99)),
                    requirement=SETUP,
                )
                await wait_for_report(session, "competition", lambda report: report != "nothing")
                mode = competition(enabled=False, mode="Auto", is_competition=True)
                await session.send(mode)
                await wait_for_report(
                    session, "competition", lambda line: line.endswith("is_competition=true")
                )
                await session.close()
            async with another_session(iut, running) as session:
                report = await _first_report(session, kind)
                if report == "nothing":
                    raise NotExercised(f"the program 'probe' writes no line of the kind {kind}")
                check(
                    report in AT_FIRST[kind] or (kind == "battery" and is_close(report, 14.0)),
                    f"the program to see {kind} {AT_FIRST[kind][0]} as in a first session",
                    f"the program saw {report}",
                )


async def _first_report(session: Session, kind: str) -> str:
    """Run the program without a setup; return its first report of a kind.

    A missing Ready violates ready.sent; any other failure before the report violates
    session.independent.
    """
    await session.send(hello())
    to = "in answer to the Handshake of a second session"
    await session.expect("Handshake", to=to, requirement=INDEPENDENT)
    await expect_ready(session, "in a second session", LOADED)
    await session.send(START)
    try:
        return await wait_for_report(session, kind, lambda line: line != "nothing")
    except Violation as ended:
        ended.requirement = INDEPENDENT
        raise
