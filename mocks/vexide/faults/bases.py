"""Building blocks of faults: conditions on messages, and changes of sent messages."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

from conformance.vexide.codec import name_of
from mocks.steps import Change, Function, When, alter, always, having

RUNNING = having("started")
"""While the program runs: StartExecution has come, or has been sent."""

ENABLED = When(lambda simulator, *rest: simulator.robot.competition["enabled"])
"""While the competition mode lets the robot of a simulator move."""


def named(*names: str) -> When:
    """If the step is about a message of these names."""
    return When(lambda _, message, *rest: name_of(message) in names)


def edit(name: str, change: Callable[[Any, Any], object], when: Function = always) -> Change:
    """Send messages of this name with other content.

    `change` takes the peer and a copy of the content, and changes the copy.
    """

    def edited(peer: Any, message: Any) -> Any:
        copy = deepcopy(message)
        change(peer, copy[name])
        return copy

    return alter("send", edited, named(name) & (lambda peer, sent: when(peer, sent[name])))


def fields(name: str, *path: str, when: Function = always, **changes: Any) -> Change:
    """Send messages of this name with other fields.

    `path` leads to the object with these fields. A new value that is a function makes the value of
    the old value.
    """

    def change(_: Any, content: Any) -> None:
        inner = member(content, *path)
        for field, new in changes.items() if inner else ():
            inner[field] = new(inner[field]) if callable(new) else new

    return edit(name, change, when)


def member(value: Any, *path: str) -> Any:
    """Return a member of a decoded message that is possibly malformed; None if it is missing."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value
