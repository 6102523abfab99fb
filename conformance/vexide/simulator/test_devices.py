"""Motors and ports: what is configured reports, and acts as it was configured."""

from collections.abc import Iterable
from typing import Any

import pytest

from conformance.cases import check, compared, lasting, requirement
from conformance.iut import Iut
from conformance.session import Session
from conformance.verdicts import Inconclusive, NotExercised, Violation
from conformance.vexide.codec import name_of
from conformance.vexide.commands import START, competition, motor
from conformance.vexide.simulator.plain import (
    Driving,
    driving,
    opened,
)
from conformance.vexide.simulator.reading import MOVES, UPDATES, smart
from conformance.vexide.simulator.tester import SETUP, either, make_ready, start
from conformance.vexide.tester import received
from conformance.wire import Message

_DRIVEN = ("voltage", "velocity", "position", "power_draw", "torque_output")
"""What shows that a motor has got a voltage, or already does something with it."""
LIGHT, HEAVY = 0.05, 50.0  # kg m² of two motors
MUCH = 1.5  # times as fast as the heavy motor is the light one at least, at some time
GEARSETS = ("Red", "Green", "Blue")
STEADY = 5  # updates in a row that show it: two devices on one port would report by turns


@requirement("devices.update-on-change")
@pytest.mark.parametrize(
    "ports", [[0], [20], [1, 2, 3], list(range(21))], ids=["first", "last", "three", "all"]
)
async def test_every_motor_reports(iut: Iut, ports: list[int]) -> None:
    """A program that drives its motors makes each configured port report, whatever its gearset."""
    known = await driving(iut, *ports)
    async with opened(iut, program=known.program) as session:
        motors = [motor(session, number, GEARSETS[number % 3]) for number in known.configured]
        await start(session, *motors, requirement=SETUP)
        await _report(session, known)


@requirement("setup.commands-handled")
async def test_late_motor_reports(iut: Iut) -> None:
    """Motors that are configured after Ready, one of them again, report like any others."""
    known = await driving(iut, 1, 12)

    async def play(late: bool) -> None:
        async with opened(iut, program=known.program) as session:
            motors = [motor(session, number) for number in known.configured]
            first = motor(session, known.configured[0], "Red")
            await make_ready(session, first, *([] if late else motors))
            await session.send(*(motors if late else []), competition(), START)
            await _report(session, known)

    await compared(iut, play, True, False, UPDATES)


@requirement("devices.update-on-change")
@lasting
async def test_motor_goes_on_reporting(iut: Iut) -> None:
    """A motor that turns reports as long as it does."""
    async with opened(iut, program="drive") as session:
        await start(session, motor(session, 1))
        left = session.left("response")
        while await session.watch("DeviceUpdate", within=left, presumes=UPDATES):
            pass
        updates = received(session, "DeviceUpdate")
        if not _turning(updates):
            raise NotExercised("no motor went on turning in the program 'drive'")
        later = await session.watch("DeviceUpdate", within=session.left("response"))
        if not later and session.ended:
            raise Inconclusive("the stream ended while a motor turned (exit.exited-sent)")
        came = f"{len(updates)} came, up to one of a motor that turned"
        check(later is not None, "more updates of a motor that turns", came, updates[-1].event)


async def _report(session: Session, known: Driving) -> None:
    """Each of these ports reports that its motor is driven, and not only that there is one."""
    left: set[object] = set(known.reporting)
    told: dict[str, str] = {}
    time, asked = known.left(session), session.now
    while left and (update := await session.watch("DeviceUpdate", within=time)):
        port, state = update.value["DeviceUpdate"]["port"], _motor(update)
        number = port if smart(port) is None else smart(port)
        kind = name_of(update.value["DeviceUpdate"]["status"])
        other = f"a status of {kind!r:.40}, no Motor,"
        told[str(number)] = "only the state at rest" if state else other
        # What a program of its own does to its motors is not known.
        driven = known.program is None or any(state.get(name) for name in _DRIVEN)
        if driven and number in left:
            left.discard(number)
            session.took(MOVES, session.now - asked)
    lacking: dict[str, list[int]] = {}
    for number in known.reporting:
        if number in left:
            lacking.setdefault(told.get(str(number), "none"), []).append(number)
    came = [f"{what} came for {_list(ports)}" for what, ports in lacking.items()]
    others = told.keys() - {str(number) for number in known.reporting}
    came += [f"updates of {_list(sorted(others)[:5])} came"] if others else []
    expected = f"a DeviceUpdate of a driven motor for each of {_list(known.reporting)}"
    check(not left, expected, "; ".join(came))


def _list(ports: Iterable[object]) -> str:
    return ", ".join(map(str, ports))


@requirement("devices.only-configured")
async def test_only_configured_motors_report(iut: Iut) -> None:
    """Only ports with a configured motor report one."""
    await _driven(iut, 5, 17)


@requirement("types.port-range")
async def test_ports_of_all_events(iut: Iut) -> None:
    """The ports of every event are in range, VEXlink's among them, up to the program's end."""
    async with opened(iut) as session:
        await start(session, *(motor(session, number) for number in (0, 20)))
        await session.watch("Exited", within="program")
        with_port = ("DeviceUpdate", "VEXLinkConnect", "VEXLinkDisconnect")
        if not any(received(session, name) for name in with_port):
            raise NotExercised("no event with a port came; declare [programs] drive")


@requirement("types.port-range")
async def test_ports_in_range(iut: Iut) -> None:
    """The ports of updates are within 0 and 20, at both ends of the range."""
    await _driven(iut, 0, 20)


@requirement("motor.flags-zero")
async def test_motor_flags(iut: Iut) -> None:
    """The flags of every motor are 0, and all that it tells is right, also while it stops."""
    await _driven(iut, *range(21), stopped=True)


async def _driven(iut: Iut, *ports: int, stopped: bool = False) -> None:
    async with opened(iut, program=either(iut, "drive")) as session:
        motors = [motor(session, number) for number in ports]
        await start(session, *motors, requirement=SETUP)
        if not await session.watch("DeviceUpdate", within="program", presumes=UPDATES):
            raise NotExercised("no motor moved; declare [programs] drive")
        if stopped:
            await session.send(competition(enabled=False))
        await session.watch("Exited")


def _motor(update: Message) -> dict[str, Any]:
    """The state of a motor that an update tells; empty where it is of something else."""
    status = update.value["DeviceUpdate"]["status"]
    state = status.get("Motor") if isinstance(status, dict) else None
    return state if isinstance(state, dict) else {}


def _turning(updates: list[Message]) -> bool:
    """Whether a motor was in another place in the last of these than before, and not at rest."""
    motors = [_motor(update) for update in updates[-2:]]
    if not all(motors) or len(motors) < 2:
        return False
    before, last = motors
    return bool(last["velocity"]) and last["position"] != before["position"]


@requirement("motor.inertia")
@pytest.mark.parametrize("light", [3, 4], ids=["first", "second"])
async def test_inertia(iut: Iut, light: int) -> None:
    """Of two motors that differ in their inertia only, the lighter one gains more speed."""
    await _inertia_shows(iut, light, 7 - light)


async def _inertia_shows(iut: Iut, light: int, heavy: int) -> None:
    async with opened(iut, program="drive") as session:
        inertias = {light: LIGHT, heavy: HEAVY}
        await start(session, *(motor(session, port, inertia=inertias[port]) for port in (3, 4)))
        await _gains_more(session, light, heavy)


@requirement("devices.last-configuration")
async def test_last_configuration(iut: Iut) -> None:
    """Of two motors that exchange their inertia by a second configuration, the later one holds."""
    async with opened(iut, program="drive") as session:
        first = (motor(session, 3, inertia=HEAVY), motor(session, 4, inertia=LIGHT))
        again = (motor(session, 3, inertia=LIGHT), motor(session, 4, inertia=HEAVY))
        await start(session, *first, *again, requirement=SETUP)
        try:
            await _gains_more(session, 3, 4)
            return
        except Violation as violation:
            missed = violation
    try:
        await _inertia_shows(iut, 3, 4)
    except Violation:
        raise Inconclusive(
            "inertia does not show where a motor is configured once either (motor.inertia)"
        ) from None
    raise missed


async def _gains_more(session: Session, light: int, heavy: int) -> None:
    """The top reported speed of the light motor is clearly above that of the heavy one."""
    left = session.left("response")
    fastest = {light: 0.0, heavy: 0.0}
    seen: set[object] = set()
    steady = 0
    while steady < STEADY:
        update = await session.watch("DeviceUpdate", within=left, presumes=UPDATES)
        if update is None:
            break
        number = smart(update.value["DeviceUpdate"]["port"])
        state = _motor(update)
        if state and number in fastest:
            seen.add(number)
            fastest[int(str(number))] = max(fastest[int(str(number))], abs(state["velocity"]))
        gains = len(seen) == 2 and fastest[light] > MUCH * fastest[heavy] and fastest[light] > 0
        steady = steady + 1 if gains else 0
    if steady:
        return
    if not any(fastest.values()):
        raise NotExercised("no velocity of a motor was reported by the program 'drive'")
    if silent := fastest.keys() - seen:
        raise Inconclusive(f"no update of the motor at port {min(silent)} came ({UPDATES})")
    check(
        False,
        f"the motor with {LIGHT:g} kg m² to gain much more speed than the one with {HEAVY:g}",
        f"{fastest[light]:g} rad/s was the most that it reached, and {fastest[heavy]:g} the other",
    )
