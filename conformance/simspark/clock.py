"""Whether the time of the game may go back: a trainer may have set it."""

from collections import deque
from typing import Any

from conformance.simspark.scene import number

WHOLE = 1.0  # seconds by which a clock that is shown in whole seconds may be late
KEPT = 1000  # commands that are remembered, and times that were set and have not shown
LATE = 5.0  # seconds by which a clock may have gone on until it is shown
STEP = 0.3  # seconds by which the time goes on at most from one state to the next, by itself


class Commands:
    """The latest commands of all trainers, for whoever looks at them now and then."""

    def __init__(self) -> None:
        self._latest: deque[list[Any]] = deque(maxlen=KEPT)
        self.count = 0
        """How many there have been."""

    def append(self, command: list[Any]) -> None:
        self._latest.append(command)
        self.count += 1

    def since(self, count: int) -> list[list[Any]]:
        """Those after the first so many, as far as they are remembered."""
        new = min(self.count - count, len(self._latest))
        return [*self._latest][len(self._latest) - new :]


class Clock:
    """The time of the game on one connection: it goes back only where a trainer has commanded it.

    Each command excuses one jump: `time` one to about that time, a kick-off or a play mode any one
    until another play mode shows.
    """

    def __init__(self, commands: Commands) -> None:
        """``commands`` are those of all trainers so far."""
        self._commands = commands
        self._taken = 0
        self._times: deque[float] = deque(maxlen=KEPT)
        self._restarts = 0

    def _take(self) -> None:
        new = self._commands.since(self._taken)
        # What was forgotten may have set the time.
        self._restarts += len(new) < self._commands.count - self._taken
        for command in new:
            if command[0] in ("kickOff", "playMode"):
                self._restarts += 1
            elif command[0] == "time" and len(command) > 1:
                self._times.append(number(command[1]) or 0.0)
        self._taken = self._commands.count

    def allow(self, earlier: float, later: float, turned: bool) -> bool:
        """Whether the time may go from one to the other; `turned`: half or play mode changed."""
        self._take()
        back = later < earlier
        reached = [time for time in self._times if abs(later - time) <= (LATE if back else WHOLE)]
        # What goes on by itself may have been sent before the command came.
        for time in reached if abs(later - earlier) > STEP else ():
            self._times.remove(time)
        excused = turned or bool(reached) or bool(self._restarts)
        if turned:
            self._restarts = 0
        elif back and not reached and self._restarts:
            self._restarts -= 1
        return excused or not back
