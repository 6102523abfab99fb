"""Faults that either mock can have; the packages of the roles take them over.

Each is a session with one or two methods overridden, and goes before the mock among the bases.
"""

import os
import signal
from typing import Any

from mocks.deltarobot.session import Session


def die() -> None:
    """End as a program does that has a grave error."""
    os.kill(os.getpid(), signal.SIGKILL)


class AfterThird(Session):
    """Does something once, after the third message that it sends."""

    sent = 0

    def send(self, value: Any) -> None:
        super().send(value)
        self.sent += 1
        if self.sent == 3:
            self.after_third()

    def after_third(self) -> None:
        raise NotImplementedError
