"""A running program's view of its robot: touches, battery, SD card and controller."""

import contextlib
import functools
import itertools
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.cases import check, compared, requirement
from conformance.iut import Iut
from conformance.session import Session
from conformance.verdicts import Inconclusive, NotExercised, Violation
from conformance.vexide.commands import BUTTONS, START, competition, motor, raw_state, touch
from conformance.vexide.simulator.observations import (
    NO_GAMEPAD,
    check_capacity,
    check_written,
    is_close,
    mark_unwritten,
    wait_for_report,
)
from conformance.vexide.simulator.probe_sessions import (
    open_session,
    require_form,
    visible_program,
    wait_for_output,
)
from conformance.vexide.simulator.tester import make_ready, program_or_own, start
from conformance.vexide.tester import messages_named

LONG_PATH = "/".join(["card" * 30] * 3)
MAX_INTEGER = 2**31 - 1  # the largest integer that published crates hold
LATEST = "controller.raw-replaces-uuid"  # violated if the latest Raw state is missing


# Touch


@requirement("touch.registered")
@pytest.mark.parametrize("when", ["setup", "running"])
async def test_touch(iut: Iut, when: str) -> None:
    """The program sees the position, the duration and the end of a touch."""
    await require_form(iut, touch(10, 20, "Pressed"))
    async with open_session(iut, program="probe") as session:
        pressed = touch(10, 20, "Pressed")
        if when == "setup":
            await make_ready(session, pressed)
            await session.send(START)
        else:
            await start(session)
            await wait_for_report(session, "competition", lambda report: report != "nothing")
            await session.send(pressed)
        await _check_touch_seen(session, "Pressed 10 20")
        # A finger can move during a touch, also after Held.
        for x, y in ((470, 260), (30, 40)):
            await session.send(touch(x, y, "Held"))
            await _check_touch_seen(session, f"Held {x} {y}")
        await session.send(touch(30, 40, "Released"))
        await _check_touch_seen(session, "Released")
        # Zero is a valid coordinate.
        await session.send(touch(0, 0, "Pressed"))
        await _check_touch_seen(session, "Pressed 0 0")


async def _check_touch_seen(session: Session, wanted: str) -> None:
    report = await wait_for_report(session, "touch", lambda line: line == wanted)
    # A program that usually reports touches has possibly lost this touch.
    if report == "nothing" and not await _can_report_touches(session):
        raise NotExercised(
            "the program 'probe' reports no touch; let it write lines such as `touch Pressed 10 20`"
        )
    check(report == wanted, f"the program to see the touch {wanted}", f"the program saw {report}")


async def _can_report_touches(session: Session) -> bool:
    await session.send(touch(30, 40, "Pressed"))
    return await wait_for_report(session, "touch", lambda line: line != "nothing") != "nothing"


# Battery


@requirement("battery.default")
async def test_battery_starts_full(iut: Iut) -> None:
    """Without SetBatteryCapacity the battery contains 14 Wh when the program starts."""
    async with open_session(iut, program=program_or_own(iut, "probe")) as session:
        await start(session, motor(session, 1))
        await check_capacity(session, 14.0)


@requirement("battery.set-capacity")
@pytest.mark.parametrize("capacity", [12.5, 7, 0.5])
async def test_battery_is_set(iut: Iut, capacity: float) -> None:
    """SetBatteryCapacity before StartExecution sets the battery's capacity."""
    async with open_session(iut, program=program_or_own(iut, "probe")) as session:
        command = {"SetBatteryCapacity": {"capacity": capacity}}
        await make_ready(session, motor(session, 1), command)
        # A Battery event from before the command does not show the command's effect.
        await session.wait_for("Exited")
        stale = len(messages_named(session, "Battery"))
        await session.send(START)
        await check_capacity(session, capacity, stale)


@requirement("battery.set-capacity")
async def test_battery_is_set_while_running(iut: Iut) -> None:
    """SetBatteryCapacity takes effect while the program runs, and the latest command counts."""
    async with open_session(iut, program="probe") as session:
        await start(session)
        await wait_for_report(session, "battery", lambda report: report != "nothing")
        stale = len(messages_named(session, "Battery"))
        await session.send(
            {"SetBatteryCapacity": {"capacity": 12}}, {"SetBatteryCapacity": {"capacity": 9.5}}
        )
        is_new = await check_capacity(session, 9.5, stale)
        for earlier, capacity in itertools.pairwise((9.5, 3.5, 1.5)):
            stale = len(messages_named(session, "Battery"))
            await session.send({"SetBatteryCapacity": {"capacity": capacity}})
            is_new |= await check_capacity(session, capacity, stale, earlier)
        last = messages_named(session, "Battery")[-1:]
        check(
            is_new,
            "a Battery event with the new capacity",
            "each event had the capacity before the last command",
            last[0].event if last else None,
        )


@requirement("battery.set-capacity")
async def test_battery_is_emptied(iut: Iut) -> None:
    """A battery capacity of 0 Wh takes effect."""
    async with open_session(iut, program="probe") as session:
        await start(session, {"SetBatteryCapacity": {"capacity": 0.0}})
        try:
            report = await wait_for_report(session, "battery", lambda line: is_close(line, 0))
        except Violation:
            # The specification does not say how long a program runs without energy.
            raise Inconclusive("the program ended before it reported the battery") from None
        if report == "nothing":
            raise Inconclusive("the program does not report the capacity of an empty battery")
        check(
            is_close(report, 0), "the program to see an empty battery", f"the program saw {report}"
        )


# SD card


@requirement("sdcard.mounted")
@pytest.mark.parametrize(
    "name",
    ["card", "Card with späces, 100%25\\.d", "second", LONG_PATH],
    ids=["card", "späces", "second", "long"],
)
async def test_card_is_mounted(iut: Iut, name: str) -> None:
    """After USD the program writes and reads files in the directory as its SD card."""
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        root = Path(folder) / name
        root.mkdir(parents=True)
        setup = [{"USD": {"root": mark_unwritten(root)}}]
        if name == "second":
            other = Path(folder) / "first"
            other.mkdir()
            setup = [{"USD": {"root": str(other)}}, *setup]
        async with open_session(iut, program="probe") as session:
            await start(session, *setup)
            report = await wait_for_report(session, "sdcard", lambda line: line == "present")
            check(
                report == "present", "the program to see its SD card", f"the program saw {report}"
            )
            check_written(root)


@requirement("sdcard.mounted")
async def test_card_is_mounted_while_running(iut: Iut) -> None:
    """USD mounts a card while the program runs."""
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        async with open_session(iut, program="probe") as session:
            await start(session)
            await wait_for_report(session, "sdcard", lambda line: line == "absent")
            await session.send({"USD": {"root": mark_unwritten(Path(folder))}})
            report = await wait_for_report(session, "sdcard", lambda line: line == "present")
            check(
                report == "present", "the program to see its SD card", f"the program saw {report}"
            )
            check_written(Path(folder))


@requirement("sdcard.mounted")
async def test_another_card_while_running(iut: Iut) -> None:
    """After a card was unmounted while the program runs, another card can be mounted."""
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        first, second = Path(folder) / "first", Path(folder) / "second"
        for root in (first, second):
            root.mkdir()
        async with open_session(iut, program="probe") as session:
            await start(session, {"USD": {"root": str(first)}})
            await wait_for_report(session, "sdcard", lambda line: line == "present")
            await session.send({"USD": {"root": None}})
            with _blame_null_root(session):
                report = await wait_for_report(session, "sdcard", lambda line: line == "absent")
            if report != "absent":
                raise Inconclusive("the card is still present after a null root (sdcard.unmounted)")
            await session.send({"USD": {"root": mark_unwritten(second)}})
            report = await wait_for_report(session, "sdcard", lambda line: line == "present")
            check(
                report == "present",
                "the program to see the other SD card",
                f"the program saw {report}",
            )
            check_written(second)


@requirement("sdcard.unmounted")
async def test_no_card(iut: Iut) -> None:
    """A null root leaves the program without an SD card."""
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        async with open_session(iut, program="probe") as session:
            with _blame_null_root(session):
                await start(session, {"USD": {"root": folder}}, {"USD": {"root": None}})
                report = await wait_for_report(session, "sdcard", lambda line: line == "absent")
                # A mount that takes time can still happen.
                await session.wait_for("Exited")
                report = await wait_for_report(session, "sdcard", bool)
            check(report == "absent", "the program to see no SD card", f"the program saw {report}")


@requirement("sdcard.unmounted")
async def test_card_is_unmounted_while_running(iut: Iut) -> None:
    """A null root unmounts the card of a running program."""
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        async with open_session(iut, program="probe") as session:
            await start(session, {"USD": {"root": folder}})
            await wait_for_report(session, "sdcard", lambda line: line == "present")
            await session.send({"USD": {"root": None}})
            with _blame_null_root(session):
                report = await wait_for_report(session, "sdcard", lambda line: line == "absent")
            check(
                report == "absent",
                "the program to see no SD card after a null root",
                f"the program saw {report}",
            )


@contextlib.contextmanager
def _blame_null_root(session: Session) -> Iterator[None]:
    """Blame encoding.optional-null if the simulator ends the session after a null root."""
    try:
        yield
    except Violation as refused:
        about = "encoding.optional-null" if session.ended else refused.requirement
        raise Violation(refused.expected, refused.came, about, refused.event) from None


@requirement("encoding.optional-null")
async def test_null_root(iut: Iut) -> None:
    """USD with a null root means that there is no card."""
    await _check_no_root(iut, {"root": None})


@requirement("encoding.optional-absent")
async def test_absent_root(iut: Iut) -> None:
    """USD without a root means that there is no card, like a null root."""
    without: dict[str, None] = {}
    await compared(
        iut,
        functools.partial(_check_no_root, iut),
        without,
        {"root": None},
        "encoding.optional-null",
    )


async def _check_no_root(iut: Iut, none: dict[str, None]) -> None:
    program = program_or_own(iut, "probe") or await visible_program(iut)
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        async with open_session(iut, program=program) as session:
            await start(session, motor(session, 1), {"USD": {"root": folder}}, {"USD": none})
            if program == "probe":
                report = await wait_for_report(session, "sdcard", lambda line: line == "absent")
                if report == "present" and "root" in none:
                    raise Inconclusive(
                        "the card is still present after a null root (sdcard.unmounted)"
                    )
                check(
                    report == "absent", "the program to see no SD card", f"the program saw {report}"
                )
            else:
                ran = await wait_for_output(iut, session)
                check(ran, f"the program to run after USD with {none}", "the program did not run")


# Controller


@requirement("controller.stored-while-disabled")
@pytest.mark.parametrize(
    "barred", [{"enabled": False}, {"mode": "Auto"}], ids=["disabled", "autonomous"]
)
async def test_controller_state_is_kept(iut: Iut, barred: dict[str, object]) -> None:
    """A controller state that comes while the program cannot read it is available later."""
    await require_form(iut, raw_state())

    async def play(mode: dict[str, object]) -> None:
        async with open_session(iut, program="probe") as session:
            await start(session, competition(**mode), raw_state(axis1=1), competition(**mode))
            await wait_for_report(session, "competition", lambda report: report != "nothing")
            await session.send(competition(**mode), raw_state(axis1=65))
            await session.wait_for("Serial")
            await session.send(competition())
            try:
                await _axis(session, "65")
            except Violation:
                if await _can_read_controller(session):
                    raise
                missed = "the program does not see that the mode has changed (competition.update)"
                raise Inconclusive(missed) from None

    readable: dict[str, object] = {}
    await compared(iut, play, barred, readable, LATEST)


async def _can_read_controller(session: Session) -> bool:
    """Return True if the program sees a mode in which it can read the controller."""
    wanted = {"enabled=true", "mode=Driver"}
    report = await wait_for_report(session, "competition", lambda line: wanted <= set(line.split()))
    return wanted <= set(report.split())


@requirement("controller.raw-replaces-uuid")
async def test_raw_replaces_uuid(iut: Iut) -> None:
    """After a UUID, the latest Raw state counts and stays in effect, also at rest."""
    await require_form(iut, raw_state())
    async with open_session(iut, program="probe") as session:
        await start(session, {"ControllerUpdate": {"UUID": NO_GAMEPAD}})
        for value in (127, -127, 5, 0, -20):
            await session.send(raw_state(axis1=value))
            await _axis(session, str(value))
        await session.wait_for("Serial")
        report = await wait_for_report(session, "controller", lambda line: line == "axis1=-20")
        check(
            report == "axis1=-20",
            "the program to continue to see axis1=-20",
            f"the program saw {report}",
        )


@requirement("controller.raw-replaces-uuid")
async def test_raw_with_any_battery(iut: Iut) -> None:
    """A Raw state counts with any energy of the controller's battery."""
    await require_form(iut, raw_state())
    async with open_session(iut, program="probe") as session:
        await start(session)
        # The axis shows that the state has arrived. Its value is not extreme: another test moves
        # the axis to its ends.
        batteries = ((100, 100), (1000, 1000), (70_000, 70_000), (MAX_INTEGER, MAX_INTEGER), (0, 1))
        for value, (level, full) in enumerate(batteries, 21):
            await session.send(raw_state(axis1=value, battery_level=level, battery_capacity=full))
            await _axis(session, str(value), battery=f"{level} of {full}")


@requirement("controller.raw-replaces-uuid")
async def test_raw_outlasts_modes(iut: Iut) -> None:
    """The latest Raw state is available after modes in which the program cannot read it."""
    await require_form(iut, raw_state())
    async with open_session(iut, program="probe") as session:
        await start(session, raw_state(axis1=40))
        await _axis(session, "40")
        again = competition(is_competition=True)
        await session.send(competition(enabled=False), competition(mode="Auto"), again)
        await wait_for_report(
            session, "competition", lambda line: line.endswith("mode=Driver is_competition=true")
        )
        await session.wait_for("Serial")
        await _axis(session, "40")
        await session.send(raw_state(axis1=41))
        await _axis(session, "41")


@requirement("controller.raw-replaces-uuid")
async def test_raw_of_setup(iut: Iut) -> None:
    """The program sees a Raw state that was sent during setup."""
    await require_form(iut, raw_state())
    async with open_session(iut, program="probe") as session:
        await start(session, raw_state(axis1=65))
        await _axis(session, "65")


@requirement("controller.raw-replaces-uuid")
async def test_each_input(iut: Iut) -> None:
    """The program sees each axis and button of a Raw state under its name."""
    await require_form(iut, raw_state())
    moves: list[dict[str, int]] = [{"axis2": 31, "axis3": -64, "axis4": 97}]
    # Values near the middle, with several buttons pressed.
    moves += [{"axis2": 1, "axis4": -3, "button_l1": True, "button_up": True, "button_b": True}]
    moves += (dict.fromkeys(("axis2", "axis3", "axis4"), end) for end in (127, -127))
    moves += ({f"button_{name}": True} for name in BUTTONS if name != "all")
    async with open_session(iut, program="probe") as session:
        await start(session)
        for moved in (*moves, {}):
            await session.send(raw_state(**moved))
            words = [f"{name}={str(value).lower()}" for name, value in moved.items()] or ["rest"]
            await _inputs(session, set(words))


async def _inputs(session: Session, wanted: set[str]) -> None:
    report = await wait_for_report(session, "inputs", lambda line: set(line.split()) == wanted)
    if report == "nothing":
        raise NotExercised(
            "the program 'probe' reports no input but axis1; let it write lines such as `inputs "
            "axis3=97 button_a=true`"
        )
    seen = ", ".join(sorted(wanted))
    check(set(report.split()) == wanted, f"the program to see {seen}", f"the program saw {report}")


@requirement("controller.uuid-replaces-raw")
@pytest.mark.parametrize("when", ["setup", "running"])
async def test_uuid_replaces_raw(iut: Iut, when: str) -> None:
    """After the UUID of a missing gamepad, the program no longer sees the Raw state."""
    await require_form(iut, raw_state())
    gamepad, gone = {"ControllerUpdate": {"UUID": NO_GAMEPAD}}, ("none", "axis1=0")
    async with open_session(iut, program="probe") as session:
        if when == "setup":
            await start(session, raw_state(axis1=65), gamepad)
        else:
            await start(session, raw_state(axis1=65))
            await _axis(session, "65", requirement=LATEST)
            await session.send(gamepad)
        report = await wait_for_report(session, "controller", lambda line: line in gone)
        check(
            report in gone,
            "the program to see no controller or a controller at rest",
            f"the program saw {report}",
        )


async def _axis(
    session: Session, value: str, requirement: str | None = None, battery: str = ""
) -> None:
    """Check that the program sees this value of axis1.

    ``requirement`` is the violated requirement; the default is the one under test. ``battery`` is
    the unusual battery of the state.
    """
    report = await wait_for_report(session, "controller", lambda line: line == f"axis1={value}")
    if report != f"axis1={value}":
        expected = f"the program to see axis1={value}"
        expected += f" of a controller with the battery at {battery}" if battery else ""
        raise Violation(expected, f"the program saw {report}", requirement)
