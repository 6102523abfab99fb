"""Reference lab: links robots with its user, holds their requests, and serves programs.

Its user acts on a web page at its root, or by the upper tester.

It simulates the link, the holds and the programs. Programs are files instead of blocks; there are
no accounts and no TLS.
"""

import argparse
import asyncio
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from wsproto.utilities import generate_accept_token

from conformance.codec import Frame
from conformance.openroberta import message_names
from conformance.openroberta.codec import UPGRADE, response
from mocks import streams, upper_tester
from mocks.openroberta import http
from mocks.openroberta.files import PROGRAMS, programs_of
from mocks.openroberta.http import Served
from mocks.openroberta.known_robot import KnownRobot, Program, Step
from mocks.openroberta.user import Settings, UserSide, operations
from mocks.run import note
from mocks.streams import Stream

_OWN = re.compile(r"(localhost|[0-9.]+|\[[0-9a-f:.]+\])(:[0-9]*)?")
"""Hosts that no foreign page can have: an address is not a name that can be bound elsewhere."""
PAGE = Path(__file__).with_name("page.html")
MOST = 1000  # linked robots that are kept; far more than a test links
BINARY = {"content-type": "application/octet-stream"}


class Lab(UserSide):
    """A lab with its robots; it serves each connection in a task of its own."""

    # Connections

    async def connection(self, stream: Stream) -> None:
        served = self.served(stream)
        try:
            while frame := await served.request():
                if not await self.take(frame, served):
                    break
                await stream.drain()
        finally:
            await served.closed()

    def served(self, stream: Stream) -> Served:
        return Served(stream)

    async def take(self, frame: Frame, served: Served) -> bool:
        """Answer one request; return False if the connection ends after it."""
        if frame.name is None:
            self.respond(served, self.refusal(400, frame.error or ""))
            return False
        if "method" not in frame.value:
            return self.other(frame, served)
        answer = await self.answer(frame, served)
        if answer is None:
            return False
        keeps = self.keeps(frame.value)
        self.respond(served, answer if keeps else self.closing(answer))
        return keeps

    def keeps(self, value: Any) -> bool:
        return http.keeps_alive(value)

    def closing(self, answer: Any) -> Any:
        return {**answer, "headers": {**answer["headers"], "connection": "close"}}

    def respond(self, served: Served, answer: Any) -> None:
        served.send(answer)

    def other(self, frame: Frame, served: Served) -> bool:
        """Handle frames other than requests: websocket messages, TLS hellos, oversized messages."""
        if frame.name == "SensorFrame":
            self.sensed(frame.value.get("json"))
            return True
        if frame.value.get("opcode") == "ping":
            served.send({**frame.value, "opcode": "pong", "masked": False})
        return frame.value.get("opcode") in ("ping", "pong", "binary")

    async def answer(self, frame: Frame, served: Served) -> Any:
        """Return the answer to a request; None if the robot has disconnected meanwhile."""
        value = frame.value
        if frame.error:
            return self.malformed()
        match frame.name:
            case "Register" | "Push":
                return await self.pushcmd(value, served)
            case "DownloadRequest":
                return self.download(value)
            case "UpdateRequest":
                return self.update_file(value)
            case "SensorUpgrade":
                return self.upgrade(value)
            case "SensorPost" if self.path(value) == self.settings.sensor_path:
                return self.sensor_post(value)
        return await self.elsewhere(value)

    def path(self, value: Any) -> str:
        return str(value["path"])

    # Requests of robots

    async def pushcmd(self, value: Any, served: Served) -> Any:
        if value["method"] != "POST":
            return self.refusal(405, "expected POST for a command")
        data = value.get("json")
        if data is None:
            return self.malformed()
        if self.missing(data):
            return self.incomplete(data)
        if data.get("cmd") == "register":
            return await self.register(data, served)
        if data.get("cmd") == "push":
            return await self.push(data, served)
        return self.refusal(
            400, f"expected register or push as cmd; received {str(data.get('cmd'))[:80]!r}"
        )

    def malformed(self) -> Any:
        return self.refusal(400, "expected a JSON object as the body")

    def missing(self, data: Mapping[str, Any]) -> list[str]:
        return [name for name in message_names.MANDATORY if data.get(name) is None]

    def left_out(self, data: Mapping[str, Any]) -> list[str]:
        """Return the mandatory fields that a request for a program does not have."""
        return self.missing(data)

    def incomplete(self, data: Mapping[str, Any]) -> Any:
        return self.refusal(500, f"missing or null: {', '.join(self.missing(data))}")

    async def register(self, data: Mapping[str, Any], served: Served) -> Any:
        token = str(data.get("token"))
        served.stream.tell("waiting", f"robot {token[:80]}: waits for its token to be entered")
        robot = self.robots[token] = self.registered(token, data)
        self.make_room()
        if self.settings.unattended:
            # after its request is held
            asyncio.get_running_loop().call_soon(self.pair, token)
        outcome = await self.hold(robot.registrations, self.register_time(robot), served)
        self.touch(robot)
        if not outcome:
            why = "it has disconnected" if outcome is None else "nobody has entered its token"
            served.stream.tell("unlinked", f"robot {token[:80]}: {why}")
            self.forget(robot)
        if outcome is None:
            return self.lost(robot)
        return self.command(outcome) if outcome else self.unlinked(robot)

    def unlinked(self, robot: KnownRobot) -> Any:
        """Return the answer to a registration whose token was not entered."""
        return self.command("abort")

    def registered(self, token: str, data: Mapping[str, Any]) -> KnownRobot:
        """Return a new robot; another robot with the same token loses the token."""
        before = self.robots.get(token)
        robot = KnownRobot(token, data)
        if before and before.step is Step.REGISTERING:
            robot.registrations = before.registrations
        return robot

    def make_room(self) -> None:
        """Forget the linked robot that was silent for the longest time, because tokens are
        unlimited.
        """
        linked = [robot for robot in self.robots.values() if robot.step is not Step.REGISTERING]
        if len(linked) > MOST:
            del self.robots[min(linked, key=lambda robot: robot.seen).token]

    def forget(self, robot: KnownRobot) -> None:
        if self.robots.get(robot.token) is robot and robot.step is Step.REGISTERING:
            del self.robots[robot.token]

    async def push(self, data: Mapping[str, Any], served: Served) -> Any:
        robot = self.robot(data)
        if robot is None or robot.step is Step.REGISTERING:
            return self.stranger()
        if robot.step is Step.RUNNING:
            value = data.get("nepoexitvalue")
            note(f"robot {robot.token[:80]}: is back, with the exit value {str(value)[:80]}")
        self.told(robot, data)
        self.back(robot)
        if self.settings.unattended:
            self.attend(robot)
        outcome: str | None = robot.wanted
        robot.wanted = ""
        if not outcome:
            outcome = await self.hold(robot.pushes, self.push_time(robot), served)
        self.touch(robot)
        return self.lost(robot) if outcome is None else self.pushed(robot, outcome or "repeat")

    def lost(self, robot: KnownRobot) -> None:
        """Handle a robot that has disconnected during its registration or push."""

    def stranger(self) -> Any:
        return self.refusal(500, "no robot is linked with this token")

    def told(self, robot: KnownRobot, data: Mapping[str, Any]) -> None:
        robot.data = data

    def back(self, robot: KnownRobot) -> None:
        """Handle a push: the robot's program has ended."""
        robot.step = Step.LINKED

    def pushed(self, robot: KnownRobot, command: str) -> Any:
        """Return the answer to a push, and change the robot's state accordingly."""
        if command == "download":
            robot.step = Step.RUNNING
        elif command == "update":
            self.disconnect(robot)
        return self.command(command)

    def disconnect(self, robot: KnownRobot) -> None:
        self.robots.pop(robot.token, None)

    def register_time(self, robot: KnownRobot) -> float:
        """Return the longest time in seconds until the answer to a registration."""
        return self.settings.register_hold

    def push_time(self, robot: KnownRobot) -> float:
        """Return the longest time in seconds until the answer to a push."""
        return self.settings.push_hold

    async def hold(
        self, held: list[asyncio.Future[str]], seconds: float, served: Served
    ) -> str | None:
        """Wait for a command.

        Returns an empty string after `seconds`, and None if the robot has disconnected.
        """
        waiting: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        held.append(waiting)
        gone = asyncio.ensure_future(served.gone.wait())
        both: set[asyncio.Future[Any]] = {waiting, gone}
        try:
            await asyncio.wait(both, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if waiting.done():
                return waiting.result()
            return None if gone.done() else ""
        finally:
            gone.cancel()
            waiting.cancel()
            held.remove(waiting)

    def command(self, word: str) -> Any:
        return response(200, {}, {"cmd": word})

    def refusal(self, status: int, why: str = "") -> Any:
        """Return an error; the body contains the reason, if any."""
        note(f"refused with {status}: {why or 'no reason'}")
        body = f"{why}\n".encode() if why else b""
        return response(status, {"content-type": "text/plain; charset=utf-8"}, body)

    def download(self, value: Any) -> Any:
        data = value.get("json") or {}
        robot = self.robot(data)
        if value["method"] != "POST":
            return self.refusal(405, "expected POST for a program")
        if self.left_out(data):
            return self.incomplete(data)
        if robot is None or robot.step is Step.REGISTERING:
            return self.stranger()
        if robot.program is None:
            return self.refusal(500, "the user has chosen no program")
        robot.step = Step.RUNNING
        note(f"robot {robot.token[:80]}: gets {robot.program.name[:80]!r}")
        return self.file(robot.program)

    def file(self, program: Program) -> Any:
        """Return a file with its name in two header fields, because robots differ."""
        names = {
            "Content-Disposition": f"attachment; filename={program.name}",
            "Filename": program.name,
        }
        return response(200, {**BINARY, **names}, program.data)

    def update_file(self, value: Any) -> Any:
        if value["method"] != "GET":
            return self.refusal(405, "expected GET for a file of an update")
        found = self.settings.updates.get(value["path"].removeprefix(message_names.UPDATE))
        return self.file(found) if found else self.refusal(404, "there is no such file")

    # Sensors

    def upgrade(self, value: Any) -> Any:
        key = value["headers"].get("sec-websocket-key")
        if value["path"] != self.settings.sensor_url or not key:
            return self.refusal(404, "sensor data has another address, or the key is missing")
        accept = generate_accept_token(key.encode()).decode()
        return response(101, {**UPGRADE, "sec-websocket-accept": accept})

    def sensor_post(self, value: Any) -> Any:
        self.sensed(value.get("json"))
        return response(200, {"content-type": "text/plain"}, b"")

    def sensed(self, data: Any) -> None:
        robot = self.robot(data) if isinstance(data, dict) else None
        if robot:
            robot.sensors = {name: text for name, text in data.items() if name != "token"}

    # The user

    async def elsewhere(self, value: Any) -> Any:
        """Serve the user's page and its requests; refuse those of foreign pages."""
        if _is_users(value["path"]) and (why := foreign(value)):
            return self.refusal(403, why)
        name = value["path"].removeprefix("/user/")
        if value["path"] == "/" and value["method"] == "GET":
            page = PAGE.read_bytes()
            alone = {"x-frame-options": "DENY", "content-type": "text/html; charset=utf-8"}
            return response(200, alone, page)
        if (
            value["path"] != f"/user/{name}"
            or name not in self.operations
            or value["method"] != "POST"
        ):
            return self.refusal(404, f"nothing is here for {value['method'][:20]}")
        kind = value["headers"].get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            # A form of a foreign page can send other types without asking first.
            return self.refusal(415, "expected the content type application/json")
        try:
            result = await operations(self)[name](value.get("json") or {})
        except (ValueError, KeyError) as error:
            return response(409, {}, {"error": str(error)})
        return response(200, {}, {"result": result})


def foreign(value: Any) -> str:
    """Return why a request can come from a foreign page; empty if it does not.

    A foreign page in the user's browser has another origin. If its name was bound to this machine's
    address (DNS rebinding), the host is that name.
    """
    host = str(value["headers"].get("host", "")).lower()
    if not _OWN.fullmatch(host):
        return "expected an address or localhost as the host"
    origin = value["headers"].get("origin")
    if origin is not None and origin.lower() != f"http://{host}":
        return "expected no origin but this page's own"
    return ""


PEER = Lab


def of_peer(frame: Frame) -> bool:
    """True if a robot has sent this frame, and not the user's page."""
    return not (isinstance(frame.value, dict) and _is_users(frame.value.get("path", "")))


def _is_users(path: str) -> bool:
    return path == "/" or path.startswith("/user/")


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--upper-tester", action="store_true", help="operations on stdin")
    parser.add_argument("--register-hold", type=float, default=300.0, metavar="S")
    parser.add_argument("--push-hold", type=float, default=10.0, metavar="S")
    parser.add_argument("--offline", type=float, default=11.0, metavar="S")
    parser.add_argument(
        "--unattended", action="store_true", help="link each robot, and run each program on it"
    )
    parser.add_argument(
        "--programs", type=Path, metavar="DIR", help="folder with the programs for the user"
    )


async def main(args: argparse.Namespace, peer: type[Lab]) -> int:
    """Serve robots until the process is stopped."""
    if not args.listen:
        raise ValueError("a lab needs --listen")
    programs = programs_of(args.programs) if args.programs else PROGRAMS
    holds = args.register_hold, args.push_hold, args.offline
    lab = peer(Settings(*holds, programs=programs, unattended=args.unattended))
    serving = asyncio.ensure_future(streams.serve(args.listen, lab.connection))
    try:
        if args.upper_tester:
            await upper_tester.serve(operations(lab))
        else:
            await serving
    finally:
        serving.cancel()
    return 0
