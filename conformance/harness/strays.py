"""Find and remove processes and shared-memory objects that IUTs leave behind.

A process can leave its session and clear its environment, so that no mark identifies it. The suite
is the subreaper of all programs that it starts. Therefore each orphan among them becomes a child of
the suite.
"""

import contextlib
import ctypes
import math
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from conformance.harness import abandoned

_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER in <linux/prctl.h>
_ROUNDS = 20  # the children of a killed orphan are the orphans of the next round
_KILL_TIME = 1.0  # seconds until a killed process has ended
_TICK = 0.02  # seconds: the times of /proc/PID/stat are hundredths
_START = 19  # index of the field in /proc/PID/stat (after the name) that is the time of the start

_MAX_COMMANDS = 5  # commands of killed processes that are printed
_MAX_LINE = 300  # characters of a printed line

own_children: set[int] = set()
"""Children that the suite has started itself, so they are not orphans."""
current_strays: "Strays | None" = None
"""The strays of the run in this process, if it is the subreaper of its programs."""


def adopt() -> "Strays":
    """Make this process the subreaper of all programs that it starts."""
    global current_strays
    current_strays = Strays()
    return current_strays


class Strays:
    """The orphans of the programs that this process starts, and the objects that they used."""

    def __init__(self) -> None:
        self.killed: list[str] = []
        """The commands of the killed processes."""
        self._objects = frozenset(abandoned.objects())
        self._mapped: set[str] = set()
        self._own: frozenset[int] | None = None
        """The children of this process from before the first program was started."""
        self._running: dict[int, float] = {}
        """The start of each running program in seconds since the boot, by process id."""
        ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)

    def begin(self) -> None:
        """Prepare to start a program."""
        if self._own is None:
            self._own = frozenset(_children())

    def note_start(self, pid: int) -> None:
        self._running[pid] = time.clock_gettime(time.CLOCK_BOOTTIME)

    def note_objects(self, pid: int) -> None:
        """Record the objects of a program that still runs."""
        for name in abandoned.objects_of(pid):
            self._mapped.add(name)
            abandoned.note_object(name)

    def note_end(self, pid: int) -> None:
        """Kill orphans that are older than every program that still runs."""
        self._running.pop(pid, None)
        self._kill(min(self._running.values(), default=math.inf) - _TICK)

    def finish(self) -> list[str]:
        """Kill all orphans, remove the objects that only they used; return the objects' names."""
        self._running.clear()
        self._kill(math.inf)
        return abandoned.remove_unused(self._mapped - self._objects)

    def _kill(self, before: float) -> None:
        """Kill every orphan that was started before this time."""
        for _ in range(_ROUNDS if self._own is not None else 0):
            found = _children() - (self._own or set()) - own_children
            found = {pid for pid in found if _birth(pid) < before}
            if not found:
                break
            for pid in found:
                if command := _command(pid):
                    self.killed.append(command)
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            for pid in found:
                _reap(pid)


@contextlib.contextmanager
def clean_up(who: str) -> Iterator[None]:
    """After the block, remove processes and objects that programs have left, and report them.

    ``who`` names the programs in the report, such as "the IUT".
    """
    adopted = adopt()
    try:
        yield
    finally:
        removed = adopted.finish()
        lines = [
            f"killed processes that {who} had left behind ({times}): {command}"
            for command, times in Counter(adopted.killed).most_common()
        ]
        if len(lines) > _MAX_COMMANDS:
            more = len(lines) - _MAX_COMMANDS
            lines[_MAX_COMMANDS:] = [f"killed processes of {more} more commands"]
        if removed:
            lines.append(f"removed shared memory that {who} had left behind: {', '.join(removed)}")
        for line in lines:
            print("conformance:", ascii(line[:_MAX_LINE])[1:-1], file=sys.stderr)


def _children() -> set[int]:
    found: set[int] = set()
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):
            found |= {int(pid) for pid in (task / "children").read_text("ascii").split()}
    return found


def _command(pid: int) -> str:
    """Return the command line of a process; empty if it has ended."""
    with contextlib.suppress(OSError):
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        return b" ".join(words).decode("utf-8", "replace").strip()
    return ""


def _birth(pid: int) -> float:
    """Return the start of a process in seconds since the boot; infinity if it has ended."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text("ascii", "replace")
    except OSError:
        return math.inf
    return int(status.rpartition(")")[2].split()[_START]) / os.sysconf("SC_CLK_TCK")


def _reap(pid: int) -> None:
    until = time.monotonic() + _KILL_TIME
    with contextlib.suppress(ChildProcessError):
        while not os.waitpid(pid, os.WNOHANG)[0] and time.monotonic() < until:
            time.sleep(0.001)
