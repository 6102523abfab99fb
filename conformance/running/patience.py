"""How long a run waits: less after failures, longer on a busy machine.

A failing implementation must not make the run long: its developer waits for the report. Nothing
here makes a failure: shorter is only what has already failed in full, for the same requirement or
(then it decides nothing) for one that it presumes, and the grace in which a message that is late
would be told from one that never comes.
"""

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field

from conformance.harness.deadlines import Left
from conformance.running.floods import Floods
from conformance.running.machine import Crowding

SHARE = 0.25  # of a deadline, where the same was missed in full before
VAIN = 0.1  # of a deadline, where what it rests on is violated: nothing is concluded from that
LATE = 2.0  # further deadlines that a late answer is waited for: late is not the same as never
LESS_LATE = 0.5  # the same, once something has often not come
OFTEN = 3
PLENTY = 10.0  # times as long as something has taken at most: what it surely never takes
REACTIONS = ("startup", "response", "program")
"""The declared timings within which something is awaited; others are periods of the IUT's own."""
BUSY = 2.0  # times as long as alone: what a machine that others use may take without a word
TARDY = 0.1  # seconds by which the suite may be late, as all that it does takes some time
LONGEST = 5.0  # times as long as declared that anything is waited for

Names = tuple[str, ...]

CLOSED = "the end of the stream"  # stands among the names of messages for what is no message


def never_came(names: Names, missed: Iterable[Names], came: Collection[str]) -> bool:
    """Whether these messages are among some that were missed and of which none came in a run."""
    return any(set(names) <= set(each) and not set(each) & set(came) for each in missed)


@dataclass
class Patience:
    """What has not come in a run, by requirement and by the names of the messages.

    ``presumed`` tells on which requirements one rests.
    """

    presumed: Callable[[str], Iterable[str]] = lambda _: ()
    basis: str = ""
    """The requirement that the plainest exchange violates already, as far as that is known."""
    floods: Floods = field(default_factory=Floods)
    crowding: Crowding = field(default_factory=Crowding)
    stretched: float = 1.0
    """How many times as long as alone programs took at most, for which they were given time."""
    idle: int = 0
    """The tests that wait: in sessions for longer than most reactions take, or for one another."""
    _missed: dict[str, set[Names]] = field(default_factory=dict)
    _sought: dict[str, set[Names]] = field(default_factory=dict)
    _came: set[str] = field(default_factory=set)
    _often: Counter[Names] = field(default_factory=Counter)
    _lags: dict[Names, list[float]] = field(default_factory=dict)
    _latest: dict[Names, float] = field(default_factory=dict)
    _slowest: dict[Names, float] = field(default_factory=dict)
    _starts: list[float] = field(default_factory=list)

    def seconds(self, timing: str, declared: float) -> float:
        """A declared timing, longer where the machine leaves the IUT less time to react."""
        # Asked each time, for it tells of the time since it was asked last.
        factor = self._factor()
        return declared if timing not in REACTIONS else round(declared * factor, 2)

    def lasting(self, declared: float) -> Callable[[], float]:
        """The same of a reaction that is awaited from now on, asked again and again.

        Only what the machine takes of them meanwhile is added.
        """
        before = self.crowding.lost()

        def seconds() -> float:
            self._factor()  # the run is told how busy it was
            return declared + min(self.crowding.lost() - before, (LONGEST - 1) * declared)

        return seconds

    def left(self, declared: float) -> Left:
        """Counts down so many seconds from now on, to which a busy machine adds."""
        began, lasting = time.monotonic(), self.lasting(declared)
        return lambda: began + lasting() - time.monotonic()

    def _factor(self) -> float:
        factor = min(self.crowding.factor(), LONGEST)
        if factor < BUSY:
            return 1.0
        self.stretched = max(self.stretched, factor)
        return factor

    @property
    def started(self) -> bool:
        """Whether an instance has sent anything in this run: then none is slow for its start."""
        return bool(self._starts)

    async def look_at_the_clock(self) -> None:
        """Count by how much the suite is late itself, whatever has kept it, until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            due, before = loop.time() + TARDY / 2, self.crowding.lost()
            await asyncio.sleep(TARDY / 2)
            if (late := loop.time() - due) > TARDY:
                self.crowding.lose(late - (self.crowding.lost() - before))

    @contextlib.contextmanager
    def idling(self, idle: bool = True) -> Iterator[None]:
        """What is done in the block only waits, if so."""
        self.idle += idle
        try:
            yield
        finally:
            self.idle -= idle

    def forget(self, requirement: str) -> None:
        """What a test of this requirement has missed says nothing: it is to be held again."""
        self._missed.pop(requirement, None)
        self._sought.pop(requirement, None)

    def seconds_for(
        self,
        names: Names,
        seconds: float,
        requirements: Collection[str],
        *,
        certain: bool = False,
        presumes: str | None = None,
    ) -> float:
        """How many of these seconds such messages, or a ``certain`` one of them, are awaited.

        ``requirements`` are those that their absence may violate, and ``presumes`` is one without
        which none come, if they do not presume it anyway. All of the seconds, unless they
        have been missed for one of these; and never fewer than such messages have taken in the run.
        """
        known = self._sought if certain else self._missed
        # What decides the basis itself is no consequence of it, whatever else its absence violates,
        # and whatever has been missed for that.
        decides = bool(self.basis) and self.basis in requirements
        if not decides and any(
            self.rests(requirement)
            or (not certain and self.hopeless((*self.presumed(requirement), presumes), names))
            for requirement in requirements
        ):
            return self.briefly(names, seconds, VAIN)
        about = (self.basis,) if decides else requirements
        if any(names in known.get(requirement, ()) for requirement in about):
            return self.briefly(names, seconds)
        return seconds

    def briefly(self, names: Names, seconds: float, share: float = SHARE) -> float:
        """How many of these seconds are waited where that decides nothing new."""
        return min(seconds, max(share * seconds, self._slowest.get(names, 0.0)))

    def missed(self, requirement: str, names: Names) -> bool:
        """Whether a requirement has failed for want of these messages, or of certain ones."""
        either = (*self._missed.get(requirement, ()), *self._sought.get(requirement, ()))
        return names in either

    def rests(self, requirement: str) -> bool:
        """Whether a requirement presumes one that the plainest exchange violates already."""
        return bool(self.basis) and self.basis in self.presumed(requirement)

    def hopeless(self, presumed: Iterable[str | None], names: Names) -> bool:
        """Whether what is presumed has missed them, and none has come in the run."""
        missed = [each for one in presumed for each in self._missed.get(one or "", ())]
        return bool(names) and never_came(names, missed, self._came)

    def answered(self, names: Names, took: float, declared: float, allowed: float) -> None:
        """A message that was awaited has come; ``allowed`` may count that the IUT still starts."""
        if took > allowed:
            self._lags.setdefault(names, []).append(took)
        elif took <= declared:
            self._lags.pop(names, None)

    def reacted(self, names: Names, took: float) -> None:
        """Messages that were awaited have come after that many seconds, not from one that starts.

        What had come before it was awaited, and so took less than nothing, tells nothing.
        """
        if took > 0:
            self._latest[names] = took
            self._slowest[names] = max(self._slowest.get(names, 0.0), took)

    def lasted(self, names: Names) -> float:
        """The seconds that such messages were awaited when they came last; 0 where not at all."""
        return self._latest.get(names, 0.0)

    def pace(self, names: Names, declared: float) -> float:
        """The seconds, at most the declared ones, in which such a message is certain to come."""
        return min(declared, PLENTY * self._slowest.get(names, declared))

    def lags(self, names: Names) -> float:
        """The seconds after which these messages come again and again too late; else 0."""
        lags = self._lags.get(names, [])
        return max(lags) if len(lags) >= OFTEN else 0.0

    @property
    def late(self) -> float:
        """For how many further deadlines anything is awaited."""
        return LESS_LATE if self._often.total() >= OFTEN else LATE

    def startup(self, names: Names, declared: float) -> float:
        """The seconds that an IUT may take to start, until its first message is awaited.

        Three times what it has taken, once that is known of some instances or something is missing.
        """
        if not self._starts or (len(self._starts) < OFTEN and not self._often[names]):
            return declared
        # Of the first ones, the smoke sessions: later some ask first for what takes its time.
        return min(declared, 1 + 3 * max(self._starts))

    def began(self, seconds: float) -> None:
        """An IUT has sent its first message that many seconds after its session began."""
        if len(self._starts) < OFTEN:
            self._starts.append(seconds)

    def came(self, name: str) -> None:
        """A message of this name has come."""
        self._came.add(name)

    def miss(self, requirement: str, names: Names) -> None:
        """They have not come within a deadline, which a requirement has failed for."""
        self._missed.setdefault(requirement, set()).add(names)
        self._often[names] += 1

    def seek(self, requirement: str, names: Names) -> None:
        """Of messages of these names a certain one has not come, which a requirement failed for."""
        self._sought.setdefault(requirement, set()).add(names)
        self._often[names] += 1
