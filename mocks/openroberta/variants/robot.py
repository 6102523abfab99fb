"""Lawful variants of the robot."""

import asyncio
import contextlib
import json
import socket
from collections.abc import Mapping
from typing import Any

from conformance.codec import Frame
from conformance.openroberta import message_names
from conformance.openroberta.codec import encode, request
from mocks.deviations import variant
from mocks.openroberta.http import Caller
from mocks.openroberta.robot import COMMANDS, Robot
from mocks.streams import parse

_HELLO = bytes.fromhex("16030100c8010000c40303") + bytes(200)


@variant("a-connection-for-each", of="http.persistence")
class AConnectionForEach(Robot):
    """Opens a connection for each request, and asks the lab to close it."""

    def headers(self) -> dict[str, str]:
        return {**super().headers(), "Connection": "close"}


@variant("old-http", of="http.chunked-answers")
class OldHttp(Robot):
    """Speaks HTTP/1.0."""

    def post(self, path: str, data: dict[str, Any]) -> Any:
        return {**super().post(path, data), "version": "1.0"}

    def get(self, path: str) -> Any:
        return {**super().get(path), "version": "1.0"}


@variant("spells-widely", of="http.json")
class SpellsWidely(Robot):
    """Writes its JSON in several lines, with additional spaces."""

    def post(self, path: str, data: dict[str, Any]) -> Any:
        body = json.dumps(data, indent=2, separators=(" , ", " : ")).encode()
        headers = {"content-type": "application/json", **self.headers()}
        return request("POST", path, headers, body)


class _Finishing(Caller):
    async def exchange(self, data: bytes) -> Frame | None:
        await self.close()
        stream = await self.open()
        stream.write(data)
        stream.finish()
        return await self.next()


@variant("finishes-after-each", of="register.first")
class FinishesAfterEach(AConnectionForEach):
    """Half-closes the connection after each request, and then reads the answer."""

    caller_type = _Finishing

    def start_sensors(self) -> None:
        """Start no sensors, because they need a lasting connection."""


class _TlsFirst(Caller):
    async def exchange(self, data: bytes) -> Frame | None:
        stream = await self.open()
        stream.write(_HELLO)
        while await stream.read():
            pass
        await self.close()
        answer = await super().exchange(data)
        await self.close()
        return answer


@variant("tries-tls-first", of="http.messages")
class TriesTlsFirst(Robot):
    """Begins each request with a TLS hello, as a published robot does."""

    caller_type = _TlsFirst

    def start_sensors(self) -> None:
        """Start no sensors, because they need a lasting connection."""


@variant("tries-other-paths-first", of="http.paths")
class TriesOtherPathsFirst(Robot):
    """Tries the path without /rest before the right path, as a published robot does."""

    async def ask(self, value: Any, patience: float) -> Frame | None:
        if value["path"] == message_names.PUSHCMD:
            answer = await super().ask({**value, "path": "/pushcmd"}, patience)
            if answer is None or answer.value.get("status") != 404:
                return answer
        return await super().ask(value, patience)


@variant("names-the-lab-in-paths", of="http.paths")
class NamesTheLabInPaths(Robot):
    """Writes the lab's address before each path, as for a proxy."""

    async def ask(self, value: Any, patience: float) -> Frame | None:
        return await super().ask(
            {**value, "path": f"http://{self.caller.host}{value['path']}"}, patience
        )


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


@variant("keeps-its-token", of="register.after-abort")
class KeepsItsToken(Robot):
    """Registers again with the same token after an abort."""

    async def before_next(self) -> None:
        await self.pause()


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


@variant("lower-case-token", of="token.alphabet")
class LowerCaseToken(Robot):
    """Has a long token in lower case."""

    def new_token(self) -> str:
        return (super().new_token() + super().new_token()).lower()


@variant("starts-late", of="register.first")
class StartsLate(Robot):
    """Waits a second before it registers."""

    async def play(self) -> None:
        await asyncio.sleep(1)
        await super().play()


class _Telling(Robot):
    """Changes members of the data object."""

    def data(self, cmd: str) -> dict[str, Any]:
        told = super().data(cmd)
        return {**told, **self.altered(told)}

    def altered(self, told: dict[str, Any]) -> dict[str, Any]:
        raise NotImplementedError


@variant("three-decimals", of="push.fresh")
class ThreeDecimals(_Telling):
    """Sends its voltage with three decimals."""

    def altered(self, told: dict[str, Any]) -> dict[str, Any]:
        return {"battery": f"{float(told['battery']):.3f}"}


@variant("battery-as-number", of="data.strings")
class BatteryAsNumber(_Telling):
    """Sends its voltage as a number."""

    def altered(self, told: dict[str, Any]) -> dict[str, Any]:
        return {"battery": float(told["battery"])}


@variant("more-members", of="robustness.extra-members")
class MoreMembers(_Telling):
    """Sends more members than the example has, as published robots do."""

    def altered(self, told: dict[str, Any]) -> dict[str, Any]:
        return {"runtimeversion": "2.0", "nepoapps": [1, {"a": None}]}


@variant("exit-value-as-text", of="exit.integer")
class ExitValueAsText(_Telling):
    """Sends its exit value as a string, as published robots do."""

    def altered(self, told: dict[str, Any]) -> dict[str, Any]:
        return {"nepoexitvalue": str(self.exit_value or 0)}


@variant("no-exit-value", of="exit.reported")
class NoExitValue(Robot):
    """Never sends an exit value."""

    def ended(self, value: int) -> None:
        """Record no exit value."""


@variant("impatient-registration", of="register.patient")
class ImpatientRegistration(Robot):
    """Gives up a registration after 0.5 s, and registers again."""

    async def ask(self, value: Any, patience: float) -> Frame | None:
        registers = value.get("json", {}).get("cmd") == "register"
        return await super().ask(value, 0.5 if registers else patience)


@variant("impatient-push", of="push.patient")
class ImpatientPush(Robot):
    """Gives up a push after 0.33 s, and pushes again."""

    async def ask(self, value: Any, patience: float) -> Frame | None:
        pushes = value["path"] == message_names.PUSHCMD and value["json"]["cmd"] == "push"
        return await super().ask(value, 0.33 if pushes else patience)


@variant("gives-up-as-answers-come", of="push.patient")
class GivesUpAsAnswersCome(AConnectionForEach):
    """Disconnects without reading an answer to a registration or push, and asks again."""

    async def ask(self, value: Any, patience: float) -> Frame | None:
        if value["path"] == message_names.PUSHCMD:
            with contextlib.suppress(OSError, TimeoutError):
                async with asyncio.timeout(patience):
                    await _unread(self.caller.host, encode(value))
            value = self.post(value["path"], self.data(value["json"]["cmd"]))
        return await super().ask(value, patience)


async def _unread(address: str, data: bytes) -> None:
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


@variant("resets-what-was-answered", of="http.persistence")
class ResetsWhatWasAnswered(Robot):
    """Resets each connection after the answer."""

    async def ask(self, value: Any, patience: float) -> Frame | None:
        answer = await super().ask(value, patience)
        self.caller.reset()
        return answer


@variant("names-of-its-own", of="run.stores-name")
class NamesOfItsOwn(Robot):
    """Uses the same name for every program."""

    def name_of(self, headers: Mapping[str, str]) -> str:
        return "program.bin"


@variant("pushes-before-it-fetches", of="run.silent-while-fetching")
class PushesBeforeItFetches(Robot):
    """Confirms the download with a push before it fetches the program."""

    async def download(self) -> None:
        asked = self.post(message_names.PUSHCMD, self.data("push"))
        await self.make_caller().ask(asked, 0.1)
        await super().download()


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


@variant("waits-longer-each-time", of="robustness.no-storm")
class WaitsLongerEachTime(Robot):
    """Pauses for 0.01 s first, and twice as long before each further try."""

    pauses = 0

    async def pause(self) -> None:
        await asyncio.sleep(min(0.01 * 2**self.pauses, 1.0))
        self.pauses += 1


class _Measuring(Robot):
    def measured(self) -> dict[str, Any]:
        return {**super().measured(), **self.altered()}

    def altered(self) -> dict[str, Any]:
        raise NotImplementedError


@variant("measured-numbers", of="sensors.values")
class MeasuredNumbers(_Measuring):
    """Sends measured values as numbers."""

    def altered(self) -> dict[str, Any]:
        return {"1-TOUCH": 0}


@variant("time-of-measuring", of="sensors.members")
class TimeOfMeasuring(_Measuring):
    """Sends the time of the measurement, too."""

    def altered(self) -> dict[str, Any]:
        return {"time": "12:00:00"}


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


@variant("a-name-among-robots", of="push.fresh")
class ANameAmongRobots(Robot):
    """Sends its name in the member robot, and its kind in brickname."""

    def data(self, cmd: str) -> dict[str, Any]:
        told = super().data(cmd)
        return {**told, "robot": told["brickname"], "brickname": told["robot"]}


@variant("battery-sinks", of="push.fresh")
class BatterySinks(Robot):
    """Has a battery that loses voltage with each request."""

    def data(self, cmd: str) -> dict[str, Any]:
        told = super().data(cmd)
        self.battery = f"{float(self.battery) - 0.001:.3f}"
        return told


@variant("asks-twice", of="run.asks-once")
class AsksTwice(Robot):
    """Requests each program twice, and runs the second answer."""

    async def ask(self, value: Any, patience: float) -> Frame | None:
        if value["path"] == message_names.DOWNLOAD:
            await super().ask(value, patience)
        return await super().ask(value, patience)


@variant("registers-after-the-unknown", of="robustness.unknown-command")
class RegistersAfterTheUnknown(Robot):
    """Registers again after an unknown command, as after an unreadable answer."""

    def command(self, answer: Frame | None) -> str:
        command = super().command(answer)
        return command if command in COMMANDS else "abort"


@variant("asks-before-it-updates", of="update.gets")
class AsksBeforeItUpdates(Robot):
    """Asks its user before an update, which takes longer than its other reactions."""

    async def update(self) -> None:
        await asyncio.sleep(1.3)
        await super().update()
