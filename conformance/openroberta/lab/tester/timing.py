"""How long a lab may take, by its declared times: what is early, what is late, what is never."""

from conformance.openroberta.lab.tester import RobotsTester
from conformance.openroberta.lab.tester.exchange import EARLIEST, LATEST

_FLOOR = 0.25  # seconds by which anything may be late on a busy machine


def at_least(tester: RobotsTester, timing: str) -> float:
    """Seconds before which an answer is early. Raises NotExercised where that is too long."""
    seconds = EARLIEST[timing] * tester.seconds(timing)
    tester.iut.worth(seconds, timing)
    return seconds


def at_most(tester: RobotsTester, timing: str) -> tuple[float, float]:
    """Seconds after which an answer is late, and after which it does not come at all.

    Raises NotExercised where that is too long.
    """
    high = LATEST[timing] * tester.seconds(timing)
    tester.iut.worth(high, timing)
    late = tester.iut.testbed.patience.late
    return high + _FLOOR, high + (1 + late) * tester.seconds("response")


def after(tester: RobotsTester, timing: str) -> float:
    """Seconds after which an answer has come that waits for nothing but this, or `quiet`."""
    return max(at_most(tester, timing)[0], tester.seconds("quiet"))
