"""Interpreter for programs of the reference robot: a few statements that can do no damage.

There is one statement in each line: `say TEXT`, `wait SECONDS`, `motor PORT POWER`, or `exit
VALUE`. Any other text ends with the exit value 2, which means a program execution error.
"""

import asyncio
import math
from collections.abc import Callable

FINE, BROKEN, KILLED = 0, 2, 143
LONGEST = 60.0  # seconds of a single wait, so that no program blocks a test run


async def run(data: bytes, say: Callable[[str], None], motors: dict[str, float]) -> int:
    """Run a program to its end; return its exit value. `motors` maps ports to powers."""
    try:
        lines = data.decode("utf-8").splitlines()
    except UnicodeDecodeError:
        return BROKEN
    for line in filter(str.strip, lines):
        word, _, rest = line.strip().partition(" ")
        try:
            match word:
                case "say":
                    say(rest)
                case "wait":
                    await asyncio.sleep(_seconds(rest))
                case "motor":
                    port, power = rest.split()
                    motors[port] = float(power)
                case "exit":
                    return int(rest or FINE)
                case _:
                    return BROKEN
        except ValueError:
            return BROKEN
    return FINE


def _seconds(text: str) -> float:
    seconds = float(text)
    if not math.isfinite(seconds):
        raise ValueError(f"expected a time; received {text}")
    return min(max(seconds, 0.0), LONGEST)
