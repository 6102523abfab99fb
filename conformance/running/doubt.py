"""Looks twice at what an IUT has missed while this machine or another test was in its way.

An IUT has deadlines of its own, which a busy tester may miss: it ends a session whose handshake
comes too late, or asks no more. A test that fails for something that did not come is therefore
held again, when hardly any other is under way, and what it then finds counts. What came stands as
it is, and so does what an IUT has answered until the last. What waited for something that another
test has held is held again by itself.
"""

from conformance.iut import Iut
from conformance.verdicts import Hindered, Violation

LOST = 0.25  # seconds by which a machine falls behind in a `SPELL` that may make a test fail
CONFIRMED = 3  # violations that are found again, after which the machine is no longer suspected


class Doubt:
    """How often a second look has confirmed a violation, in one run."""

    def __init__(self) -> None:
        self._confirmed = 0

    @property
    def lasts(self) -> int:
        """How many more have to be confirmed until this machine is no longer suspected."""
        return max(CONFIRMED - self._confirmed, 0)

    def arises(self, error: Exception | None, iut: Iut, lost: float) -> bool:
        """Whether a test is to be held again that has ended like this.

        ``lost`` are the seconds by which the machine fell behind in the worst `SPELL` of it, until
        nothing came any more.
        """
        if isinstance(error, Hindered):
            return True
        if not isinstance(error, Violation) or lost < LOST:
            return False
        if not self.lasts or _came(error, iut):
            return False
        # Meanwhile nobody waits for the same in full.
        iut.concluded(error, error.sessions or tuple(iut.sessions))
        return True

    def forget(self, error: Exception | None, iut: Iut) -> None:
        """Have what it has missed waited for in full when it is held again."""
        about = error.requirement if isinstance(error, Violation) else None
        iut.testbed.patience.forget(about or iut.deciding)

    def few(self, error: Exception | None, at_a_time: int) -> int:
        """How many tests are held again at a time, the next of which had ended like this."""
        return 1 if isinstance(error, Hindered) else min(self.lasts, at_a_time)

    def settle(self, first: Exception | None, again: Exception | None, iut: Iut) -> None:
        """How a test has ended that was held again, with the IUT as it saw that."""
        hindered = isinstance(first, Hindered)
        self._confirmed += isinstance(again, Violation) and not hindered
        why = "by itself" if hindered else "as this machine was busy"
        iut.remark = f"{first}; tested again, {why}, it held. {iut.remark}"


def _came(error: Violation, iut: Iut) -> bool:
    """Whether a violation is something that has come; the end of a session is nothing."""
    session = error.session or next(reversed(iut.sessions), None)
    if error.event is None:
        return session is not None and session.denied
    shown = session.events[error.event :] if session else ()
    return not shown or shown[0].data is not None
