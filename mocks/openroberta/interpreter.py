"""Programs of the reference robot: a few plain words, so that no program can do any damage.

One statement a line: `say TEXT`, `wait SECONDS`, `motor PORT POWER`, `exit VALUE`. Whatever is no
such program ends with the exit value 2, as one does that cannot be executed.
"""

import asyncio
import math
from collections.abc import Callable

FINE, BROKEN, KILLED = 0, 2, 143
LONGEST = 60.0  # seconds of one wait


async def run(data: bytes, say: Callable[[str], None], motors: dict[str, float]) -> int:
    """Run a program to its end; its exit value. `motors` is power by port."""
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
        raise ValueError(f"{text} is not a time")
    return min(max(seconds, 0.0), LONGEST)
