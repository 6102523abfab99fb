"""Whether the time of the game may go back: a trainer may have set it."""

from typing import Any

from conformance.simspark.scene import number

WHOLE = 1.0  # seconds by which a clock that is shown in whole seconds may be late
LATE = 5.0  # seconds by which a clock may have gone on until it is shown


class Clock:
    """The time of the game on one connection: it goes back only where a trainer has commanded it.

    Each command excuses one jump: `time` one to about that time, a kick-off or a play mode any one
    until another play mode shows.
    """

    def __init__(self, commands: list[list[Any]]) -> None:
        """``commands`` are those of all trainers so far; it grows."""
        self._commands = commands
        self._taken = 0
        self._times: list[float] = []
        self._restarts = 0

    def _take(self) -> None:
        for command in self._commands[self._taken :]:
            if command[0] in ("kickOff", "playMode"):
                self._restarts += 1
            elif command[0] == "time" and len(command) > 1:
                self._times.append(number(command[1]) or 0.0)
        self._taken = len(self._commands)

    def allow(self, earlier: float, later: float, turned: bool) -> bool:
        """Whether the time may go from one to the other; `turned`: half or play mode changed."""
        self._take()
        back = later < earlier
        reached = [time for time in self._times if abs(later - time) <= (LATE if back else WHOLE)]
        for time in reached:
            self._times.remove(time)
        excused = turned or bool(reached) or bool(self._restarts)
        if turned:
            self._restarts = 0
        elif back and not reached and self._restarts:
            self._restarts -= 1
        return excused or not back
