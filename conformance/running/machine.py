"""Measures the load of the machine, because programs take longer on a busy machine."""

import os
import time
from collections import deque
from pathlib import Path

MEASURE_INTERVAL = 0.1  # seconds between two measurements of the idle cores: ten clock ticks
IDLE_SHARE = 0.3  # share of idle core time above which more tests can start
BUSY_SHARE = 0.1  # share of idle core time below which fewer tests run
LOSS_WINDOW = 0.5  # seconds; a response timeout can be as short
LOSS_HISTORY = 8192  # measurements that are remembered: several minutes of a run
_SCHEDSTAT = Path("/proc/self/schedstat")
_STAT = Path("/proc/stat")
_MIN_COMPUTED = 20_000_000  # nanoseconds of computing time that make a reliable factor
_MIN_COMPUTED_LATER = 2_000_000  # nanoseconds that suffice if the latest factor is old
_MAX_FACTOR_AGE = 0.5  # seconds; an older factor is replaced by a less reliable one
_MIN_INTERVAL = _MIN_COMPUTED / 1e9  # seconds; a shorter interval has too little computing time


def core_count() -> int:
    """The number of cores that this process can use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


def load() -> float:
    """The number of computing processes for each core; at least one."""
    return max(os.getloadavg()[0] / core_count(), 1.0)


class Idleness:
    """The share of core time in which the machine idles.

    The share is 0 if the system does not report it.
    """

    def __init__(self) -> None:
        self._ticks, self._measured = _idle_ticks(), time.monotonic()
        self.share = 0.0

    def measure(self) -> bool:
        """Measure again after `MEASURE_INTERVAL`; return whether this was done."""
        if time.monotonic() <= self._measured + MEASURE_INTERVAL:
            return False
        (idle, total), (idle_before, total_before) = _idle_ticks(), self._ticks
        self.share = (idle - idle_before) / max(total - total_before, 1)
        self._ticks, self._measured = (idle, total), time.monotonic()
        return True

    @property
    def has_idle_cores(self) -> bool:
        """True if there are idle cores for more tests."""
        return self.share > IDLE_SHARE


class Crowding:
    """The factor by which this process runs slower than on an idle machine.

    Linux reports how long a process has computed, and how long it has waited for a core. On other
    systems, the factor is the load.
    """

    def __init__(self) -> None:
        self._computed, self._waited = _core_times() or (0, 0)
        self._factor, self._factor_time = load(), time.monotonic()
        self._measured = self._factor_time
        self._idleness, self._lost = Idleness(), 0.0
        self._losses = deque([(self._measured, 0.0)], maxlen=LOSS_HISTORY)

    def factor(self) -> float:
        """The factor since the last measurement; 1.0 on an idle machine."""
        if (now := time.monotonic()) >= self._measured + _MIN_INTERVAL:
            self._measure(now)
            self._idleness.measure()
            # If there are idle cores, no process waits long for a core.
            if not self._idleness.has_idle_cores:
                self._lost += (now - self._measured) * (1 - 1 / self._factor)
            self._measured = now
            self._losses.append((now, self._lost))
        return self._factor

    def lost(self) -> float:
        """The seconds that the machine has taken away from programs so far."""
        self.factor()
        return self._lost

    def add_lost(self, seconds: float) -> None:
        """Add seconds that something else took away; a negative number adds nothing."""
        self._lost += max(seconds, 0.0)
        self._losses.append((time.monotonic(), self._lost))

    def worst_loss(self, since: float, until: float) -> float:
        """The most seconds lost in any `LOSS_WINDOW` between two times of the monotonic clock."""
        losses = [(at, lost) for at, lost in self._losses if since <= at <= until]
        first, worst = 0, 0.0
        for at, lost in losses:
            while losses[first + 1 :] and losses[first + 1][0] <= at - LOSS_WINDOW:
                first += 1
            worst = max(worst, lost - losses[first][1])
        return worst

    def _measure(self, now: float) -> None:
        times = _core_times()
        if times is None:
            self._factor = load()
            return
        computed, waited = times[0] - self._computed, times[1] - self._waited
        if computed >= (
            _MIN_COMPUTED_LATER if now > self._factor_time + _MAX_FACTOR_AGE else _MIN_COMPUTED
        ):
            self._factor = (computed + waited) / computed
            self._computed, self._waited = times
            self._factor_time = now


class Room:
    """How many tasks that mostly wait can run at a time on this machine.

    The number begins with ``least``, and grows up to ``most`` while cores are idle.
    """

    def __init__(self, least: int, most: int) -> None:
        self._least, self._most, self._allowed = least, most, least
        self._idleness = Idleness()

    def allowed_count(self, idle: int = 0) -> int:
        """The number of tasks that can run now; ``idle`` tasks leave their places to others.

        Without idle cores the number at most doubles, because the IUTs still compute.
        """
        if self._idleness.measure():
            if self._idleness.has_idle_cores and self._allowed < self._most:
                self._allowed = min(self._allowed + core_count(), self._most)
            elif self._idleness.share < BUSY_SHARE and self._allowed > self._least:
                self._allowed -= 1
        return self._allowed + (idle if self._idleness.has_idle_cores else min(idle, self._allowed))


def _idle_ticks() -> tuple[int, int]:
    """The idle time and the whole time of all cores since the system started, in ticks.

    Both are 0 if the system does not report them.
    """
    try:
        # user, nice, system, idle, waiting for disks, two kinds of interrupts, stolen
        ticks = [int(text) for text in _STAT.read_text("ascii").split(maxsplit=9)[1:9]]
    except (OSError, ValueError):
        return 0, 0
    return sum(ticks[3:5]), sum(ticks)


def _core_times() -> tuple[int, int] | None:
    """The nanoseconds that this thread has computed, and has waited for a core.

    Returns None if the system does not report them.
    """
    try:
        # Reading the file as text would take several times as long.
        with open(_SCHEDSTAT, "rb", buffering=0) as file:
            computed, waited, _ = file.read(64).split()
    except (OSError, ValueError):
        return None
    return int(computed), int(waited)
