"""What faults are made of: a mock that hangs, one that dies, one that alters what it sends."""

import os
import signal
from copy import deepcopy
from typing import Any

from conformance.vexide.codec import name_of
from mocks.vexide.session import Session


def die() -> None:
    """End this process as an operating system ends a program that has gone wrong."""
    os.kill(os.getpid(), signal.SIGKILL)


class Hanging(Session):
    """Can stop serving while its stream stays open."""

    stuck = False

    def receive(self, data: bytes) -> None:
        if not self.stuck:
            super().receive(data)

    def write(self, data: bytes) -> None:
        if not self.stuck:
            super().write(data)


class Altering(Session):
    """Alters what it sends: `alter` may change the content of a message, a copy, in place."""

    def send(self, message: Any) -> None:
        copy = deepcopy(message)
        name = name_of(copy)
        if name is not None and isinstance(copy, dict):
            self.alter(name, copy[name])
        super().send(copy)

    def alter(self, name: str, content: Any) -> None:
        raise NotImplementedError
