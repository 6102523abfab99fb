"""Base classes of faults: mocks that hang, crash or alter messages."""

import os
import signal
from copy import deepcopy
from typing import Any

from conformance.vexide.codec import name_of
from mocks.vexide.session import Session


def die() -> None:
    """Kill this process with SIGKILL, as an operating system kills a faulty program."""
    os.kill(os.getpid(), signal.SIGKILL)


def member(value: Any, *path: str) -> Any:
    """Return a member of a decoded message that is possibly malformed; None if it is missing."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


class Hanging(Session):
    """Can stop serving while the stream stays open (`stuck`)."""

    stuck = False

    def receive(self, data: bytes) -> None:
        if not self.stuck:
            super().receive(data)

    def write(self, data: bytes) -> None:
        if not self.stuck:
            super().write(data)


class Altering(Session):
    """Alters the messages that it sends: `alter` can change a copy of the content in place."""

    def send(self, message: Any) -> None:
        copy = deepcopy(message)
        name = name_of(copy)
        if name is not None and isinstance(copy, dict):
            self.alter(name, copy[name])
        super().send(copy)

    def alter(self, name: str, content: Any) -> None:
        raise NotImplementedError
