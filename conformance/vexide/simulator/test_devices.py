"""Motors and ports: configured motors report, and behave as configured."""

import itertools
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from conformance.cases import check, compared, lasting, requirement
from conformance.iut import Iut
from conformance.session import Session
from conformance.verdicts import Inconclusive, NotExercised, Violation
from conformance.vexide.codec import name_of
from conformance.vexide.commands import START, competition, motor
from conformance.vexide.simulator.observations import UPDATES, smart_port
from conformance.vexide.simulator.probe_sessions import (
    ALL_PORTS,
    Driving,
    find_driving_program,
    open_session,
)
from conformance.vexide.simulator.tester import SETUP, make_ready, program_or_own, start
from conformance.vexide.tester import messages_named, require_fit
from conformance.wire import Message

_DRIVEN = ("voltage", "velocity", "position", "power_draw", "torque_output")
"""Fields that show that a motor has a voltage or already moves."""
LIGHT, HEAVY = 0.05, 50.0  # moments of inertia of two motors, in kg m²
INERTIAS = (LIGHT, 0.5, 2.75, HEAVY)  # moments of inertia of several motors, in kg m²
MUCH = 1.5  # required ratio of the light motor's top speed to the heavy motor's top speed
ALIKE = 1.01  # ratio of two velocities that can have been rounded
AT_TOP = 0.95  # fraction of a motor's top speed at which it no longer accelerates visibly
MOST_VOLTS = 24.0  # twice the voltage of the battery; 6 V in millivolts or percent are more
GEARSETS = ("Red", "Green", "Blue")
BRAKES = ["Coast", "Brake", "Hold"]
DISABLED: tuple[dict[str, Any], ...] = ({"enabled": False}, {"enabled": False, "mode": "Auto"})
SLOW = 0.05  # fraction of a motor's velocity below which the motor is almost at rest
STEPS = 5  # steps in which a simulation that stood still continues from its last state
STEADY = 5  # consecutive updates that must agree: two devices on one port would report alternately


@requirement("devices.update-on-change")
@pytest.mark.parametrize(
    "ports", [[0], [20], [1, 2, 3], list(range(21))], ids=["first", "last", "three", "all"]
)
async def test_every_motor_reports(iut: Iut, ports: list[int]) -> None:
    """Each configured motor reports if the program drives it, with any gearset."""
    known = await find_driving_program(iut, *ports)
    async with open_session(iut, program=known.program) as session:
        motors = [motor(session, number, GEARSETS[number % 3]) for number in known.configured]
        await start(session, *motors, requirement=SETUP)
        await _report(session, known)


@requirement("setup.commands-handled")
async def test_late_motor_reports(iut: Iut) -> None:
    """Motors that are configured after Ready report, also if a motor was configured before."""
    known = await find_driving_program(iut, 1, 12)

    async def play(late: bool) -> None:
        async with open_session(iut, program=known.program) as session:
            motors = [motor(session, number) for number in known.configured]
            first = motor(session, known.configured[0], "Red")
            await make_ready(session, first, *([] if late else motors))
            await session.send(*(motors if late else []), competition(), START)
            await _report(session, known)

    await compared(iut, play, True, False, UPDATES)


@requirement("setup.commands-handled")
async def test_last_of_many_motors_reports(iut: Iut) -> None:
    """The last of many configured motors reports like a motor that is configured alone."""
    known = await find_driving_program(iut, *ALL_PORTS)
    last = known.reporting[-1:]

    async def play(ports: tuple[int, ...]) -> None:
        async with open_session(iut, program=known.program) as session:
            motors = [motor(session, number) for number in ports]
            await start(session, *motors, requirement=SETUP)
            await _report(session, Driving(known.program, ports, last))

    await compared(iut, play, known.configured, last, UPDATES)


@requirement("setup.commands-handled")
async def test_motors_of_any_inertia_report(iut: Iut) -> None:
    """Motors report whatever their moments of inertia are, also if they are no whole numbers."""
    known = await find_driving_program(iut, *range(len(INERTIAS)))

    async def play(inertias: Sequence[float]) -> None:
        async with open_session(iut, program=known.program) as session:
            pairs = zip(known.configured, itertools.cycle(inertias), strict=False)
            motors = [motor(session, number, inertia=inertia) for number, inertia in pairs]
            await start(session, *motors, requirement=SETUP)
            await _report(session, known)

    await compared(iut, play, INERTIAS, (1.0,), UPDATES)


@requirement("devices.update-on-change")
@lasting
async def test_motor_goes_on_reporting(iut: Iut) -> None:
    """A motor reports as long as it turns."""
    async with open_session(iut, program="drive") as session:
        await start(session, motor(session, 1))
        left = session.countdown("response")
        while await session.wait_for("DeviceUpdate", within=left):
            pass
        updates = messages_named(session, "DeviceUpdate")
        # The position of a motor with a velocity changes, so a single update cannot be the last.
        only = len(updates) == 1 and _motor(updates[0])
        if not (_is_turning(updates) or (only and only["velocity"])):
            raise NotExercised("no motor continued to turn in the program 'drive'")
        later = await session.wait_for("DeviceUpdate", within=session.countdown("response"))
        if not later and session.ended:
            raise Inconclusive("the stream ended while a motor turned (exit.exited-sent)")
        came = f"received {'one' if only else len(updates)}, the last of a turning motor"
        check(later is not None, "more DeviceUpdates of a turning motor", came, updates[-1].event)


@requirement("devices.update-on-change")
@pytest.mark.parametrize("mode", DISABLED, ids=["disabled", "disabled-autonomous"])
async def test_motor_reports_while_disabled(iut: Iut, mode: dict[str, Any]) -> None:
    """A motor that turns when the robot is disabled reports until it is at rest."""
    async with open_session(iut, program="drive") as session:
        await start(session, motor(session, 1), requirement=SETUP)
        before, last = map(_motor, (await _wait_until_turning(session))[-2:])
        step = abs(last["position"] - before["position"])
        await session.send(competition(**mode))
        if not await _has_fallen_silent(session):
            return
        if session.ended:
            raise Inconclusive("the stream ended while a motor turned (exit.exited-sent)")
        latest = _motor(messages_named(session, "DeviceUpdate")[-1])
        if abs(latest["velocity"]) < SLOW * abs(last["velocity"]):
            return
        # The motor either turned on in silence, or the simulation has stood still.
        await session.send(competition())
        again = await session.wait_for("DeviceUpdate", within="response")
        came = f"received none after an update with {latest['velocity']} rad/s"
        expected = "DeviceUpdates of a motor that still turns while the robot is disabled"
        check(again is not None, expected, came, messages_named(session, "DeviceUpdate")[-1].event)
        assert again
        require_fit(session, again)
        now = _motor(again)
        stood = abs(now["position"] - latest["position"]) <= STEPS * step
        stood &= abs(now["velocity"] - latest["velocity"]) <= abs(latest["velocity"]) / 2
        came += f", and the next one, once it was enabled, with {now['velocity']} rad/s"
        check(stood, expected, came, again.event)


async def _wait_until_turning(session: Session) -> list[Message]:
    """Return the DeviceUpdates once they show a motor that turns. Raises NotExercised if none does.

    A motor that accelerates slowly has time to turn visibly.
    """
    left = session.countdown("response")
    while not _is_turning(messages_named(session, "DeviceUpdate")):
        if not await session.wait_for("DeviceUpdate", within=left):
            raise NotExercised("no motor turned in the program 'drive'")
    updates = messages_named(session, "DeviceUpdate")
    require_fit(session, *updates[-2:])
    return updates


async def _has_fallen_silent(session: Session) -> bool:
    """Return True if no DeviceUpdate comes for a while; False if they keep coming long enough."""
    left = session.countdown("response", "response")
    while left() > 0:
        if not await session.wait_for("DeviceUpdate", within="response"):
            require_fit(session, messages_named(session, "DeviceUpdate")[-1])
            return True
    return False


@requirement("devices.update-on-change")
async def test_brake_modes_are_reported(iut: Iut) -> None:
    """A motor reports each brake mode, also while it is at rest, and its stop."""
    async with open_session(iut, program="brake") as session:
        await start(session, motor(session, 1), motor(session, 20), requirement=SETUP)
        left = session.countdown("program")
        while left() > 0 and await session.wait_for("DeviceUpdate", within=left):
            if all(_modes(session, port)[-1:] == ["Hold"] for port in (1, 20)):
                break
        for port in (1, 20):
            modes = _modes(session, port)
            check(
                modes[-3:] == BRAKES,
                f"the motor at port {port} to report the brake modes {', '.join(BRAKES)}",
                f"received {', '.join(map(str, modes)) or 'no DeviceUpdate'}",
            )
        if not await _has_fallen_silent(session):
            return
        for port in (1, 20):
            updates = _updates(session, port)
            require_fit(session, *updates)
            _check_at_rest(updates)


def _check_at_rest(updates: list[Message]) -> None:
    """Check that the last DeviceUpdate of a motor without voltage shows that it is at rest.

    A motor can come to rest slowly, and its velocity can stay a little above zero.
    """
    motors = [_motor(update) for update in updates]
    top = max(abs(state["velocity"]) for state in motors)
    last = motors[-1]
    check(
        not last["voltage"] and abs(last["velocity"]) <= SLOW * top,
        "the last DeviceUpdate of a motor that is held to show that it is at rest",
        f"it has {last['velocity']} rad/s and {last['voltage']} V, and no more DeviceUpdates came",
        updates[-1].event,
    )


def _modes(session: Session, port: int) -> list[str | None]:
    """Return the brake modes that a motor has reported, without repetitions."""
    modes = [name_of(_motor(update).get("brake_mode")) for update in _updates(session, port)]
    return [mode for mode, _ in itertools.groupby(modes)]


def _updates(session: Session, port: int) -> list[Message]:
    """Return the DeviceUpdates of a Smart port."""
    updates = messages_named(session, "DeviceUpdate")
    return [each for each in updates if smart_port(each.value["DeviceUpdate"]["port"]) == port]


async def _report(session: Session, known: Driving) -> None:
    """Check that each of these ports reports a driven motor.

    A report of a motor at rest is not enough. If each port that reports does so only once, the
    requirement about changes is violated: the motors of the program `drive` continue to turn.
    """
    left: set[object] = set(known.reporting)
    shown: dict[str, str] = {}
    updates: Counter[str] = Counter()
    time = known.left(session)
    while left and (update := await session.wait_for("DeviceUpdate", within=time)):
        port, state = update.value["DeviceUpdate"]["port"], _motor(update)
        number = port if smart_port(port) is None else smart_port(port)
        updates[str(number)] += 1
        kind = name_of(update.value["DeviceUpdate"]["status"])
        other = f"a status of {kind!r:.40} instead of Motor"
        shown[str(number)] = "only the state at rest" if state else other
        # The IUT's own program can do anything with its motors.
        driven = known.program is None or any(state.get(name) for name in _DRIVEN)
        if driven and number in left:
            left.discard(number)
    silent_ports: dict[str, list[int]] = {}
    for number in known.reporting:
        if number in left:
            silent_ports.setdefault(shown.get(str(number), "none"), []).append(number)
    came = [f"received {what} for {_list(ports)}" for what, ports in silent_ports.items()]
    others = shown.keys() - {str(number) for number in known.reporting}
    came += [f"received updates of {_list(sorted(others)[:5])}"] if others else []
    if left:
        once = known.program is not None and set(updates.values()) == {1}
        came += ["and no second update of any port"] if once else []
        expected = (
            f"a DeviceUpdate of a driven motor for each of the ports {_list(known.reporting)}"
        )
        raise Violation(expected, "; ".join(came), UPDATES if once else None)


def _list(ports: Sequence[object]) -> str:
    first, last = ports[0], ports[-1]
    if isinstance(first, int) and isinstance(last, int) and last - first == len(ports) - 1 > 1:
        return f"{first} to {last}"
    return ", ".join(map(str, ports))


@requirement("devices.only-configured")
async def test_only_configured_motors_report(iut: Iut) -> None:
    """Only ports with a configured motor report a motor."""
    await _observe_driven(iut, 5, 17)


@requirement("types.port-range")
async def test_ports_of_all_events(iut: Iut) -> None:
    """The port of each event is in its range, up to the program's end."""
    async with open_session(iut) as session:
        await start(session, *(motor(session, number) for number in (0, 20)))
        await session.wait_for("Exited", within="program")
        with_port = ("DeviceUpdate", "VEXLinkConnect", "VEXLinkDisconnect")
        if not any(messages_named(session, name) for name in with_port):
            raise NotExercised("no event with a port came; declare [programs] drive")


@requirement("types.port-range")
async def test_ports_in_range(iut: Iut) -> None:
    """The ports of updates are between 0 and 20, also at both ends of the range."""
    await _observe_driven(iut, 0, 20)


@requirement("motor.flags-zero")
async def test_motor_flags(iut: Iut) -> None:
    """The flags of every motor are 0, also while the motor stops."""
    await _observe_driven(iut, *range(21), stopped=True)


async def _observe_driven(iut: Iut, *ports: int, stopped: bool = False) -> None:
    async with open_session(iut, program=program_or_own(iut, "drive")) as session:
        motors = [motor(session, number) for number in ports]
        await start(session, *motors, requirement=SETUP)
        if not await session.wait_for("DeviceUpdate", within="program"):
            raise NotExercised("no motor moved; declare [programs] drive")
        if stopped:
            await session.send(competition(enabled=False))
        await session.wait_for("Exited")


def _motor(update: Message) -> dict[str, Any]:
    """Return the state of a motor in an update; empty for other devices."""
    status = update.value["DeviceUpdate"]["status"]
    state = status.get("Motor") if isinstance(status, dict) else None
    return state if isinstance(state, dict) else {}


def _is_turning(updates: list[Message]) -> bool:
    """Return True if the last two updates show a motor that turns."""
    motors = [_motor(update) for update in updates[-2:]]
    if not all(motors) or len(motors) < 2:
        return False
    before, last = motors
    return bool(last["velocity"]) and last["position"] != before["position"]


@requirement("motor.units")
async def test_voltage_in_volts(iut: Iut) -> None:
    """A motor at 6 V reports no more volts than a battery has."""
    async with open_session(iut, program="drive") as session:
        await start(session, motor(session, 1))
        last = (await _wait_until_turning(session))[-1]
        voltage = abs(_motor(last)["voltage"])
        check(voltage <= MOST_VOLTS, "about 6 V", f"received {voltage:g}", last.event)


@requirement("motor.inertia")
@pytest.mark.parametrize("light", [3, 4], ids=["first", "second"])
async def test_inertia(iut: Iut, light: int) -> None:
    """The lighter of two motors that differ only in inertia gains more speed."""
    await _check_inertia(iut, light, 7 - light)


async def _check_inertia(iut: Iut, light: int, heavy: int) -> None:
    async with open_session(iut, program="drive") as session:
        inertias = {light: LIGHT, heavy: HEAVY}
        await start(session, *(motor(session, port, inertia=inertias[port]) for port in (3, 4)))
        await _check_gains_more(session, light, heavy)


@requirement("motor.inertia")
async def test_fractions_of_inertia(iut: Iut) -> None:
    """Two motors with inertias below 1 kg m² do not accelerate alike."""
    light, heavy = 3, 4
    speeds: dict[object, list[float]] = {light: [], heavy: []}
    async with open_session(iut, program="drive") as session:
        inertias = {light: 0.1, heavy: 0.9}
        await start(session, *(motor(session, port, inertia=inertias[port]) for port in inertias))
        left = session.countdown("response")
        while update := await session.wait_for("DeviceUpdate", within=left):
            require_fit(session, update)
            number, state = smart_port(update.value["DeviceUpdate"]["port"]), _motor(update)
            if state and number in speeds:
                speeds[number].append(abs(state["velocity"]))
            if _differ(speeds[light], speeds[heavy]):
                return
    tops = [max(came, default=0.0) for came in speeds.values()]
    if not all(tops):
        raise NotExercised("the program 'drive' caused no report of a velocity of both motors")
    first = next(filter(None, speeds[heavy]))
    if first > AT_TOP * tops[1]:
        raise Inconclusive("both motors had their top speed in their first DeviceUpdate")
    expected = "the motor with 0.1 kg m² to gain more speed than the motor with 0.9 kg m²"
    raise Violation(expected, f"both accelerated alike, up to {tops[0]:g} rad/s")


def _differ(light: list[float], heavy: list[float]) -> bool:
    """Return True if the light motor was ever faster than the heavy one in the same report."""
    return any(one > ALIKE * other for one, other in zip(light, heavy, strict=False))


@requirement("devices.last-configuration")
async def test_last_configuration(iut: Iut) -> None:
    """The last configuration of a port counts: two motors exchange their inertia."""
    async with open_session(iut, program="drive") as session:
        first = (motor(session, 3, inertia=HEAVY), motor(session, 4, inertia=LIGHT))
        again = (motor(session, 3, inertia=LIGHT), motor(session, 4, inertia=HEAVY))
        await start(session, *first, *again, requirement=SETUP)
        try:
            await _check_gains_more(session, 3, 4)
            return
        except Violation as violation:
            missed = violation
    try:
        await _check_inertia(iut, 3, 4)
    except Violation:
        raise Inconclusive(
            "inertia has no effect even if a motor is configured only once (motor.inertia)"
        ) from None
    raise missed


async def _check_gains_more(session: Session, light: int, heavy: int) -> None:
    """Check that the light motor's top reported speed is clearly above the heavy motor's."""
    left = session.countdown("response")
    fastest = {light: 0.0, heavy: 0.0}
    seen: set[object] = set()
    steady = 0
    while steady < STEADY:
        update = await session.wait_for("DeviceUpdate", within=left)
        if update is None:
            break
        number = smart_port(update.value["DeviceUpdate"]["port"])
        state = _motor(update)
        if state and number in fastest:
            seen.add(number)
            fastest[int(str(number))] = max(fastest[int(str(number))], abs(state["velocity"]))
        gains = len(seen) == 2 and fastest[light] > MUCH * fastest[heavy] and fastest[light] > 0
        steady = steady + 1 if gains else 0
    if steady:
        return
    if not any(fastest.values()):
        raise NotExercised("the program 'drive' caused no report of a velocity")
    if silent := fastest.keys() - seen:
        raise Inconclusive(
            f"received no DeviceUpdate of the motor at port {min(silent)} ({UPDATES})"
        )
    check(
        False,
        f"the motor with {LIGHT:g} kg m² to become much faster than the motor with {HEAVY:g} kg m²",
        f"the light motor reached {fastest[light]:g} rad/s and the heavy motor {fastest[heavy]:g} "
        "rad/s",
    )
