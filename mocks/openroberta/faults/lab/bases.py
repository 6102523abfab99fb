"""Building blocks of the lab's faults: conditions, changes of answers, and memory of robots."""

import asyncio
import base64
import gzip
from collections.abc import Callable
from typing import Any

from conformance.codec import Frame
from conformance.openroberta.codec import content
from mocks.openroberta.http import Served
from mocks.openroberta.known_robot import KnownRobot, Program, Step
from mocks.openroberta.lab import Lab
from mocks.steps import Change, Function, When, call, instead, returning, with_changes

PUSHES = When(lambda _, data, *rest: data.get("cmd") == "push")
"""If the step is about the data object of a push."""
REGISTERS = When(lambda _, data, *rest: data.get("cmd") == "register")
"""If the step is about the data object of a registration."""
REGISTERING = When(lambda _, robot, *rest: robot.step is Step.REGISTERING)
"""If the step is about a robot whose token was not entered."""
LINKED = When(lambda _, robot, *rest: robot.step is Step.LINKED)
"""If the step is about a robot that is linked and runs no program."""

BETWEEN_PUSHES = LINKED & (lambda _, robot: not robot.pushes)
"""If the step is about a robot that is linked and has no unanswered push."""


def in_chunks(_: Lab, frame: Frame, served: Served) -> bool:
    return "transfer-encoding" in frame.value["headers"]


def is_linked(lab: Lab, data: Any, served: Served) -> bool:
    robot = lab.robot(data)
    return robot is not None and robot.step is not Step.REGISTERING


def is_offline(lab: Lab, data: Any, served: Served) -> bool:
    robot = lab.robot(data)
    return robot is not None and lab.state_of(robot) == "offline"


def commands(word: str) -> When:
    """If the step is about a robot and this command."""
    return When(lambda _, robot, command: command == word)


def body(value: Any) -> dict[str, Any]:
    """Return the data object of a request; empty if it has none."""
    return value.get("json") or {}


def refuses(when: Function, status: int = 403) -> Change:
    """Refuse registrations."""
    return instead("register", call("refusal", status), when)


def state(change: Callable[[Any], Any]) -> Change:
    """Show a robot's state with the members that a function makes of the state."""
    return returning("state", lambda told: {**told, **change(told)})


def serves(*changes: Change) -> Change:
    """Serve each connection with these changes of steps of `Served`."""
    served = with_changes(Served, changes)
    return instead("served", lambda _, stream: served(stream))


def without_header(name: str) -> Callable[[Any], Any]:
    """Remove a header field from an answer."""
    return lambda answer: {
        **answer,
        "headers": {each: text for each, text in answer["headers"].items() if each != name},
    }


def is_program(_: Lab, served: Served, answer: Any) -> bool:
    """True if the answer is a file."""
    return "Filename" in answer["headers"]


def is_update(lab: Lab, program: Program) -> bool:
    return program in lab.settings.updates.values()


def compressed(answer: Any) -> Any:
    """Return an answer whose body is compressed with gzip."""
    if not content(answer):
        return answer
    coded = {**answer, "headers": {**answer["headers"], "content-encoding": "gzip"}}
    if "json" not in answer:
        zipped = gzip.compress(content(answer), mtime=0)
        coded["base64"] = base64.b64encode(zipped).decode()
    return coded


def silence(robot: KnownRobot) -> float:
    """Return the seconds since the last answer to a robot."""
    return asyncio.get_running_loop().time() - robot.seen


def keep_latest(lab: Lab, robot: KnownRobot) -> None:
    """Remember the robot that was linked last, as `latest`."""
    vars(lab)["latest"] = robot


class Marks:
    """Robots that a lab remembers, by a key such as the token.

    `add` and `remove` are deeds, `has` is a condition. The first argument of the step is a robot,
    its data or its token.
    """

    def __init__(self, key: Callable[[Any], Any] = lambda data: data.get("token")) -> None:
        self._key = key

    def add(self, lab: Lab, about: Any, *rest: Any) -> None:
        self._marks(lab).add(self._of(about))

    def remove(self, lab: Lab, about: Any, *rest: Any) -> None:
        self._marks(lab).discard(self._of(about))

    def has(self, lab: Lab, about: Any, *rest: Any) -> bool:
        return self._of(about) in self._marks(lab)

    def _marks(self, lab: Lab) -> set[str]:
        marks: dict[Marks, set[str]] = vars(lab).setdefault("marks", {})
        return marks.setdefault(self, set())

    def _of(self, about: Any) -> str:
        if isinstance(about, str):
            return about
        return str(self._key(about.data if isinstance(about, KnownRobot) else about))


def address(data: Any) -> Any:
    """Return the MAC address in the data of a robot, for `Marks`."""
    return data.get("macaddr")
