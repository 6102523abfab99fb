"""What a running program brings about, and what it sees of its robot."""

import tempfile
from pathlib import Path

import pytest

from conformance.cases import check, requirement
from conformance.iut import Iut
from conformance.session import Session
from conformance.verdicts import Inconclusive, NotExercised
from conformance.vexide.commands import START, competition, motor, raw, touch
from conformance.vexide.simulator.plain import (
    Driving,
    driving,
    opened,
    require_form,
    shows,
    visible_program,
)
from conformance.vexide.simulator.reading import (
    GREETING,
    holds,
    probed,
    serial_bytes,
    serial_until,
    smart,
)
from conformance.vexide.simulator.tester import make_ready, start
from conformance.vexide.tester import received

ALL_BYTES = bytes(range(256))
_DRIVEN = ("voltage", "velocity", "position", "power_draw", "torque_output")
LIGHT, HEAVY = 0.05, 50.0  # kg m² of two motors
MUCH = 1.5  # times as fast as the heavy motor is the light one at least, at some time
NO_GAMEPAD = "03000000000000000000000000000001"  # an SDL2 identifier that no gamepad has


def either(iut: Iut, program: str) -> str | None:
    """A declared program, or the IUT's own choice: it may show the same."""
    return program if program in iut.configuration.programs else None


# Serial


@requirement("serial.bytes-exact")
async def test_text_arrives(iut: Iut) -> None:
    """Printed text arrives on serial channel 1, once and complete."""
    async with opened(iut, program="print") as session:
        await start(session)
        data = await serial_until(session, GREETING)
        await session.watch("Serial")
        data = serial_bytes(session)
        check(data == GREETING, f"{GREETING!r} on serial channel 1", f"{data[:200]!r} came")


@requirement("serial.bytes-exact")
async def test_every_byte_arrives(iut: Iut) -> None:
    """All 256 byte values arrive unchanged, those that are not text among them."""
    async with opened(iut, program="bytes") as session:
        await start(session)
        data = await serial_until(session, ALL_BYTES)
        wrong = next(
            (n for n, byte in enumerate(ALL_BYTES) if data[n : n + 1] != bytes([byte])), 256
        )
        check(
            data == ALL_BYTES,
            "the bytes 00 to FF on serial channel 1",
            f"{len(data)} bytes came, the first wrong one at {wrong}",
        )


@requirement("serial.base64")
async def test_serial_is_base64(iut: Iut) -> None:
    """The data of every Serial event is Base64."""
    async with opened(iut, program=either(iut, "bytes")) as session:
        await start(session, motor(session, 1))
        if not await session.watch("Serial", within=session.seconds("program")):
            raise NotExercised("the program wrote nothing; declare [programs] bytes")
        await session.watch("Exited")


@requirement("log.not-for-serial")
async def test_print_is_no_log(iut: Iut) -> None:
    """Printed text comes as Serial, and not as a Log of the simulator."""
    async with opened(iut, program="print") as session:
        await start(session)
        data = await serial_until(session, GREETING)
        word = GREETING.decode().strip()
        logs = [m for m in received(session, "Log") if word in str(m.value["Log"].get("message"))]
        if not data and not logs:
            raise Inconclusive("what the program prints came neither as Serial nor as Log")
        check(
            bool(data),
            "what the program prints, as Serial",
            "it came as Log",
            logs[0].event if logs else None,
        )


# Screen


@requirement("execution.reports-changes")
@pytest.mark.parametrize(
    ("program", "event"), [("draw", "ScreenDraw"), ("drive", "DeviceUpdate"), ("print", "Serial")]
)
async def test_changes_are_reported(iut: Iut, program: str, event: str) -> None:
    """Changes that the program makes are reported while it runs."""
    async with opened(iut, program=program) as session:
        await start(session, motor(session, 1))
        came = await session.watch(event, within=session.seconds("program"))
        check(came is not None, f"{event} from a program that brings it about", "it did not come")


@requirement("screen.pixel-buffer")
async def test_pixel_buffer(iut: Iut) -> None:
    """The buffer of a CopyBuffer is Base64 of whole pixels of four bytes."""
    await _drawing(iut, "CopyBuffer")


@requirement("types.stride-nonzero")
async def test_stride(iut: Iut) -> None:
    """The stride of a CopyBuffer is not zero."""
    await _drawing(iut, "CopyBuffer")


@requirement("types.color-range")
async def test_colors(iut: Iut) -> None:
    """The parts of every colour are within 0 and 255."""
    await _drawing(iut, "")


async def _drawing(iut: Iut, command: str) -> None:
    async with opened(iut, program=either(iut, "draw")) as session:
        await start(session, motor(session, 1))
        await session.watch("ScreenDraw", within=session.seconds("program"))
        await session.watch("Exited")
        drawn = [
            message.value["ScreenDraw"]["command"] for message in received(session, "ScreenDraw")
        ]
        if not any(not command or command in entry for entry in drawn):
            raise NotExercised(
                f"nothing was drawn with {command or 'any command'}: declare [programs] draw"
            )


# Devices


@requirement("devices.update-on-change")
@pytest.mark.parametrize(
    "ports", [[0], [20], [1, 2, 3], list(range(21))], ids=["first", "last", "three", "all"]
)
async def test_every_motor_reports(iut: Iut, ports: list[int]) -> None:
    """A program that drives its motors makes each configured port report, and no other."""
    known = await driving(iut, *ports)
    async with opened(iut, program=known.program) as session:
        await start(session, *(motor(session, number) for number in known.configured))
        await _report(session, known)


@requirement("devices.update-on-change")
async def test_late_motor_reports(iut: Iut) -> None:
    """A motor that is configured after Ready, or again with another gearset, reports as well."""
    known = await driving(iut, 1, 12)
    async with opened(iut, program=known.program) as session:
        first, *others = known.configured
        await make_ready(session, motor(session, first, "Red"))
        await session.send(motor(session, first), *(motor(session, number) for number in others))
        await session.send(competition(), START)
        await _report(session, known)


async def _report(session: Session, known: Driving) -> None:
    """Each of these ports reports that its motor is driven, and not only that there is one."""
    left: set[object] = set(known.reporting)
    reported: set[object] = set()
    deadline = session.now + session.seconds("program")
    while left and (update := await session.watch("DeviceUpdate", within=deadline - session.now)):
        number = smart(update.value["DeviceUpdate"]["port"])
        reported.add(number)
        # What a program of its own does to its motors is not known.
        if known.program is None or _is_driven(update.value["DeviceUpdate"]["status"]):
            left.discard(number)
    came = [
        f"{'only the state at rest' if number in reported else 'none'} came for {number}"
        for number in known.reporting
        if number in left
    ]
    ports = ", ".join(map(str, known.reporting))
    check(not left, f"a DeviceUpdate of a driven motor for each of {ports}", ", ".join(came))


@requirement("devices.only-configured")
async def test_only_configured_motors_report(iut: Iut) -> None:
    """Only ports with a configured motor report one."""
    await _driven(iut, 5, 17)


@requirement("types.port-range")
async def test_ports_of_all_events(iut: Iut) -> None:
    """The ports of every event are in range, VEXlink's among them, up to the program's end."""
    async with opened(iut) as session:
        await start(session, *(motor(session, number) for number in (0, 20)))
        await session.watch("Exited", within=session.seconds("program"))
        with_port = ("DeviceUpdate", "VEXLinkConnect", "VEXLinkDisconnect")
        if not any(received(session, name) for name in with_port):
            raise NotExercised("no event with a port came; declare [programs] drive")


@requirement("types.port-range")
async def test_ports_in_range(iut: Iut) -> None:
    """The ports of updates are within 0 and 20, at both ends of the range."""
    await _driven(iut, 0, 20)


@requirement("motor.flags-zero")
async def test_motor_flags(iut: Iut) -> None:
    """The flags of every motor are 0."""
    await _driven(iut, *range(21))


async def _driven(iut: Iut, *ports: int) -> None:
    async with opened(iut, program=either(iut, "drive")) as session:
        await start(session, *(motor(session, number) for number in ports))
        if not await session.watch("DeviceUpdate", within=session.seconds("program")):
            raise NotExercised("no motor moved; declare [programs] drive")
        await session.watch("Exited")


def _is_driven(status: object) -> bool:
    """Whether a motor with this state has got a voltage, or already does something with it."""
    state = status.get("Motor") if isinstance(status, dict) else None
    return isinstance(state, dict) and any(state.get(name) for name in _DRIVEN)


@requirement("motor.inertia")
@pytest.mark.parametrize("light", [3, 4], ids=["first", "second"])
async def test_inertia(iut: Iut, light: int) -> None:
    """Of two motors that differ in their inertia only, the lighter one gains more speed."""
    heavy = 7 - light
    async with opened(iut, program="drive") as session:
        inertias = {light: LIGHT, heavy: HEAVY}
        await start(session, *(motor(session, port, inertia=inertias[port]) for port in (3, 4)))
        await _gains_more(session, light, heavy)


@requirement("devices.last-configuration")
async def test_last_configuration(iut: Iut) -> None:
    """Of two motors that exchange their inertia by a second configuration, the later one holds."""
    async with opened(iut, program="drive") as session:
        await make_ready(
            session, motor(session, 3, inertia=HEAVY), motor(session, 4, inertia=LIGHT)
        )
        await session.send(motor(session, 3, inertia=LIGHT), motor(session, 4, inertia=HEAVY))
        await session.send(competition(), START)
        await _gains_more(session, 3, 4)


async def _gains_more(session: Session, light: int, heavy: int) -> None:
    """The top reported speed of the light motor is clearly above that of the heavy one."""
    deadline = session.now + session.seconds("response")
    fastest = {light: 0.0, heavy: 0.0}
    seen: set[object] = set()
    while update := await session.watch("DeviceUpdate", within=deadline - session.now):
        number = smart(update.value["DeviceUpdate"]["port"])
        state = update.value["DeviceUpdate"]["status"].get("Motor", {})
        if number in fastest:
            seen.add(number)
            fastest[int(str(number))] = max(fastest[int(str(number))], abs(state["velocity"]))
        if len(seen) == 2 and fastest[light] > MUCH * fastest[heavy] and fastest[light] > 0:
            return
    if not any(fastest.values()):
        raise NotExercised("no velocity of a motor was reported by the program 'drive'")
    check(
        False,
        f"the motor with {LIGHT:g} kg m² to gain much more speed than the one with {HEAVY:g}",
        f"{fastest[light]:g} rad/s was the most that it reached, and {fastest[heavy]:g} the other",
    )


# Touch


@requirement("touch.registered")
@pytest.mark.parametrize("when", ["setup", "running"])
async def test_touch(iut: Iut, when: str) -> None:
    """A touch is one for the program: where it is, that it lasts, and that it is over."""
    await require_form(iut, touch(10, 20, "Pressed"))
    async with opened(iut, program="probe") as session:
        pressed = touch(10, 20, "Pressed")
        if when == "setup":
            await make_ready(session, pressed)
            await session.send(START)
        else:
            await start(session)
            await probed(session, "competition", lambda said: said != "nothing")
            await session.send(pressed)
        await _sees_touch(session, "Pressed 10 20")
        await session.send(touch(470, 260, "Held"))
        await _sees_touch(session, "Held 470 260")
        await session.send(touch(470, 260, "Released"))
        await _sees_touch(session, "Released")


async def _sees_touch(session: Session, wanted: str) -> None:
    said = await probed(session, "touch", lambda line: line == wanted)
    if said == "nothing":
        raise NotExercised(
            "the program 'probe' reports no touch; let it write lines such as `touch Pressed 10 20`"
        )
    check(said == wanted, f"the program to see the touch {wanted}", f"it saw {said}")


# Battery


@requirement("battery.default")
async def test_battery_starts_full(iut: Iut) -> None:
    """Without SetBatteryCapacity the battery holds 14 Wh when the program starts."""
    async with opened(iut, program=either(iut, "probe")) as session:
        await start(session, motor(session, 1))
        await holds(session, 14.0)


@requirement("battery.set-capacity")
@pytest.mark.parametrize("capacity", [10.0, 14, 0.5])
async def test_battery_is_set(iut: Iut, capacity: float) -> None:
    """SetBatteryCapacity before the start sets what is left in the battery."""
    async with opened(iut, program=either(iut, "probe")) as session:
        command = {"SetBatteryCapacity": {"capacity": capacity}}
        await make_ready(session, motor(session, 1), command)
        # A Battery event that was under way before the command was read does not show its effect.
        await session.watch("Exited")
        stale = len(received(session, "Battery"))
        await session.send(START)
        await holds(session, capacity, stale)


@requirement("battery.set-capacity")
async def test_battery_is_set_while_running(iut: Iut) -> None:
    """SetBatteryCapacity counts while the program runs, too, and the latest counts."""
    async with opened(iut, program="probe") as session:
        await start(session)
        await probed(session, "battery", lambda said: said != "nothing")
        await session.send(
            {"SetBatteryCapacity": {"capacity": 9.5}}, {"SetBatteryCapacity": {"capacity": 3.5}}
        )
        await holds(session, 3.5)


# SD card


@requirement("sdcard.mounted")
@pytest.mark.parametrize("name", ["card", "card with späces", "second"])
async def test_card_is_mounted(iut: Iut, name: str) -> None:
    """After USD the program writes and reads files of the directory as its SD card."""
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        root = Path(folder) / name
        root.mkdir()
        setup = [{"USD": {"root": str(root)}}]
        if name == "second":
            other = Path(folder) / "first"
            other.mkdir()
            setup = [{"USD": {"root": str(other)}}, *setup]
        async with opened(iut, program="probe") as session:
            await start(session, *setup)
            said = await probed(session, "sdcard", lambda line: line == "present")
            check(said == "present", "the program to see its SD card", f"it saw {said}")
            check(any(root.rglob("*")), "a file in the mounted directory", "it is empty")


@requirement("sdcard.mounted")
async def test_card_is_mounted_while_running(iut: Iut) -> None:
    """USD mounts a card for a program that runs already."""
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        async with opened(iut, program="probe") as session:
            await start(session)
            await probed(session, "sdcard", lambda line: line == "absent")
            await session.send({"USD": {"root": folder}})
            said = await probed(session, "sdcard", lambda line: line == "present")
            check(said == "present", "the program to see its SD card", f"it saw {said}")


@requirement("sdcard.unmounted")
async def test_no_card(iut: Iut) -> None:
    """A null root leaves the program without an SD card, also after one was mounted."""
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        async with opened(iut, program="probe") as session:
            await start(session, {"USD": {"root": folder}}, {"USD": {"root": None}})
            said = await probed(session, "sdcard", lambda line: line == "absent")
            check(said == "absent", "the program to see no SD card", f"it saw {said}")


@requirement("sdcard.unmounted")
async def test_card_is_unmounted_while_running(iut: Iut) -> None:
    """A null root takes the card away from a running program."""
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        async with opened(iut, program="probe") as session:
            await start(session, {"USD": {"root": folder}})
            await probed(session, "sdcard", lambda line: line == "present")
            await session.send({"USD": {"root": None}})
            said = await probed(session, "sdcard", lambda line: line == "absent")
            check(said == "absent", "the program to see no SD card any more", f"it saw {said}")


@requirement("encoding.optional-null")
async def test_null_root(iut: Iut) -> None:
    """A root that is null means that there is no card."""
    await _no_root(iut, {"root": None})


@requirement("encoding.optional-absent")
async def test_absent_root(iut: Iut) -> None:
    """A root that is left out means that there is no card."""
    await _no_root(iut, {})


async def _no_root(iut: Iut, none: dict[str, None]) -> None:
    program = either(iut, "probe") or await visible_program(iut)
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        async with opened(iut, program=program) as session:
            await start(session, motor(session, 1), {"USD": {"root": folder}}, {"USD": none})
            if program == "probe":
                said = await probed(session, "sdcard", lambda line: line == "absent")
                if said == "present" and "root" in none:
                    raise Inconclusive(
                        "the card is still there after a null root (sdcard.unmounted)"
                    )
                check(said == "absent", "the program to see no SD card", f"it saw {said}")
            else:
                ran = await shows(iut, session)
                check(ran, f"the program to run after USD with {none}", "it had no effect")


# Controller


@requirement("controller.stored-while-disabled")
@pytest.mark.parametrize(
    "barred", [{"enabled": False}, {"mode": "Auto"}], ids=["disabled", "autonomous"]
)
async def test_controller_state_is_kept(iut: Iut, barred: dict[str, object]) -> None:
    """A state that comes while it cannot be read is there as soon as it can."""
    await require_form(iut, raw())
    async with opened(iut, program="probe") as session:
        await start(session, competition(**barred), raw(axis1=1), competition(**barred))
        await probed(session, "competition", lambda said: said != "nothing")
        await session.send(competition(**barred), raw(axis1=65))
        await session.watch("Serial")
        await session.send(competition())
        await _axis(session, "65")


@requirement("controller.raw-replaces-uuid")
async def test_raw_replaces_uuid(iut: Iut) -> None:
    """After a UUID, Raw counts; the latest Raw counts, at rest as well, and goes on counting."""
    await require_form(iut, raw())
    async with opened(iut, program="probe") as session:
        await start(session, {"ControllerUpdate": {"UUID": NO_GAMEPAD}})
        for value, battery in ((65, 100), (-127, 1000), (0, 1), (-20, 100)):
            state = raw(axis1=value, battery_level=battery, battery_capacity=battery)
            await session.send(state)
            await _axis(session, str(value))
        await session.watch("Serial")
        said = await probed(session, "controller", lambda line: True)
        check(said == "axis1=-20", "the program to go on seeing axis1=-20", f"it saw {said}")


@requirement("controller.uuid-replaces-raw")
async def test_uuid_replaces_raw(iut: Iut) -> None:
    """After a UUID the raw state is gone: with no such gamepad there is none, or one at rest."""
    await require_form(iut, raw())
    async with opened(iut, program="probe") as session:
        await start(session, raw(axis1=65))
        await _axis(session, "65")
        await session.send({"ControllerUpdate": {"UUID": NO_GAMEPAD}})
        said = await probed(session, "controller", lambda line: line in ("none", "axis1=0"))
        check(
            said in ("none", "axis1=0"),
            "the program to see no controller or one at rest",
            f"it saw {said}",
        )


async def _axis(session: Session, value: str) -> None:
    said = await probed(session, "controller", lambda line: line == f"axis1={value}")
    check(said == f"axis1={value}", f"the program to see axis1={value}", f"it saw {said}")
