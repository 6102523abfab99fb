"""Reference robot: shows its token, polls its lab, runs programs, updates and registers again.

Its programs are written in a toy language (`interpreter`) that can do no damage.

Its motors and sensors are numbers. Updates are fetched and discarded.
"""

import argparse
import asyncio
import base64
import gzip
import secrets
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from conformance.codec import Frame
from conformance.openroberta import message_names
from conformance.openroberta.codec import content, request
from mocks import upper_tester
from mocks.openroberta import interpreter
from mocks.openroberta.http import Caller
from mocks.openroberta.sensors import Sensors
from mocks.run import note

ALPHABET = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"  # no characters that people confuse, such as 0 and O
UPDATES = ("v1/runtime", "v1/ev3menu")
KEPT = 100  # programs in the list of 'executed'; older ones are forgotten
COMMANDS = ("repeat", "abort", "update", "download", "configuration")


@dataclass(frozen=True)
class Settings:
    """Settings of a robot; times are in seconds.

    - `pause`: before another try after an abort or an error
    - `folder`: for programs; None to store none
    - `sensors`: between two messages of sensor data; None to send none
    """

    url: str
    name: str = "Toy"
    token: str = ""
    register_patience: float = 330.0
    push_patience: float = 15.0
    pause: float = 1.0
    folder: Path | None = None
    sensors: float | None = None
    keep_token: bool = False
    close: bool = False


class Robot:
    """A robot and its conversation with a lab."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.caller = self.make_caller()
        self.battery = "8.4"
        self.name = settings.name
        self.address = "02-00-" + secrets.token_bytes(4).hex("-").upper()
        self.token = settings.token or self.new_token()
        self.exit_value: int | None = None
        self.next_exit: int | None = None
        self.executed: deque[dict[str, str]] = deque(maxlen=KEPT)
        self.motors: dict[str, float] = {}
        self.sensing: asyncio.Task[None] | None = None

    def make_caller(self) -> Caller:
        return Caller(self.settings.url)

    # Data object

    def new_token(self) -> str:
        return "".join(secrets.choice(ALPHABET) for _ in range(8))

    def data(self, cmd: str) -> dict[str, Any]:
        told: dict[str, Any] = {
            "firmwarename": "toy",
            "robot": "toybot",
            "macaddr": self.address,
            "cmd": cmd,
            "firmwareversion": "1.0",
            "token": self.token,
            "brickname": self.name,
            "battery": self.battery,
            "menuversion": "1.10.0",
        }
        if self.exit_value is not None:
            told["nepoexitvalue"] = self.exit_value
        return told

    # The conversation

    async def play(self) -> None:
        while True:
            self.show_token()
            if (answer := await self.register()) == "repeat":
                note("registered")
                self.start_sensors()
                await self.poll()
                await self.stop_sensors()
            else:
                note(f"not registered: {answer or 'no command came'}")
            await self.before_next()

    def show_token(self) -> None:
        note(f"the token is {self.shown_token()}")

    def shown_token(self) -> str:
        """Return the token that the user sees."""
        return self.token

    async def before_next(self) -> None:
        """Prepare the next registration."""
        await self.pause()
        if not self.settings.keep_token and not self.settings.token:
            self.token = self.new_token()

    async def pause(self) -> None:
        await asyncio.sleep(self.settings.pause)

    async def register(self) -> str:
        """Register; return the lab's command, or an empty string."""
        asked = self.post(message_names.PUSHCMD, self.data("register"))
        return self.command(await self.ask(asked, self.settings.register_patience))

    async def poll(self) -> None:
        """Push until an update or an abort."""
        while True:
            asked = self.post(message_names.PUSHCMD, self.data("push"))
            command = self.command(await self.ask(asked, self.settings.push_patience))
            match command:
                case "repeat":
                    pass
                case "download":
                    await self.download()
                case "update":
                    await self.update()
                    return
                case "abort":
                    return
                case _:
                    await self.disturbed(command)

    async def disturbed(self, command: str) -> None:
        """Handle an answer to a push that has no known command."""
        await self.pause()

    def post(self, path: str, data: dict[str, Any]) -> Any:
        return request("POST", path, self.headers(), data)

    def headers(self) -> dict[str, str]:
        close = {"Connection": "close"} if self.settings.close else {}
        known = {"User-Agent": "toybot/1.0", "Accept-Encoding": "gzip"}
        return {"host": self.caller.host, **known, **close}

    async def ask(self, value: Any, patience: float) -> Frame | None:
        return await self.heard(value, await self.caller.ask(value, patience))

    async def heard(self, asked: Any, answer: Frame | None) -> Frame | None:
        """Return what the robot takes for the answer to a request."""
        return answer

    def command(self, answer: Frame | None) -> str:
        if answer is None or answer.error or answer.name == "Refusal":
            return ""
        return str(answer.value.get("json", {}).get("cmd", ""))

    # Programs

    async def download(self) -> None:
        asked = self.post(message_names.DOWNLOAD, self.data("push"))
        answer = await self.ask(asked, self.settings.push_patience)
        if answer is None or answer.name != "File":
            await self.disturbed("")
            return
        data = self.received(self.plain(answer.value))
        name = self.name_of(answer.value["headers"])
        self.keep(name, data)
        await self.run(name, data)

    def plain(self, answer: Any) -> bytes:
        """Return the program in an answer, decompressed if necessary."""
        compressed = answer["headers"].get("content-encoding") == "gzip"
        return gzip.decompress(content(answer)) if compressed else content(answer)

    def received(self, data: bytes) -> bytes:
        return data

    def name_of(self, headers: Mapping[str, str]) -> str:
        return headers["filename"]

    def keep(self, name: str, data: bytes) -> None:
        """Store a program in the robot's own folder, without the path in its name."""
        if self.settings.folder:
            (self.settings.folder / self.safe(name)).write_bytes(data)

    def safe(self, name: str) -> str:
        plain = PurePosixPath(name.replace("\\", "/")).name
        return "program" if plain in ("", ".", "..") or "\0" in plain else plain

    async def run(self, name: str, data: bytes) -> None:
        self.executed.append({"name": name, "base64": base64.b64encode(data).decode()})
        note(f"runs {name[:80]!r}")
        value = await interpreter.run(data, note, self.motors)
        self.ended(value if self.next_exit is None else self.next_exit)
        note(f"{name[:80]!r} ended with the exit value {self.exit_value}")
        self.next_exit = None

    def ended(self, value: int) -> None:
        self.exit_value = value

    # Updates

    async def update(self) -> None:
        for path in self.updates():
            answer = await self.ask(self.get(path), self.settings.push_patience)
            if answer and answer.name == "File":
                note(f"updates {answer.value['headers']['filename'][:80]!r}")

    def updates(self) -> tuple[str, ...]:
        return UPDATES

    def get(self, path: str) -> Any:
        return request("GET", message_names.UPDATE + path, self.headers())

    # Sensors

    def start_sensors(self) -> None:
        if self.settings.sensors is not None:
            sensors = Sensors(self.make_caller(), self.measured, self.settings.sensors)
            self.sensing = asyncio.create_task(sensors.play(self.headers()))

    async def stop_sensors(self) -> None:
        if self.sensing:
            self.sensing.cancel()
            await asyncio.gather(self.sensing, return_exceptions=True)

    def measured(self) -> dict[str, Any]:
        motors = {f"{port}-MOTOR": f"{power:g}" for port, power in self.motors.items()}
        return {"token": self.token, "1-TOUCH": "0", "2-COLOUR": "none", "A-MOTOR": "0", **motors}


PEER = Robot


def operations(robot: Robot) -> Mapping[str, upper_tester.Operation]:
    async def battery(args: dict[str, Any]) -> None:
        robot.battery = str(args["value"])

    async def exit_(args: dict[str, Any]) -> None:
        robot.next_exit = int(args["value"])

    async def name(args: dict[str, Any]) -> None:
        robot.name = str(args["value"])

    async def shown(args: dict[str, Any]) -> str:
        return robot.shown_token()

    async def executed(args: dict[str, Any]) -> Any:
        return [*robot.executed]

    return {
        "battery": battery,
        "name": name,
        "shown": shown,
        "exit": exit_,
        "executed": executed,
    }


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--upper-tester", action="store_true", help="operations on stdin")
    parser.add_argument("--name", default="Toy", help="the name that the lab's user sees")
    parser.add_argument(
        "--token", default="", help="use this token in every registration; default: a new one"
    )
    parser.add_argument(
        "--keep-token",
        action="store_true",
        help="use the same generated token in every registration",
    )
    parser.add_argument("--register-patience", type=float, default=330.0, metavar="S")
    parser.add_argument("--push-patience", type=float, default=15.0, metavar="S")
    parser.add_argument(
        "--pause", type=float, default=1.0, metavar="S", help="time between two tries"
    )
    parser.add_argument("--folder", type=Path, metavar="DIR", help="folder for programs")
    parser.add_argument("--sensors", type=float, metavar="S", help="period of the sensor data")
    parser.add_argument(
        "--close", action="store_true", help="use a new connection for each request"
    )


async def main(args: argparse.Namespace, peer: type[Robot]) -> int:
    """Play a robot until the process is stopped."""
    if not args.connect:
        raise ValueError("a robot needs --connect")
    robot = peer(
        Settings(
            url=args.connect,
            name=args.name,
            token=args.token,
            register_patience=args.register_patience,
            push_patience=args.push_patience,
            pause=args.pause,
            folder=args.folder,
            sensors=args.sensors,
            keep_token=args.keep_token,
            close=args.close,
        )
    )
    playing = asyncio.ensure_future(robot.play())
    try:
        if args.upper_tester:
            await upper_tester.serve(operations(robot))
        else:
            await playing
    finally:
        playing.cancel()
    return 0
