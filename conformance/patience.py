"""Shortens the waits of a run for what has failed to come before, and limits what it reads.

A failing implementation must not make the run long: its developer waits for the report. Nothing
here changes a verdict: shorter is only what has already failed in full, for the same requirement,
and the grace in which a message that is late would be told from one that never comes.
"""

from collections import Counter
from dataclasses import dataclass, field

SHARE = 0.25  # of a deadline, where the same was missed in full for the same requirement
LATE = 2.0  # further deadlines to wait for a late answer: late is not the same as never
LESS_LATE = 0.5  # the same, for a message that has often not come
OFTEN = 3
FLOODS = 2  # sessions that are followed as far as any codec may need
MAX_BYTES = (
    80 * 1024 * 1024
)  # that an IUT may write in a session: more than any codec takes for one
MAX_EVENTS = 50_000
FLOODED = 20  # what it may write is divided by that where it has flooded such sessions

Names = tuple[str, ...]


@dataclass
class Patience:
    """What has not come in a run, by requirement and by the names of the messages."""

    floods: int = 0
    _missed: set[tuple[str, Names]] = field(default_factory=set)
    _often: Counter[Names] = field(default_factory=Counter)
    _slowest: float = 0.0

    def share(self, requirement: str, names: Names) -> float:
        """The part of a deadline for which these messages are awaited."""
        return SHARE if (requirement, names) in self._missed else 1.0

    def late(self, names: Names) -> float:
        """For how many further deadlines they are awaited."""
        return LESS_LATE if self._often[names] >= OFTEN else LATE

    def startup(self, names: Names, declared: float) -> float:
        """The seconds that an IUT may take to start, until its first message is awaited."""
        learnt = 1 + 3 * self._slowest
        return min(declared, learnt) if self._often[names] and self._slowest else declared

    def began(self, seconds: float) -> None:
        """An IUT has sent its first message so many seconds after its session began."""
        self._slowest = max(self._slowest, seconds)

    def miss(self, requirement: str, names: Names) -> None:
        """They have not come within a deadline."""
        self._missed.add((requirement, names))
        self._often[names] += 1

    @property
    def most(self) -> tuple[int, int]:
        """How many bytes and events of a session are read."""
        divisor = FLOODED if self.floods >= FLOODS else 1
        return MAX_BYTES // divisor, MAX_EVENTS // divisor
