"""Faults of the lab in updates and sensor data."""

from collections.abc import Callable
from typing import Any

from conformance.openroberta.codec import response
from mocks.deviations import Fault, Subtle, Table
from mocks.openroberta.faults.lab.bases import (
    Marks,
    address,
    body,
    commands,
    refuses,
    without_header,
)
from mocks.openroberta.known_robot import KnownRobot, Program, Step
from mocks.openroberta.lab import BINARY, Lab
from mocks.openroberta.user import version
from mocks.steps import (
    Change,
    Function,
    When,
    after,
    before,
    call,
    instead,
    novel,
    returning,
    skip,
    then,
)

BURNT, BURNT_ADDRESSES, HIDDEN, UPDATED = Marks(), Marks(address), Marks(), Marks()


def refuses_sensors(is_refused: Callable[[str], bool]) -> Change:
    """Refuse posted sensor data if a function of a member's name says so."""
    return instead(
        "sensor_post", call("refusal", 500), lambda _, value: any(map(is_refused, body(value)))
    )


def _want_download(lab: Lab, token: str) -> None:
    lab.want(lab.linked(token), "download")


def _has_run_a_program(lab: Lab, token: str) -> bool:
    return lab.linked(token).program is not None


def _is_last_file(lab: Lab, value: Any) -> bool:
    last = list(lab.settings.updates)[-1]
    return str(value["path"]).endswith(last)


def _cut_last_file(lab: Lab, value: Any) -> Any:
    file = list(lab.settings.updates.values())[-1]
    return lab.file(Program(file.name, file.data[:-1]))


def _outdated_as_the_first(usual: Function, lab: Lab, robot: KnownRobot) -> bool:
    if "first" not in vars(lab):
        vars(lab)["first"] = usual(lab, robot)
    return bool(vars(lab)["first"])


def _first_number_is_less(lab: Lab, robot: KnownRobot) -> bool:
    return version(robot.data["menuversion"])[:1] < version(lab.settings.menu_version)[:1]


def _outdated_as_the_latest(usual: Function, lab: Lab, robot: KnownRobot) -> Any:
    return usual(lab, list(lab.robots.values())[-1])


def _differs(lab: Lab, robot: KnownRobot) -> bool:
    return version(robot.data["menuversion"]) != version(lab.settings.menu_version)


def _any_number_is_less(lab: Lab, robot: KnownRobot) -> bool:
    own = version(robot.data["menuversion"])
    return any(map(int.__lt__, own, version(lab.settings.menu_version)))


def _named_as_the_first(usual: Function, lab: Lab, value: Any) -> Any:
    answer = usual(lab, value)
    if "Filename" in answer["headers"]:
        answer["headers"]["Filename"] = next(iter(lab.settings.updates.values())).name
    return answer


def _nameless(answer: Any) -> Any:
    return response(answer["status"], BINARY, b"PK")


def _end_program(lab: Lab, data: Any) -> None:
    robot = lab.robot(data) if isinstance(data, dict) else None
    if robot and robot.step is Step.RUNNING:
        lab.back(robot)


FAULTS = Table(Lab)

FAULTS["update.command"] = {
    "update-unheard": Fault(
        "Never sends update to a robot.", instead("update", lambda lab, token: lab.linked(token))
    ),
    "update-as-download": Subtle(
        "Sends download instead of update to a robot that has run a program.",
        instead("update", _want_download, _has_run_a_program),
    ),
}

FAULTS["update.files"] = {
    "no-files": Fault(
        "Serves none of its declared files.", instead("update_file", call("refusal", 404))
    ),
    "files-for-the-registered": Subtle(
        "Serves files only while a robot is linked.",
        instead("update_file", call("refusal", 403), lambda lab, value: not lab.robots),
    ),
    "files-once": Subtle(
        "Serves each file only once.",
        instead("update_file", call("refusal", 410), ~novel(lambda _, value: value["path"])),
    ),
    "last-file-cut": Subtle(
        "Leaves out the last byte of the last file.",
        instead("update_file", _cut_last_file, _is_last_file),
    ),
}

FAULTS["update.offered"] = {
    "update-never-offered": Fault("Never offers an update.", instead("outdated", lambda *_: False)),
    "update-of-the-first-offered": Subtle(
        "Checks the version of the first robot only, and offers other robots the same.",
        Change("outdated", _outdated_as_the_first),
    ),
    "update-of-the-latest-offered": Subtle(
        "Offers every robot what it offers the robot that registered last.",
        Change("outdated", _outdated_as_the_latest),
    ),
    "updated-is-never-older": Subtle(
        "Offers no update to a robot that has received update before.",
        before("pushed", UPDATED.add, commands("update")),
        instead("outdated", lambda *_: False, UPDATED.has),
    ),
    "versions-as-text": Subtle(
        "Compares versions as text.",
        instead(
            "outdated",
            lambda lab, robot: str(robot.data["menuversion"]) < lab.settings.menu_version,
        ),
    ),
    "first-numbers-compared": Subtle(
        "Compares only the first number of a version.", instead("outdated", _first_number_is_less)
    ),
}

FAULTS["update.not-back"] = {
    "other-versions-are-older": Fault(
        "Offers an update for each robot with another version.", instead("outdated", _differs)
    ),
    "numbers-compared-singly": Subtle(
        "Offers an update if any number of the robot's version is less than the lab's.",
        instead("outdated", _any_number_is_less),
    ),
}

FAULTS["update.filename"] = {
    "names-of-another-file": Subtle(
        "Sends every file with the name of the first file.",
        Change("update_file", _named_as_the_first),
    ),
    "files-without-name": Fault(
        "Serves files without a Filename.", returning("update_file", _nameless)
    ),
    "last-file-without-name": Subtle(
        "Serves the last file without a Filename.",
        returning("update_file", _nameless, _is_last_file),
    ),
}

FAULTS["update.disconnects"] = {
    "update-keeps": Fault("Keeps a robot linked after update.", skip("disconnect")),
    "update-hides": Subtle(
        "Shows a robot as unknown after update, but still sends it programs.",
        instead("disconnect", HIDDEN.add),
        instead("state", lambda *_: {"state": "unknown"}, HIDDEN.has),
    ),
}

FAULTS["update.registers-again"] = {
    "updated-token-burnt": Fault(
        "Refuses the token of a robot after update.",
        before("disconnect", BURNT.add),
        refuses(BURNT.has),
    ),
    "updated-robot-burnt": Subtle(
        "Refuses the MAC address of a robot after update, with any token.",
        before("disconnect", BURNT_ADDRESSES.add),
        refuses(BURNT_ADDRESSES.has),
    ),
}

FAULTS["running.patient"] = {
    "sensors-end-programs": Subtle(
        "Shows a robot as not running after sensor data.", then("sensed", _end_program)
    ),
}

FAULTS["sensors.accepted"] = {
    "no-sensors": Fault(
        "Refuses posted sensor data.", instead("sensor_post", call("refusal", 404))
    ),
    "sensors-once": Subtle(
        "Closes a websocket after the second message.",
        returning(
            "other",
            lambda _: False,
            When(lambda _, frame, served: frame.name == "SensorFrame") & after(1),
        ),
    ),
    "sensors-of-nine-ports": Subtle(
        "Refuses sensor data of a port with a number of two digits.",
        refuses_sensors(lambda name: name[:2].isdigit()),
    ),
    "sensors-of-two-motors": Subtle(
        "Refuses sensor data of the motors C and D.",
        refuses_sensors(lambda name: name[:1] in ("C", "D")),
    ),
    "websocket-without-proof": Subtle(
        "Opens a websocket without an answer to its key.",
        returning("upgrade", without_header("sec-websocket-accept")),
    ),
}
