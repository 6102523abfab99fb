"""Faults of the lab in reading data objects."""

import json
from collections.abc import Mapping
from typing import Any

from conformance.codec import Frame
from conformance.openroberta import message_names
from mocks.deviations import Fault, Subtle, Table
from mocks.openroberta.faults.lab.bases import PUSHES, REGISTERS, Marks, keep_latest, state
from mocks.openroberta.http import Served
from mocks.openroberta.known_robot import KnownRobot, Step, give
from mocks.openroberta.lab import Lab
from mocks.steps import (
    Change,
    Function,
    When,
    alter,
    always,
    before,
    call,
    instead,
    returning,
    skip,
)

Data = Mapping[str, Any]
BURNT = Marks()
NO_EXIT_VALUE = When(lambda _, data: "nepoexitvalue" not in data)


def forgives(name: str, when: Function = always) -> Change:
    """Accept requests without this field."""
    return returning("missing", lambda names: [each for each in names if each != name], when)


def rejects(when: Function) -> Change:
    """Refuse requests as if a field were missing."""
    return returning("missing", lambda names: [*names, "another member"], when)


def shows(change: Function) -> Change:
    """Show what a function makes of the robot and of its new data."""
    return alter("told", lambda _, robot, data: (robot, change(robot, data)))


def mistakes(
    member: str, when: Function = lambda told: told["state"] != "unknown"
) -> tuple[Change, Change]:
    """Show a value of the robot that was linked last for all robots."""

    def play(usual: Function, lab: Lab, token: str) -> Any:
        told, latest = usual(lab, token), getattr(lab, "latest", None)
        if latest and when(told):
            told[member] = usual(lab, latest.token).get(member)
        return told

    return before("welcome", keep_latest), Change("state", play)


def _register_without_cmd(_: Lab, value: Any, served: Served) -> Any:
    return {**value, "json": {**value["json"], "cmd": "register"}}, served


def _register(lab: Lab, data: Data) -> None:
    token = str(data.get("token"))
    lab.robots[token] = lab.registered(token, data)


def _forget(lab: Lab, data: Data) -> None:
    lab.robots.pop(str(data.get("token")), None)


def _is_known(lab: Lab, robot: KnownRobot) -> bool:
    return lab.robots.get(robot.token) is robot


def _answer_held_push(lab: Lab, data: Data) -> None:
    if robot := lab.robot(data):
        give(robot.pushes, "repeat", "repeat")


def _believe_battery(lab: Lab, data: Data) -> None:
    if robot := lab.robot(data):
        robot.data = {**robot.data, "battery": data.get("battery")}


def _any_linked(lab: Lab, data: Data) -> bool:
    return any(robot.step is not Step.REGISTERING for robot in lab.robots.values())


def _read_members_of_members(_: Lab, value: Any, served: Served) -> Any:
    told = dict(value.get("json", {}))
    for member in value.get("json", {}).values():
        told |= member if isinstance(member, dict) else {}
    return {**value, "json": told}, served


def _refuse_slashes(lab: Lab, frame: Frame, served: Served) -> bool:
    lab.respond(served, lab.malformed())
    return lab.keeps(frame.value)


def _read_as_latin_1(_: Lab, data: Data, served: Served) -> Any:
    read = json.dumps(data, ensure_ascii=False).encode().decode("latin-1")
    return json.loads(read), served


def _two_pushes(robot: KnownRobot, data: Data) -> Data:
    count = robot.data.get("count", 0) + 1
    value = {"nepoexitvalue": data.get("nepoexitvalue")}
    return {**(data if count <= 2 else {**robot.data, **value}), "count": count}


def _without_pairs_of_escapes(_: KnownRobot, data: Data) -> Data:
    letters = ("??" if ord(letter) > 0xFFFF else letter for letter in data["brickname"])
    return {**data, "brickname": "".join(letters)}


FAULTS = Table(Lab)

for _name in message_names.MANDATORY:
    if _name != "cmd":
        FAULTS[f"refuses.{_name}"] = {
            f"without-{_name}": Fault(f"Accepts requests without {_name}.", forgives(_name))
        }
    if _name not in ("cmd", "token"):
        FAULTS[f"refuses.{_name}"] = {
            f"pushes-without-{_name}": Subtle(
                f"Accepts pushes without {_name}.", forgives(_name, PUSHES)
            )
        }

FAULTS["refuses.cmd"] = {
    "without-cmd": Fault(
        "Treats a request without cmd as a registration.",
        alter(
            "pushcmd",
            _register_without_cmd,
            lambda _, value, served: value.get("json") and "cmd" not in value["json"],
        ),
    ),
}

FAULTS["refuses.firmwarename"] = {
    "pushes-unchecked": Subtle(
        "Checks only the command and the token of a push.",
        returning("missing", lambda names: [each for each in names if each == "token"], PUSHES),
    ),
}

FAULTS["refuses.brickname"] = {
    "careless-once-linked": Subtle(
        "Accepts a registration without brickname while any robot is linked.",
        forgives("brickname", REGISTERS & _any_linked),
    ),
}

FAULTS["refuses.thrown-away"] = {
    "registers-what-it-refuses": Fault(
        "Answers a registration without a field with an error, but registers the robot.",
        before("incomplete", _register, REGISTERS),
    ),
    "wrong-push-disconnects": Subtle(
        "Disconnects a robot after a push without a field.",
        before("incomplete", _forget, PUSHES),
    ),
    "wrong-push-aborts": Subtle(
        "Forgets a robot after a push without a field, and answers its earlier push with abort.",
        before("incomplete", _forget, PUSHES),
        alter(
            "pushed",
            lambda lab, robot, command: (robot, command if _is_known(lab, robot) else "abort"),
        ),
    ),
    "refused-token-burnt": Subtle(
        "Refuses a token for ever after a request with a missing field.",
        before("incomplete", BURNT.add),
        instead("missing", lambda *_: ["token"], BURNT.has),
    ),
    "wrong-push-answers-held": Subtle(
        "Answers the unanswered push when a push without a field arrives.",
        before("incomplete", _answer_held_push),
    ),
    "wrong-push-believed": Subtle(
        "Shows the battery's voltage of a push that it has refused.",
        before("incomplete", _believe_battery),
    ),
}

FAULTS["refuses.download"] = {
    "nameless-programs": Subtle(
        "Sends a program to a request without brickname.",
        returning("left_out", lambda names: [each for each in names if each != "brickname"]),
    ),
    "programs-once-linked": Fault(
        "Ignores the fields of a request for a program if its token is linked.",
        instead("left_out", lambda *_: [], lambda lab, data: data.get("token") in lab.robots),
    ),
}

FAULTS["exit.optional"] = {
    "exit-value-mandatory": Fault(
        "Refuses a registration without an exit value.", rejects(NO_EXIT_VALUE)
    ),
    "exit-value-mandatory-in-pushes": Subtle(
        "Refuses a push without an exit value.", rejects(PUSHES & NO_EXIT_VALUE)
    ),
    "exit-value-zero-only": Subtle(
        "Refuses a registration with an exit value other than 0.",
        rejects(lambda _, data: data.get("nepoexitvalue")),
    ),
}

FAULTS["robustness.extra-members"] = {
    "known-members-only": Fault(
        "Refuses objects with unknown members.",
        rejects(lambda _, data: data.keys() & {"runtimeversion", "subtype"}),
    ),
    "short-objects-only": Subtle(
        "Refuses objects of more than 1000 characters.",
        rejects(lambda _, data: len(str(data)) > 1000),
    ),
    "objects-below-64-kib": Subtle(
        "Refuses data objects of more than 65536 bytes.",
        instead(
            "pushcmd",
            call("refusal", 413),
            lambda _, value, served: len(str(value.get("json"))) > 1 << 16,
        ),
    ),
    "members-of-members": Subtle(
        "Treats a member of a member as a member of the object itself.",
        alter("pushcmd", _read_members_of_members),
    ),
}

FAULTS["http.json"] = {
    "escaped-slashes-refused": Subtle(
        "Does not decode JSON with an escaped slash.",
        instead("take", _refuse_slashes, lambda _, frame, served: b"\\/" in frame.raw),
    ),
    "versions-of-255": Subtle(
        "Refuses robots whose firmwareversion has more than 255 characters.",
        rejects(lambda _, data: len(str(data.get("firmwareversion"))) > 255),
    ),
    "ascii-names-only": Subtle(
        "Refuses robots whose name is not ASCII.",
        rejects(lambda _, data: not str(data.get("brickname")).isascii()),
    ),
}

FAULTS["push.seen"] = {
    "battery-of-the-registration": Fault(
        "Shows the data of the registration instead of the last push.",
        shows(
            lambda robot, data: {**robot.data, "nepoexitvalue": data.get("nepoexitvalue")},
        ),
    ),
    "name-of-the-registration": Subtle(
        "Shows the name of the registration instead of the last push.",
        shows(lambda robot, data: {**data, "brickname": robot.data["brickname"]}),
    ),
    "sixteen-letters-of-a-name": Subtle(
        "Shows only the first 16 letters of a robot's name.",
        shows(lambda robot, data: {**data, "brickname": data["brickname"][:16]}),
    ),
    "quoted-names-refused": Subtle(
        "Refuses pushes with a quotation mark in the name, as malformed JSON.",
        instead("push", call("malformed"), lambda _, data, served: '"' in data["brickname"]),
    ),
    "battery-of-two-pushes": Subtle(
        "Uses only the exit value of pushes after the second.", shows(_two_pushes)
    ),
    "bodies-in-latin-1": Subtle("Decodes bodies as Latin-1.", alter("push", _read_as_latin_1)),
    "pairs-of-escapes-lost": Subtle(
        "Decodes a pair of JSON escapes as two letters.", shows(_without_pairs_of_escapes)
    ),
    "battery-of-the-latest": Subtle(
        "Shows the battery of the robot that was linked last.", *mistakes("battery")
    ),
    "empty-battery-is-not-shown": Subtle(
        "Shows no voltage below 1 V.",
        state(
            lambda told: {"battery": told["battery"] if float(told["battery"]) >= 1 else None},
        ),
    ),
}

FAULTS["exit.shown"] = {
    "exit-value-of-the-latest": Subtle(
        "Shows the exit value of the robot that was linked last.", *mistakes("exitvalue")
    ),
    "zero-is-no-exit-value": Subtle(
        "Keeps the old exit value if the new one is 0.",
        shows(
            lambda robot, data: {
                **data,
                "nepoexitvalue": data.get("nepoexitvalue") or robot.data.get("nepoexitvalue"),
            }
        ),
    ),
    "zero-is-not-shown": Subtle(
        "Shows no exit value if it is 0.",
        state(lambda told: {"exitvalue": told.get("exitvalue") or None}),
    ),
    "exit-value-lost": Fault(
        "Always shows the exit value 0.", shows(lambda robot, data: {**data, "nepoexitvalue": 0})
    ),
    "exit-value-of-running-robots-lost": Subtle(
        "Ignores the data of the first push after a program.",
        skip("told", lambda _, robot, data: robot.step is Step.RUNNING),
    ),
}

FAULTS["offline.noticed"] = {
    "state-of-the-latest": Subtle(
        "Shows no robot as offline while the robot that was linked last is online.",
        *mistakes("state", lambda told: told["state"] == "offline"),
    ),
}
