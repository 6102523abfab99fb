"""Faults of the lab in reading data objects."""

import json
from collections.abc import Mapping
from typing import Any

from conformance.codec import Frame
from mocks.deviations import fault
from mocks.openroberta.http import Served
from mocks.openroberta.known_robot import KnownRobot, Step, give
from mocks.openroberta.lab import Lab


def _accepting(name: str) -> type[Lab]:
    """Return a lab that accepts requests without this field."""

    class Accepts(Lab):
        def missing(self, data: Mapping[str, Any]) -> list[str]:
            return [each for each in super().missing(data) if each != name]

    Accepts.__doc__ = f"Accepts requests without {name}."
    return fault(f"without-{name}", violates=f"refuses.{name}")(Accepts)


def _accepting_pushes(name: str) -> type[Lab]:
    """Return a lab that accepts pushes without this field."""

    class Accepts(Lab):
        def missing(self, data: Mapping[str, Any]) -> list[str]:
            passed = name if data.get("cmd") == "push" else ""
            return [each for each in super().missing(data) if each != passed]

    Accepts.__doc__ = f"Accepts pushes without {name}."
    return fault(f"pushes-without-{name}", violates=f"refuses.{name}", subtle=True)(Accepts)


WithoutFirmwarename = _accepting("firmwarename")
WithoutRobot = _accepting("robot")
WithoutMacaddr = _accepting("macaddr")
WithoutFirmwareversion = _accepting("firmwareversion")
WithoutToken = _accepting("token")
WithoutBrickname = _accepting("brickname")
WithoutBattery = _accepting("battery")
WithoutMenuversion = _accepting("menuversion")
PushesWithoutFirmwarename = _accepting_pushes("firmwarename")
PushesWithoutRobot = _accepting_pushes("robot")
PushesWithoutMacaddr = _accepting_pushes("macaddr")
PushesWithoutFirmwareversion = _accepting_pushes("firmwareversion")
PushesWithoutBrickname = _accepting_pushes("brickname")
PushesWithoutBattery = _accepting_pushes("battery")
PushesWithoutMenuversion = _accepting_pushes("menuversion")


@fault("without-cmd", violates="refuses.cmd")
class WithoutCmd(Lab):
    """Treats a request without cmd as a registration."""

    async def pushcmd(self, value: Any, served: Served) -> Any:
        if value.get("json") and "cmd" not in value["json"]:
            value = {**value, "json": {**value["json"], "cmd": "register"}}
        return await super().pushcmd(value, served)


@fault("pushes-unchecked", violates="refuses.firmwarename", subtle=True)
class PushesUnchecked(Lab):
    """Checks only the command and the token of a push."""

    def missing(self, data: Mapping[str, Any]) -> list[str]:
        missing = super().missing(data)
        return (
            missing if data.get("cmd") != "push" else [each for each in missing if each == "token"]
        )


@fault("registers-what-it-refuses", violates="refuses.thrown-away")
class RegistersWhatItRefuses(Lab):
    """Answers a registration without a field with an error, but registers the robot."""

    def incomplete(self, data: Mapping[str, Any]) -> Any:
        token = str(data.get("token"))
        if data.get("cmd") == "register":
            self.robots[token] = self.registered(token, data)
        return super().incomplete(data)


@fault("wrong-push-disconnects", violates="refuses.thrown-away", subtle=True)
class WrongPushDisconnects(Lab):
    """Disconnects a robot after a push without a field."""

    def incomplete(self, data: Mapping[str, Any]) -> Any:
        if data.get("cmd") == "push":
            self.robots.pop(str(data.get("token")), None)
        return super().incomplete(data)


@fault("refused-token-burnt", violates="refuses.thrown-away", subtle=True)
class RefusedTokenBurnt(Lab):
    """Refuses a token for ever after a request with a missing field."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.burnt: set[Any] = set()

    def incomplete(self, data: Mapping[str, Any]) -> Any:
        self.burnt.add(data.get("token"))
        return super().incomplete(data)

    def missing(self, data: Mapping[str, Any]) -> list[str]:
        return ["token"] if data.get("token") in self.burnt else super().missing(data)


@fault("careless-once-linked", violates="refuses.brickname", subtle=True)
class CarelessOnceLinked(Lab):
    """Accepts a registration without brickname while any robot is linked."""

    def missing(self, data: Mapping[str, Any]) -> list[str]:
        linked = any(robot.step is not Step.REGISTERING for robot in self.robots.values())
        passed = "brickname" if linked and data.get("cmd") == "register" else ""
        return [each for each in super().missing(data) if each != passed]


@fault("wrong-push-answers-held", violates="refuses.thrown-away", subtle=True)
class WrongPushAnswersHeld(Lab):
    """Answers the unanswered push when a push without a field arrives."""

    def incomplete(self, data: Mapping[str, Any]) -> Any:
        if robot := self.robots.get(str(data.get("token"))):
            give(robot.pushes, "repeat", "repeat")
        return super().incomplete(data)


@fault("wrong-push-believed", violates="refuses.thrown-away", subtle=True)
class WrongPushBelieved(Lab):
    """Shows the battery's voltage of a push that it has refused."""

    def incomplete(self, data: Mapping[str, Any]) -> Any:
        if robot := self.robots.get(str(data.get("token"))):
            robot.data = {**robot.data, "battery": data.get("battery")}
        return super().incomplete(data)


@fault("exit-value-mandatory", violates="exit.optional")
class ExitValueMandatory(Lab):
    """Refuses a registration without an exit value."""

    def missing(self, data: Mapping[str, Any]) -> list[str]:
        return [*super().missing(data), *({"nepoexitvalue"} - data.keys())]


@fault("exit-value-mandatory-in-pushes", violates="exit.optional", subtle=True)
class ExitValueMandatoryInPushes(Lab):
    """Refuses a push without an exit value."""

    def missing(self, data: Mapping[str, Any]) -> list[str]:
        more = {"nepoexitvalue"} - data.keys() if data.get("cmd") == "push" else ()
        return [*super().missing(data), *more]


@fault("exit-value-zero-only", violates="exit.optional", subtle=True)
class ExitValueZeroOnly(Lab):
    """Refuses a registration with an exit value other than 0."""

    def missing(self, data: Mapping[str, Any]) -> list[str]:
        return [*super().missing(data), *(["x"] if data.get("nepoexitvalue") else [])]


@fault("known-members-only", violates="robustness.extra-members")
class KnownMembersOnly(Lab):
    """Refuses objects with unknown members."""

    def missing(self, data: Mapping[str, Any]) -> list[str]:
        return [*super().missing(data), *(data.keys() & {"runtimeversion", "subtype"})]


@fault("short-objects-only", violates="robustness.extra-members", subtle=True)
class ShortObjectsOnly(Lab):
    """Refuses objects of more than 1000 characters."""

    def missing(self, data: Mapping[str, Any]) -> list[str]:
        return [*super().missing(data), *(["x"] if len(str(data)) > 1000 else [])]


@fault("objects-below-64-kib", violates="robustness.extra-members", subtle=True)
class ObjectsBelow64Kib(Lab):
    """Refuses data objects of more than 65536 bytes."""

    async def pushcmd(self, value: Any, served: Served) -> Any:
        if len(str(value.get("json"))) > 1 << 16:
            return self.refusal(413)
        return await super().pushcmd(value, served)


@fault("members-of-members", violates="robustness.extra-members", subtle=True)
class MembersOfMembers(Lab):
    """Treats a member of a member as a member of the object itself."""

    async def pushcmd(self, value: Any, served: Served) -> Any:
        told = dict(value.get("json", {}))
        for member in value.get("json", {}).values():
            told |= member if isinstance(member, dict) else {}
        return await super().pushcmd({**value, "json": told}, served)


@fault("escaped-slashes-refused", violates="http.json", subtle=True)
class EscapedSlashesRefused(Lab):
    """Does not decode JSON with an escaped slash."""

    async def take(self, frame: Frame, served: Served) -> bool:
        if b"\\/" in frame.raw:
            self.respond(served, self.malformed())
            return self.keeps(frame.value)
        return await super().take(frame, served)


@fault("ascii-names-only", violates="http.json", subtle=True)
class AsciiNamesOnly(Lab):
    """Refuses robots whose name is not ASCII."""

    def missing(self, data: Mapping[str, Any]) -> list[str]:
        plain = str(data.get("brickname")).isascii()
        return [*super().missing(data), *([] if plain else ["brickname"])]


@fault("battery-of-the-registration", violates="push.seen")
class BatteryOfTheRegistration(Lab):
    """Shows the data of the registration instead of the last push."""

    def told(self, robot: KnownRobot, data: Mapping[str, Any]) -> None:
        robot.data = {**robot.data, "nepoexitvalue": data.get("nepoexitvalue")}


@fault("name-of-the-registration", violates="push.seen", subtle=True)
class NameOfTheRegistration(Lab):
    """Shows the name of the registration instead of the last push."""

    def told(self, robot: KnownRobot, data: Mapping[str, Any]) -> None:
        robot.data = {**data, "brickname": robot.data["brickname"]}


@fault("sixteen-letters-of-a-name", violates="push.seen", subtle=True)
class SixteenLettersOfAName(Lab):
    """Shows only the first 16 letters of a robot's name."""

    def told(self, robot: KnownRobot, data: Mapping[str, Any]) -> None:
        robot.data = {**data, "brickname": data["brickname"][:16]}


@fault("quoted-names-refused", violates="push.seen", subtle=True)
class QuotedNamesRefused(Lab):
    """Refuses pushes with a quotation mark in the name, as malformed JSON."""

    async def push(self, data: Mapping[str, Any], served: Served) -> Any:
        return self.malformed() if '"' in data["brickname"] else await super().push(data, served)


@fault("battery-of-two-pushes", violates="push.seen", subtle=True)
class BatteryOfTwoPushes(Lab):
    """Uses only the exit value of pushes after the second."""

    def told(self, robot: KnownRobot, data: Mapping[str, Any]) -> None:
        count = robot.data.get("count", 0) + 1
        value = {"nepoexitvalue": data.get("nepoexitvalue")}
        latest = data if count <= 2 else {**robot.data, **value}
        robot.data = {**latest, "count": count}


class _Mistaking(Lab):
    """Shows a value of the robot that was linked last for all robots."""

    shown = ""
    latest: KnownRobot | None = None

    def welcome(self, robot: KnownRobot) -> None:
        self.latest = robot
        super().welcome(robot)

    def state(self, token: str) -> dict[str, Any]:
        state = super().state(token)
        if self.latest and state["state"] != "unknown":
            state[self.shown] = super().state(self.latest.token).get(self.shown)
        return state


@fault("bodies-in-latin-1", violates="push.seen", subtle=True)
class BodiesInLatin1(Lab):
    """Decodes bodies as Latin-1."""

    async def push(self, data: Mapping[str, Any], served: Served) -> Any:
        read = json.dumps(data, ensure_ascii=False).encode().decode("latin-1")
        return await super().push(json.loads(read), served)


@fault("pairs-of-escapes-lost", violates="push.seen", subtle=True)
class PairsOfEscapesLost(Lab):
    """Decodes a pair of JSON escapes as two letters."""

    def told(self, robot: KnownRobot, data: Mapping[str, Any]) -> None:
        letters = ("??" if ord(letter) > 0xFFFF else letter for letter in data["brickname"])
        super().told(robot, {**data, "brickname": "".join(letters)})


@fault("battery-of-the-latest", violates="push.seen", subtle=True)
class BatteryOfTheLatest(_Mistaking):
    """Shows the battery of the robot that was linked last."""

    shown = "battery"


@fault("exit-value-of-the-latest", violates="exit.shown", subtle=True)
class ExitValueOfTheLatest(_Mistaking):
    """Shows the exit value of the robot that was linked last."""

    shown = "exitvalue"


@fault("state-of-the-latest", violates="offline.noticed", subtle=True)
class StateOfTheLatest(_Mistaking):
    """Shows no robot as offline while the robot that was linked last is online."""

    shown = "state"

    def state(self, token: str) -> dict[str, Any]:
        state = super().state(token)
        own = Lab.state(self, token)
        return state if own["state"] == "offline" else own


@fault("zero-is-no-exit-value", violates="exit.shown", subtle=True)
class ZeroIsNoExitValue(Lab):
    """Keeps the old exit value if the new one is 0."""

    def told(self, robot: KnownRobot, data: Mapping[str, Any]) -> None:
        kept = robot.data.get("nepoexitvalue")
        robot.data = {**data, "nepoexitvalue": data.get("nepoexitvalue") or kept}


@fault("zero-is-not-shown", violates="exit.shown", subtle=True)
class ZeroIsNotShown(Lab):
    """Shows no exit value if it is 0."""

    def state(self, token: str) -> dict[str, Any]:
        told = super().state(token)
        return {**told, "exitvalue": told.get("exitvalue") or None}


@fault("empty-battery-is-not-shown", violates="push.seen", subtle=True)
class EmptyBatteryIsNotShown(Lab):
    """Shows no voltage below 1 V."""

    def state(self, token: str) -> dict[str, Any]:
        told = super().state(token)
        return {**told, "battery": told["battery"] if float(told["battery"]) >= 1 else None}


@fault("exit-value-lost", violates="exit.shown")
class ExitValueLost(Lab):
    """Always shows the exit value 0."""

    def told(self, robot: KnownRobot, data: Mapping[str, Any]) -> None:
        robot.data = {**data, "nepoexitvalue": 0}


@fault("exit-value-of-running-robots-lost", violates="exit.shown", subtle=True)
class ExitValueOfRunningRobotsLost(Lab):
    """Ignores the data of the first push after a program."""

    def told(self, robot: KnownRobot, data: Mapping[str, Any]) -> None:
        if robot.step is not Step.RUNNING:
            super().told(robot, data)


@fault("nameless-programs", violates="refuses.download", subtle=True)
class NamelessPrograms(Lab):
    """Sends a program to a request without brickname."""

    def left_out(self, data: Mapping[str, Any]) -> list[str]:
        return [name for name in super().left_out(data) if name != "brickname"]


@fault("programs-once-linked", violates="refuses.download")
class ProgramsOnceLinked(Lab):
    """Ignores the fields of a request for a program if its token is linked."""

    def left_out(self, data: Mapping[str, Any]) -> list[str]:
        return [] if data.get("token") in self.robots else super().left_out(data)
