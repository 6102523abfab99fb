"""How faults die, where they do not survive what comes."""

import os
import signal


def die() -> None:
    """End as a program does that has a grave error."""
    os.kill(os.getpid(), signal.SIGKILL)
