"""Shared-memory objects: opened by name, read and written bytewise.

The IUT can shorten or remove an object at any time. Therefore the suite reads and writes the file:
missing bytes then cause an error and no signal. Only the mutex uses a memory map. The suite
survives the loss of the map: see `conformance.bus_errors`. Only ``remove`` unlinks objects, because
Python's resource tracker does not know them.
"""

import asyncio
import contextlib
import ctypes
import errno
import mmap
import os
import stat
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from conformance import bus_errors, mutex
from conformance.harness import abandoned
from conformance.harness.deadlines import countdown_from

FOLDER = Path("/dev/shm")
LARGEST = 16 * 1024 * 1024  # bytes; a larger object is refused
_ROOM = 256 * 1024  # bytes: more than the buffers of one test need
_UNUSABLE = (errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.ENOENT)
"""Errors that show that the machine has no room for shared memory, or does not permit it."""
_POLL = 0.0005  # seconds between two attempts to lock a mutex
_LOCKS = 8  # locks between two pauses
_PAUSE = 0.0001  # seconds in which a process that only tries to lock finds the mutex free
_WRITE_TIME = 0.001  # seconds for writes of another process after it has unlocked


class NoObject(Exception):
    """The object does not exist, or is not usable; the text gives the reason."""


class Shortened(NoObject):
    """The object has lost bytes since it was opened."""


class Locked(TimeoutError):
    """The mutex was not released before the timeout."""


class SharedObject:
    """An open object; ``mutex_at`` is the offset of its mutex."""

    def __init__(self, name: str, descriptor: int, mutex_at: int) -> None:
        self.name = name
        self.size = os.fstat(descriptor).st_size
        self.inode = os.fstat(descriptor).st_ino
        self._descriptor = descriptor
        self._map = mmap.mmap(descriptor, self.size)
        self._view = (ctypes.c_char * self.size).from_buffer(self._map)
        self._mutex_at = mutex_at
        self._start = ctypes.addressof(self._view)
        self._mutex = self._start + mutex_at
        bus_errors.announce(self._start, self.size)

    @classmethod
    def open(cls, name: str, mutex_at: int) -> "SharedObject":
        """Open an existing object. Raises NoObject."""
        return cls._open(name, os.O_RDWR, mutex_at)

    @classmethod
    def create(cls, name: str, size: int, mutex_at: int) -> "SharedObject":
        """Create an object of ``size`` zero bytes with a free mutex. Raises NoObject."""
        created = cls._open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL, mutex_at, size)
        mutex.initialise(created._mutex)
        return created

    @classmethod
    def _open(cls, name: str, flags: int, mutex_at: int, create: int = 0) -> "SharedObject":
        path = _path(name)
        try:
            abandoned.note_object(path.name)
            flags |= os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
            descriptor = os.open(path, flags, 0o600)
        except OSError as error:
            raise NoObject(f"{path}: {error.strerror}") from error
        try:
            if create:
                os.ftruncate(descriptor, create)
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise NoObject(f"{path} is not a shared-memory object")
            if not mutex_at + mutex.SIZE <= status.st_size <= LARGEST:
                raise NoObject(f"{path} has {status.st_size} bytes")
            return cls(name, descriptor, mutex_at)
        except (OSError, ValueError) as error:
            # The object can shrink between the check of its size and its mapping.
            os.close(descriptor)
            raise NoObject(f"{path} cannot be mapped: {error}") from error
        except BaseException:
            os.close(descriptor)
            raise

    def close(self) -> None:
        """Close the object without removing it."""
        bus_errors.forget(self._start)
        del self._view
        self._map.close()
        os.close(self._descriptor)

    def read(self) -> bytes:
        """Return its current bytes, at most as many as at its opening."""
        return os.pread(self._descriptor, self.size, 0)

    def write(self, offset: int, data: bytes) -> None:
        """Write bytes at an offset. Raises NoObject if they exceed the object."""
        if not 0 <= offset <= offset + len(data) <= os.fstat(self._descriptor).st_size:
            raise NoObject(
                f"expected {len(data)} bytes at offset {offset} of {self.name}; the object is "
                "shorter"
            )
        os.pwrite(self._descriptor, data, offset)

    def trylock(self) -> bool:
        """Lock the mutex if it is free. Raises Shortened or mutex.BrokenMutex."""
        self._check_size()
        locked = mutex.trylock(self._mutex)
        if locked and bus_errors.is_lost(self._start):
            self.unlock()
        self._check_size()
        return locked

    def _check_size(self) -> None:
        """Raise Shortened if bytes of the object are lost, now or since its mutex was used."""
        size = os.fstat(self._descriptor).st_size
        if size < self.size or bus_errors.is_lost(self._start):
            raise Shortened(f"{self.name} was shortened to {size} bytes")

    def glimpse(self, before: bytes, seconds: float) -> tuple[bytes, bytes] | None:
        """Return the content just after another process has unlocked, and 1 ms later.

        The function locks the mutex each time that another process has released it, until a byte
        outside the mutex differs from ``before``. Both reads happen while the mutex is locked; it
        is unlocked afterwards. Returns None after ``seconds``. The function blocks the event loop.
        """
        left = countdown_from(seconds)
        # A defect of the mutex shows in every other lock, too.
        with contextlib.suppress(mutex.BrokenMutex, NoObject):
            while left() >= 0:
                self._check_size()
                first = mutex.lock_at_once(self._mutex, left, lambda: self._map[:])
                if first is None:
                    return None
                try:
                    if self._without_mutex(first) != self._without_mutex(before):
                        time.sleep(_WRITE_TIME)
                        return first, self.read()
                finally:
                    self.unlock()
        return None

    def interrupt(self, act: Callable[[], None], seconds: float) -> None:
        """Lock the mutex again and again, also between two locks of another process.

        ``act`` runs each time while the mutex is locked. The function blocks the event loop.
        """
        left, number = countdown_from(seconds), 0
        # A defect of the mutex shows in every other lock, too.
        with contextlib.suppress(mutex.BrokenMutex, NoObject):
            while left() >= 0:
                if mutex.trylock(self._mutex):
                    try:
                        act()
                    finally:
                        self.unlock()
                    number += 1
                    if number % _LOCKS == 0:
                        time.sleep(_PAUSE)

    def _without_mutex(self, data: bytes) -> bytes:
        return data[: self._mutex_at] + data[self._mutex_at + mutex.SIZE :]

    @property
    def private(self) -> bool:
        """True if the mutex is private to a single process."""
        return mutex.is_private(self._mutex)

    def unlock(self) -> None:
        """Unlock the mutex. Raises mutex.BrokenMutex, for example if it was overwritten.

        Raises Shortened if bytes of the object are lost.
        """
        try:
            mutex.unlock(self._mutex)
        finally:
            self._check_size()

    @contextlib.asynccontextmanager
    async def locked(self, left: Callable[[], float]) -> AsyncIterator[None]:
        """Hold the mutex. Raises Locked if it is not free before the timeout."""
        # No event reports that another process has unlocked the mutex.
        while not self.trylock():
            if left() < 0:
                raise Locked(f"the mutex of {self.name} is still locked")
            await asyncio.sleep(_POLL)
        try:
            yield
        finally:
            self.unlock()


def obstacle() -> str:
    """Return why this machine has no room for shared-memory objects; empty if it has.

    The probe is a file without a name, which no IUT can see.
    """
    try:
        descriptor = os.open(FOLDER, os.O_TMPFILE | os.O_RDWR, 0o600)
        try:
            os.write(descriptor, bytes(_ROOM))
        finally:
            os.close(descriptor)
    except OSError as error:
        if error.errno in _UNUSABLE:
            return f"this machine cannot write to {FOLDER}: {error.strerror}"
    return ""


def inode(name: str) -> int | None:
    """Return the inode of the object with this name; None if there is no object."""
    try:
        return _path(name).lstat().st_ino
    except (OSError, NoObject):
        return None


def leave(name: str, data: bytes) -> None:
    """Create an object with these bytes, as a crashed process can leave it."""
    path = _path(name)
    abandoned.note_object(path.name)
    path.write_bytes(data)


def remove(name: str) -> None:
    """Unlink an object if it exists."""
    with contextlib.suppress(OSError, NoObject):
        _path(name).unlink()


def _path(name: str) -> Path:
    """Return the file of an object.

    Raises NoObject for an invalid name, which can come from the IUT.
    """
    plain = name.removeprefix(f"{FOLDER}/").removeprefix("/")
    if not FOLDER.is_dir():
        raise NoObject(f"this platform has no {FOLDER}")
    if not plain or "/" in plain or "\0" in plain or plain in (".", "..") or len(plain) > 255:
        raise NoObject(f"{name[:80]!r} is not a name of a shared-memory object")
    return FOLDER / plain
