"""Remove what killed runs have left behind: folders, processes and shared-memory objects.

A run that gets SIGKILL cannot clean up. Therefore each run has a folder, which it locks until it
exits. A journal in this folder contains the marks of its programs and the names of its objects. The
next run removes everything that the journal of a folder without a lock names.
"""

import contextlib
import fcntl
import os
import shutil
import signal
import stat
import tempfile
import time
from collections.abc import Iterator, Set
from pathlib import Path

MARK = "CONFORMANCE_IUT"
"""Variable in the environment of each program; its value is different for each start."""
OBJECTS = Path("/dev/shm")
_AGE = 60.0  # seconds after which a folder without a lock belongs to no living process
_PREFIX = "conformance-run-"
_JOURNAL = "journal"
_MAX_SIZE = 16 * 1024 * 1024  # bytes of a journal that are read; an entry has 50
_KILL_TIME = 10.0  # seconds within which killed processes end
_PROCESS, _OBJECT = "process", "object"

_journal: int | None = None
"""Descriptor of this run's journal."""
_known: set[str] = set()
"""Objects that are in the journal already, or that existed before this run."""


def note_process(mark: str) -> None:
    """Write the mark of a program to the journal, before the program starts."""
    _note(_PROCESS, mark)


def note_object(name: str) -> None:
    """Write a shared-memory object to the journal, unless it existed before this run."""
    if name not in _known:
        _known.add(name)
        _note(_OBJECT, name)


def _note(kind: str, name: str) -> None:
    if _journal is not None:
        # A full disk must not end the run.
        with contextlib.suppress(OSError):
            os.write(_journal, f"{kind} {name}\n".encode())


@contextlib.contextmanager
def temporary() -> Iterator[Path]:
    """Yield the folder of a run, which `tempfile` uses within the block.

    The function first removes everything that killed runs have left behind.
    """
    global _journal
    before = tempfile.tempdir, _journal
    with folder(_PREFIX) as made:
        _journal = os.open(made / _JOURNAL, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            tempfile.tempdir = str(made)
            _known.clear()
            _known.update(objects())
            yield made
        finally:
            os.close(_journal)
            tempfile.tempdir, _journal = before


@contextlib.contextmanager
def folder(prefix: str) -> Iterator[Path]:
    """Yield a new folder that is locked until this process exits.

    Folders with this prefix that belong to no running process are removed first.
    """
    _remove(prefix)
    with tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True) as made:
        lock = os.open(made, os.O_RDONLY)
        try:
            with contextlib.suppress(OSError):  # some file systems cannot lock folders
                fcntl.flock(lock, fcntl.LOCK_SH)
            yield Path(made)
        finally:
            os.close(lock)


def _remove(prefix: str) -> None:
    for found in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        with contextlib.suppress(OSError):
            status = found.lstat()
            # A new folder gets its lock a moment after its creation.
            if status.st_uid != os.getuid() or time.time() - status.st_mtime < _AGE:
                continue
            lock = os.open(found, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _clean_up(found / _JOURNAL)
                shutil.rmtree(found, ignore_errors=True)
            finally:
                os.close(lock)


def _clean_up(journal: Path) -> None:
    """Kill the processes and remove the objects that a journal names."""
    try:
        # An IUT of the same user can have replaced the journal, for example by a pipe.
        file = os.open(journal, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return
    with open(file, "rb") as opened:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            return
        text = opened.read(_MAX_SIZE).decode("utf-8", "replace")
    noted: dict[str, set[str]] = {_PROCESS: set(), _OBJECT: set()}
    for line in text.splitlines():
        kind, _, name = line.partition(" ")
        if kind in noted and name and "/" not in name and not name.startswith("."):
            noted[kind].add(name)
    mapped, until = set(noted[_OBJECT]), time.monotonic() + _KILL_TIME
    # A process can fork before it is killed, and keeps its objects until the system has ended it.
    while (found := _find_marked(noted[_PROCESS])) and time.monotonic() < until:
        for pid in found:
            mapped |= objects_of(pid)
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)
    remove_unused(mapped)


def _find_marked(marks: Set[str]) -> list[int]:
    """Return the processes that have one of these marks in their environment."""
    wanted = {f"{MARK}={mark}".encode() for mark in marks}
    found = []
    for pid in processes() if wanted else ():
        with contextlib.suppress(OSError):
            if wanted & {*Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")}:
                found.append(pid)
    return found


def remove_unused(names: Set[str]) -> list[str]:
    """Remove those of these shared-memory objects that no process uses; return their names."""
    there = names & {*objects()}
    used = {name for pid in processes() for name in objects_of(pid)} if there else set()
    removed = []
    for name in sorted(there - used):
        with contextlib.suppress(OSError):
            (OBJECTS / name).unlink()
            removed.append(name)
    return removed


def objects() -> list[str]:
    """Return the names of all shared-memory objects."""
    return _names(OBJECTS)


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


def processes() -> Iterator[int]:
    """Yield the ids of all processes; none if the system does not list them."""
    return (int(name) for name in _names(Path("/proc")) if name.isdigit())


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []
