"""Lawful variants of the lab."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from conformance.codec import Frame
from conformance.openroberta.codec import response
from mocks.deviations import Table, Variant, variant
from mocks.openroberta.faults.lab.bases import (
    BETWEEN_PUSHES,
    LINKED,
    Marks,
    body,
    compressed,
    in_chunks,
    is_offline,
    silence,
    state,
)
from mocks.openroberta.http import Served
from mocks.openroberta.known_robot import KnownRobot, Program, Step, give
from mocks.openroberta.lab import Lab
from mocks.openroberta.user import Settings
from mocks.steps import When, alter, before, call, instead, put, returning, skip, then, wait

Data = Mapping[str, Any]
LATE, ENTERED, UPDATED, LOST = Marks(), Marks(), Marks(), Marks()
SPECIFIC = (404, 411)  # statuses from which a robot learns how to continue
IN_GENERAL = When(lambda _, status, *why: status not in SPECIFIC)
CLOSES = instead("keeps", lambda _, value: "upgrade" in value["headers"])


def _command_in_lines(_: Lab, word: str) -> Any:
    body = json.dumps({"cmd": word}, indent=2, separators=(" , ", " : ")).encode()
    return response(200, {"content-type": "application/json"}, body)


def _pair_entered(lab: Lab, data: Data, served: Served) -> None:
    ENTERED.remove(lab, data)
    asyncio.get_running_loop().call_soon(lab.pair, str(data["token"]))


def _repeat_held_push(lab: Lab, data: Data, served: Served) -> None:
    robot = lab.robot(data)
    if robot and robot.step is not Step.REGISTERING:
        give(robot.pushes, "repeat", "repeat")


def _begins_with_pushcmd(lab: Lab, frame: Frame, served: Served) -> bool:
    return lab.path(frame.value).startswith("/rest/pushcmd")


def _time_to_the_next_tick(lab: Lab, robot: KnownRobot) -> float:
    period = lab.settings.push_hold
    return period - asyncio.get_running_loop().time() % period


def _refuse_update(lab: Lab, token: str) -> None:
    raise ValueError(f"the robot {lab.linked(token).token!r} is up to date")


def _refuse_run(lab: Lab, token: str, name: str) -> None:
    raise ValueError(f"the robot {token!r} has to be updated before it runs {name[:80]!r}")


def _is_outdated(lab: Lab, token: str, *name: str) -> bool:
    return lab.outdated(lab.linked(token))


def _has_nul(_: Lab, data: Data, served: Served) -> bool:
    return any("\0" in str(value) for value in data.values())


def _with_empty_file(_: Lab, settings: Settings) -> Settings:
    updates = {**settings.updates, "v1/ev3menu": Program("EV3Menu.jar", b"")}
    return replace(settings, updates=updates)


VARIANTS = Table(Lab)

VARIANTS["robustness.other-paths"] = {
    "any-end-of-path": Variant(
        "Treats any path that begins with /rest/pushcmd as this path, as some HTTP libraries do.",
        instead(
            "answer",
            lambda lab, frame, served: lab.pushcmd(frame.value, served),
            _begins_with_pushcmd,
        ),
    ),
}

VARIANTS["refuses.robot"] = {
    "errors-in-bodies": Variant(
        "Reports errors in the body of an answer with status 200.",
        instead(
            "refusal",
            lambda *_: response(200, {}, {"rc": "error", "message": "SERVER_ERROR"}),
            IN_GENERAL,
        ),
    ),
}

VARIANTS["refuses.battery"] = {
    "errors-by-closing": Variant(
        "Closes the connection after a wrong method, a missing field, or a malformed body.",
        skip("refusal", lambda _, status, *why: status == 405),
        skip("incomplete"),
        skip("malformed"),
    ),
}

VARIANTS["refuses.menuversion"] = {
    "aborts-what-it-refuses": Variant(
        "Answers any error with an immediate abort, even to a malformed request.",
        instead("refusal", call("command", "abort"), IN_GENERAL),
    ),
}

VARIANTS["refuses.download"] = {
    "programs-by-token": Variant(
        "Reads only the token in a request for a program, as the published lab does.",
        instead("left_out", lambda *_: []),
    ),
}

VARIANTS["push.own-time"] = {
    "one-timer": Variant(
        "Answers all waiting pushes at the ticks of one timer.",
        instead("push_time", _time_to_the_next_tick),
    ),
}

VARIANTS["commands.lab"] = {
    "spells-widely": Variant(
        "Writes the JSON of its commands in several lines, with additional spaces.",
        instead("command", _command_in_lines),
    ),
}

VARIANTS["http.json"] = {
    "no-nul-in-texts": Variant(
        "Refuses robots with the character NUL in a field, which its database cannot store.",
        instead("register", call("refusal", 400), _has_nul),
    ),
}

VARIANTS["http.persistence"] = {
    "closes-after-each": Variant("Closes every connection after one answer.", CLOSES),
}

VARIANTS["robustness.chunked-requests"] = {
    "requires-a-length": Variant(
        "Refuses a chunked request with status 411 (Length Required).",
        instead("answer", call("refusal", 411), in_chunks),
    ),
    "speaks-http-1.0": Variant(
        "Answers with HTTP/1.0, as simple servers do; ignores a body without a length.",
        CLOSES,
        instead("answer", call("refusal", 400), in_chunks),
        returning("answer", lambda answer: answer and {**answer, "version": "1.0"}),
    ),
}

VARIANTS["token.in-time"] = {
    "late-tokens-wait": Variant(
        "Keeps a token that is entered after its time for the next registration with it.",
        before("unlinked", LATE.add),
        before("pair", ENTERED.add, When(LATE.has) & (lambda lab, token: token not in lab.robots)),
        before("register", _pair_entered, ENTERED.has),
    ),
}

VARIANTS["robustness.side-by-side"] = {
    "others-wait-a-moment": Variant(
        "Answers the requests of other robots somewhat later while a push is held.",
        before(
            "answer",
            wait(0.02),
            lambda lab, *_: any(robot.pushes for robot in lab.robots.values()),
        ),
    ),
}

VARIANTS["update.files"] = {
    "empty-update-file": Variant(
        "Has an empty file for updates.", alter("__init__", _with_empty_file)
    ),
}

VARIANTS["update.not-back"] = {
    "offers-only-its-own-version": Variant(
        "Offers an update for each robot that does not have exactly its own version.",
        instead(
            "outdated", lambda lab, robot: robot.data["menuversion"] != lab.settings.menu_version
        ),
    ),
}

VARIANTS["update.command"] = {
    "updates-the-outdated-only": Variant(
        "Lets its user update a robot only if the robot has an older menu.",
        instead("update", _refuse_update, ~When(_is_outdated)),
    ),
}

VARIANTS["run.command"] = {
    "runs-on-the-updated-only": Variant(
        "Lets its user run programs on a robot only after an update of an older menu.",
        instead("run", _refuse_run, _is_outdated),
    ),
}

VARIANTS["push.seen"] = {
    "numbers-for-volts": Variant(
        "Shows the battery's voltage as a number.",
        state(lambda told: {"battery": float(told["battery"])} if "battery" in told else {}),
    ),
}

VARIANTS["exit.shown"] = {
    "texts-for-exit-values": Variant(
        "Shows the exit value as a string.",
        state(lambda told: {"exitvalue": str(told["exitvalue"])} if "exitvalue" in told else {}),
    ),
}

VARIANTS["offline.no-disconnect"] = {
    "lost-is-offline": Variant(
        "Shows a robot as offline after its connection was lost, until it pushes again.",
        before("push", LOST.remove),
        before("lost", LOST.add, LINKED),
        returning("state_of", lambda state: "offline" if state == "waiting" else state, LOST.has),
    ),
}

VARIANTS["offline.returns"] = {
    "offline-for-good": Variant(
        "Refuses a robot that was offline, until it registers again.",
        instead("push", call("refusal", 500), is_offline),
    ),
}

VARIANTS["offline.noticed"] = {
    "few-operations": Variant(
        "Lets its user only enter tokens and run programs.",
        then("__init__", put("operations", ("pair", "run"))),
    ),
    "offline-is-unknown": Variant(
        "Shows a robot that is offline as an unknown robot.",
        returning("state_of", lambda state: "unknown" if state == "offline" else state),
    ),
}

VARIANTS["offline.not-early"] = {
    "offline-at-half": Variant(
        "Shows a robot as offline after half of the declared offline time.",
        instead(
            "state_of",
            lambda *_: "offline",
            BETWEEN_PUSHES & (lambda lab, robot: silence(robot) > lab.settings.offline / 2),
        ),
    ),
}

VARIANTS["robustness.repeated-push"] = {
    "newest-push-only": Variant(
        "Answers an unanswered push as soon as the same robot sends another push.",
        before("push", _repeat_held_push),
    ),
    "oldest-push-first": Variant(
        "Announces a program in answer to the older of two pushes. The newer one gets repeat.",
        before("want", lambda _, robot, command: robot.pushes.reverse()),
    ),
}

VARIANTS["sensors.accepted"] = {
    "no-content": Variant(
        "Answers sensor data with status 204.",
        returning("sensor_post", lambda _: response(204)),
    ),
}


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


@variant("knows-addresses", of="token.links")
class KnowsAddresses(Lab):
    """Ends the old registration of a MAC address that registers with another token."""

    def registered(self, token: str, data: Mapping[str, Any]) -> KnownRobot:
        address = str(data.get("macaddr"))
        for other in list(self.robots.values()) if ":" in address else ():
            if other.data.get("macaddr") == address and other.token != token:
                give(other.registrations, "abort", "abort")
                self.robots.pop(other.token)
        return super().registered(token, data)


@variant("gives-programs-once", of="run.bytes")
class GivesProgramsOnce(Lab):
    """Closes the connection after a request for a program that the robot has already fetched."""

    def download(self, value: Any) -> Any:
        robot = self.robot(body(value))
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


@variant("repeats-the-linked", of="robustness.registered-again")
class RepeatsTheLinked(Lab):
    """Answers the registration of a linked robot with repeat, without its token."""

    async def register(self, data: Mapping[str, Any], served: Served) -> Any:
        robot = self.robot(data)
        if robot and robot.step is not Step.REGISTERING:
            self.back(robot)
            self.touch(robot)
            return self.command("repeat")
        return await super().register(data, served)


@variant("remembers-the-updated", of="update.registers-again")
class RemembersTheUpdated(Lab):
    """Links a robot without its token after an update, because it was entered before."""

    updated: frozenset[str] = frozenset()

    def disconnect(self, robot: KnownRobot) -> None:
        super().disconnect(robot)
        self.updated |= {robot.token}

    async def register(self, data: Mapping[str, Any], served: Served) -> Any:
        token = str(data["token"])
        if token not in self.updated:
            return await super().register(data, served)
        self.updated -= {token}
        robot = self.robots[token] = self.registered(token, data)
        robot.step = Step.LINKED
        self.touch(robot)
        return self.command("repeat")


@variant("offers-updates-later", of="update.offered")
class OffersUpdatesLater(Lab):
    """Shows an offered update only when the user's page is refreshed, 0.3 s after the link."""

    def outdated(self, robot: KnownRobot) -> bool:
        linked = vars(robot).setdefault("linked", asyncio.get_running_loop().time())
        return super().outdated(robot) and asyncio.get_running_loop().time() - linked > 0.3


@variant("runs-until-fetched", of="run.command")
class RunsUntilFetched(Lab):
    """Ends the user's operation 'run' only when the robot has fetched the program."""

    async def ran(self, token: str) -> None:
        await self._fetched(token).wait()

    def download(self, value: Any) -> Any:
        answer = super().download(value)
        if answer["status"] == 200:
            self._fetched(body(value)["token"]).set()
        return answer

    def _fetched(self, token: str) -> asyncio.Event:
        fetched: dict[str, asyncio.Event] = vars(self).setdefault("fetched", {})
        return fetched.setdefault(token, asyncio.Event())


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


@variant("both-pushes-told", of="robustness.repeated-push")
class BothPushesTold(Lab):
    """Announces a program in answer to both of two pushes."""

    def want(self, robot: KnownRobot, command: str) -> None:
        if not give(robot.pushes, command, command):
            super().want(robot, command)


@variant("a-name-among-robots", of="push.seen")
class ANameAmongRobots(Lab):
    """Uses the member robot as the robot's name."""

    def state(self, token: str) -> dict[str, Any]:
        told = super().state(token)
        return {**told, "name": self.robots[token].data.get("robot")} if "name" in told else told
