"""Faults of the lab in programs."""

from collections.abc import Callable
from typing import Any

from mocks.deviations import Fault, Subtle, Table
from mocks.openroberta.faults.lab.bases import body, commands, is_update, silence, without_header
from mocks.openroberta.known_robot import KnownRobot, Program, Step
from mocks.openroberta.lab import Lab
from mocks.steps import (
    Change,
    Function,
    When,
    after,
    alter,
    always,
    call,
    instead,
    nth,
    returning,
    skip,
    then,
)


def changes(change: Callable[[bytes], bytes], when: Function = always) -> Change:
    """Send other bytes of programs."""

    def changed(_: Lab, program: Program) -> Program:
        return Program(program.name, change(program.data))

    return alter("file", changed, ~When(is_update) & when)


def _keep_command(_: Lab, robot: KnownRobot, command: str) -> None:
    robot.wanted = command


def _kept_command(_: Lab, robot: KnownRobot, command: str) -> tuple[KnownRobot, str]:
    wanted, robot.wanted = robot.wanted, ""
    return robot, wanted or command


AT_THE_END = alter("pushed", _kept_command)
"""Announce a program at the end of push_hold if the lab has kept the command."""


def _run_numbered(usual: Function, lab: Lab, token: str, name: str) -> Program:
    count = vars(lab)["count"] = vars(lab).get("count", 0) + 1
    program: Program = usual(lab, token, name)
    numbered = Program(f"{count}-{program.name}", bytes([count]) + program.data)
    lab.robots[token].program = numbered
    return numbered


NUMBERED = Change("run", _run_numbered)
"""Have a new program with a new name for each run."""


def _first_name(lab: Lab, program: Program) -> Program:
    return Program(vars(lab).setdefault("first", program.name), program.data)


def _keep_program(lab: Lab, token: str, name: str) -> None:
    _pile(lab).append(lab.robots[token].program)


def _share_program(lab: Lab, token: str, name: str) -> None:
    own = lab.robots[token]
    for robot in lab.robots.values():
        if robot.data.get("macaddr") == own.data.get("macaddr"):
            robot.program = own.program


def _pile(lab: Lab, *_: Any) -> list[Program | None]:
    """Return the programs that were run and not fetched."""
    pile: list[Program | None] = vars(lab).setdefault("pile", [])
    return pile


def _download_for_strangers(usual: Function, lab: Lab, value: Any) -> Any:
    program = next((robot.program for robot in lab.robots.values() if robot.program), None)
    return usual(lab, value) if lab.robot(body(value)) or not program else lab.file(program)


def _without_suffix(answer: Any) -> Any:
    headers = dict(answer["headers"])
    if "Filename" in headers:
        headers["Filename"] = headers["Filename"].rpartition(".")[0]
    return {**answer, "headers": headers}


def _end_program(lab: Lab, value: Any) -> None:
    robot = lab.robot(body(value))
    if robot and robot.step is Step.RUNNING:
        robot.step = Step.LINKED
        lab.touch(robot)


def _has_no_exit_value(_: Lab, robot: KnownRobot) -> bool:
    return robot.step is Step.RUNNING and robot.data.get("nepoexitvalue") is None


def _others_push(lab: Lab, robot: KnownRobot, command: str) -> bool:
    return any(other.pushes for other in lab.robots.values() if other is not robot)


FAULTS = Table(Lab)

FAULTS["run.command"] = {
    "run-unheard": Fault("Never announces a program.", skip("want", commands("download"))),
    "third-run-unheard": Subtle(
        "Announces only two programs.", skip("want", commands("download") & after(2))
    ),
}

FAULTS["run.immediately"] = {
    "run-with-the-period": Fault(
        "Announces a program only at the end of push_hold.",
        instead("want", _keep_command),
        AT_THE_END,
    ),
    "later-runs-with-the-period": Subtle(
        "Announces the first program immediately, later ones at the end of push_hold.",
        instead("want", _keep_command, after(1)),
        AT_THE_END,
    ),
    "run-with-the-period-of-others": Subtle(
        "Announces a program only at the end of push_hold while other robots push.",
        instead("want", _keep_command, _others_push),
        AT_THE_END,
    ),
    "run-with-the-next-push": Subtle(
        "Announces a program in answer to the next push instead of the current one.",
        instead("want", _keep_command),
    ),
}

FAULTS["run.filename"] = {
    "first-filename": Subtle(
        "Sends the name of the first program with all programs.",
        NUMBERED,
        alter("file", _first_name, ~When(is_update)),
    ),
    "no-filename": Fault(
        "Sends the name of a program only in Content-Disposition.",
        returning("download", without_header("Filename")),
    ),
    "other-filename": Subtle(
        "Sends the name of a program without its suffix.", returning("download", _without_suffix)
    ),
}

FAULTS["token.links"] = {
    "latest-program": Subtle(
        "Sends the program that was run last, even if it is for another robot.",
        NUMBERED,
        then("run", _keep_program),
        alter("file", lambda lab, _: _pile(lab)[-1], _pile),
    ),
    "programs-by-address": Subtle(
        "Keeps the latest program by the MAC address of its robot.",
        NUMBERED,
        then("run", _share_program),
    ),
    "programs-in-a-pile": Subtle(
        "Sends the program that was run last and not fetched yet, for any robot.",
        NUMBERED,
        then("run", _keep_program),
        alter("file", lambda lab, _: _pile(lab).pop(), _pile),
    ),
    "strangers-get-programs": Subtle(
        "Sends a program to a robot with an unknown token.",
        Change("download", _download_for_strangers),
    ),
}

FAULTS["run.bytes"] = {
    "programs-for-download-only": Fault(
        "Refuses requests for a program with the command push.",
        instead(
            "download",
            call("refusal", 400),
            lambda _, value: body(value).get("cmd") != "download",
        ),
    ),
    "programs-as-text": Fault(
        "Converts programs to UTF-8 text.",
        changes(lambda data: data.decode("latin-1").encode("utf-8")),
    ),
    "lines-end-otherwise": Subtle(
        "Converts carriage returns to line feeds.",
        changes(lambda data: data.replace(b"\r", b"\n")),
    ),
    "second-program-cut": Subtle(
        "Omits the last byte of the second program.", changes(lambda data: data[:-1], nth(2))
    ),
}

FAULTS["running.patient"] = {
    "running-goes-offline": Fault(
        "Shows a robot as offline while it runs a program.",
        instead(
            "state_of",
            lambda *_: "offline",
            lambda lab, robot: silence(robot) > lab.settings.offline,
        ),
    ),
    "running-ends-soon": Subtle(
        "Shows a robot as waiting immediately after its download.", then("download", _end_program)
    ),
}

FAULTS["running.until-push"] = {
    "running-for-ever": Fault("Shows a robot as running for ever.", skip("back")),
    "running-until-exit-value": Subtle(
        "Shows a robot as running until a push has an exit value.",
        skip("back", _has_no_exit_value),
    ),
}
