"""A small VEX robot simulator with three mistakes; ``reports/sample`` is the report about it.

Usage: ``sample_simulator.py PROGRAM``. The simulator speaks on its standard streams and runs one of
a few robot programs. It has no motors and no drawings. It shares no code with the reference mocks.
Its mistakes:

1. Serial data is written in the URL-safe alphabet of Base64, which has ``-`` and ``_``.
2. A ControllerUpdate that names a gamepad which is not there ends the process.
3. The simulator does not close the stream after Exited: it waits for the end of its input.
"""

import base64
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SIGNATURE = base64.b64encode(b"XVX5" + bytes(20)).decode()
"""A cold header: the magic number and 20 bytes of zeros."""


def say(message: Any) -> None:
    """Send one event."""
    print(json.dumps(message), flush=True)


class Robot:
    """The state that a robot program reads, and the serial channel that it writes."""

    def __init__(self) -> None:
        self.mode: tuple[bool, bool, str, bool] = (True, False, "Driver", False)
        self.axis: int | None = None
        self.capacity = 14.0
        self.card: Path | None = None
        self.touch = "Released"
        self._seen: set[str] = set()

    def serial(self, text: bytes) -> None:
        """Write bytes to serial channel 1."""
        # Mistake 1: the protocol uses the standard alphabet.
        say({"Serial": {"channel": 1, "data": base64.urlsafe_b64encode(text).decode()}})

    def report(self) -> None:
        """Write a line for each part of the state that has changed."""
        lines = [*self._state()]
        for line in lines:
            if line not in self._seen:
                self.serial(f"{line}\n".encode())
        self._seen = set(lines)

    def _state(self) -> Iterator[str]:
        enabled, connected, mode, competition = (str(each) for each in self.mode)
        yield (
            f"competition enabled={enabled.lower()} connected={connected.lower()} mode={mode} "
            f"is_competition={competition.lower()}"
        )
        yield f"battery {self.capacity}"
        yield "controller none" if self.axis is None else f"controller axis1={self.axis}"
        yield "sdcard present" if self._writes_card() else "sdcard absent"
        yield f"touch {self.touch}"

    def _writes_card(self) -> bool:
        file = self.card / "probe.txt" if self.card else None
        return bool(file and file.write_text("probe") and file.read_text() == "probe")


def step(program: str, robot: Robot, first: bool) -> bool:
    """Let a robot program react to a command; return whether the program goes on."""
    match program:
        case "print" if first:
            robot.serial(b"Hello World!\n")
        case "bytes" if first:
            robot.serial(bytes(range(256)))
        case "probe":
            robot.report()
        case "crash":
            say({"Log": {"level": "Error", "message": "the program divides by zero"}})
    return program not in ("return", "crash")


def take(command: Any, robot: Robot) -> None:
    """Handle a command that changes the robot; other commands have no effect."""
    match command:
        case {"CompetitionMode": {"enabled": bool(enabled), "connected": bool(connected), **rest}}:
            match rest:
                case {"mode": "Auto" | "Driver" as mode, "is_competition": bool(competition)}:
                    robot.mode = (enabled, connected, mode, competition)
        case {"ControllerUpdate": {"Raw": {"axis1": int(axis)}}}:
            robot.axis = axis
        case {"ControllerUpdate": {"UUID": str(uuid)}}:
            # Mistake 2: a simulator goes on without the gamepad.
            raise LookupError(f"there is no gamepad {uuid!r}")
        case {"SetBatteryCapacity": {"capacity": float(capacity) | int(capacity)}}:
            robot.capacity = float(capacity)
        case {"USD": {"root": str(root)}}:
            robot.card = Path(root)
        case {"USD": _}:
            robot.card = None
        case {"Touch": {"pos": {"x": int(x), "y": int(y)}, "event": str(event)}}:
            robot.touch = event if event == "Released" else f"{event} {x} {y}"


def main() -> None:
    robot, greeted, running = Robot(), False, False
    for line in sys.stdin.buffer:
        try:
            command = json.loads(line)
        except (ValueError, RecursionError):
            print("error: this line is not JSON", file=sys.stderr)
            continue
        first = False
        match command:
            case {"Handshake": {"version": int(version)}} if not greeted:
                if version < 1:
                    break
                say({"Handshake": {"version": 1, "extensions": []}})
                say({"VCodeSig": SIGNATURE})
                say("Ready")
                greeted = True
            case "StartExecution" if greeted and not running:
                first = running = True
            case _:
                take(command, robot)
        if running and not step(sys.argv[1], robot, first):
            # Mistake 3: the stream has to be closed now.
            say("Exited")
            running = greeted = False


if __name__ == "__main__":
    main()
