"""How long a lab may take, by its declared times: what is early, what is late, what is never."""

from conformance.openroberta.lab.stage import Stage

_FLOOR = 0.15  # seconds by which anything may be late on a busy machine

# The specification says "approximately" of five minutes and "roughly" of ten seconds.
_EARLIEST = {"register_hold": 0.8, "push_hold": 0.5}
_LATEST = {"register_hold": 1.2, "push_hold": 1.5}


def at_least(stage: Stage, timing: str) -> float:
    """Seconds before which an answer is early. Raises NotExercised where that is too long."""
    seconds = _EARLIEST[timing] * stage.seconds(timing)
    stage.worth(seconds, timing)
    return seconds


def at_most(stage: Stage, timing: str) -> tuple[float, float]:
    """Seconds after which an answer is late, and after which it does not come at all.

    Raises NotExercised where that is too long.
    """
    high = _LATEST[timing] * stage.seconds(timing)
    stage.worth(high, timing)
    return high + _FLOOR, high + stage.seconds("response")


def after(stage: Stage, timing: str) -> float:
    """Seconds after which an answer has come that waits for nothing but this, or `quiet`."""
    return max(min(at_most(stage, timing)), stage.seconds("quiet"))
