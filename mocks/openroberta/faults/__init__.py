"""Faults of the mocks, by role and topic."""

import os
import signal


def die() -> None:
    """Kill this process, as a crash does."""
    os.kill(os.getpid(), signal.SIGKILL)
