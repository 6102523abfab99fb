"""Faults of the robot in its data object."""

from typing import Any

from conformance.openroberta import message_names
from mocks.deviations import fault
from mocks.openroberta.robot import Robot


def _lacking(name: str) -> type[Robot]:
    """Return a robot that never sends this field."""

    class Lacks(Robot):
        def data(self, cmd: str) -> dict[str, Any]:
            return {each: value for each, value in super().data(cmd).items() if each != name}

    Lacks.__doc__ = f"Sends no {name}."
    return fault(f"no-{name}", violates=f"data.{name}")(Lacks)


def _lacking_in_pushes(name: str) -> type[Robot]:
    """Return a robot that omits this field in pushes."""

    class Lacks(Robot):
        def data(self, cmd: str) -> dict[str, Any]:
            told = super().data(cmd)
            if cmd == "push":
                del told[name]
            return told

    Lacks.__doc__ = f"Sends no {name} in pushes."
    return fault(f"no-{name}-in-pushes", violates=f"data.{name}", subtle=True)(Lacks)


NoFirmwarename = _lacking("firmwarename")
NoRobot = _lacking("robot")
NoMacaddr = _lacking("macaddr")
NoCmd = _lacking("cmd")
NoFirmwareversion = _lacking("firmwareversion")
NoToken = _lacking("token")
NoBrickname = _lacking("brickname")
NoBattery = _lacking("battery")
NoMenuversion = _lacking("menuversion")
NoFirmwarenameInPushes = _lacking_in_pushes("firmwarename")
NoRobotInPushes = _lacking_in_pushes("robot")
NoMacaddrInPushes = _lacking_in_pushes("macaddr")
NoFirmwareversionInPushes = _lacking_in_pushes("firmwareversion")
NoBricknameInPushes = _lacking_in_pushes("brickname")
NoBatteryInPushes = _lacking_in_pushes("battery")
NoMenuversionInPushes = _lacking_in_pushes("menuversion")


class _Telling(Robot):
    """Changes the data object; `pushes` counts the pushes."""

    pushes = 0

    def data(self, cmd: str) -> dict[str, Any]:
        told = super().data(cmd)
        self.pushes += cmd == "push"
        self.alter(told, cmd)
        return told

    def alter(self, told: dict[str, Any], cmd: str) -> None:
        raise NotImplementedError


@fault("battery-null-in-pushes", violates="data.strings", subtle=True)
class BatteryNullInPushes(_Telling):
    """Sends null as the battery in pushes."""

    def alter(self, told: dict[str, Any], cmd: str) -> None:
        if cmd == "push":
            told["battery"] = None


@fault("version-as-number-after-a-program", violates="data.strings", subtle=True)
class VersionAsNumberAfterAProgram(_Telling):
    """Sends the version of its menu as a number after it has run a program."""

    def alter(self, told: dict[str, Any], cmd: str) -> None:
        if self.exit_value is not None:
            told["menuversion"] = 1.3


@fault("versions-count", violates="data.same-object")
class VersionsCount(_Telling):
    """Sends another firmwareversion in each request."""

    def alter(self, told: dict[str, Any], cmd: str) -> None:
        told["firmwareversion"] = f"1.{self.pushes}"


@fault("address-after-a-program", violates="data.same-object", subtle=True)
class AddressAfterAProgram(_Telling):
    """Sends another macaddr after it has run a program."""

    def alter(self, told: dict[str, Any], cmd: str) -> None:
        if self.exit_value is not None:
            told["macaddr"] = "usb"


@fault("token-of-pushes", violates="data.same-object", subtle=True)
class TokenOfPushes(_Telling):
    """Pushes with another token than it has registered."""

    def alter(self, told: dict[str, Any], cmd: str) -> None:
        if cmd == "push":
            told["token"] = told["token"].swapcase() + "x"


@fault("token-with-dash", violates="token.alphabet")
class TokenWithDash(Robot):
    """Has a dash in its token."""

    def new_token(self) -> str:
        token = super().new_token()
        return f"{token[:4]}-{token[4:]}"


@fault("token-beyond-ascii", violates="token.alphabet", subtle=True)
class TokenBeyondAscii(Robot):
    """Has a letter in its token that is not ASCII."""

    def new_token(self) -> str:
        return f"{super().new_token()[:7]}\u00c4"


@fault("token-lost-by-abort", violates="token.alphabet", subtle=True)
class TokenLostByAbort(Robot):
    """Registers with an empty token after an abort."""

    def new_token(self) -> str:
        made = getattr(self, "token", None) is not None
        return "" if made else super().new_token()


@fault("token-not-shown", violates="token.shown")
class TokenNotShown(Robot):
    """Shows its user no token."""

    def shown_token(self) -> str:
        return ""


@fault("first-token-shown", violates="token.shown", subtle=True)
class FirstTokenShown(Robot):
    """Shows its first token even after a new registration."""

    first = ""

    def shown_token(self) -> str:
        self.first = self.first or self.token
        return self.first


@fault("one-token", violates="token.random")
class OneToken(Robot):
    """Has the same token at every start."""

    def new_token(self) -> str:
        return "AABBCCDD"


@fault("third-push-poll", violates="commands.robot")
class ThirdPushPoll(_Telling):
    """Sends poll instead of push in its second push."""

    def post(self, path: str, data: dict[str, Any]) -> Any:
        polls = path == message_names.PUSHCMD and data["cmd"] == "push" and self.pushes == 2
        return super().post(path, {**data, "cmd": "poll"} if polls else data)

    def alter(self, told: dict[str, Any], cmd: str) -> None:
        """Change nothing else."""


@fault("command-in-capitals", violates="commands.robot", subtle=True)
class CommandInCapitals(_Telling):
    """Writes the command push with a capital letter after it has run a program."""

    def alter(self, told: dict[str, Any], cmd: str) -> None:
        if cmd == "push" and self.exit_value is not None:
            told["cmd"] = "Push"


@fault("exit-value-null", violates="exit.integer", subtle=True)
class ExitValueNull(_Telling):
    """Sends null as its exit value before the first program."""

    def alter(self, told: dict[str, Any], cmd: str) -> None:
        told.setdefault("nepoexitvalue", None)


@fault("exit-value-always-zero", violates="exit.value")
class ExitValueAlwaysZero(Robot):
    """Sends the exit value 0 for every program."""

    def ended(self, value: int) -> None:
        self.exit_value = 0


@fault("exit-value-of-the-last", violates="exit.value", subtle=True)
class ExitValueOfTheLast(Robot):
    """Sends the exit value of the previous program."""

    latest = 0

    def ended(self, value: int) -> None:
        self.exit_value, self.latest = self.latest, value


@fault("exit-value-of-a-byte", violates="exit.value", subtle=True)
class ExitValueOfAByte(Robot):
    """Sends the exit value as a signed byte."""

    def ended(self, value: int) -> None:
        self.exit_value = value - 256 if value > 127 else value


@fault("failures-untold", violates="exit.reported", subtle=True)
class FailuresUntold(_Telling):
    """Omits exit values other than 0."""

    def alter(self, told: dict[str, Any], cmd: str) -> None:
        if told.get("nepoexitvalue"):
            del told["nepoexitvalue"]


@fault("exit-value-later", violates="exit.reported", subtle=True)
class ExitValueLater(_Telling):
    """Omits the exit value in the first push after a program."""

    fresh = False

    def ended(self, value: int) -> None:
        super().ended(value)
        self.fresh = True

    def alter(self, told: dict[str, Any], cmd: str) -> None:
        if self.fresh:
            told.pop("nepoexitvalue", None)
            self.fresh = False


@fault("battery-of-the-start", violates="push.fresh")
class BatteryOfTheStart(_Telling):
    """Always sends the voltage that it had at its start."""

    def alter(self, told: dict[str, Any], cmd: str) -> None:
        told["battery"] = "8.4"


@fault("battery-only-falls", violates="push.fresh", subtle=True)
class BatteryOnlyFalls(_Telling):
    """Never sends a higher voltage than before."""

    lowest = 99.0

    def alter(self, told: dict[str, Any], cmd: str) -> None:
        self.lowest = min(self.lowest, float(told["battery"]))
        told["battery"] = str(self.lowest)


@fault("long-names-cut", violates="push.fresh", subtle=True)
class LongNamesCut(_Telling):
    """Sends only the first 16 characters of its name."""

    def alter(self, told: dict[str, Any], cmd: str) -> None:
        told["brickname"] = told["brickname"][:16]


@fault("name-of-the-start", violates="push.fresh", subtle=True)
class NameOfTheStart(_Telling):
    """Always sends the name that it had at its start."""

    def alter(self, told: dict[str, Any], cmd: str) -> None:
        told["brickname"] = self.settings.name


@fault("battery-of-the-last-push", violates="push.fresh", subtle=True)
class BatteryOfTheLastPush(_Telling):
    """Sends the voltage of its previous request."""

    latest = "8.4"

    def alter(self, told: dict[str, Any], cmd: str) -> None:
        told["battery"], self.latest = self.latest, told["battery"]


@fault("first-token-of-programs", violates="data.same-object", subtle=True)
class FirstTokenOfPrograms(Robot):
    """Requests programs with its first token, even after it has registered another one."""

    first = ""

    def data(self, cmd: str) -> dict[str, Any]:
        self.first = self.first or self.token
        return super().data(cmd)

    async def download(self) -> None:
        token, self.token = self.token, self.first
        await super().download()
        self.token = token
