"""Lawful variants of the robot."""

import asyncio
import contextlib
import json
import re
import socket
from typing import Any

from conformance.codec import Frame
from conformance.openroberta import message_names
from conformance.openroberta.codec import encode, request
from mocks.deviations import Table, Variant, variant
from mocks.openroberta.faults.robot.bases import (
    ASKS_COMMAND,
    ASKS_PROGRAM,
    PUSHES,
    REGISTERS,
    calls,
    gives_up,
    members,
    push,
    stops,
)
from mocks.openroberta.http import Caller
from mocks.openroberta.robot import COMMANDS, Robot
from mocks.steps import (
    Change,
    Function,
    alter,
    before,
    instead,
    note,
    repeat,
    returning,
    skip,
    then,
    wait,
)
from mocks.streams import parse

_HELLO = bytes.fromhex("16030100c8010000c40303") + bytes(200)
CLOSES = returning("headers", lambda headers: {**headers, "Connection": "close"})


async def _write_and_finish(caller: Caller, data: bytes) -> Frame | None:
    await caller.close()
    stream = await caller.open()
    stream.write(data)
    stream.finish()
    return await caller.next()


async def _write_after_tls(usual: Function, caller: Caller, data: bytes) -> Any:
    stream = await caller.open()
    stream.write(_HELLO)
    while await stream.read():
        pass
    await caller.close()
    answer = await usual(caller, data)
    await caller.close()
    return answer


def _post_in_lines(robot: Robot, path: str, data: dict[str, Any]) -> Any:
    body = json.dumps(data, indent=2, separators=(" , ", " : ")).encode()
    headers = {"content-type": "application/json", **robot.headers()}
    return request("POST", path, headers, body)


def _name_to_the_end(_: Robot, asked: Any, answer: Frame | None) -> str:
    found = re.search(rb"\r\n(?i:filename):\s*([^\r]*)", answer.raw) if answer else None
    return found[1].decode() if found else ""


def _with_address(robot: Robot, value: Any, patience: float) -> Any:
    return {**value, "path": f"http://{robot.caller.host}{value['path']}"}, patience


async def _ask_unread(robot: Robot, value: Any, patience: float) -> None:
    with contextlib.suppress(OSError, TimeoutError):
        async with asyncio.timeout(patience):
            await _disconnect_unread(robot.caller.host, encode(value))


def _new(robot: Robot, value: Any, patience: float) -> Any:
    return robot.post(value["path"], robot.data(value["json"]["cmd"])), patience


async def _disconnect_unread(address: str, data: bytes) -> None:
    """Send a request, and close its connection when the answer arrives."""
    loop, come = asyncio.get_running_loop(), asyncio.Event()
    _, host, port = parse(address)
    with socket.socket() as wire:
        wire.setblocking(False)
        await loop.sock_connect(wire, (host, port))
        await loop.sock_sendall(wire, data)
        loop.add_reader(wire, come.set)
        try:
            await come.wait()
        finally:
            loop.remove_reader(wire)


def _lose_voltage(robot: Robot, cmd: str) -> None:
    robot.battery = f"{float(robot.battery) - 0.001:.3f}"


def _measured_voltage(robot: Robot, told: dict[str, Any]) -> str:
    """Return the voltage that was measured at most 0.5 s ago."""
    now = asyncio.get_running_loop().time()
    if now - vars(robot).get("measured_at", 0.0) > 0.5:
        vars(robot).update(measured_at=now, voltage=robot.battery)
    voltage: str = vars(robot)["voltage"]
    return voltage


VARIANTS = Table(Robot)

VARIANTS["http.persistence"] = {
    "a-connection-for-each": Variant(
        "Opens a connection for each request, and asks the lab to close it.", CLOSES
    ),
    "resets-what-was-answered": Variant(
        "Resets each connection after the answer.",
        before("heard", lambda robot, *_: robot.caller.reset()),
    ),
}

VARIANTS["robustness.trailing-blanks"] = {
    "white-space-after-names": Variant(
        "Includes white space after the Filename in a program's name, as Python's library does.",
        before("heard", note("written", _name_to_the_end)),
        instead("name_of", lambda robot, headers: robot.written),
    ),
    "blanks-after-chunked": Variant(
        "Cannot read chunks after a Transfer-Encoding with a blank, as Python's library cannot.",
        stops(lambda answer: b"Transfer-Encoding: chunked \r\n" in answer.raw),
    ),
}

VARIANTS["http.chunked-answers"] = {
    "old-http": Variant(
        "Speaks HTTP/1.0.",
        returning("post", lambda asked: {**asked, "version": "1.0"}),
        returning("get", lambda asked: {**asked, "version": "1.0"}),
    ),
}

VARIANTS["http.json"] = {
    "spells-widely": Variant(
        "Writes its JSON in several lines, with additional spaces.",
        instead("post", _post_in_lines),
    ),
}

VARIANTS["http.messages"] = {
    "tries-tls-first": Variant(
        "Begins each request with a TLS hello, as a published robot does.",
        calls(Change("exchange", _write_after_tls)),
        # Sensors need a lasting connection.
        skip("start_sensors"),
    ),
}

VARIANTS["http.paths"] = {
    "names-the-lab-in-paths": Variant(
        "Writes the lab's address before each path, as for a proxy.",
        alter("ask", _with_address),
    ),
}

VARIANTS["register.first"] = {
    "finishes-after-each": Variant(
        "Half-closes the connection after each request, and then reads the answer.",
        CLOSES,
        calls(instead("exchange", _write_and_finish)),
        # Sensors need a lasting connection.
        skip("start_sensors"),
    ),
    "starts-late": Variant("Waits a second before it registers.", before("play", wait(1))),
}

VARIANTS["register.after-abort"] = {
    "keeps-its-token": Variant(
        "Registers again with the same token after an abort.", instead("before_next", "pause")
    ),
}

VARIANTS["register.patient"] = {
    "impatient-registration": Variant(
        "Gives up a registration after 0.5 s, and registers again.", gives_up(0.5, REGISTERS)
    ),
}

VARIANTS["token.alphabet"] = {
    "lower-case-token": Variant(
        "Has a long token in lower case.",
        Change("new_token", lambda usual, robot: (usual(robot) + usual(robot)).lower()),
    ),
}

VARIANTS["push.fresh"] = {
    "three-decimals": Variant(
        "Sends its voltage with three decimals.",
        members(battery=lambda _, told: f"{float(told['battery']):.3f}"),
    ),
    "a-name-among-robots": Variant(
        "Sends its name in the member robot, and its kind in brickname.",
        returning(
            "data", lambda told: {**told, "robot": told["brickname"], "brickname": told["robot"]}
        ),
    ),
    "measures-now-and-then": Variant(
        "Measures its voltage at most each 0.5 s.", members(battery=_measured_voltage)
    ),
    "battery-sinks": Variant(
        "Has a battery that loses voltage with each request.", then("data", _lose_voltage)
    ),
}

VARIANTS["push.patient"] = {
    "impatient-push": Variant(
        "Gives up a push after 0.33 s, and pushes again.", gives_up(0.33, PUSHES)
    ),
    "gives-up-as-answers-come": Variant(
        "Disconnects without reading an answer to a registration or push, and asks again.",
        CLOSES,
        alter("ask", _new, ASKS_COMMAND),
        before("ask", _ask_unread, ASKS_COMMAND),
    ),
}

VARIANTS["data.strings"] = {
    "battery-as-number": Variant(
        "Sends its voltage as a number.", members(battery=lambda _, told: float(told["battery"]))
    ),
}

VARIANTS["robustness.extra-members"] = {
    "more-members": Variant(
        "Sends more members than the example has, as published robots do.",
        members(runtimeversion="2.0", nepoapps=[1, {"a": None}]),
    ),
}

VARIANTS["exit.integer"] = {
    "exit-value-as-text": Variant(
        "Sends its exit value as a string, as published robots do.",
        members(nepoexitvalue=lambda robot, _: str(robot.exit_value or 0)),
    ),
}

VARIANTS["exit.reported"] = {
    "no-exit-value": Variant("Never sends an exit value.", skip("ended")),
}

VARIANTS["run.stores-name"] = {
    "names-of-its-own": Variant(
        "Uses the same name for every program.", instead("name_of", lambda *_: "program.bin")
    ),
}

VARIANTS["run.silent-while-fetching"] = {
    "pushes-before-it-fetches": Variant(
        "Confirms the download with a push before it fetches the program.",
        before("download", lambda robot: robot.make_caller().ask(push(robot), 0.1)),
    ),
    "awaits-a-confirmation": Variant(
        "Confirms the download with a push, and fetches the program after its answer.",
        before("download", lambda robot: robot.make_caller().ask(push(robot), 15.0)),
    ),
}

VARIANTS["run.asks-once"] = {
    "asks-twice": Variant(
        "Requests each program twice, and runs the second answer.", repeat("ask", ASKS_PROGRAM)
    ),
}

VARIANTS["robustness.unknown-command"] = {
    "registers-after-the-unknown": Variant(
        "Registers again after an unknown command, as after an unreadable answer.",
        returning("command", lambda command: command if command in {"", *COMMANDS} else "abort"),
    ),
}

VARIANTS["sensors.values"] = {
    "measured-numbers": Variant(
        "Sends measured values as numbers.",
        returning("measured", lambda told: {**told, "1-TOUCH": 0}),
    ),
}

VARIANTS["sensors.members"] = {
    "time-of-measuring": Variant(
        "Sends the time of the measurement, too.",
        returning("measured", lambda told: {**told, "time": "12:00:00"}),
    ),
}

VARIANTS["update.gets"] = {
    "asks-before-it-updates": Variant(
        "Asks its user before an update, which takes longer than its other reactions.",
        before("update", wait(1.3)),
    ),
}


@variant("tries-other-paths-first", of="http.paths")
class TriesOtherPathsFirst(Robot):
    """Tries the path without /rest before the right path, as a published robot does."""

    async def ask(self, value: Any, patience: float) -> Frame | None:
        if value["path"] == message_names.PUSHCMD:
            answer = await super().ask({**value, "path": "/pushcmd"}, patience)
            if answer is None or answer.value.get("status") != 404:
                return answer
        return await super().ask(value, patience)


@variant("looks-first", of="http.post")
class LooksFirst(Robot):
    """Sends OPTIONS and HEAD once to each path before the first request."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.seen: set[str] = set()

    async def ask(self, value: Any, patience: float) -> Frame | None:
        if value["path"] not in self.seen:
            self.seen.add(value["path"])
            for method in message_names.LOOKING:
                await super().ask({**self.get(value["path"]), "method": method}, patience)
        return await super().ask(value, patience)


@variant("stops-when-aborted", of="register.after-abort")
class StopsWhenAborted(Robot):
    """Sends nothing more after its registration was aborted."""

    async def register(self) -> str:
        command = await super().register()
        if command == "abort":
            await asyncio.sleep(3600)
        return command


@variant("again-at-once-when-aborted", of="robustness.no-storm")
class AgainAtOnceWhenAborted(Robot):
    """Registers again without a pause after an abort: the lab has already made it wait."""

    latest = ""

    async def register(self) -> str:
        self.latest = await super().register()
        return self.latest

    async def pause(self) -> None:
        if self.latest != "abort":
            await super().pause()


@variant("pushes-all-the-time", of="push.one-at-a-time")
class PushesAllTheTime(Robot):
    """Sends its ninth push five times at once, and follows the first answer."""

    pushes = 0

    async def ask(self, value: Any, patience: float) -> Frame | None:
        if value["path"] == message_names.PUSHCMD:
            self.pushes += value["json"]["cmd"] == "push"
        if self.pushes != 9 or value["path"] != message_names.PUSHCMD:
            return await super().ask(value, patience)
        callers = [self.make_caller() for _ in range(5)]
        asked = [asyncio.create_task(caller.ask(value, patience)) for caller in callers]
        answered, _ = await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
        for task in asked:
            task.cancel()
        await asyncio.gather(*asked, return_exceptions=True)
        for caller in callers:
            await caller.close()
        return next(iter(answered)).result()


@variant("installs-each-file", of="update.all-files")
class InstallsEachFile(Robot):
    """Installs each file of an update for 0.8 s before it fetches the next file."""

    async def ask(self, value: Any, patience: float) -> Frame | None:
        answer = await super().ask(value, patience)
        if value["path"].startswith(message_names.UPDATE):
            await asyncio.sleep(0.8)
        return answer

    def updates(self) -> tuple[str, ...]:
        return "v1/firmware", *super().updates()


@variant("waits-longer-each-time", of="robustness.no-storm")
class WaitsLongerEachTime(Robot):
    """Pauses for 0.01 s first, and twice as long before each further try."""

    pauses = 0

    async def pause(self) -> None:
        await asyncio.sleep(min(0.01 * 2**self.pauses, 1.0))
        self.pauses += 1


@variant("sensors-by-rest", of="sensors.fallback")
class SensorsByRest(Robot):
    """Posts its sensor data without trying a websocket."""

    def start_sensors(self) -> None:
        if self.settings.sensors is not None:
            self.sensing = asyncio.create_task(self.post_sensors(self.settings.sensors))

    async def post_sensors(self, every: float) -> None:
        caller = self.make_caller()
        try:
            while True:
                await caller.ask(self.post("/rest/sensorlogging", self.measured()), every)
                await asyncio.sleep(every)
        finally:
            await caller.close()
