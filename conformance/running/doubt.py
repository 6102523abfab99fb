"""Looks twice at what an IUT has missed while this machine was busy.

An IUT has deadlines of its own, which a busy tester may miss: it ends a session whose handshake
comes too late, or asks no more. A test that fails for something that did not come is therefore
held once more; where it does not fail again, it has decided nothing. What came stands as it is.
"""

from collections.abc import Awaitable, Callable

from conformance.iut import Iut
from conformance.verdicts import Inconclusive, Violation

CONFIRMED = 3  # violations that failed again, after which the machine is no longer suspected


class Doubt:
    """How often a second look has confirmed a violation, in one run."""

    def __init__(self) -> None:
        self._confirmed = 0

    async def settle(
        self,
        error: Exception | None,
        iut: Iut,
        hold_again: Callable[[], Awaitable[Exception | None]],
    ) -> Exception | None:
        """How a test really ended that has ended like this."""
        if not isinstance(error, Violation) or not self._arises(error, iut):
            return error
        iut.testbed.patience.forget(error.requirement or iut.deciding)
        if isinstance(await hold_again(), Violation):
            self._confirmed += 1
            return error
        undecided = Inconclusive(f"{error}; not so when it was tested again: this machine is busy")
        undecided.session, undecided.sessions = error.session, error.sessions
        return undecided

    def _arises(self, error: Violation, iut: Iut) -> bool:
        if self._confirmed >= CONFIRMED or not iut.testbed.patience.crowded:
            return False
        session = error.session or next(reversed(iut.sessions), None)
        shown = session.events[error.event] if session and error.event is not None else None
        # The end of a session is an event, too, but nothing that has come.
        return shown is None or shown.data is None
