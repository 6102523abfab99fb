"""Faults of the robot in its data object."""

from typing import Any

from conformance.openroberta import message_names
from mocks.deviations import Fault, Subtle, Table, fault
from mocks.openroberta.faults.robot.bases import DATA_OF_PUSH, RAN, members, omits
from mocks.openroberta.robot import Robot
from mocks.steps import after, alter, before, instead, note, noted, nth, put, returning, then

POSTS_PUSH = noted("chosen") & (
    lambda _, path, data: path == message_names.PUSHCMD and data["cmd"] == "push"
)


def _count(robot: Robot, told: dict[str, Any]) -> str:
    count = vars(robot)["count"] = vars(robot).get("count", 0) + 1
    return f"1.{count}"


def _first_token(robot: Robot) -> str:
    token: str = vars(robot).setdefault("first", robot.token)
    return token


def _previous_exit(robot: Robot, value: int) -> int:
    previous: int = vars(robot).get("previous", 0)
    vars(robot)["previous"] = value
    return previous


def _previous_battery(robot: Robot, told: dict[str, Any]) -> str:
    previous: str = vars(robot).get("previous", "8.4")
    vars(robot)["previous"] = told["battery"]
    return previous


def _lowest_battery(robot: Robot, told: dict[str, Any]) -> str:
    lowest = min(float(told["battery"]), vars(robot).get("lowest", 99.0))
    vars(robot)["lowest"] = lowest
    return str(lowest)


FAULTS = Table(Robot)

for _name in message_names.MANDATORY:
    FAULTS[f"data.{_name}"] = {f"no-{_name}": Fault(f"Sends no {_name}.", omits(_name))}
    if _name not in ("cmd", "token"):
        FAULTS[f"data.{_name}"] = {
            f"no-{_name}-in-pushes": Subtle(
                f"Sends no {_name} in pushes.", omits(_name, DATA_OF_PUSH)
            )
        }

FAULTS["data.strings"] = {
    "battery-null-in-pushes": Subtle(
        "Sends null as the battery in pushes.", members(DATA_OF_PUSH, battery=None)
    ),
    "version-as-number-after-a-program": Subtle(
        "Sends the version of its menu as a number after it has run a program.",
        members(RAN, menuversion=1.3),
    ),
}

FAULTS["data.same-object"] = {
    "versions-count": Fault(
        "Sends another firmwareversion in each request.", members(firmwareversion=_count)
    ),
    "address-after-a-program": Subtle(
        "Sends another macaddr after it has run a program.", members(RAN, macaddr="usb")
    ),
    "token-of-pushes": Subtle(
        "Pushes with another token than it has registered.",
        members(DATA_OF_PUSH, token=lambda _, told: told["token"].swapcase() + "x"),
    ),
}

FAULTS["token.alphabet"] = {
    "token-with-dash": Fault(
        "Has a dash in its token.",
        returning("new_token", lambda token: f"{token[:4]}-{token[4:]}"),
    ),
    "token-beyond-ascii": Subtle(
        "Has a letter in its token that is not ASCII.",
        returning("new_token", lambda token: f"{token[:7]}\u00c4"),
    ),
    "token-lost-by-abort": Subtle(
        "Registers with an empty token after an abort.",
        instead("new_token", lambda _: "", after(1)),
    ),
}

FAULTS["token.shown"] = {
    "token-not-shown": Fault("Shows its user no token.", instead("shown_token", lambda _: "")),
    "first-token-shown": Subtle(
        "Shows its first token even after a new registration.",
        instead("shown_token", _first_token),
    ),
}

FAULTS["token.random"] = {
    "one-token": Fault(
        "Has the same token at every start.", instead("new_token", lambda _: "AABBCCDD")
    ),
}

FAULTS["commands.robot"] = {
    "third-push-poll": Fault(
        "Sends poll instead of push in its second push.",
        before("data", note("chosen", DATA_OF_PUSH & nth(2))),
        alter("post", lambda _, path, data: (path, {**data, "cmd": "poll"}), POSTS_PUSH),
    ),
    "command-in-capitals": Subtle(
        "Writes the command push with a capital letter after it has run a program.",
        members(DATA_OF_PUSH & RAN, cmd="Push"),
    ),
}

FAULTS["exit.integer"] = {
    "exit-value-null": Subtle(
        "Sends null as its exit value before the first program.", members(~RAN, nepoexitvalue=None)
    ),
}

FAULTS["exit.value"] = {
    "exit-value-always-zero": Fault(
        "Sends the exit value 0 for every program.", alter("ended", lambda *_: 0)
    ),
    "exit-value-of-the-last": Subtle(
        "Sends the exit value of the previous program.", alter("ended", _previous_exit)
    ),
    "exit-value-of-a-byte": Subtle(
        "Sends the exit value as a signed byte.",
        alter("ended", lambda _, value: value - 256 if value > 127 else value),
    ),
}

FAULTS["exit.reported"] = {
    "failures-untold": Subtle(
        "Omits exit values other than 0.",
        omits("nepoexitvalue", lambda robot, cmd: robot.exit_value),
    ),
    "exit-value-later": Subtle(
        "Omits the exit value in the first push after a program.",
        then("ended", put("fresh", True)),
        omits("nepoexitvalue", noted("fresh")),
        then("data", put("fresh", False)),
    ),
}

FAULTS["push.fresh"] = {
    "battery-of-the-start": Fault(
        "Always sends the voltage that it had at its start.", members(battery="8.4")
    ),
    "battery-only-falls": Subtle(
        "Never sends a higher voltage than before.", members(battery=_lowest_battery)
    ),
    "long-names-cut": Subtle(
        "Sends only the first 16 characters of its name.",
        members(brickname=lambda _, told: told["brickname"][:16]),
    ),
    "name-of-the-start": Subtle(
        "Always sends the name that it had at its start.",
        members(brickname=lambda robot, _: robot.settings.name),
    ),
    "battery-of-the-last-push": Subtle(
        "Sends the voltage of its previous request.", members(battery=_previous_battery)
    ),
}


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
