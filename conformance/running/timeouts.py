"""Timeouts of a run: declared times, extended by the time that a busy machine takes.

A timeout is the declared time and one grace period. An answer in the grace period is late, not
missing. If a wait times out, the run records the missing message. Other tests of the same
requirement then do not wait for this message.
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
"""Length of the grace period, as a multiple of the declared time: late differs from missing."""
REACTIONS = ("startup", "response", "program")
"""The declared timings of reactions; all others are periods of the IUT's own."""
BUSY_FACTOR = 2.0
"""Factor of `Crowding` from which the report calls the machine busy."""
OWN_DELAY = 0.1
"""Seconds by which the suite itself can be late, because it computes between two waits."""
MAX_STRETCH = 5.0
"""Greatest factor by which a busy machine extends a wait, so that every wait has a bound."""

Names = tuple[str, ...]

CLOSED = "the end of the stream"
"""Represents the end of the stream among the names of awaited messages."""


@dataclass
class Timeouts:
    """The length of the waits in one run, and the waits that timed out."""

    floods: Floods = field(default_factory=Floods)
    crowding: Crowding = field(default_factory=Crowding)
    slowdown: float = 1.0
    """The greatest factor by which programs took longer than on an idle machine."""
    idle: int = 0
    """The number of tests that only wait at the moment."""
    started: bool = False
    """True if an instance has sent a message in this run."""
    _expired: dict[tuple[str, str, Names], str] = field(default_factory=dict)

    def seconds(self, timing: str, declared: float) -> float:
        """A declared timing in seconds; longer while the machine leaves the IUT less time."""
        # Measured for every timing, because a measurement covers the time since the last one.
        factor = self._factor()
        return declared if timing not in REACTIONS else round(declared * factor, 2)

    def growing_timeout(self, declared: float) -> Callable[[], float]:
        """A function that returns the length of a wait that begins now, in seconds.

        The length grows by the time that the machine takes away during the wait.
        """
        before = self.crowding.lost()

        def seconds() -> float:
            self._factor()  # updates `slowdown`
            return declared + min(self.crowding.lost() - before, (MAX_STRETCH - 1) * declared)

        return seconds

    def countdown(self, declared: float) -> Countdown:
        """Return a countdown of seconds that begins now; a busy machine extends it."""
        began, lasting = time.monotonic(), self.growing_timeout(declared)
        return lambda: began + lasting() - time.monotonic()

    def _factor(self) -> float:
        factor = min(self.crowding.factor(), MAX_STRETCH)
        if factor < BUSY_FACTOR:
            return 1.0
        self.slowdown = max(self.slowdown, factor)
        return factor

    async def watch_clock(self) -> None:
        """Count seconds by which the suite itself is late as lost, until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            planned, before = loop.time() + OWN_DELAY / 2, self.crowding.lost()
            await asyncio.sleep(OWN_DELAY / 2)
            if (late := loop.time() - planned) > OWN_DELAY:
                self.crowding.add_lost(late - (self.crowding.lost() - before))

    @contextlib.contextmanager
    def count_as_idle(self, idle: bool = True) -> Iterator[None]:
        """Within the block, count the caller as a test that only waits."""
        self.idle += idle
        try:
            yield
        finally:
            self.idle -= idle

    def record_timeout(self, test: str, requirement_id: str, about: str, names: Names) -> None:
        """Record that the wait of a test for these messages timed out.

        ``requirement_id`` is the requirement that the test decides. ``about`` is the requirement
        that the missing messages violate.
        """
        self._expired.setdefault((requirement_id, about, names), test)

    def test_that_timed_out(self, requirement_id: str, about: str, names: Names) -> str:
        """The test of this requirement whose wait for these messages timed out, or empty."""
        return self._expired.get((requirement_id, about, names), "")
