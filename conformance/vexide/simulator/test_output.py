"""Serial data and drawings of a running program."""

import pytest

from conformance.cases import check, requirement
from conformance.iut import Iut
from conformance.session import Session
from conformance.verdicts import Inconclusive, NotExercised
from conformance.vexide.commands import motor
from conformance.vexide.simulator.observations import (
    GREETING,
    describe_lost_lines,
    logs_with_output,
    other_channels,
    serial_bytes,
    serial_event,
    serial_until,
)
from conformance.vexide.simulator.probe_sessions import (
    open_session,
)
from conformance.vexide.simulator.tester import program_or_own, start
from conformance.vexide.tester import messages_named

ALL_BYTES = bytes(range(256))


# Serial


@requirement("serial.bytes-exact")
async def test_text_arrives(iut: Iut) -> None:
    """Printed text arrives on serial channel 1, once and complete."""
    await _check_written_data(iut, "print", GREETING, f"{GREETING!r}")


@requirement("serial.bytes-exact")
async def test_every_byte_arrives(iut: Iut) -> None:
    """All 256 byte values arrive unchanged."""
    await _check_written_data(iut, "bytes", ALL_BYTES, "the bytes 00 to FF")


@requirement("serial.bytes-exact")
async def test_several_texts_arrive(iut: Iut) -> None:
    """Several texts that are written at the same time arrive, each text once."""
    async with open_session(iut, program="probe") as session:
        await start(session)
        lost = await describe_lost_lines(session)
        every = "each line that the program 'probe' writes at its start, once"
        check(not lost, every, lost, serial_event(session, len(serial_bytes(session)) - 1))


async def _check_written_data(iut: Iut, program: str, wanted: bytes, named: str) -> None:
    """Check that the program's data arrives on serial channel 1, once and complete."""
    async with open_session(iut, program=program) as session:
        await start(session)
        await serial_until(session, wanted)
        await session.wait_for("Serial")
        data = serial_bytes(session)
        if not data:
            _require_no_log(session)
        pairs = enumerate(zip(data, wanted, strict=False))
        shorter = min(len(data), len(wanted))
        same = next((number for number, (one, other) in pairs if one != other), shorter)
        came = f"received {len(data)} bytes" if data else "received no bytes"
        if data and data != wanted:
            other, right = data[same : same + 8].hex(" "), wanted[same : same + 8].hex(" ")
            came += f", with {other or 'none'} instead of {right or 'none'} from byte {same} on"
        expected = f"{named} on serial channel 1"
        check(data == wanted, expected, came + other_channels(session), serial_event(session, same))


@requirement("serial.base64")
async def test_serial_is_base64(iut: Iut) -> None:
    """The data of every Serial event is Base64."""
    async with open_session(iut, program=program_or_own(iut, "bytes")) as session:
        await start(session, motor(session, 1))
        if not await session.wait_for("Serial", within="program"):
            raise NotExercised("the program wrote nothing; declare [programs] bytes")
        await session.wait_for("Exited")


@requirement("log.not-for-serial")
async def test_print_is_no_log(iut: Iut) -> None:
    """Printed text comes as Serial and not as a Log."""
    async with open_session(iut, program="print") as session:
        await start(session)
        data = await serial_until(session, GREETING)
        logs = logs_with_output(session)
        # The requirement serial.bytes-exact decides about the channel.
        came = data or messages_named(session, "Serial")
        if not came and not logs:
            raise Inconclusive("the text that the program prints came neither as Serial nor as Log")
        check(
            bool(came),
            "the program's printed text as Serial",
            "received the text as a Log",
            logs[0].event if logs else None,
        )


def _require_no_log(session: Session) -> None:
    """Raise Inconclusive if the missing serial data came as a Log."""
    if logs_with_output(session):
        raise Inconclusive("the text that the program prints came as Log (log.not-for-serial)")


# Screen


@requirement("execution.reports-changes")
@pytest.mark.parametrize(
    ("program", "event"), [("draw", "ScreenDraw"), ("drive", "DeviceUpdate"), ("print", "Serial")]
)
async def test_changes_are_reported(iut: Iut, program: str, event: str) -> None:
    """The changes that a running program makes are reported by events."""
    async with open_session(iut, program=program) as session:
        await start(session, motor(session, 1))
        came = await session.wait_for(event, within="program")
        if program == "print" and not came:
            _require_no_log(session)
        check(came is not None, f"{event} from a program that causes this event", "received none")


@requirement("execution.reports-changes")
async def test_render_is_reported(iut: Iut) -> None:
    """A program that uses double buffering makes the simulator send ScreenRender."""
    async with open_session(iut, program="draw") as session:
        await start(session)
        left = session.countdown("program")
        while mode := await session.wait_for("ScreenDoubleBufferMode", within=left):
            if mode.value["ScreenDoubleBufferMode"]["enable"]:
                break
        if mode is None:
            raise NotExercised("the program 'draw' enabled no double buffering")
        drawn = await session.wait_for("ScreenRender", within="program")
        check(
            drawn is not None,
            "ScreenRender after double buffering was enabled",
            "received none",
            mode.event,
        )


@requirement("screen.pixel-buffer")
async def test_pixel_buffer(iut: Iut) -> None:
    """The buffer of a CopyBuffer is Base64 of whole pixels with four bytes each."""
    await _check_drawing(iut, "CopyBuffer")


@requirement("types.stride-nonzero")
async def test_stride(iut: Iut) -> None:
    """The stride of a CopyBuffer is not zero."""
    await _check_drawing(iut, "CopyBuffer")


@requirement("types.color-range")
async def test_colors(iut: Iut) -> None:
    """The components of every colour are between 0 and 255."""
    await _check_drawing(iut, "")


async def _check_drawing(iut: Iut, command: str) -> None:
    async with open_session(iut, program=program_or_own(iut, "draw")) as session:
        await start(session, motor(session, 1))
        await session.wait_for("ScreenDraw", within="program")
        await session.wait_for("Exited")
        drawn = [
            message.value["ScreenDraw"]["command"]
            for message in messages_named(session, "ScreenDraw")
        ]
        if not any(not command or command in entry for entry in drawn):
            raise NotExercised(
                f"nothing was drawn with {command or 'any command'}; declare [programs] draw"
            )
