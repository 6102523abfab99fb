"""The events of a simulator: each is taken, and none disturbs the session."""

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
    moved,
    update,
)
from conformance.vexide.frontend.forms import port_form, read_in, taken
from conformance.vexide.frontend.tester import finishes, in_setup, opened, shown, started, starts
from conformance.vexide.tester import received

MOTOR = {"Motor": {"physical_gearset": "Green", "moment_of_inertia": 1.0}}
MANY = 100  # writes of a few events each
MESSAGES = {
    "empty": "",
    "non-ascii": "Gerät bereit: ä€😀",
    "several-lines": "one\ntwo\r\nthree\n",
    "quoted": '"Exited" {"Log": null} \\ \u0000 \u001b[31m <script>',
}


@requirement("encoding.externally-tagged")
@pytest.mark.parametrize("event", [*PROGRAM, *EXTREMES, *MOTORS])
async def test_event_while_running(iut: Iut, event: str) -> None:
    """An event of a running program, in its canonical form, is taken; the session goes on."""
    async with opened(iut) as session:
        if event in MOTORS and session.instance.upper.offers("configure"):
            await session.instance.upper("configure", port=1, device=MOTOR)
        await session.send(answer())
        await starts(session)
        if event in MOTORS and not received(session, "ConfigureDevice"):
            raise NotExercised("the frontend has configured no device that could be reported")
        sent = {**PROGRAM, **EXTREMES}.get(event) or update(session, MOTORS[event])
        await session.send(sent)
        try:
            await finishes(iut, session, f"the event {event}")
        except Violation as refused:
            version = await read_in(iut, PROGRAM.get(event))
            if version is None:
                raise
            came = f"it is read in the form of version {version} of the published Rust crate only"
            raise Violation(refused.expected, came, refused.requirement, refused.event) from refused


@requirement("encoding.externally-tagged")
async def test_signature(iut: Iut) -> None:
    """A code signature of any length between handshake and Ready is taken; the session goes on."""
    async with in_setup(iut) as session:
        await session.send({"VCodeSig": "WFZYNQIA" + "A" * 4096})
        await starts(session, to="after a VCodeSig and Ready")


@requirement("encoding.externally-tagged")
async def test_all_events(iut: Iut) -> None:
    """All events of a program, one after the other and twice, leave its end to Exited."""
    events = await taken(iut, *PROGRAM.values(), *EXTREMES.values())
    async with in_setup(iut) as session:
        await session.send(SIGNATURE)
        await starts(session)
        await session.send(*events)
        await session.send(*events)
        # Who tells of a normal end may have come to it already.
        ended = await session.until_closed(session.seconds("quiet"))
        check(not ended, "the session to go on after all events", "the frontend ended it")
        await finishes(iut, session, "all events", lines=2 * len(events))


@requirement("encoding.externally-tagged")
async def test_many_events(iut: Iut) -> None:
    """However many events a program has brought about, what follows them is taken."""
    events = await taken(iut, *(PROGRAM[name] for name in ("serial", "fill", "battery")))
    async with in_setup(iut) as session:
        await starts(session)
        for _ in range(MANY):
            await session.send(*events, segmentation=whole)
        lines = MANY * len(events)
        await finishes(iut, session, f"{lines} events", lines=lines)


@requirement("encoding.optional-null")
async def test_null_target_position(iut: Iut) -> None:
    """A motor whose target position is null is taken like one that has it."""
    await _without_target(iut, "null")


@requirement("encoding.optional-absent")
async def test_absent_target_position(iut: Iut) -> None:
    """A motor status without a target position is taken like one with null."""
    play = functools.partial(_without_target, iut)
    await compared(iut, play, "absent", "null", "encoding.optional-null")


async def _without_target(iut: Iut, how: str) -> None:
    status = moved(target_position=None)
    if how == "absent":
        del status["Motor"]["target_position"]
    await port_form(iut)
    async with in_setup(iut) as session:
        await session.watch("ConfigureDevice")
        await session.send(update(session, moved(target_position=1.5)))
        try:
            await starts(session)
        except Violation:
            raise Inconclusive("a motor with a target position disturbs it already") from None
    async with in_setup(iut) as session:
        await session.watch("ConfigureDevice")
        await session.send(update(session, status))
        await starts(session, to=f"after a motor whose target_position is {how}")


@requirement("devices.status-open")
@pytest.mark.parametrize(
    "status",
    [{"Imu": {"heading": 1.5}}, {"Distance": {}}, "Optical", {"Rotation": None}, {"Vision": [1]}],
    ids=["struct", "empty", "unit", "null", "tuple"],
)
async def test_unknown_status(iut: Iut, status: Any) -> None:
    """A status of a kind of device that the frontend does not know keeps the session."""
    await port_form(iut)
    async with in_setup(iut) as session:
        await session.send(update(session, status), update(session, moved()))
        await starts(session, to="after a status of an unknown kind")


@requirement("events.undefined-tolerated")
@pytest.mark.parametrize("event", UNSETTLED)
async def test_unsettled_event(iut: Iut, event: str) -> None:
    """An event whose effect is not settled keeps the session."""
    async with in_setup(iut) as session:
        await session.send(UNSETTLED[event])
        await starts(session, to=f"after {event}")


@requirement("events.undefined-tolerated")
async def test_unsettled_events_while_running(iut: Iut) -> None:
    """Events whose meaning is open keep the session while the program runs."""
    async with in_setup(iut) as session:
        await starts(session)
        await session.send(*UNSETTLED.values())
        await finishes(iut, session, "events without a settled effect")


@requirement("log.tolerated")
@pytest.mark.parametrize("level", LEVELS)
async def test_log_between_events(iut: Iut, level: str) -> None:
    """A Log before, between and behind the events of setup leaves the session as it is."""
    async with in_setup(iut) as session:
        await session.send(log("first", level))
        await session.send(SIGNATURE)
        await session.send(log("second", level))
        await session.send(READY, log("third", level))
        await started(session, to=f"after Ready between Logs of level {level}")


@requirement("log.tolerated")
@pytest.mark.parametrize("level", LEVELS)
async def test_log_while_running(iut: Iut, level: str) -> None:
    """A Log while the program runs, and right before Exited, leaves the session as it is."""
    between = await taken(iut, PROGRAM["serial"])
    async with in_setup(iut) as session:
        await starts(session)
        await session.send(log("first", level), *between, log("second", level))
        await session.send(log("last", level))
        await finishes(iut, session, f"Logs of level {level}")


@requirement("log.tolerated")
@pytest.mark.parametrize("message", MESSAGES)
async def test_log_of_any_text(iut: Iut, message: str) -> None:
    """The session goes on after a Log with any text."""
    async with in_setup(iut) as session:
        await session.send(log(MESSAGES[message]))
        await starts(session, to=f"after a Log with a text that is {message}")


@requirement("log.tolerated")
async def test_burst_of_logs(iut: Iut) -> None:
    """A hundred Logs at once, between handshake and Ready, leave the session as it is."""
    async with in_setup(iut) as session:
        logs = [log(f"{number}", LEVELS[number % 4]) for number in range(100)]
        await session.send(*logs, segmentation=whole)
        await starts(session, to="after a hundred Logs", lines=100)


@requirement("log.tolerated")
async def test_log_behind_the_handshake(iut: Iut) -> None:
    """A Log may come in one write with the Handshake event."""
    async with opened(iut) as session:
        await session.send(answer(), log("loading"), segmentation=whole)
        await starts(session, to="after a Log right behind the Handshake")


@requirement("log.accessible")
@pytest.mark.parametrize("level", ["Warn", "Error"])
async def test_log_in_setup_is_readable(iut: Iut, level: str) -> None:
    """The user can read a Log of a level that is not verbose, from before the start."""
    marker = f"conformance-setup-{level.lower()}"
    async with in_setup(iut, starting=False) as session:
        await session.send(log(marker, level))
        check(await shown(session, marker), f"a Log of level {level} to be readable", "it is not")


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
    """The user can read the whole of a Log: long, of several lines, not English, like a format."""
    async with in_setup(iut, starting=False) as session:
        await session.send(log(READABLE[text], "Error"))
        end = READABLE[text].split()[-1]
        check(await shown(session, end), f"the end of a Log, {end}, to be readable", "it is not")


@requirement("log.accessible")
@pytest.mark.parametrize("level", ["Warn", "Error"])
async def test_log_while_running_is_readable(iut: Iut, level: str) -> None:
    """The user can read a Log that comes while the program runs."""
    marker = f"conformance-running-{level.lower()}"
    async with in_setup(iut) as session:
        await starts(session)
        await session.send(log(marker, level))
        check(await shown(session, marker), f"a Log of level {level} to be readable", "it is not")
