"""How long a lab may take, by its declared times: what is early, what is late, what is never."""

from conformance.openroberta.lab.held import EARLIEST, LATEST
from conformance.openroberta.lab.stage import Stage

PATIENCE = 3  # times `response` after which what is late does not come at all
_FLOOR = 0.25  # seconds by which anything may be late on a busy machine


def at_least(stage: Stage, timing: str) -> float:
    """Seconds before which an answer is early. Raises NotExercised where that is too long."""
    seconds = EARLIEST[timing] * stage.seconds(timing)
    stage.worth(seconds, timing)
    return seconds


def at_most(stage: Stage, timing: str) -> tuple[float, float]:
    """Seconds after which an answer is late, and after which it does not come at all.

    Raises NotExercised where that is too long.
    """
    high = LATEST[timing] * stage.seconds(timing)
    stage.worth(high, timing)
    return high + _FLOOR, high + PATIENCE * stage.seconds("response")


def after(stage: Stage, timing: str) -> float:
    """Seconds after which an answer has come that waits for nothing but this, or `quiet`."""
    return max(at_most(stage, timing)[0], stage.seconds("quiet"))
