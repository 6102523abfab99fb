"""Setup, Ready and StartExecution."""

import contextlib
import tempfile
from collections.abc import AsyncIterator, Iterable
from typing import Any

import pytest

from conformance.cases import absent, check, lasting, requirement
from conformance.iut import Iut
from conformance.session import Session
from conformance.verdicts import Inconclusive, NotExercised
from conformance.vexide.codec import name_of
from conformance.vexide.commands import GAMEPADS, START, raw_state
from conformance.vexide.events import READY, SIGNATURE, answer, log
from conformance.vexide.frontend.tester import (
    commands_before,
    expect_start,
    open_in_setup,
    open_session,
    operate,
    plain_session,
    play_to_end,
    require_ready_first,
    start_program,
)
from conformance.vexide.tester import is_close, is_path, require_fit
from conformance.wire import Message

GEARSETS = ("Red", "Green", "Blue")
AUTONOMOUS = {"enabled": False, "connected": True, "mode": "Auto", "is_competition": True}
DRIVING = {"enabled": True, "connected": False, "mode": "Driver", "is_competition": False}


def motor(number: int) -> dict[str, Any]:
    """Return the device for a Smart port; ports 2k and 2k + 1 have the same device."""
    kind = number // 2
    gearset = GEARSETS[kind % len(GEARSETS)]
    return {"Motor": {"physical_gearset": gearset, "moment_of_inertia": (0.5 + kind) / 1000}}


@contextlib.asynccontextmanager
async def open_startable(iut: Iut) -> AsyncIterator[Session]:
    """Open a session like ``open_session``, also if StartExecution is missing in a plain session.

    Raises NotExercised if the suite has no means to start the program.
    """
    known = await plain_session(iut)
    if isinstance(known.why, NotExercised):
        known.require_start()
    async with open_session(iut, starting=False) as session:
        yield session


@requirement("start.sent")
async def test_starts_after_ready(iut: Iut) -> None:
    """StartExecution comes after Ready, once the user wants to start."""
    async with open_startable(iut) as session:
        await session.send(answer(), SIGNATURE)
        await start_program(session)


@requirement("start.sent")
async def test_starts_without_signature(iut: Iut) -> None:
    """A simulator can omit the code signature: Ready alone is sufficient."""
    async with open_startable(iut) as session:
        await session.send(answer())
        await start_program(session, to="after a Ready without a VCodeSig before it")


@requirement("start.sent")
async def test_starts_although_ready_comes_at_once(iut: Iut) -> None:
    """StartExecution follows a Ready that comes during setup."""
    async with open_startable(iut) as session:
        await session.send(answer(), READY, SIGNATURE)
        await expect_start(session, to="after a Ready directly after the Handshake")


@requirement("start.sent")
async def test_starts_although_ready_comes_late(iut: Iut) -> None:
    """StartExecution follows a Ready that comes late."""
    async with open_startable(iut) as session:
        await session.send(answer(), SIGNATURE)
        await require_ready_first(session, within=3 * session.seconds("quiet"))
        await start_program(session, to="after a late Ready")


@requirement("start.waits-for-ready")
async def test_waits_for_ready(iut: Iut) -> None:
    """No StartExecution comes before Ready, not even after a Log with the text Ready."""
    async with open_in_setup(iut) as session:
        await session.send(SIGNATURE, log('"Ready"'), log("Ready"))
        await _check_no_start(session)
        if session.instance.upper.offers("start"):
            # A frontend that took a Log for Ready possibly shows this only after the user wants to
            # start.
            await session.operate("start")
            await _check_no_start(session)
        await start_program(session)


@requirement("start.waits-for-ready")
@lasting
async def test_waits_for_ready_in_silence(iut: Iut) -> None:
    """No StartExecution comes while the simulator is silent, even if the user waits long."""
    async with open_in_setup(iut) as session:
        if session.instance.upper.offers("start"):
            await session.operate("start")
        await _check_no_start(session, "response")
        await start_program(session)


@requirement("start.waits-for-ready")
async def test_user_cannot_overrule_ready(iut: Iut) -> None:
    """If the user wants to start before Ready, the frontend waits for Ready."""
    async with open_in_setup(iut) as session:
        await session.wait_for("CompetitionMode")
        # A frontend can refuse the user's wish or remember it.
        await session.operate("start")
        await _check_no_start(session)
        await start_program(session)


async def _check_no_start(session: Session, within: str | None = None) -> None:
    absent(await session.wait_for(START, within=within), "no StartExecution before Ready")


@requirement("setup.competition-mode")
async def test_competition_mode(iut: Iut) -> None:
    """A CompetitionMode comes between the handshake and StartExecution."""
    async with open_in_setup(iut) as session:
        await session.send(SIGNATURE)
        start = await start_program(session)
        check(
            bool(commands_before(session, "CompetitionMode", start)),
            "a CompetitionMode before StartExecution",
            "no CompetitionMode came",
            start.event,
        )


@requirement("setup.competition-mode")
async def test_competition_mode_when_ready_comes_at_once(iut: Iut) -> None:
    """A CompetitionMode comes before StartExecution, also if Ready comes at once."""
    async with open_session(iut) as session:
        await session.send(answer(), READY)
        start = await expect_start(session)
        check(
            bool(commands_before(session, "CompetitionMode", start)),
            "a CompetitionMode before StartExecution",
            "no CompetitionMode came",
            start.event,
        )


@requirement("setup.configure-devices")
@pytest.mark.parametrize(
    "ports", [(0,), (20,), (3, 1, 2), tuple(range(21))], ids=["first", "last", "three", "all"]
)
async def test_configured_devices(iut: Iut, ports: tuple[int, ...]) -> None:
    """Each device that the user has configured is sent between the handshake and StartExecution."""
    async with open_session(iut) as session:
        for number in ports:
            await operate(session, "configure", port=number, device=motor(number))
        await session.send(answer(), SIGNATURE)
        start = await start_program(session)
        missing = _missing_ports(session, ports, start)
        check(
            not missing,
            f"a ConfigureDevice for each of the Smart ports {_list(ports)} before StartExecution",
            f"no ConfigureDevice with the user's device came for {_list(missing)}",
            start.event,
        )


@requirement("setup.configure-devices")
async def test_device_configured_anew(iut: Iut) -> None:
    """If the user replaces a device, the last ConfigureDevice has the new device."""
    async with open_session(iut) as session:
        for port, number in ((5, 6), (6, 5), (5, 5), (6, 6)):
            await operate(session, "configure", port=port, device=motor(number))
        await session.send(answer(), SIGNATURE)
        start = await start_program(session)
        for number in (5, 6):
            came = [
                each
                for each in commands_before(session, "ConfigureDevice", start)
                if _is_for_port(each, number)
            ]
            expected = f"the device last put on port {number} before StartExecution"
            check(bool(came), expected, "no ConfigureDevice came", start.event)
            require_fit(session, came[-1])
            event = came[-1].event
            check(
                _is_configuration_of(came[-1], number),
                expected,
                "the last ConfigureDevice has another device",
                event,
            )


@requirement("setup.starting-state")
async def test_device_configured_during_setup(iut: Iut) -> None:
    """A device that the user configures after the handshake is sent before StartExecution."""
    async with open_session(iut) as session:
        await operate(session, "configure", port=2, device=motor(2))
        await session.send(answer())
        await session.wait_for()
        # "Already configured" in the specification can mean: configured when the handshake
        # finished.
        late = [9]
        await operate(session, "configure", port=9, device=motor(9))
        await session.send(READY)
        start = await session.wait_for(START)
        if start is None:
            await operate(session, "configure", port=11, device=motor(11))
            start = await session.wait_for(START)
        if (
            start is None
        ):  # A frontend that waits for its user sends StartExecution after the device of port 11.
            late.append(11)
            start = await expect_start(session)
        if _missing_ports(session, (2,), start):
            raise Inconclusive(
                "the ConfigureDevice of an earlier device is missing, too (setup.configure-devices)"
            )
        missing = _missing_ports(session, late, start)
        check(
            not missing,
            f"a ConfigureDevice for each of the Smart ports {_list(late)} before StartExecution, "
            "because the user configured them after the handshake",
            f"no ConfigureDevice with the user's device came for {_list(missing)}",
            start.event,
        )


@requirement("setup.starting-state")
@pytest.mark.parametrize(
    ("mode", "loading"),
    [(AUTONOMOUS, False), (DRIVING, False), (AUTONOMOUS, True)],
    ids=["autonomous", "driving", "loading"],
)
async def test_chosen_competition_mode(iut: Iut, mode: dict[str, Any], loading: bool) -> None:
    """The last CompetitionMode before StartExecution has the mode that the user chose."""
    async with open_session(iut) as session:
        if loading:
            await session.send(answer())
            await session.wait_for("CompetitionMode", within="quiet")
        await operate(session, "competition", **mode)
        await session.send(*([] if loading else [answer()]), SIGNATURE)
        start = await start_program(session)
        modes = commands_before(session, "CompetitionMode", start)
        require_fit(session, *modes[-1:])
        last = dict(_fields(modes[-1])) if modes else {}
        last["mode"] = name_of(last.get("mode"))
        check(
            {name: last.get(name) for name in mode} == mode,
            f"the user's mode {mode} before StartExecution",
            f"the last CompetitionMode had {last}" if modes else "no CompetitionMode came",
            (modes[-1] if modes else start).event,
        )


@requirement("setup.starting-state")
@pytest.mark.parametrize("kind", ["Raw", "UUID"])
async def test_controller_before_start(iut: Iut, kind: str) -> None:
    """A ControllerUpdate with the user's input or gamepad comes before StartExecution."""
    chosen = {"UUID": GAMEPADS[0]} if kind == "UUID" else raw_state(axis1=65)["ControllerUpdate"]
    async with open_session(iut) as session:
        done = await session.operate("controller", **chosen)
        if kind == "UUID" and not done.ok:
            raise NotExercised(f"the frontend accepts no UUID of a gamepad: {done.why}")
        done.require_result("controller")
        await session.send(answer(), SIGNATURE)
        start = await start_program(session)
        reported = [
            _fields(update).get(kind)
            for update in commands_before(session, "ControllerUpdate", start)
        ]
        states = [state.get("axis1") if isinstance(state, dict) else state for state in reported]
        known = 65 in states or GAMEPADS[0] in (str(state).lower() for state in states)
        wanted = f"the UUID {GAMEPADS[0]}" if kind == "UUID" else "axis1 at 65"
        check(
            known,
            f"a ControllerUpdate with {wanted} before StartExecution",
            f"{len(reported)} other ControllerUpdates came",
            start.event,
        )


@requirement("setup.starting-state")
@pytest.mark.parametrize("operation", ["sdcard", "battery"])
async def test_card_and_battery_before_start(iut: Iut, operation: str) -> None:
    """The user's SD card and the energy of the battery are sent before StartExecution."""
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        name, field, value = {
            "sdcard": ("USD", "root", folder),
            "battery": ("SetBatteryCapacity", "capacity", 7.25),
        }[operation]
        async with open_session(iut) as session:
            await operate(session, operation, **{field: value})
            await session.send(answer(), SIGNATURE)
            start = await start_program(session)
            commands = commands_before(session, name, start)
            check(
                any(_has_fields(_fields(command), {field: value}) for command in commands),
                f"a {name} with {value} before StartExecution",
                f"{len(commands)} other commands {name} came",
                start.event,
            )


@requirement("setup.starting-state")
@pytest.mark.parametrize("operation", ["controller", "sdcard", "battery"])
async def test_state_changed_while_loading(iut: Iut, operation: str) -> None:
    """A choice of the user during loading is sent before StartExecution."""
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        name, arguments = {
            "controller": ("ControllerUpdate", raw_state(axis1=65)["ControllerUpdate"]),
            "sdcard": ("USD", {"root": folder}),
            "battery": ("SetBatteryCapacity", {"capacity": 7.25}),
        }[operation]
        async with open_in_setup(iut) as session:
            await session.wait_for("CompetitionMode", within="quiet")
            await operate(session, operation, **arguments)
            start = await start_program(session)
            commands = commands_before(session, name, start)
            check(
                any(_has_fields(_fields(command), arguments) for command in commands),
                f"a {name} with the user's choice before StartExecution",
                f"{len(commands)} other commands {name} came",
                start.event,
            )


def _has_fields(fields: Any, wanted: dict[str, Any]) -> bool:
    """Return True if fields have a state, a root or a capacity; of a state, axis1 counts."""
    if raw := wanted.get("Raw"):
        state = fields.get("Raw")
        return isinstance(state, dict) and state.get("axis1") == raw["axis1"]
    if root := wanted.get("root"):
        return is_path(fields.get("root"), root)
    return is_close(fields.get("capacity"), wanted["capacity"])


@requirement("types.port-range")
async def test_port_range(iut: Iut) -> None:
    """Every port in a command is within its range, also at both ends."""
    async with open_session(iut, starting=False) as session:
        if session.instance.upper.offers("configure"):
            for number in (0, 20):
                await operate(session, "configure", port=number, device=motor(number))
        if session.instance.upper.offers("adi"):
            for number in (0, 7):
                await operate(session, "adi", port=number, voltage=2.5)
        await session.send(answer(), SIGNATURE)
        await play_to_end(iut, session)
        if "types.port-range" not in session.judge.exercised:
            raise NotExercised(
                "no command contained a port; configure a device in the frontend, or give --hook "
                "configure=COMMAND"
            )


@requirement("roles.own-messages")
async def test_sends_commands_only(iut: Iut) -> None:
    """All messages of a whole session are commands of the specification."""
    async with open_in_setup(iut, starting=False) as session:
        await session.send(SIGNATURE, log("loaded"))
        await play_to_end(iut, session)


@requirement("encoding.externally-tagged")
async def test_commands_are_tagged(iut: Iut) -> None:
    """Every command has the form of its schema, also after all operations of the user."""
    async with open_session(iut, starting=False) as session:
        upper = session.instance.upper
        if upper.offers("configure"):
            for number in (0, 1, 20):
                await operate(session, "configure", port=number, device=motor(number))
        await session.send(answer(), SIGNATURE)
        for mode in (AUTONOMOUS, DRIVING):
            if upper.offers("competition"):
                await operate(session, "competition", **mode)
        if upper.offers("controller"):
            await operate(session, "controller", **raw_state(axis2=-127)["ControllerUpdate"])
        if upper.offers("sdcard"):
            await operate(session, "sdcard", root=None)
        if upper.offers("battery"):
            await operate(session, "battery", capacity=7)
        if upper.offers("adi"):
            await operate(session, "adi", port=7, voltage=5)
        await play_to_end(iut, session)


def _missing_ports(session: Session, ports: Iterable[int], start: Message) -> list[int]:
    """Return the Smart ports whose device did not come before StartExecution."""
    came = commands_before(session, "ConfigureDevice", start)
    require_fit(session, *came)
    return [
        number for number in ports if not any(_is_configuration_of(each, number) for each in came)
    ]


def _is_for_port(message: Message, number: int) -> bool:
    return _fields(message).get("port") in ({"Smart": number}, number)


def _is_configuration_of(message: Message, number: int) -> bool:
    device, wanted = _fields(message).get("device"), motor(number)["Motor"]
    sent = device.get("Motor") if isinstance(device, dict) else None
    if not (_is_for_port(message, number) and isinstance(sent, dict)):
        return False
    gearset = name_of(sent.get("physical_gearset"))
    inertia = is_close(sent.get("moment_of_inertia"), wanted["moment_of_inertia"])
    return inertia and gearset == wanted["physical_gearset"]


def _fields(message: Message) -> dict[str, Any]:
    fields = message.value.get(message.name) if isinstance(message.value, dict) else None
    return fields if isinstance(fields, dict) else {}


def _list(ports: Iterable[int]) -> str:
    return ", ".join(map(str, ports))
