"""Decides if the time of the game is allowed to go back.

A trainer can set the time, and several trainer commands restart it.
"""

from collections import deque
from typing import Any

from conformance.simspark.scene import number

WHOLE = 1.0  # seconds; a clock that shows whole seconds lags by up to one second
MAX_ENTRIES = 1000  # entries; bounds the memory of a long run, and no test sends so many commands
MAX_NUMBER = 1e6  # metres, degrees or seconds; no value of a game is greater
MAX_DELAY = 5.0  # seconds of game time until a state shows a `time` command
MAX_STEP = 0.3  # seconds between two states without a command; several cycles of 0.04 s


class Commands:
    """The latest trainer commands of all connections.

    Each connection reads the new commands with `since`.
    """

    def __init__(self) -> None:
        self._latest: deque[list[Any]] = deque(maxlen=MAX_ENTRIES)
        self.count = 0
        """The number of commands received so far, including forgotten ones."""
        self.extreme = False
        """True after a command with a number that is not finite, or very great."""

    def append(self, command: list[Any]) -> None:
        self._latest.append(command)
        self.count += 1
        self.extreme = self.extreme or any(map(_is_extreme, command))

    def since(self, count: int) -> list[list[Any]]:
        """Return the commands after the first `count` commands.

        Only the latest MAX_ENTRIES commands are available.
        """
        new = min(self.count - count, len(self._latest))
        return [*self._latest][len(self._latest) - new :]


def _is_extreme(part: Any) -> bool:
    """Return True if a part of a command contains a number that is not finite, or very great."""
    if isinstance(part, list):
        return any(_is_extreme(item) for item in part if isinstance(item, str))
    try:
        return not abs(float(part)) < MAX_NUMBER
    except ValueError:
        return False


class Clock:
    """The game time on one connection: it goes back only after a trainer command.

    Each command excuses one jump. A `time` command excuses a jump to about the time that it sets. A
    `kickOff` or `playMode` command excuses any jump, until the play mode changes.
    """

    def __init__(self, commands: Commands) -> None:
        """Start with the shared list of trainer commands, ``commands``."""
        self._commands = commands
        self._taken = 0
        self._times: deque[float] = deque(maxlen=MAX_ENTRIES)
        self._restarts = 0

    def _take(self) -> None:
        new = self._commands.since(self._taken)
        # A forgotten command can have set the time.
        self._restarts += len(new) < self._commands.count - self._taken
        for command in new:
            if command[0] in ("kickOff", "playMode"):
                self._restarts += 1
            elif command[0] == "time" and len(command) > 1:
                self._times.append(number(command[1]) or 0.0)
        self._taken = self._commands.count

    def is_allowed(self, earlier: float, later: float, turned: bool) -> bool:
        """Return True if the time can go from `earlier` to `later`, both in seconds.

        `turned` says that the half or the play mode changed in the same state.
        """
        self._take()
        back = later < earlier
        reached = [
            time for time in self._times if abs(later - time) <= (MAX_DELAY if back else WHOLE)
        ]
        # A small step can come from a state that the server sent before the command arrived.
        for time in reached if abs(later - earlier) > MAX_STEP else ():
            self._times.remove(time)
        excused = turned or bool(reached) or bool(self._restarts)
        if turned:
            self._restarts = 0
        elif back and not reached and self._restarts:
            self._restarts -= 1
        return excused or not back
