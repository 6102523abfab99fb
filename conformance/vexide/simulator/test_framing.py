"""JSON Lines over a stream: segmentation and spelling must not matter."""

import base64
import functools
import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from conformance.cases import check, compared, lasting, requirement, send_with_pause
from conformance.iut import Iut
from conformance.segmentation import Segmentation, byte_by_byte, split_at, whole
from conformance.session import Session
from conformance.verdicts import Inconclusive, NotExercised, Violation
from conformance.vexide.codec import encode
from conformance.vexide.commands import START, competition, hello, motor, port
from conformance.vexide.cuts import CUTS, inside_characters
from conformance.vexide.lengths import EACH_LENGTH, LENGTHS, SHORT, pad
from conformance.vexide.simulator.observations import (
    UPDATES,
    check_capacity,
    check_written,
    mark_unwritten,
    motors_reported,
    smart_port,
    wait_for_report,
)
from conformance.vexide.simulator.probe_sessions import (
    Driving,
    find_driving_program,
    open_session,
    visible_program,
    wait_for_output,
)
from conformance.vexide.simulator.tester import (
    ENDS,
    RUNS,
    SETUP,
    another_session,
    expect_ready,
    make_ready,
    shake_hands,
    start,
)
from conformance.vexide.spellings import BEYOND_ASCII, SEPARATORS, SPELLINGS

MEBIBYTE = 1024 * 1024
_INSIDE = 5  # bytes of a StartExecution before a pause
_SILENT = "motors of which no update comes in a plain session"


@requirement("framing.json-lines")
async def test_every_line_is_json(iut: Iut) -> None:
    """All bytes of a session are UTF-8 lines with one JSON value each."""
    async with open_session(iut) as session:
        await start(session, motor(session, 1), requirement=SETUP)
        await session.wait_for("Exited", within="program", requirement=ENDS)


@requirement("framing.json-lines")
@pytest.mark.parametrize("program", ["draw", "drive", "crash", "bytes"])
async def test_every_line_of_a_program_is_json(iut: Iut, program: str) -> None:
    """Every line that different kinds of programs cause is JSON."""
    async with open_session(iut, program=program) as session:
        await start(session, motor(session, 1), requirement=SETUP)
        await wait_for_output(iut, session, RUNS)
        await session.wait_for("Exited")


@requirement("framing.segmentation")
@pytest.mark.parametrize("cut", CUTS, ids=lambda cut: cut.__name__)
async def test_cut_lines(iut: Iut, cut: Segmentation) -> None:
    """A session whose lines arrive in pieces is read like a session with whole lines."""
    program = await visible_program(iut)

    async def play(cut: Segmentation | None) -> None:
        async with open_session(iut, program=program, segmentation=cut) as session:
            await session.send(hello(extensions=["x-ä€😀"]))
            await session.expect("Handshake", to="in answer to a Handshake in pieces")
            await session.send(motor(session, 1), motor(session, 2), competition())
            await expect_ready(session)
            await session.send(START)
            ran = await wait_for_output(iut, session)
            check(ran, "the program to run", "a StartExecution in pieces had no effect")

    await compared(iut, play, cut, None, "handshake.answered or start.begins-execution")


@requirement("framing.segmentation")
async def test_cut_lines_of_a_later_session(iut: Iut) -> None:
    """Lines can arrive in pieces in a second session with the same simulator."""
    program = await visible_program(iut)

    async def play(cut: Segmentation | None) -> None:
        async with iut.instance(program) as running:
            async with iut.connect(running) as session:
                await make_ready(session)
                await session.close()
            async with another_session(iut, running, cut) as session:
                await shake_hands(session)
                await session.send(motor(session, 1), competition())
                await expect_ready(session, "after lines that came byte by byte")
                await session.send(START)
                ran = await wait_for_output(iut, session)
                check(ran, "the program to run", "StartExecution had no effect")

    await compared(iut, play, byte_by_byte, None, "session.independent or ready.sent")


@requirement("framing.segmentation")
@pytest.mark.parametrize("cut", CUTS, ids=lambda cut: cut.__name__)
async def test_cut_configuration(iut: Iut, cut: Segmentation) -> None:
    """Motors whose configuration arrives in pieces are driven, the first and the last."""
    known = await find_driving_program(iut, 0, 7, 20)
    async with open_session(iut, program=known.program, segmentation=cut) as session:
        await start(session, *(motor(session, number) for number in known.configured))
        await _check_all_driven(iut, session, known)


@lasting
@requirement("framing.segmentation")
async def test_pause_inside_a_line(iut: Iut) -> None:
    """A StartExecution whose rest comes after a pause starts the program."""
    program = await visible_program(iut)

    async def play(at: int) -> None:
        async with open_session(iut, program=program) as session:
            await make_ready(session, motor(session, 1))
            await send_with_pause(session, encode(START), at)
            ran = await wait_for_output(iut, session)
            check(ran, "the program to run", "a StartExecution with a pause inside had no effect")

    await compared(iut, play, _INSIDE, 0, "start.begins-execution")


@requirement("framing.segmentation")
async def test_cut_text(iut: Iut) -> None:
    """A text that is cut inside a UTF-8 character keeps its characters.

    The test mounts a card whose folder has such a name.
    """

    async def play(cut: Segmentation) -> None:
        with tempfile.TemporaryDirectory(prefix="conformance-ä€😀-") as folder:
            async with open_session(iut, program="probe", segmentation=cut) as session:
                await start(session, {"USD": {"root": mark_unwritten(Path(folder))}})
                report = await wait_for_report(session, "sdcard", lambda line: line == "present")
                check(
                    report == "present",
                    "the program to see its SD card",
                    f"the program saw {report}",
                )
                check_written(Path(folder))

    await compared(iut, play, inside_characters, whole, "sdcard.mounted")


@requirement("framing.segmentation")
@pytest.mark.parametrize("separator", SEPARATORS)
async def test_other_line_separators(iut: Iut, separator: str) -> None:
    """Only a newline ends a line; a text can contain other separators."""

    async def play(text: str) -> None:
        async with open_session(iut) as session:
            line = json.dumps(hello(extensions=[f"x-{text}"]), ensure_ascii=False)
            await session.send_bytes(f"{line}\n".encode())
            await session.expect(
                "Handshake", to=f"in answer to a Handshake with a {separator} separator"
            )

    await compared(iut, play, SEPARATORS[separator], BEYOND_ASCII, "framing.white-space")


@requirement("framing.segmentation")
async def test_many_lines_in_one_write(iut: Iut) -> None:
    """Forty lines in one write are forty messages, including the first and the last."""
    await compared(iut, functools.partial(_forty_lines, iut), whole, None, SETUP)


@requirement("setup.commands-handled")
async def test_many_lines_one_by_one(iut: Iut) -> None:
    """All of forty setup commands are read, including the first and the last."""
    await _forty_lines(iut, None)


async def _forty_lines(iut: Iut, segmentation: Segmentation | None) -> None:
    known = await find_driving_program(iut, 4, 9)
    async with open_session(iut, program=known.program) as session:
        await shake_hands(session)
        filler = [competition(enabled=bool(number % 2)) for number in range(39)]
        first, *others = (motor(session, number) for number in known.configured)
        await session.send(first, *filler, *others, segmentation=segmentation)
        await expect_ready(session)
        await session.send(competition(), START)
        await _check_all_driven(iut, session, known)


@requirement("framing.segmentation")
async def test_start_behind_other_lines(iut: Iut) -> None:
    """StartExecution counts as the last of several lines in one write."""
    program = await visible_program(iut)
    async with open_session(iut, program=program) as session:
        await make_ready(session, motor(session, 1))
        modes = [competition(enabled=bool(number % 2)) for number in range(10)]
        await session.send(*modes, START, segmentation=whole)
        ran = await wait_for_output(iut, session)
        check(ran, "the program to run", "a StartExecution at the end of a write had no effect")


@requirement("framing.segmentation")
async def test_lines_in_one_write_while_running(iut: Iut) -> None:
    """All lines of one write count while the program runs."""

    batteries = {wh: {"SetBatteryCapacity": {"capacity": wh}} for wh in (11.0, 9.0, 5.0, 3.0)}
    *first, last = batteries.values()

    async def play(at_once: bool) -> None:
        async with open_session(iut, program="probe") as session:
            await start(session)
            await wait_for_report(session, "battery", lambda report: report != "nothing")
            if at_once:
                await session.send(*first, segmentation=whole)
                await check_capacity(session, 5.0)
                # The mode does not change, so that the program has only the battery to report.
                await session.send(last, competition(), competition(), segmentation=whole)
                await check_capacity(session, 3.0)
            else:
                for wh, battery in batteries.items():
                    await session.send(battery)
                    await check_capacity(session, wh)

    await compared(iut, play, True, False, "battery.set-capacity")


@requirement("framing.segmentation")
async def test_a_line_and_a_half(iut: Iut) -> None:
    """A write can end inside the next line."""
    program = await visible_program(iut)
    async with open_session(iut, program=program) as session:
        await make_ready(session, motor(session, 1))
        lines = encode(competition()) + encode(START)
        await session.send_bytes(lines, segmentation=split_at([len(lines) - 8]))
        check(
            await wait_for_output(iut, session),
            "the program to run",
            "a StartExecution in pieces had no effect",
        )


@pytest.mark.parametrize(
    "sizes",
    [pytest.param(sizes, marks=requirement(name)) for name, sizes in LENGTHS.items()],
    ids=["small", "large"],
)
async def test_lines_of_any_length(iut: Iut, sizes: Sequence[int]) -> None:
    """Each line counts, also if it is about as long as a buffer."""
    known = await find_driving_program(iut, *range(len(sizes)))

    async def play(sizes: Sequence[int]) -> None:
        async with open_session(iut, program=known.program) as session:
            await shake_hands(session)
            for number in known.configured:
                size = sizes[number % len(sizes)]
                await session.send_bytes(pad(motor(session, number), size))
            await session.send_bytes(pad(competition(), sizes[-1]))
            await expect_ready(session)
            await session.send_bytes(pad(START, sizes[0]))
            await _check_all_driven(iut, session, known)

    await compared(iut, play, sizes, [SHORT] * len(sizes), "framing.white-space")


@pytest.mark.parametrize("size", EACH_LENGTH)
async def test_handshake_of_any_length(iut: Iut, size: int) -> None:
    """A Handshake is answered if its line is about as long as a buffer."""

    async def play(size: int) -> None:
        async with iut.session() as session:
            filler = "x" * (size - len(encode(hello(extensions=[""]))))
            await session.send(hello(extensions=[filler]))
            await session.expect("Handshake", to=f"in answer to a Handshake of {size} bytes")

    await compared(iut, play, size, SHORT, "handshake.answered")


@requirement("framing.white-space")
@pytest.mark.parametrize("spelling", SPELLINGS)
async def test_any_spelling(iut: Iut, spelling: str) -> None:
    """White space between tokens and escaped characters change nothing in any message."""
    program = await visible_program(iut)

    async def play(spell: Callable[[str], str]) -> None:
        async with open_session(iut, program=program) as session:

            async def send(*values: object) -> None:
                for value in values:
                    line = spell(encode(value).decode().removesuffix("\n"))
                    assert json.loads(line) == value, f"{spelling} changes the value"
                    await session.send_bytes(f"{line}\n".encode())

            await send(hello())
            await session.expect("Handshake", to="in answer to a Handshake in another spelling")
            await send(motor(session, 1), competition())
            await expect_ready(session)
            await send(START)
            check(
                await wait_for_output(iut, session),
                "the program to run",
                "StartExecution had no effect",
            )

    await compared(iut, play, SPELLINGS[spelling], lambda line: line, "handshake.answered")


@requirement("framing.white-space")
async def test_text_as_itself(iut: Iut) -> None:
    """A text can contain characters beyond ASCII without escapes."""

    async def play(text: str) -> None:
        async with open_session(iut) as session:
            await session.send(hello(extensions=[f"x-{text}"]))
            await session.expect(
                "Handshake", to=f"in answer to a Handshake with the extension x-{text}"
            )

    await compared(iut, play, BEYOND_ASCII, "ab", "handshake.answered")


@requirement("framing.white-space")
async def test_escaped_pairs(iut: Iut) -> None:
    """Characters beyond the basic plane can be written as a pair of escapes."""

    async def play(text: bytes) -> None:
        async with open_session(iut) as session:
            await session.send_bytes(b'{"Handshake":{"version":1,"extensions":["%b"]}}\n' % text)
            await session.expect("Handshake", to="in answer to a Handshake with escapes")

    escapes = b'\\u00e4 \\uD83D\\uDE00 \\ud83d\\ude00\\/\\b\\f\\n\\r\\t\\"\\\\'
    await compared(iut, play, escapes, b"ab", "handshake.answered")


@requirement("framing.white-space")
async def test_escaped_path(iut: Iut) -> None:
    """Escapes in a text mean their characters, also in the path of a card."""

    async def play(is_escaped: bool) -> None:
        with tempfile.TemporaryDirectory(prefix=f"conformance-{BEYOND_ASCII}-") as folder:
            root = json.dumps(mark_unwritten(Path(folder)), ensure_ascii=is_escaped)
            if is_escaped:
                root = root.replace("/", "\\/")
            async with open_session(iut, program="probe") as session:
                await make_ready(session)
                await session.send_bytes(f'{{"USD":{{"root":{root}}}}}\n'.encode())
                await session.send(START)
                report = await wait_for_report(session, "sdcard", lambda line: line == "present")
                check(
                    report == "present",
                    "the program to see its SD card",
                    f"the program saw {report}",
                )
                check_written(Path(folder))

    await compared(iut, play, True, False, "sdcard.mounted")


@requirement("framing.white-space")
async def test_any_order_of_fields(iut: Iut) -> None:
    """Fields count by their names, in any order."""
    known = await find_driving_program(iut, 2)
    async with open_session(iut, program=known.program) as session:
        await session.send({"Handshake": {"extensions": [], "version": 1}})
        await session.expect("Handshake", to="in answer to a Handshake with reversed fields")
        device = {"Motor": {"moment_of_inertia": 1.0, "physical_gearset": "Green"}}
        await session.send(
            *(
                {"ConfigureDevice": {"device": device, "port": port(session, number)}}
                for number in known.configured
            ),
            {
                "CompetitionMode": {
                    "is_competition": False,
                    "mode": "Driver",
                    "connected": True,
                    "enabled": True,
                }
            },
        )
        await expect_ready(session)
        await session.send(START)
        await _check_all_driven(iut, session, known)


@requirement("framing.white-space")
@pytest.mark.parametrize(
    "number",
    [
        *("95e-1", "0.95E+1", "9.50", "9.5e0", "0.00000095e7", "9500000000000e-12"),
        # more digits than a double has; the nearest double is 9.5
        "9.50000000000000000000000000000000000000001",
        "9.4999999999999999999999999999999999999999",
    ],
)
async def test_any_spelling_of_numbers(iut: Iut, number: str) -> None:
    """A number counts by its value, with any exponent and any number of digits."""

    async def play(spelling: str) -> None:
        async with open_session(iut, program="probe") as session:
            await make_ready(session)
            line = f'{{"SetBatteryCapacity":{{"capacity":{spelling}}}}}\n'
            await session.send_bytes(line.encode())
            await session.send(START)
            await check_capacity(session, 9.5)

    await compared(iut, play, number, "9.5", "battery.set-capacity")


@requirement("framing.white-space")
@pytest.mark.parametrize("number", ["1", "1e0", "100000e-5", "0.0000000001E+10"])
async def test_any_spelling_of_an_inertia(iut: Iut, number: str) -> None:
    """A motor's inertia can be written as an integer or with an exponent."""
    known = await find_driving_program(iut, 2)
    async with open_session(iut, program=known.program) as session:
        await shake_hands(session)
        for configured in known.configured:
            line = encode(motor(session, configured)).replace(b"1.0", number.encode())
            await session.send_bytes(line)
        await session.send(competition())
        await expect_ready(session)
        await session.send(START)
        await _check_all_driven(iut, session, known)


@requirement("framing.long-lines")
@pytest.mark.parametrize("size", [70_000, MEBIBYTE + 1, 3 * MEBIBYTE], ids=["70k", "1M", "3M"])
async def test_long_lines(iut: Iut, size: int) -> None:
    """Lines of up to three mebibytes are read, in the handshake and in setup."""
    program = await visible_program(iut)

    async def play(size: int) -> None:
        filler = base64.b64encode(bytes(size * 3 // 4)).decode()
        async with open_session(iut, program=program) as session:
            await session.send(hello(extensions=[filler]))
            await session.expect("Handshake", to=f"in answer to a Handshake of {size} bytes")
            longer = encode(motor(session, 1)).replace(b":", b":" + b" " * size, 1)
            await session.send_bytes(longer)
            await session.send(competition())
            await expect_ready(session, f"after a line of {size} bytes")
            await session.send(START)
            check(
                await wait_for_output(iut, session),
                "the program to run",
                "StartExecution had no effect",
            )

    await compared(iut, play, size, 4, "handshake.answered")


@requirement("transport.standard-streams")
async def test_standard_streams(iut: Iut) -> None:
    """The session uses standard input and output, which can be pipes or sockets."""
    if iut.transport != "stdio":
        raise NotExercised(f"this run uses {iut.transport}; give a command without {{port}}")
    # Node.js starts programs with sockets, which cannot be opened by the name /dev/stdin.
    play = functools.partial(_whole_session, iut)
    await compared(iut, play, True, False, "start.begins-execution")


@requirement("transport.others")
async def test_other_transports(iut: Iut) -> None:
    """The session uses a TCP or a Unix domain socket."""
    if iut.transport == "stdio":
        raise NotExercised("this run uses stdio; give a command with {port} or {socket}")
    await _whole_session(iut)


async def _whole_session(iut: Iut, sockets: bool = False) -> None:
    program, over = await visible_program(iut), ", over sockets as standard streams" * sockets
    async with iut.session(program=program, sockets=sockets) as session:
        await session.send(hello())
        await session.expect("Handshake", to=f"in answer to the Handshake command{over}")
        await session.send(motor(session, 1), competition())
        await expect_ready(session, f"after the handshake{over}")
        await session.send(START)
        ran = await wait_for_output(iut, session)
        check(ran, f"the program to run{over}", "StartExecution had no effect")


async def _check_all_driven(iut: Iut, session: Session, known: Driving) -> None:
    """Check that the program drives every configured motor, which its DeviceUpdates show.

    Raises Inconclusive if a motor is not driven in a plain session either.
    """
    silent: set[int] = iut.facts.setdefault(_SILENT, set())
    left = await _ports_not_driven(session, known, silent)
    if not left:
        return
    if left - silent:
        async with open_session(iut, program=known.program) as plain:
            await start(plain, *(motor(plain, number) for number in known.configured))
            silent |= left & await _ports_not_driven(plain, known, silent)
    always = left & silent
    ports = ", ".join(map(str, sorted(always or left)))
    if always:
        raise Inconclusive(
            f"no DeviceUpdate of the motor at port {ports} comes in a plain session either "
            f"({UPDATES})"
        )
    raise Violation(
        f"DeviceUpdates of the motors at ports {', '.join(map(str, known.reporting))}",
        f"received none for port {ports}",
    )


async def _ports_not_driven(session: Session, known: Driving, silent: set[int]) -> set[int]:
    """Return the ports without an update.

    Ports that are known to be silent are not waited for.
    """
    left = known.left(session)
    missing = set(known.reporting).difference(motors_reported(session))
    while missing - silent:
        update = await session.wait_for("DeviceUpdate", within=left)
        if not update:
            break
        number = smart_port(update.value["DeviceUpdate"]["port"])
        if number in missing:
            missing.remove(number)
    return missing
