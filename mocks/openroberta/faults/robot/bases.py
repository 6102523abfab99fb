"""Building blocks of the robot's faults: conditions, and changes of requests and connections."""

from collections.abc import Callable
from typing import Any

from conformance.codec import Frame
from conformance.openroberta import message_names
from mocks.openroberta.http import Caller
from mocks.openroberta.robot import Robot
from mocks.steps import (
    Change,
    Function,
    When,
    alter,
    always,
    before,
    instead,
    wait_for_ever,
    with_changes,
)

RAN = When(lambda robot, *rest: robot.exit_value is not None)
"""After the first program."""

DATA_OF_PUSH = When(lambda _, cmd: cmd == "push")
DATA_OF_REGISTRATION = When(lambda _, cmd: cmd == "register")

ASKS_PROGRAM = When(lambda _, value, *rest: value["path"] == message_names.DOWNLOAD)
"""If the step is about a request for a program."""
ASKS_COMMAND = When(lambda _, value, *rest: value["path"] == message_names.PUSHCMD)
"""If the step is about a registration or push."""
PUSHES = ASKS_COMMAND & (lambda _, value, *rest: value["json"]["cmd"] == "push")
REGISTERS = ASKS_COMMAND & (lambda _, value, *rest: value["json"]["cmd"] == "register")

POSTS_PROGRAM = When(lambda _, path, data: path == message_names.DOWNLOAD)
"""If the path of a new request is that of programs."""


def answered(holds: Callable[[Frame], Any]) -> When:
    """If the step is about an answer, and a function of the answer is true."""
    return When(lambda robot, *about: about[-1] is not None and holds(about[-1]))


def headers(answer: Frame) -> dict[str, str]:
    found: dict[str, str] = (answer.value or {}).get("headers", {})
    return found


def said(answer: Frame) -> dict[str, Any]:
    """Return the JSON object of an answer; empty if there is none."""
    found: dict[str, Any] = (answer.value or {}).get("json", {})
    return found


def in_chunks(answer: Frame) -> bool:
    return "transfer-encoding" in headers(answer)


def stops(holds: Callable[[Frame], Any]) -> Change:
    """Do nothing more after an answer for which a function is true."""
    return before("heard", wait_for_ever, answered(holds))


def gives_up(seconds: float, when: Function) -> Change:
    """Wait only so long for the answer to a request."""
    return alter("ask", lambda _, value, patience: (value, seconds), when)


def members(when: Function = always, **values: Any) -> Change:
    """Send other members of the data object.

    A value that is a function makes the value of the robot and its data object.
    """

    def play(usual: Function, robot: Robot, cmd: str) -> Any:
        told = usual(robot, cmd)
        for name, value in values.items() if when(robot, cmd) else ():
            told[name] = value(robot, told) if callable(value) else value
        return told

    return Change("data", play)


def omits(name: str, when: Function = always) -> Change:
    """Leave out a member of the data object."""

    def play(usual: Function, robot: Robot, cmd: str) -> Any:
        left_out = when(robot, cmd)
        told = usual(robot, cmd)
        return {n: value for n, value in told.items() if n != name or not left_out}

    return Change("data", play)


def calls(*changes: Change, caller: type[Caller] = Caller) -> Change:
    """Use connections with these changes of steps of `Caller`."""
    changed = with_changes(caller, changes)
    return instead("make_caller", lambda robot: changed(robot.settings.url))


def push(robot: Robot) -> Any:
    """Return a push."""
    return robot.post(message_names.PUSHCMD, robot.data("push"))
