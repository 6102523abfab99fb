"""Lawful variants of the lab."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from conformance.codec import Frame
from conformance.openroberta.codec import response
from mocks.deviations import variant
from mocks.openroberta.faults.lab.http import compressed
from mocks.openroberta.http import Served
from mocks.openroberta.known_robot import KnownRobot, Program, Step, give
from mocks.openroberta.lab import Lab
from mocks.openroberta.user import Settings

_TELLING = (404, 411)  # statuses that tell a robot how to go on


@variant("errors-in-bodies", of="refuses.robot")
class ErrorsInBodies(Lab):
    """Reports errors in the body of an answer with status 200."""

    def refusal(self, status: int, why: str = "") -> Any:
        if status in _TELLING:
            return super().refusal(status, why)
        return response(200, {}, {"rc": "error", "message": "SERVER_ERROR"})


@variant("errors-by-closing", of="refuses.battery")
class ErrorsByClosing(Lab):
    """Closes the connection after a wrong method, a missing field, or a malformed body."""

    def refusal(self, status: int, why: str = "") -> Any:
        return None if status == 405 else super().refusal(status, why)

    def incomplete(self, data: Mapping[str, Any]) -> Any:
        return None

    def malformed(self) -> Any:
        return None


@variant("aborts-what-it-refuses", of="refuses.menuversion")
class AbortsWhatItRefuses(Lab):
    """Answers any error with an immediate abort, even to a malformed request."""

    def refusal(self, status: int, why: str = "") -> Any:
        return super().refusal(status, why) if status in _TELLING else self.command("abort")


@variant("spells-widely", of="commands.lab")
class SpellsWidely(Lab):
    """Writes the JSON of its commands in several lines, with additional spaces."""

    def command(self, word: str) -> Any:
        body = json.dumps({"cmd": word}, indent=2, separators=(" , ", " : ")).encode()
        return response(200, {"content-type": "application/json"}, body)


@variant("closes-after-each", of="http.persistence")
class ClosesAfterEach(Lab):
    """Closes every connection after one answer."""

    def keeps(self, value: Any) -> bool:
        return bool("upgrade" in value["headers"])


@variant("answers-in-chunks", of="http.messages")
class AnswersInChunks(Lab):
    """Sends bodies in chunks to robots with HTTP/1.1, as the published lab does."""

    async def answer(self, frame: Frame, served: Served) -> Any:
        answer = await super().answer(frame, served)
        old = frame.value["version"] == "1.0"
        if answer is None or old or answer["headers"].get("content-length", "0") == "0":
            return answer
        kept = {name: text for name, text in answer["headers"].items() if name != "content-length"}
        return {**answer, "headers": {**kept, "transfer-encoding": "chunked"}}


@variant("answers-the-foreign-without-a-status", of="http.messages")
class AnswersTheForeignWithoutAStatus(Lab):
    """Answers bytes that are not HTTP with a bare page, as in HTTP/0.9."""

    async def take(self, frame: Frame, served: Served) -> bool:
        if frame.name is None:
            served.write(b"<!DOCTYPE HTML>\n<html><p>Error code: 400</p></html>\n")
            return False
        return await super().take(frame, served)


@variant("requires-a-length", of="robustness.chunked-requests")
class RequiresALength(Lab):
    """Refuses a chunked request with status 411 (Length Required)."""

    async def answer(self, frame: Frame, served: Served) -> Any:
        if "transfer-encoding" in frame.value["headers"]:
            return self.refusal(411)
        return await super().answer(frame, served)


@variant("speaks-http-1.0", of="robustness.chunked-requests")
class SpeaksHttp10(ClosesAfterEach):
    """Answers with HTTP/1.0, as simple servers do; ignores a body without a length."""

    async def answer(self, frame: Frame, served: Served) -> Any:
        if "transfer-encoding" in frame.value["headers"]:
            answer = self.refusal(400)
        else:
            answer = await super().answer(frame, served)
        return answer and {**answer, "version": "1.0"}


@variant("knows-addresses", of="token.links")
class KnowsAddresses(Lab):
    """Identifies a robot by its MAC address: a new registration ends the old one."""

    def registered(self, token: str, data: Mapping[str, Any]) -> KnownRobot:
        for other in list(self.robots.values()):
            if other.data.get("macaddr") == data.get("macaddr") and other.token != token:
                give(other.registrations, "abort", "abort")
                self.robots.pop(other.token)
        return super().registered(token, data)


@variant("gives-programs-once", of="run.bytes")
class GivesProgramsOnce(Lab):
    """Closes the connection after a request for a program that the robot has already fetched."""

    def download(self, value: Any) -> Any:
        robot = self.robots.get(str((value.get("json") or {}).get("token")))
        if robot and robot.step is Step.RUNNING and robot.program is None:
            return None
        answer = super().download(value)
        if robot and answer["status"] == 200:
            robot.program = None
        return answer


@variant("compresses-unasked", of="robustness.codings")
class CompressesUnasked(Lab):
    """Compresses its answers unless the request excludes that."""

    async def answer(self, frame: Frame, served: Served) -> Any:
        answer = await super().answer(frame, served)
        accepted = frame.value["headers"].get("accept-encoding", "gzip")
        return compressed(answer) if answer and "gzip" in accepted else answer


@variant("programs-by-token", of="refuses.download")
class ProgramsByToken(Lab):
    """Reads only the token in a request for a program, as the published lab does."""

    def left_out(self, data: Mapping[str, Any]) -> list[str]:
        return []


@variant("late-tokens-wait", of="token.in-time")
class LateTokensWait(Lab):
    """Keeps a token that is entered after its time for the next registration with it."""

    late: frozenset[str] = frozenset()
    entered: frozenset[str] = frozenset()

    def unlinked(self, robot: KnownRobot) -> Any:
        self.late |= {robot.token}
        return super().unlinked(robot)

    def pair(self, token: str) -> None:
        if token in self.late and token not in self.robots:
            self.entered |= {token}
        super().pair(token)

    async def register(self, data: Mapping[str, Any], served: Served) -> Any:
        token = str(data["token"])
        if token in self.entered:
            self.entered -= {token}
            asyncio.get_running_loop().call_soon(self.pair, token)
        return await super().register(data, served)


@variant("repeats-the-linked", of="robustness.registered-again")
class RepeatsTheLinked(Lab):
    """Answers the registration of a linked robot with repeat, without its token."""

    async def register(self, data: Mapping[str, Any], served: Served) -> Any:
        robot = self.robots.get(str(data["token"]))
        if robot and robot.step is not Step.REGISTERING:
            self.back(robot)
            self.touch(robot)
            return self.command("repeat")
        return await super().register(data, served)


@variant("others-wait-a-moment", of="robustness.side-by-side")
class OthersWaitAMoment(Lab):
    """Answers the requests of other robots somewhat later while a push is held."""

    async def answer(self, frame: Frame, served: Served) -> Any:
        if any(robot.pushes for robot in self.robots.values()):
            await asyncio.sleep(0.02)
        return await super().answer(frame, served)


@variant("quotes-names", of="run.filename")
class QuotesNames(Lab):
    """Writes the names of files in quotes."""

    def file(self, program: Program) -> Any:
        answer = super().file(program)
        return {**answer, "headers": {**answer["headers"], "Filename": f'"{program.name}"'}}


@variant("answers-the-updated", of="update.disconnects")
class AnswersTheUpdated(Lab):
    """Answers pushes after an update with repeat, as the published lab does."""

    updated: frozenset[str] = frozenset()

    def disconnect(self, robot: KnownRobot) -> None:
        super().disconnect(robot)
        self.updated |= {robot.token}

    async def push(self, data: Mapping[str, Any], served: Served) -> Any:
        if data["token"] in self.updated and data["token"] not in self.robots:
            held: list[asyncio.Future[str]] = []
            gone = await self.hold(held, self.settings.push_hold, served) is None
            return None if gone else self.command("repeat")
        return await super().push(data, served)


@variant("numbers-for-volts", of="push.seen")
class NumbersForVolts(Lab):
    """Shows the battery's voltage as a number."""

    def state(self, token: str) -> dict[str, Any]:
        state = super().state(token)
        return {**state, "battery": float(state["battery"])} if "battery" in state else state


@variant("texts-for-exit-values", of="exit.shown")
class TextsForExitValues(Lab):
    """Shows the exit value as a string."""

    def state(self, token: str) -> dict[str, Any]:
        state = super().state(token)
        return {**state, "exitvalue": str(state["exitvalue"])} if "exitvalue" in state else state


@variant("lost-is-offline", of="offline.no-disconnect")
class LostIsOffline(Lab):
    """Shows a robot as offline after its connection was lost, until it pushes again."""

    lost: frozenset[str] = frozenset()

    async def push(self, data: Mapping[str, Any], served: Served) -> Any:
        self.lost -= {str(data["token"])}
        answer = await super().push(data, served)
        if answer is None:
            self.lost |= {str(data["token"])}
        return answer

    def state_of(self, robot: KnownRobot) -> str:
        state = super().state_of(robot)
        return "offline" if state == "waiting" and robot.token in self.lost else state


@variant("offline-for-good", of="offline.returns")
class OfflineForGood(Lab):
    """Refuses a robot that was offline, until it registers again."""

    async def push(self, data: Mapping[str, Any], served: Served) -> Any:
        robot = self.robots.get(str(data["token"]))
        if robot and self.state_of(robot) == "offline":
            return self.refusal(500)
        return await super().push(data, served)


@variant("newest-push-only", of="robustness.repeated-push")
class NewestPushOnly(Lab):
    """Answers an unanswered push as soon as the same robot sends another push."""

    async def push(self, data: Mapping[str, Any], served: Served) -> Any:
        robot = self.robots.get(str(data["token"]))
        if robot and robot.step is not Step.REGISTERING:
            give(robot.pushes, "repeat", "repeat")
        return await super().push(data, served)


@variant("oldest-push-first", of="robustness.repeated-push")
class OldestPushFirst(Lab):
    """Announces a program in answer to the older of two pushes. The newer one gets repeat."""

    def want(self, robot: KnownRobot, command: str) -> None:
        robot.pushes.reverse()
        super().want(robot, command)


@variant("both-pushes-told", of="robustness.repeated-push")
class BothPushesTold(Lab):
    """Announces a program in answer to both of two pushes."""

    def want(self, robot: KnownRobot, command: str) -> None:
        if not give(robot.pushes, command, command):
            super().want(robot, command)


@variant("offline-at-half", of="offline.not-early")
class OfflineAtHalf(Lab):
    """Shows a robot as offline after half of the declared offline time."""

    def state_of(self, robot: KnownRobot) -> str:
        silent = asyncio.get_running_loop().time() - robot.seen
        if robot.step is Step.LINKED and not robot.pushes and silent > self.settings.offline / 2:
            return "offline"
        return super().state_of(robot)


@variant("no-content", of="sensors.accepted")
class NoContent(Lab):
    """Answers sensor data with status 204."""

    def sensor_post(self, value: Any) -> Any:
        super().sensor_post(value)
        return response(204)


@variant("empty-update-file", of="update.files")
class EmptyUpdateFile(Lab):
    """Has an empty file for updates."""

    def __init__(self, settings: Settings) -> None:
        updates = {**settings.updates, "v1/ev3menu": Program("EV3Menu.jar", b"")}
        super().__init__(replace(settings, updates=updates))


@variant("few-operations", of="offline.noticed")
class FewOperations(Lab):
    """Lets its user only enter tokens and run programs."""

    operations = ("pair", "run")


@variant("a-name-among-robots", of="push.seen")
class ANameAmongRobots(Lab):
    """Uses the member robot as the robot's name."""

    def state(self, token: str) -> dict[str, Any]:
        told = super().state(token)
        return {**told, "name": self.robots[token].data.get("robot")} if "name" in told else told
