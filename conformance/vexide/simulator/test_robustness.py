"""Unknown, malformed and unexpected input that any sane simulator survives."""

import json
from typing import Any

import pytest

from conformance.cases import check, compared, explore, lasting, requirement
from conformance.generation import NearMiss
from conformance.iut import Iut
from conformance.verdicts import Inconclusive, NotExercised, Violation
from conformance.vexide import strategies
from conformance.vexide.codec import encode
from conformance.vexide.commands import (
    START,
    competition,
    hello,
    motor,
    port,
    raw_state,
    touch,
    with_accepted_port,
)
from conformance.vexide.dialects import command_in_dialect
from conformance.vexide.events import LARGE, SMALL
from conformance.vexide.simulator.observations import (
    GREETING,
    check_not_ended,
    serial_bytes,
    serial_until,
    wait_until_running,
)
from conformance.vexide.simulator.probe_sessions import (
    open_session,
    own_first_line,
    own_program,
    port_form,
    refused_form,
    visible_program,
    wait_for_output,
)
from conformance.vexide.simulator.tester import (
    ENDS,
    RUNS,
    SETUP,
    check_still_follows,
    check_still_served,
    expect_ready,
    make_ready,
    shake_hands,
    start,
)
from conformance.vexide.tester import messages_named

MALFORMED = {
    "text": b"hello\n",
    "blank": b"\n",
    "open-object": b'{"CompetitionMode": {"enabled": true\n',
    "two-values": b'"Nothing" "Nothing"\n',
    "number": b"42\n",
    "null": b"null\n",
    "array": b'["CompetitionMode"]\n',
    "empty-object": b"{}\n",
    "two-tags": b'{"USD": {"root": null}, "CompetitionMode": {}}\n',
    "not-utf-8": b'{"USD": {"root": "\xff\xfe"}}\n',
    "zero-byte": b"\0\n",
    "comment": b"// nothing\n",
    "deep": b"[" * 10_000 + b"]" * 10_000 + b"\n",
    "huge-number": b'{"AdiInput": {"port": 0, "voltage": 1e999}}\n',
    "no-device": b'{"ConfigureDevice": {"port": {"Smart": 1}}}\n',
    "other-content": b'{"ConfigureDevice": {"port": {"Smart": 1}, "device": 5}}\n',
    "null-content": b'{"ConfigureDevice": null}\n',
}


MOTOR = {"Motor": {"physical_gearset": "Green", "moment_of_inertia": 1.0}}


@requirement("robustness.malformed-line")
@pytest.mark.parametrize("line", MALFORMED)
async def test_malformed_line(iut: Iut, line: str) -> None:
    """A malformed line is ignored, logged, or ends the session; the simulator stays alive."""
    program = await visible_program(iut)
    async with open_session(iut, program=program) as session:
        await shake_hands(session)
        await session.send(motor(session, 1))
        await session.send_bytes(MALFORMED[line])
        await session.send(competition())
        await check_still_served(iut, session, f"the line {MALFORMED[line][:60]!r}")


@requirement("robustness.malformed-line")
@explore(misses=strategies.misses("frontend"))
async def test_near_misses(iut: Iut, misses: list[NearMiss]) -> None:
    """Commands with one error each are ignored, logged, or end the session."""
    program = await visible_program(iut)
    async with open_session(iut, program=program) as session:
        await make_ready(session, motor(session, 1))
        for miss in misses:
            await session.send(miss.value)
        # A lenient simulator can have taken a mode from a near miss.
        await session.send(competition())
        wrong = "; ".join(miss.expected for miss in misses[:3])
        await check_still_served(
            iut, session, f"{len(misses)} commands with one error each: {wrong}"
        )


@requirement("robustness.unknown-message")
@pytest.mark.parametrize(
    "value",
    ["Nothing", {"Nothing": {}}, {"Nothing": None}, {"Ready": None}, "Exited", "startexecution"],
    ids=["unit", "struct", "null", "event-as-object", "event", "other-case"],
)
async def test_unknown_message(iut: Iut, value: Any) -> None:
    """A command with an unknown name is ignored, logged, or ends the session."""
    program = await visible_program(iut)
    async with open_session(iut, program=program) as session:
        await shake_hands(session)
        await session.send(motor(session, 1), competition())
        await session.send(value)
        await check_still_served(iut, session, f"the unknown command {str(value)[:40]}")


@requirement("robustness.unknown-fields")
@explore(commands=strategies.messages("frontend"))
async def test_any_valid_commands(iut: Iut, commands: list[Any]) -> None:
    """Valid commands do not break the session, even if they make no sense."""
    program = await visible_program(iut)

    async def play(commands: list[Any]) -> None:
        async with open_session(iut, program=program) as session:
            await shake_hands(session)
            given = [with_accepted_port(session, command) for command in commands]
            await session.send(motor(session, 1), *given, competition())
            await check_still_served(iut, session, f"{len(given)} valid commands")

    await compared(iut, play, commands, [competition()] * len(commands), SETUP)


@requirement("robustness.unknown-fields")
@pytest.mark.parametrize("depth", ["command", "mode", "motor"])
async def test_unknown_field(iut: Iut, depth: str) -> None:
    """An unknown field at any depth of a command does not break the session."""
    program = await visible_program(iut)
    async with open_session(iut, program=program) as session:
        await shake_hands(session)
        command = motor(session, 2)
        fields = command["ConfigureDevice"]
        if depth == "motor":
            fields = fields["device"]["Motor"]
        elif depth == "mode":
            command = competition()
            fields = command["CompetitionMode"]
        fields["x_unknown"] = {"nested": [1, None]}
        await session.send(motor(session, 1), command)
        await check_still_served(iut, session, f"an unknown field in {next(iter(command))}")


@requirement("robustness.second-handshake")
async def test_second_handshake(iut: Iut) -> None:
    """A second Handshake is ignored, logged, or ends the session."""
    program = await visible_program(iut)
    async with open_session(iut, program=program) as session:
        await make_ready(session, motor(session, 1))
        await session.send(hello())
        await check_still_served(iut, session, "a second Handshake")


@requirement("robustness.second-handshake")
async def test_second_handshake_while_running(iut: Iut) -> None:
    """A second Handshake while the program runs is ignored, logged, or ends the session."""
    await check_still_follows(iut, hello(), "a second Handshake", may_close=True)


@requirement("robustness.second-start")
@lasting
async def test_second_start(iut: Iut) -> None:
    """A StartExecution while the program runs does not start the program again."""
    program = await visible_program(iut)
    greeting = GREETING if program else await own_first_line(iut)
    async with open_session(iut, program=program) as session:
        await start(session)
        if greeting not in await serial_until(session, greeting):
            raise Inconclusive("the program did not write its expected text")
        await session.send(START)
        await session.wait_for("Exited", within="response")
        events = [message.event for message in messages_named(session, "Serial")]
        again = serial_bytes(session).count(greeting) > 1
        check(
            not again,
            "no second run of the program",
            "the program wrote its first text again",
            events[-1],
        )
        await session.assert_alive("a second StartExecution")


@requirement("devices.config-open")
@pytest.mark.parametrize(
    "device",
    [{"Imu": {}}, {"DistanceSensor": {"range": 2.5}}, "Optical", {"Rotation": None}],
    ids=["struct", "fields", "unit", "null"],
)
async def test_unknown_device(iut: Iut, device: Any) -> None:
    """The session continues after a device of an unknown kind."""
    program = await visible_program(iut)
    async with open_session(iut, program=program) as session:
        await shake_hands(session)
        await session.send({"ConfigureDevice": {"port": port(session, 8), "device": device}})
        await session.send(motor(session, 1), competition())
        await expect_ready(session, "after a device of an unknown kind")
        await check_still_served(iut, session, "a device of an unknown kind", may_close=False)


@requirement("devices.config-open")
@pytest.mark.parametrize("number", [0, 7])
@pytest.mark.parametrize("device", [{"DigitalOut": {}}, MOTOR], ids=["unknown", "motor"])
async def test_device_on_an_adi_port(iut: Iut, device: Any, number: int) -> None:
    """The session continues after a device on an ADI port, which the simulator can ignore."""
    if await port_form(iut) == "bare":
        raise NotExercised("the simulator reads ports as bare numbers, which have no ADI port")
    program = await visible_program(iut)
    async with open_session(iut, program=program) as session:
        await shake_hands(session)
        await session.send({"ConfigureDevice": {"port": {"Adi": number}, "device": device}})
        await session.send(motor(session, 1), competition())
        await expect_ready(session, "after a device on an ADI port")
        await check_still_served(iut, session, "a device on an ADI port", may_close=False)


UNDEFINED: dict[str, Any] = {
    "adi-first": {"AdiInput": {"port": 0, "voltage": 2.5}},
    "adi-last": {"AdiInput": {"port": 7, "voltage": 5}},
    "adi-large": {"AdiInput": {"port": 1, "voltage": -LARGE}},
    "adi-small": {"AdiInput": {"port": 2, "voltage": SMALL}},
    "link-opened": {"VEXLinkOpened": {"port": 20, "mode": "Manager"}},
    "link-closed": {"VEXLinkClosed": {"port": 0}},
}


@requirement("commands.undefined-tolerated")
@pytest.mark.parametrize("command", UNDEFINED)
async def test_undefined_command(iut: Iut, command: str) -> None:
    """A command without a defined effect does not end the session during setup."""
    program = await visible_program(iut)
    async with open_session(iut, program=program) as session:
        await shake_hands(session)
        await session.send(UNDEFINED[command], motor(session, 1), competition())
        name = next(iter(UNDEFINED[command]))
        await expect_ready(session, f"after {name}")
        await check_still_served(iut, session, name, may_close=False)


@requirement("commands.undefined-tolerated")
@pytest.mark.parametrize("command", UNDEFINED)
async def test_undefined_command_while_running(iut: Iut, command: str) -> None:
    """A command without a defined effect does not end the session while the program runs."""
    await check_still_follows(iut, UNDEFINED[command], next(iter(UNDEFINED[command])))


WHILE_RUNNING = {
    "competition.update": competition(enabled=False, mode="Auto"),
    "controller.raw-replaces-uuid": raw_state(axis1=127, button_a=True),
    "controller.uuid-replaces-raw": {"ControllerUpdate": {"UUID": "0" * 32}},
    "battery.set-capacity": {"SetBatteryCapacity": {"capacity": 7.0}},
    "touch.registered": touch(10, 10, "Pressed"),
    "sdcard.unmounted": {"USD": {"root": None}},
}
"""Commands that a user can cause at any time, by the requirement of each.

A crash at the command violates the requirement.
"""


@pytest.mark.parametrize(
    "command",
    [pytest.param(each, marks=requirement(name)) for name, each in WHILE_RUNNING.items()],
    ids=list(WHILE_RUNNING),
)
async def test_survives_while_running(iut: Iut, command: Any) -> None:
    """A command does not end the session while a program runs."""
    name = next(iter(command))
    shown = await own_program(iut)
    async with open_session(iut) as session:
        await start(session, motor(session, 1), requirement=SETUP)
        await wait_until_running(session, "program" if shown.ran else "quiet")
        await session.send(command)
        await session.until_closed("quiet")
        await session.assert_alive(f"{name} while the program runs")
        if session.ended and shown.ended and not shown.exited:
            raise Inconclusive(
                "the simulator's program also ends without Exited by itself (exit.exited-sent)"
            )
        await check_not_ended(session)
    # Survival alone does not satisfy the requirement.
    iut.require("probe")


@requirement("encoding.externally-tagged")
@pytest.mark.parametrize("program", [None, "draw", "drive", "crash"])
async def test_every_event_is_well_formed(iut: Iut, program: str | None) -> None:
    """Every event that different kinds of programs cause has the form of its type."""
    async with open_session(iut, program=program) as session:
        motors = [motor(session, number) for number in (0, 1, 20)]
        await start(session, *motors, requirement=SETUP)
        within = None if program else "program"
        await session.wait_for("Exited", within=within, requirement=ENDS)


@requirement("encoding.externally-tagged")
async def test_canonical_commands(iut: Iut) -> None:
    """Every command in its canonical form is understood, and the program runs."""
    program = await visible_program(iut)
    async with open_session(iut, program=program) as session:
        motors = [motor(session, number) for number in (0, 20)]
        await make_ready(session, *motors, requirement=SETUP)
        await session.send_bytes(encode(START))
        if not await wait_for_output(iut, session, RUNS):
            raise NotExercised("nothing showed that the program ran")


@requirement("encoding.externally-tagged")
@pytest.mark.parametrize(
    "command", [raw_state(axis1=65), touch(10, 20, "Pressed")], ids=["controller", "touch"]
)
async def test_form_of_commands(iut: Iut, command: Any) -> None:
    """A ControllerUpdate and a Touch are read in the form of the specification."""
    if refused := await refused_form(iut, command):
        raise Violation(
            f"{json.dumps(command)[:100]}… to be read, in the form of the specification",
            "the simulator refuses it and reads only the form of version 0.2 of the published "
            f"Rust crate: {json.dumps(command_in_dialect(command))[:100]}…",
        ).shown_in(refused[0], refused)


@requirement("encoding.externally-tagged")
async def test_form_of_ports(iut: Iut) -> None:
    """Ports are understood in one of the two forms that the specification shows."""
    form = await port_form(iut)
    if form == "bare":
        iut.remark = (
            "the simulator reads ports as in the example session (1) and not as in the data "
            'types ({"Smart": 1}); the suite sends the form of the example session'
        )
