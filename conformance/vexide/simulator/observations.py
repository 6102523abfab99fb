"""Observations of a simulator: serial data, motors, and reports of the probe program."""

import base64
import binascii
import math
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from conformance.cases import check
from conformance.definitions import protocols
from conformance.harness.deadlines import Countdown
from conformance.session import Session, Timeout
from conformance.verdicts import Inconclusive, NotExercised, Violation
from conformance.vexide.tester import messages_named
from conformance.wire import Message

GREETING = b"Hello World!\n"
NO_GAMEPAD = "03000000000000000000000000000001"  # an SDL2 identifier that no gamepad has
UPDATES = "devices.update-on-change"  # the requirement that missing DeviceUpdates violate
SPEAKS = "whether the probe program writes"
PROBED = {"competition", "battery", "controller", "sdcard"}
"""The words with which the lines of the probe program begin."""
_AS_LOG = "what a program prints comes as Log"

EXECUTION = protocols.load("vexide").groups["execution"]
"""Events that show that a program is running."""


def serial_text(session: Session) -> str:
    """Return the text that the probe program has written so far."""
    return serial_bytes(session).decode("utf-8", "replace")


def motors_reported(session: Session) -> Iterator[object]:
    """Yield the numbers of the Smart ports in DeviceUpdates, in either form."""
    for message in messages_named(session, "DeviceUpdate"):
        fields = message.value["DeviceUpdate"]
        yield smart_port(fields.get("port") if isinstance(fields, dict) else None)


def logs_with_output(session: Session) -> list[Message]:
    """Return the Logs with the text that the program `print` writes."""
    word = GREETING.decode().strip()
    return [message for message in messages_named(session, "Log") if word in str(message.value)]


async def wait_until_running(
    session: Session, within: str = "program", requirement: str | None = None
) -> bool:
    """Wait until the program shows that it runs; return True if it does.

    A Log with the program's text counts, because another requirement decides about such Logs.
    ``within`` is the timeout for the program. ``requirement`` is passed to ``wait_for``.
    """
    left = session.countdown(within)

    def enough() -> float:
        return 0.0 if session.facts.get(_AS_LOG) and logs_with_output(session) else left()

    came = await session.wait_for(*EXECUTION, within=enough, requirement=requirement)
    if not came and logs_with_output(session):
        session.facts[_AS_LOG] = True
        return True
    return came is not None


def smart_port(port: object) -> object:
    """Return the number of a Smart port in either form; None for other values."""
    number = port.get("Smart") if isinstance(port, dict) else port
    return number if isinstance(number, int) else None


async def check_not_ended(session: Session) -> None:
    """Raise Violation if the simulator ended the session although its program had not ended."""
    if session.ended and not messages_named(session, "Exited"):
        await session.settle_process()
        raise Violation(
            "the session to continue", f"the session ended{session.instance.describe_end()}"
        )


def serial_bytes(session: Session, channel: int = 1) -> bytes:
    """Return all data received on a serial channel, joined over all events.

    Raises Inconclusive if some data cannot be decoded; the schema check has reported the error.
    """
    data = b""
    for message in messages_named(session, "Serial"):
        try:
            fields = message.value["Serial"]
            if fields["channel"] == channel:
                data += _bytes(fields["data"])
        except (binascii.Error, ValueError, LookupError, TypeError):
            raise Inconclusive("the data of a Serial event is not Base64 (serial.base64)") from None
    return data


def serial_event(session: Session, byte: int) -> int | None:
    """Return the index of the event with this byte of channel 1.

    If no event has the byte, the result is the last Serial of channel 1, or of any channel.
    """
    left = byte + 1
    came = messages_named(session, "Serial")
    of_channel = [message for message in came if message.value["Serial"]["channel"] == 1]
    for message in of_channel:
        left -= len(_bytes(message.value["Serial"]["data"]))
        if left <= 0:
            return message.event
    return next((message.event for message in reversed(of_channel or came)), None)


def other_channels(session: Session) -> str:
    """Describe other serial channels with data for a message; empty if none."""
    channels = {
        message.value["Serial"].get("channel") for message in messages_named(session, "Serial")
    }
    others = ", ".join(str(channel) for channel in channels if channel != 1)
    return f", but Serial of channel {others}" if others else ""


def _bytes(data: Any) -> bytes:
    """Decode the data of a Serial event: Base64, or a list of numbers."""
    return bytes(data) if isinstance(data, list) else base64.b64decode(data, validate=True)


async def serial_until(session: Session, wanted: bytes) -> bytes:
    """Collect serial data until the data contains ``wanted`` or the program's time is over."""
    left = session.countdown("program")
    while wanted not in (data := serial_bytes(session)) and left() > 0:
        if not await _wait_for_more(session, left):
            break
    return data


async def _wait_for_more(session: Session, left: Countdown) -> bool:
    """Wait for more serial data; wait less if the program writes only to other channels."""
    within: Timeout = left
    if other_channels(session) and not serial_bytes(session):
        within = "response" if session.facts.get(SPEAKS, True) else "quiet"
    return left() > 0 and await session.wait_for("Serial", within=within) is not None


async def wait_for_report(session: Session, kind: str, accept: Callable[[str], bool]) -> str:
    """Return the latest report of a kind from the probe program, without the kind's name.

    Waits until a report is accepted or the time is over. Raises Violation if the session ends
    before, and Inconclusive if the program writes nothing at all.
    """
    # If no probe program has written anything yet in this run, a wait would show nothing new.
    left = session.countdown("program" if session.facts.get(SPEAKS, True) else "quiet")
    ended = False
    while True:
        text = serial_text(session)
        # While more data can come, a line without a newline is possibly incomplete.
        lines = (text if ended else text[: text.rfind("\n") + 1]).splitlines()
        reports = [line.removeprefix(f"{kind} ") for line in lines if line.startswith(f"{kind} ")]
        latest = reports[-1] if reports else "nothing"
        if accept(latest):
            return latest
        if ended:
            await check_not_ended(session)
            if not lines:
                session.facts.setdefault(SPEAKS, False)
                none = "the probe program wrote nothing on serial channel 1"
                raise Inconclusive(none + other_channels(session))
            return latest
        if text:
            session.facts[SPEAKS] = True
        ended = not await _wait_for_more(session, left)


async def describe_lost_lines(session: Session) -> str:
    """Describe a loss of lines that the probe program writes at its start.

    The result is empty if no line was lost. The program writes one line of each kind at once. A
    loss is assumed if only one line came, or if one line came twice and others are missing. A
    single missing kind is a different error.
    """
    await wait_for_report(session, "competition", lambda report: report != "nothing")
    wanted = PROBED - session.instance.configuration.unsupported.keys()
    left = session.countdown("program")
    while True:
        lines = serial_text(session).splitlines()
        if not (missing := wanted - {line.split(" ")[0] for line in lines}):
            return ""
        if left() <= 0 or not await session.wait_for("Serial", within="response"):
            break
    most = max(lines, key=lines.count)
    others = f"but no line of {' or '.join(sorted(missing))}"
    if lines.count(most) > 1:
        return f"{most!r} came more than once, {others}"
    return f"{most!r} came alone, {others}" if len(lines) == 1 and len(missing) > 1 else ""


async def check_capacity(
    session: Session, wanted: float, stale: int = 0, earlier: float = math.inf
) -> bool:
    """Check that the battery has a capacity of ``wanted`` Wh.

    The check uses the probe program's report, or else the first Battery event that counts. The
    first ``stale`` Battery events do not count. Further checks if a probe program reports:

    - No event is below ``wanted`` or above ``earlier``, the capacity before the last command.
    - The first event after the report can be up to ``earlier``, because it was possibly on its way.
    - All later events are at most ``wanted``.

    Returns False if events count, and the last one is too high although no other event follows.
    """
    if "probe" in session.instance.configuration.programs:
        report = await wait_for_report(session, "battery", lambda line: is_close(line, wanted))
        check(
            is_close(report, wanted), f"the program to see {wanted} Wh", f"the program saw {report}"
        )
        reported_at, is_new = messages_named(session, "Serial")[-1].event, True
        while len(later := _batteries_after(session, reported_at)) < 2:
            is_new = all(_is_at_most(battery, wanted) for battery in _counting(session, stale)[-1:])
            if not await session.wait_for("Battery", within=None if is_new else "response"):
                break
        for battery in _counting(session, stale):
            _check_battery_event(battery, wanted, wanted if battery in later[1:] else earlier)
        return is_new or len(later) > 1
    left = session.countdown("program")
    while not _counting(session, stale):
        if not await session.wait_for("Battery", within=left):
            raise NotExercised(
                "nothing showed the capacity of the battery; declare [programs] probe"
            )
    _check_battery_event(_counting(session, stale)[0], wanted, wanted)
    return True


def _counting(session: Session, stale: int) -> list[Message]:
    return messages_named(session, "Battery")[stale:]


def _batteries_after(session: Session, event: int) -> list[Message]:
    return [battery for battery in messages_named(session, "Battery") if battery.event > event]


def _check_battery_event(battery: Message, wanted: float, most: float) -> None:
    capacity = battery.value["Battery"]["capacity"]
    # A running program has already used some energy, but little in a short session. A simulator can
    # round the capacity to tenths of a watt-hour.
    check(
        min(0.9 * wanted, wanted - 0.1) <= capacity and _is_at_most(battery, most),
        f"a Battery event with {wanted} Wh or slightly less",
        f"received capacity {capacity} Wh",
        battery.event,
    )


def _is_at_most(battery: Message, most: float) -> bool:
    return bool(battery.value["Battery"]["capacity"] <= 1.01 * most)


def is_close(line: str, wanted: float) -> bool:
    """Return True if a line of the probe is about this number of watt-hours."""
    try:
        return math.isclose(float(line.removesuffix("Wh")), wanted, rel_tol=0.01, abs_tol=0.01)
    except ValueError:
        return False


def mark_unwritten(card: Path) -> str:
    """Return the path of a directory for USD, marked as not yet written to."""
    os.utime(card, (0, 0))
    return str(card)


def check_written(card: Path) -> None:
    """Check that a file was written there.

    The directory's modification time shows the write, even if the file is deleted again.
    """
    written = card.stat().st_mtime > 0
    check(written, "the program to write a file in the mounted directory", "no file was written")
