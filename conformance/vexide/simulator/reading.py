"""How the tester of a simulator reads what came: serial data, motors, what the probe says."""

import base64
import binascii
import math
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from conformance.cases import check
from conformance.harness.deadlines import Left
from conformance.running.patience import SHARE
from conformance.session import Session
from conformance.verdicts import Inconclusive, NotExercised, Violation
from conformance.vexide.tester import received
from conformance.waiting import Within
from conformance.wire import Message

GREETING = b"Hello World!\n"
NO_GAMEPAD = "03000000000000000000000000000001"  # an SDL2 identifier that no gamepad has
UPDATES = "devices.update-on-change"  # what is violated where no DeviceUpdate comes
MOVES = "an update of each motor that is driven at once with others"
SHOWING = "a program that shows once it is started"
FEW = 30  # commands, which any simulator has read in much less than the time of a response
SPEAKS = "whether the probe program writes"
PROBED = {"competition", "battery", "controller", "sdcard"}
"""The kinds of lines that the probe program begins with."""
_SEES = "that the probe program says what it is to see"
_AS_LOG = "what a program prints comes as Log"

EXECUTION = (
    "Serial",
    "Exited",
    "ScreenDraw",
    "ScreenClear",
    "ScreenRender",
    "ScreenDoubleBufferMode",
    "DeviceUpdate",
    "RobotPose",
    "RobotState",
    "VEXLinkConnect",
)
"""Events by which a running program shows."""


def serial_text(session: Session) -> str:
    """What the probe program has written so far."""
    return serial_bytes(session).decode("utf-8", "replace")


def motors_reported(session: Session) -> Iterator[object]:
    """The numbers of the Smart ports that DeviceUpdates have named, in either form."""
    for message in received(session, "DeviceUpdate"):
        fields = message.value["DeviceUpdate"]
        yield smart(fields.get("port") if isinstance(fields, dict) else None)


def printed_as_log(session: Session) -> list[Message]:
    """The Logs that have what the program `print` writes on a serial channel."""
    word = GREETING.decode().strip()
    return [message for message in received(session, "Log") if word in str(message.value)]


async def runs(session: Session, within: str = "program", requirement: str | None = None) -> bool:
    """Whether the program shows, in a Log if nowhere else: what that violates is told elsewhere.

    ``within`` is how long the IUT's own program may take, ``requirement`` is as of ``watch``. Where
    the run has seen how soon one of ours shows, it is hardly slower another time.
    """
    # Who takes a command in each step may still have many before StartExecution.
    ours = session.instance.program is not None and len(session.told) <= FEW
    left, asked = surely(session, SHOWING) if ours else session.left(within), session.now

    def enough() -> float:
        return 0.0 if session.memory.get(_AS_LOG) and printed_as_log(session) else left()

    came = await session.watch(*EXECUTION, within=enough, requirement=requirement)
    if came and ours:
        session.took(SHOWING, session.now - asked)
    if not came and printed_as_log(session):
        session.memory[_AS_LOG] = True
        return True
    return came is not None


def smart(port: object) -> object:
    """The number of a Smart port, in either form."""
    number = port.get("Smart") if isinstance(port, dict) else port
    return number if isinstance(number, int) else None


def surely(session: Session, what: str) -> Left:
    """Counts down a program's time, or less where the run has shown that this comes sooner."""
    left, soon, asked = session.left("program"), session.left("response"), session.now

    def seconds() -> float:
        longest = session.pace(what, session.instance.configuration.seconds("program"))
        return min(left(), max(soon(), asked + longest - session.now))

    return seconds


async def goes_on(session: Session) -> None:
    """Raise Violation where the simulator has ended the session, and its program had not ended."""
    if session.ended and not received(session, "Exited"):
        await session.settled()
        raise Violation("the session to go on", f"it ended{session.instance.describe_end()}")


def serial_bytes(session: Session, channel: int = 1) -> bytes:
    """All data that has come over a serial channel, whatever events it came in.

    Raises Inconclusive where some of it cannot be read, which its schema has reported.
    """
    data = b""
    for message in received(session, "Serial"):
        try:
            fields = message.value["Serial"]
            if fields["channel"] == channel:
                data += _bytes(fields["data"])
        except (binascii.Error, ValueError, LookupError, TypeError):
            raise Inconclusive("Serial came whose data is not Base64 (serial.base64)") from None
    return data


def serial_event(session: Session, byte: int) -> int | None:
    """The event that brought a byte of channel 1, else the last Serial of it, else of another."""
    left = byte + 1
    came = received(session, "Serial")
    mine = [message for message in came if message.value["Serial"]["channel"] == 1]
    for message in mine:
        left -= len(_bytes(message.value["Serial"]["data"]))
        if left <= 0:
            return message.event
    return next((message.event for message in reversed(mine or came)), None)


def other_channels(session: Session) -> str:
    """What came over other channels than 1, for a message; nothing where nothing did."""
    channels = {message.value["Serial"].get("channel") for message in received(session, "Serial")}
    others = ", ".join(str(channel) for channel in channels if channel != 1)
    return f", but Serial of channel {others}" if others else ""


def _bytes(data: Any) -> bytes:
    """The bytes of a Serial event, also in the form of a published version: a list of numbers."""
    return bytes(data) if isinstance(data, list) else base64.b64decode(data, validate=True)


async def serial_until(session: Session, wanted: bytes) -> bytes:
    """Serial data until it holds what is wanted, or the program's time is over."""
    left = session.left("program")
    while wanted not in (data := serial_bytes(session)) and left() > 0:
        if not await _more(session, left):
            break
    return data


async def _more(session: Session, left: Left) -> bool:
    """Whether more serial data comes; a program that writes elsewhere only is awaited for less."""
    within: Within = left
    if other_channels(session) and not serial_bytes(session):
        within = "response" if session.memory.get(SPEAKS, True) else "quiet"
    return await session.watch("Serial", within=within) is not None


async def probed(session: Session, kind: str, accept: Callable[[str], bool]) -> str:
    """What the probe program says of a kind, without the kind: once it is accepted, or at last.

    Raises Violation where the session ends before, Inconclusive where it says nothing at all.
    """
    whole, asked = surely(session, _SEES), session.now
    share = session.left(SHARE * session.instance.configuration.seconds("program"))

    def left() -> float:
        # Where one has written nothing, and none anything, that shows nothing more of another.
        return (whole if session.memory.get(SPEAKS, True) else share)()

    ended = False
    while True:
        text = serial_text(session)
        # As long as more may come, a line without its end may be a piece of one.
        lines = (text if ended else text[: text.rfind("\n") + 1]).splitlines()
        said = [line.removeprefix(f"{kind} ") for line in lines if line.startswith(f"{kind} ")]
        latest = said[-1] if said else "nothing"
        if accept(latest):
            session.took(_SEES, session.now - asked)
            return latest
        if ended:
            await goes_on(session)
            if not lines:
                session.memory.setdefault(SPEAKS, False)
                none = "the probe program reported nothing on serial channel 1"
                raise Inconclusive(none + other_channels(session))
            return latest
        if text:
            session.memory[SPEAKS] = True
        ended = not await _more(session, left)


async def lost_at_start(session: Session) -> str:
    """What shows that not all arrived that the probe program writes at its start; else nothing.

    Of the lines that it is to write at once, and once, one came alone, or twice and others not. One
    that lacks a kind of lines is another matter.
    """
    await probed(session, "competition", lambda said: said != "nothing")
    wanted = PROBED - session.instance.configuration.unsupported.keys()
    while True:
        lines = serial_text(session).splitlines()
        if not (lacking := wanted - {line.split(" ")[0] for line in lines}):
            return ""
        if not await session.watch("Serial", within="response"):
            break
    most = max(lines, key=lines.count)
    others = f"and no line of {' or '.join(sorted(lacking))}"
    if lines.count(most) > 1:
        return f"{most!r} came more than once, {others}"
    return f"{most!r} came alone, {others}" if len(lines) == 1 and len(lacking) > 1 else ""


async def holds(session: Session, wanted: float, stale: int = 0, earlier: float = math.inf) -> bool:
    """The battery holds so much, as the probe says or else the first Battery event that counts.

    The first ``stale`` of them do not count. Beside what the probe says none may tell less than is
    left, nor more than was ``earlier``; but for the first behind the probe's line, which may have
    been under way, none may tell more than is left. False where that one does, and none follows.
    """
    if "probe" in session.instance.configuration.programs:
        said = await probed(session, "battery", lambda line: close_to(line, wanted))
        check(close_to(said, wanted), f"the program to see {wanted} Wh", f"it saw {said}")
        seen, behind = received(session, "Serial")[-1].event, False
        while len(later := _told_since(session, seen)) < 2:
            behind = bool(later) and not _at_most(later[0], wanted)
            if not await session.watch("Battery", within="response" if behind else None):
                break
        for battery in received(session, "Battery")[stale:]:
            _check_told(battery, wanted, wanted if battery in later[1:] else earlier)
        return not (behind and len(later) == 1)
    left = session.left("program")
    while len(received(session, "Battery")) <= stale:
        if not await session.watch("Battery", within=left):
            raise NotExercised("nothing showed what the battery holds; declare [programs] probe")
    _check_told(received(session, "Battery")[stale], wanted, wanted)
    return True


def _told_since(session: Session, event: int) -> list[Message]:
    return [battery for battery in received(session, "Battery") if battery.event > event]


def _check_told(battery: Message, wanted: float, most: float) -> None:
    capacity = battery.value["Battery"]["capacity"]
    # A running program has already drawn from it; in a session as short as this not much. How
    # finely it is told is left open: a tenth of a watt-hour less may come of rounding.
    check(
        min(0.9 * wanted, wanted - 0.1) <= capacity and _at_most(battery, most),
        f"a battery that holds {wanted} Wh, or little less",
        f"it holds {capacity} Wh",
        battery.event,
    )


def _at_most(battery: Message, most: float) -> bool:
    return bool(battery.value["Battery"]["capacity"] <= 1.01 * most)


def close_to(line: str, wanted: float) -> bool:
    """Whether a line of the probe is this number of watt-hours, but for rounding."""
    try:
        return math.isclose(float(line.removesuffix("Wh")), wanted, rel_tol=0.01, abs_tol=0.01)
    except ValueError:
        return False


def blank(card: Path) -> str:
    """The path of a directory for USD, from here on one that nothing was written to."""
    os.utime(card, (0, 0))
    return str(card)


def check_written(card: Path) -> None:
    """A file was written there; the time of the directory tells it of one that is gone again."""
    written = card.stat().st_mtime > 0
    check(written, "the program to write a file in the mounted directory", "nothing was written")
