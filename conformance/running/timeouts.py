"""Timeouts of a run: the declared times, longer by what the machine takes away from programs.

A wait is made in full or not at all. A full wait is the declared time and one grace period, in
which a late answer is told from a missing one. A test that has waited in full for a message
records that; another test of the same requirement does not wait for that message again.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from conformance.harness.deadlines import Countdown
from conformance.running.floods import Floods
from conformance.running.machine import Crowding

GRACE = 1.0
"""Declared times for which a late answer is still awaited: late is not the same as never."""
REACTIONS = ("startup", "response", "program")
"""The declared timings of reactions; all others are periods of the IUT's own."""
BUSY = 2.0
"""Times as long as alone that a program can take before the report calls the machine busy."""
TARDY = 0.1
"""Seconds by which the suite itself may be late: it computes for some time between two waits."""
LONGEST = 5.0
"""Times its declared length that any wait can take on a busy machine."""

Names = tuple[str, ...]

CLOSED = "the end of the stream"
"""Stands among the names of messages for the end of the stream."""


@dataclass
class Timeouts:
    """How long tests wait in one run, and which waits timed out in full."""

    floods: Floods = field(default_factory=Floods)
    crowding: Crowding = field(default_factory=Crowding)
    stretched: float = 1.0
    """The greatest factor by which programs took longer than alone."""
    idle: int = 0
    """The number of tests that only wait at the moment."""
    started: bool = False
    """True if an instance has sent a message in this run."""
    _expired: dict[tuple[str, str, Names], str] = field(default_factory=dict)

    def seconds(self, timing: str, declared: float) -> float:
        """A declared timing in seconds; longer while the machine leaves the IUT less time."""
        # Asked each time, because the factor covers the time since it was asked last.
        factor = self._factor()
        return declared if timing not in REACTIONS else round(declared * factor, 2)

    def growing_timeout(self, declared: float) -> Callable[[], float]:
        """The length of a wait that begins now, in seconds, to be asked again and again.

        Only the time that the machine takes away during the wait is added.
        """
        before = self.crowding.lost()

        def seconds() -> float:
            self._factor()  # keeps the record of how busy the run was
            return declared + min(self.crowding.lost() - before, (LONGEST - 1) * declared)

        return seconds

    def countdown(self, declared: float) -> Countdown:
        """Counts down a number of seconds from now on, to which a busy machine adds."""
        began, lasting = time.monotonic(), self.growing_timeout(declared)
        return lambda: began + lasting() - time.monotonic()

    def _factor(self) -> float:
        factor = min(self.crowding.factor(), LONGEST)
        if factor < BUSY:
            return 1.0
        self.stretched = max(self.stretched, factor)
        return factor

    async def watch_clock(self) -> None:
        """Count the seconds by which the suite itself is late, until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            due, before = loop.time() + TARDY / 2, self.crowding.lost()
            await asyncio.sleep(TARDY / 2)
            if (late := loop.time() - due) > TARDY:
                self.crowding.add_lost(late - (self.crowding.lost() - before))

    @contextlib.contextmanager
    def count_as_idle(self, idle: bool = True) -> Iterator[None]:
        """Count the caller as a test that only waits, within the block."""
        self.idle += idle
        try:
            yield
        finally:
            self.idle -= idle

    def expire(self, test: str, requirement_id: str, about: str, names: Names) -> None:
        """Record that a test waited in full for these messages.

        ``requirement_id`` is the requirement that the test decides. The absence violates
        ``about``.
        """
        self._expired.setdefault((requirement_id, about, names), test)

    def test_that_waited(self, requirement_id: str, about: str, names: Names) -> str:
        """The test of this requirement that waited in full for these messages, or empty."""
        return self._expired.get((requirement_id, about, names), "")
