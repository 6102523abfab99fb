"""Events of a simulator: the frontend accepts each event and continues the session."""

import functools
from typing import Any

import pytest

from conformance.cases import check, compared, requirement
from conformance.iut import Iut
from conformance.segmentation import whole
from conformance.verdicts import Inconclusive, NotExercised, Violation
from conformance.vexide.events import (
    EXTREMES,
    LEVELS,
    MOTORS,
    PROGRAM,
    READY,
    SIGNATURE,
    UNSETTLED,
    answer,
    log,
    motor_status,
    update,
)
from conformance.vexide.frontend.port_notation import accepted_events, accepted_version, port_form
from conformance.vexide.frontend.tester import (
    check_normal_end,
    expect_start,
    is_readable,
    open_in_setup,
    open_session,
    start_program,
)
from conformance.vexide.tester import messages_named

MOTOR = {"Motor": {"physical_gearset": "Green", "moment_of_inertia": 1.0}}
WRITES = 100  # number of writes with a few events each; enough to fill a small queue
MESSAGES = {
    "empty": "",
    "non-ascii": "Gerät bereit: ä€😀",
    "several-lines": "one\ntwo\r\nthree\n",
    "quoted": '"Exited" {"Log": null} \\ \u0000 \u001b[31m <script>',
}


@requirement("encoding.externally-tagged")
@pytest.mark.parametrize("event", [*PROGRAM, *EXTREMES, *MOTORS])
async def test_event_while_running(iut: Iut, event: str) -> None:
    """The session continues after an event of a running program in its canonical form."""
    async with open_session(iut) as session:
        if event in MOTORS and session.instance.upper.offers("configure"):
            await session.operate("configure", port=1, device=MOTOR)
        await session.send(answer())
        await start_program(session)
        if event in MOTORS and not messages_named(session, "ConfigureDevice"):
            raise NotExercised(
                "the frontend has configured no device, so no DeviceUpdate can be sent"
            )
        sent = {**PROGRAM, **EXTREMES}.get(event) or update(session, MOTORS[event])
        await session.send(sent)
        try:
            await check_normal_end(iut, session, f"the event {event}")
        except Violation as refused:
            version = await accepted_version(iut, PROGRAM.get(event))
            if version is None:
                raise
            came = (
                f"the frontend accepts the event only in the form of version {version} of the "
                "published Rust crate"
            )
            raise Violation(refused.expected, came, refused.requirement, refused.event) from refused


@requirement("encoding.externally-tagged")
async def test_signature(iut: Iut) -> None:
    """The session continues after a code signature of several thousand bytes."""
    async with open_in_setup(iut) as session:
        await session.send({"VCodeSig": "WFZYNQIA" + "A" * 4096})
        await start_program(session, to="after a VCodeSig and Ready")


@requirement("encoding.externally-tagged")
async def test_all_events(iut: Iut) -> None:
    """Exited counts after all events of a program, each sent twice."""
    events = await accepted_events(iut, *PROGRAM.values(), *EXTREMES.values())
    async with open_in_setup(iut) as session:
        await session.send(SIGNATURE)
        await start_program(session)
        await session.send(*events)
        await session.send(*events)
        # A frontend that reports the outcome has possibly ended the session already.
        ended = await session.until_closed(session.seconds("quiet"))
        check(
            not ended, "the session to continue after all events", "the frontend ended the session"
        )
        await check_normal_end(iut, session, "all events", lines=2 * len(events))


@requirement("encoding.externally-tagged")
async def test_many_events(iut: Iut) -> None:
    """Exited counts after several hundred events."""
    events = await accepted_events(iut, *(PROGRAM[name] for name in ("serial", "fill", "battery")))
    async with open_in_setup(iut) as session:
        await start_program(session)
        for _ in range(WRITES):
            await session.send(*events, segmentation=whole)
        lines = WRITES * len(events)
        await check_normal_end(iut, session, f"{lines} events", lines=lines)


@requirement("encoding.optional-null")
async def test_null_target_position(iut: Iut) -> None:
    """A motor status with a null target position is accepted."""
    await _play_without_target(iut, "null")


@requirement("encoding.optional-absent")
async def test_absent_target_position(iut: Iut) -> None:
    """A motor status without a target position is accepted like a status with null."""
    play = functools.partial(_play_without_target, iut)
    await compared(iut, play, "absent", "null", "encoding.optional-null")


async def _play_without_target(iut: Iut, how: str) -> None:
    status = motor_status(target_position=None)
    if how == "absent":
        del status["Motor"]["target_position"]
    await port_form(iut)
    async with open_in_setup(iut) as session:
        await session.wait_for("ConfigureDevice")
        await session.send(update(session, motor_status(target_position=1.5)))
        try:
            await start_program(session)
        except Violation:
            raise Inconclusive(
                "a motor status with a target position already stops the frontend"
            ) from None
    async with open_in_setup(iut) as session:
        await session.wait_for("ConfigureDevice")
        await session.send(update(session, status))
        await start_program(session, to=f"after a motor whose target_position is {how}")


@requirement("devices.status-open")
@pytest.mark.parametrize(
    "status",
    [{"Imu": {"heading": 1.5}}, {"Distance": {}}, "Optical", {"Rotation": None}, {"Vision": [1]}],
    ids=["struct", "empty", "unit", "null", "tuple"],
)
async def test_unknown_status(iut: Iut, status: Any) -> None:
    """The session continues after a status of an unknown kind of device."""
    await port_form(iut)
    async with open_in_setup(iut) as session:
        await session.send(update(session, status), update(session, motor_status()))
        await start_program(session, to="after a status of an unknown kind")


@requirement("devices.status-open")
@pytest.mark.parametrize("port", [0, 7])
@pytest.mark.parametrize(
    "status", [{"DigitalIn": {"high": True}}, motor_status()], ids=["unknown", "motor"]
)
async def test_status_of_an_adi_port(iut: Iut, status: Any, port: int) -> None:
    """The session continues after a status of an ADI port."""
    if await port_form(iut) == "bare":
        raise NotExercised("the frontend reads ports as bare numbers, which have no ADI port")
    async with open_in_setup(iut) as session:
        await session.send({"DeviceUpdate": {"port": {"Adi": port}, "status": status}})
        await start_program(session, to="after a status of an ADI port")


@requirement("events.undefined-tolerated")
@pytest.mark.parametrize("event", UNSETTLED)
async def test_unsettled_event(iut: Iut, event: str) -> None:
    """The session continues after an event without a defined effect."""
    async with open_in_setup(iut) as session:
        await session.send(UNSETTLED[event])
        await start_program(session, to=f"after {event}")


@requirement("events.undefined-tolerated")
async def test_unsettled_events_while_running(iut: Iut) -> None:
    """The session of a running program continues after events without a defined effect."""
    async with open_in_setup(iut) as session:
        await start_program(session)
        await session.send(*UNSETTLED.values())
        await check_normal_end(iut, session, "events without a defined effect")


@requirement("log.tolerated")
@pytest.mark.parametrize("level", LEVELS)
async def test_log_between_events(iut: Iut, level: str) -> None:
    """Logs before, between and after the events of setup change nothing."""
    async with open_in_setup(iut) as session:
        await session.send(log("first", level))
        await session.send(SIGNATURE)
        await session.send(log("second", level))
        await session.send(READY, log("third", level))
        await expect_start(session, to=f"after Ready between Logs of level {level}")


@requirement("log.tolerated")
@pytest.mark.parametrize("level", LEVELS)
async def test_log_while_running(iut: Iut, level: str) -> None:
    """Logs during a run, and directly before Exited, change nothing."""
    between = await accepted_events(iut, PROGRAM["serial"])
    async with open_in_setup(iut) as session:
        await start_program(session)
        await session.send(log("first", level), *between, log("second", level))
        await session.send(log("last", level))
        await check_normal_end(iut, session, f"Logs of level {level}")


@requirement("log.tolerated")
@pytest.mark.parametrize("message", MESSAGES)
async def test_log_of_any_text(iut: Iut, message: str) -> None:
    """The session continues after a Log with any text."""
    async with open_in_setup(iut) as session:
        await session.send(log(MESSAGES[message]))
        await start_program(session, to=f'after a Log with a text of the kind "{message}"')


@requirement("log.tolerated")
async def test_burst_of_logs(iut: Iut) -> None:
    """A hundred Logs in one write between handshake and Ready change nothing."""
    async with open_in_setup(iut) as session:
        logs = [log(f"{number}", LEVELS[number % 4]) for number in range(100)]
        await session.send(*logs, segmentation=whole)
        await start_program(session, to="after a hundred Logs", lines=100)


@requirement("log.tolerated")
async def test_log_behind_the_handshake(iut: Iut) -> None:
    """A Log can come in the same write as the Handshake event."""
    async with open_session(iut) as session:
        await session.send(answer(), log("loading"), segmentation=whole)
        await start_program(session, to="after a Log directly after the Handshake")


@requirement("log.accessible")
@pytest.mark.parametrize("level", ["Warn", "Error"])
async def test_log_in_setup_is_readable(iut: Iut, level: str) -> None:
    """The user can read a Log of level Warn or Error that comes during setup."""
    marker = f"conformance-setup-{level.lower()}"
    async with open_in_setup(iut, starting=False) as session:
        await session.send(log(marker, level))
        check(
            await is_readable(session, marker),
            f"a Log of level {level} to be readable",
            "the user cannot read the Log",
        )


READABLE = {
    "long": "in a line that is long " * 20 + "conformance-at-its-end",
    "several-lines": "a first line\nand a second\nconformance-third-line",
    "non-ascii": "conformance-Gr\u00f6\u00dfe-\u03c9-\U0001f600",
    "zero": "a text with \0 inside conformance-behind-zero",
    "formats": "conformance-at-100%d-{0}-[b]",
}


@requirement("log.accessible")
@pytest.mark.parametrize("text", READABLE)
async def test_log_of_any_text_is_readable(iut: Iut, text: str) -> None:
    """The user can read the whole text of a Log of any kind."""
    async with open_in_setup(iut, starting=False) as session:
        await session.send(log(READABLE[text], "Error"))
        end = READABLE[text].split()[-1]
        check(
            await is_readable(session, end),
            f"the end of a Log, {end}, to be readable",
            "the user cannot read the text",
        )


@requirement("log.accessible")
@pytest.mark.parametrize("level", ["Warn", "Error"])
async def test_log_while_running_is_readable(iut: Iut, level: str) -> None:
    """The user can read a Log that comes while the program runs."""
    marker = f"conformance-running-{level.lower()}"
    async with open_in_setup(iut) as session:
        await start_program(session)
        await session.send(log(marker, level))
        check(
            await is_readable(session, marker),
            f"a Log of level {level} to be readable",
            "the user cannot read the Log",
        )
