"""How busy this machine is: what programs take longer for because others compute as well."""

import os
import time
from collections import deque
from pathlib import Path

LOOK = 0.1  # seconds between two looks at how idle the machine is
IDLE, BUSY = 0.3, 0.1  # parts of its cores: above the first there can be more, below the other less
SPELL = 0.5  # seconds in which one may have to react
KEPT = 8192  # looks that are remembered: those of minutes
_SCHEDULED = Path("/proc/self/schedstat")
_CORES = Path("/proc/stat")
_ENOUGH = 20_000_000  # nanoseconds that we must have computed for to know how long we waited
_LITTLE = 2_000_000  # the same, where what is known is older than this:
_OLD = 0.5  # seconds
_ANEW = _ENOUGH / 1e9  # seconds between two looks: in fewer nobody can have computed for so long


def core_count() -> int:
    """The cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


def load() -> float:
    """The processes that compute, for each core; at least one."""
    return max(os.getloadavg()[0] / core_count(), 1.0)


class Idleness:
    """The share of its cores' time in which this machine idles; 0 if the system does not say."""

    def __init__(self) -> None:
        self._spent, self._looked = _idle_ticks(), time.monotonic()
        self.share = 0.0

    def look(self) -> bool:
        """Measure again if it is time; True if it was."""
        if time.monotonic() <= self._looked + LOOK:
            return False
        (idled, every), (before, all_before) = _idle_ticks(), self._spent
        self.share = (idled - before) / max(every - all_before, 1)
        self._spent, self._looked = (idled, every), time.monotonic()
        return True

    @property
    def has_idle_cores(self) -> bool:
        """True if there are idle cores for more."""
        return self.share > IDLE


class Crowding:
    """How many times as long as alone this process computes; asked again and again in a run.

    Linux tells for how long a process has computed, and has waited for a core. Elsewhere it is the
    load.
    """

    def __init__(self) -> None:
        self._computed, self._waited = _core_times() or (0, 0)
        self._factor, self._at = load(), time.monotonic()
        self._asked = self._at
        self._idleness, self._lost = Idleness(), 0.0
        self._losses = deque([(self._asked, 0.0)], maxlen=KEPT)

    def factor(self) -> float:
        """The factor since the last call, or over a bit longer; 1.0 on an idle machine."""
        # Each deadline asks, and less than this has nothing new.
        if (now := time.monotonic()) >= self._asked + _ANEW:
            self._look(now)
            self._idleness.look()
            # With idle cores, no process waits for one for long.
            if not self._idleness.has_idle_cores:
                self._lost += (now - self._asked) * (1 - 1 / self._factor)
            self._asked = now
            self._losses.append((now, self._lost))
        return self._factor

    def lost(self) -> float:
        """The seconds by which programs are behind, so far, those of a machine of their own."""
        self.factor()
        return self._lost

    def add_lost(self, seconds: float) -> None:
        """Count seconds as well that something else has taken, if they are more than none."""
        self._lost += max(seconds, 0.0)
        self._losses.append((time.monotonic(), self._lost))

    def worst_loss(self, since: float, until: float) -> float:
        """The most seconds that were lost in any ``SPELL`` between two times of the clock."""
        told = [(at, lost) for at, lost in self._losses if since <= at <= until]
        first, worst = 0, 0.0
        for at, lost in told:
            while told[first + 1 :] and told[first + 1][0] <= at - SPELL:
                first += 1
            worst = max(worst, lost - told[first][1])
        return worst

    def _look(self, now: float) -> None:
        told = _core_times()
        if told is None:
            self._factor = load()
            return
        computed, waited = told[0] - self._computed, told[1] - self._waited
        if computed >= (_LITTLE if now > self._at + _OLD else _ENOUGH):
            self._factor = (computed + waited) / computed
            self._computed, self._waited = told
            self._at = now


class Room:
    """How many at a time this machine bears of what mostly waits; asked again and again.

    At first `least`, and up to `most` for as long as they leave cores idle.
    """

    def __init__(self, least: int, most: int) -> None:
        self._least, self._most, self._allowed = least, most, least
        self._idleness = Idleness()

    def allowed(self, idle: int = 0) -> int:
        """The number of tests that can run now; ``idle`` ones leave their places to others.

        Without idle cores the number at most doubles, because the IUTs compute meanwhile.
        """
        if self._idleness.look():
            if self._idleness.has_idle_cores and self._allowed < self._most:
                self._allowed = min(self._allowed + core_count(), self._most)
            elif self._idleness.share < BUSY and self._allowed > self._least:
                self._allowed -= 1
        return self._allowed + (idle if self._idleness.has_idle_cores else min(idle, self._allowed))


def _idle_ticks() -> tuple[int, int]:
    """The idle time and the whole time of all cores since the system started, in ticks.

    Both are 0 if the system does not say.
    """
    try:
        # user, nice, system, idle, waiting for disks, two kinds of interrupts, stolen
        ticks = [int(text) for text in _CORES.read_text("ascii").split(maxsplit=9)[1:9]]
    except (OSError, ValueError):
        return 0, 0
    return sum(ticks[3:5]), sum(ticks)


def _core_times() -> tuple[int, int] | None:
    """The nanoseconds that this thread has computed, and has waited for a core; None if untold."""
    try:
        # To open it as text would take several times as long.
        with open(_SCHEDULED, "rb", buffering=0) as file:
            computed, waited, _ = file.read(64).split()
    except (OSError, ValueError):
        return None
    return int(computed), int(waited)
