"""Find and remove what IUTs leave behind: processes, shared-memory objects, temporary folders.

A process can leave its session and empty its environment, so that no mark identifies it. Its
parent still does: the suite is the subreaper of all programs that it starts. Every orphan among
them becomes the suite's own child.
"""

import contextlib
import ctypes
import fcntl
import math
import os
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER in <linux/prctl.h>
_ROUNDS = 20  # the children of a killed orphan are the orphans of the next round
_REAPING = 1.0  # seconds until a killed process has ended
_AGE = 60.0  # seconds after which a folder without a lock belongs to no living process
_PREFIX = "conformance-run-"
OBJECTS = Path("/dev/shm")
_TICK = 0.02  # seconds: the times of /proc/PID/stat are hundredths
_START = 19  # index of the field in /proc/PID/stat (after the name) that is the time of the start

_TOLD = 5  # commands of killed processes that are printed
_LONGEST = 300  # characters of a line about them

own_children: set[int] = set()
"""Children of this process that are no orphans, because the suite has started them itself."""
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
        """The commands of the processes that were killed."""
        self._objects = frozenset(_names(OBJECTS))
        self._mapped: set[str] = set()
        self._own: frozenset[int] | None = None
        """Other children of this process: those before the first program was started."""
        self._running: dict[int, float] = {}
        """By process id, when each program that still runs was started: seconds since the boot."""
        ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)

    def begin(self) -> None:
        """Prepare to start a program."""
        if self._own is None:
            self._own = frozenset(_children())

    def note_start(self, pid: int) -> None:
        self._running[pid] = time.clock_gettime(time.CLOCK_BOOTTIME)

    def note_ending(self, pid: int) -> None:
        """Remember the objects of a program before it is ended."""
        self._mapped |= objects_of(pid)

    def note_end(self, pid: int) -> None:
        """Kill orphans that are older than every program that still runs."""
        self._running.pop(pid, None)
        self._kill(min(self._running.values(), default=math.inf) - _TICK)

    def finish(self) -> list[str]:
        """Kill all orphans, remove the objects that only they used; return the objects' names."""
        self._running.clear()
        self._kill(math.inf)
        left = (self._mapped - self._objects) & set(_names(OBJECTS))
        used = {name for pid in _pids() for name in objects_of(pid)} if left else set()
        removed = sorted(left - used)
        for name in removed:
            with contextlib.suppress(OSError):
                (OBJECTS / name).unlink()
        return removed

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
    """Remove what programs have left behind at the end of the block, and report it.

    ``who`` has started it, for the text.
    """
    adopted = adopt()
    try:
        yield
    finally:
        removed = adopted.finish()
        told = [
            f"killed {times} processes that {who} had left behind: {command}"
            for command, times in Counter(adopted.killed).most_common()
        ]
        if len(told) > _TOLD:
            told[_TOLD:] = [f"killed processes of {len(told) - _TOLD} more commands"]
        if removed:
            told.append(f"removed shared memory that {who} had left behind: {', '.join(removed)}")
        for line in told:
            print("conformance:", ascii(line[:_LONGEST])[1:-1], file=sys.stderr)


def objects_of(pid: int) -> set[str]:
    """Return the shared-memory objects that a process has mapped."""
    marker = f" {OBJECTS}/".encode()
    try:
        maps = Path(f"/proc/{pid}/maps").read_bytes()
    except OSError:
        return set()
    found = (line.partition(marker)[2] for line in maps.splitlines() if marker in line)
    names = {os.fsdecode(name.removesuffix(b" (deleted)")) for name in found}
    return {name for name in names if name and "/" not in name}


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _pids() -> Iterator[int]:
    return (int(name) for name in _names(Path("/proc")) if name.isdigit())


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
    """Return when a process was started: seconds since the boot; infinity if it does not exist."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text("ascii", "replace")
    except OSError:
        return math.inf
    return int(status.rpartition(")")[2].split()[_START]) / os.sysconf("SC_CLK_TCK")


def _reap(pid: int) -> None:
    until = time.monotonic() + _REAPING
    with contextlib.suppress(ChildProcessError):
        while not os.waitpid(pid, os.WNOHANG)[0] and time.monotonic() < until:
            time.sleep(0.001)


@contextlib.contextmanager
def temporary_folder() -> Iterator[Path]:
    """Yield a new folder; within the block, `tempfile` makes its files and folders in it.

    The folder is locked while this process lives. Folders of processes that were killed are removed
    first.
    """
    _remove_abandoned()
    before = tempfile.tempdir
    with tempfile.TemporaryDirectory(prefix=_PREFIX, ignore_cleanup_errors=True) as made:
        lock = os.open(made, os.O_RDONLY)
        try:
            with contextlib.suppress(OSError):  # some file systems cannot lock folders
                fcntl.flock(lock, fcntl.LOCK_SH)
            tempfile.tempdir = made
            yield Path(made)
        finally:
            tempfile.tempdir = before
            os.close(lock)


def _remove_abandoned() -> None:
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            status = folder.lstat()
            # A new folder gets its lock a moment after its creation.
            if status.st_uid != os.getuid() or time.time() - status.st_mtime < _AGE:
                continue
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(lock)
