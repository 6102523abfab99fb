"""Shared-memory objects as the suite sees them: opened by name, read and written by the byte.

An object may be the IUT's, which can shorten or remove it at any time. So its bytes are read and
written through its file, where lost bytes are an error and not a signal; only for its mutex it is
mapped. Objects are unlinked by ``remove`` alone: Python's resource tracker does not know of them.
"""

import asyncio
import contextlib
import ctypes
import mmap
import os
import stat
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from conformance import mutex

FOLDER = Path("/dev/shm")
LARGEST = 16 * 1024 * 1024  # bytes of an object that are looked at
_POLL = 0.0005  # seconds between attempts to lock a mutex
_MOMENT = 0.001  # seconds in which who has unlocked one does what it still does then


class NoObject(Exception):
    """There is no such object, or it cannot be what was asked for; the text says why."""


class Locked(TimeoutError):
    """The mutex did not become free in time."""


class SharedObject:
    """One open object; ``mutex`` is the offset of the mutex in it."""

    def __init__(self, name: str, descriptor: int, mutex_at: int) -> None:
        self.name = name
        self.size = os.fstat(descriptor).st_size
        self.inode = os.fstat(descriptor).st_ino
        self._descriptor = descriptor
        self._map = mmap.mmap(descriptor, self.size)
        self._view = (ctypes.c_char * self.size).from_buffer(self._map)
        self._mutex_at = mutex_at
        self._mutex = ctypes.addressof(self._view) + mutex_at

    @classmethod
    def open(cls, name: str, mutex_at: int) -> "SharedObject":
        """Open an existing object. Raises NoObject."""
        return cls._opened(name, os.O_RDWR, mutex_at)

    @classmethod
    def create(cls, name: str, size: int, mutex_at: int) -> "SharedObject":
        """Create an object of ``size`` zero bytes, with a free mutex. Raises NoObject."""
        created = cls._opened(name, os.O_RDWR | os.O_CREAT | os.O_EXCL, mutex_at, size)
        mutex.initialise(created._mutex)
        return created

    @classmethod
    def _opened(cls, name: str, flags: int, mutex_at: int, create: int = 0) -> "SharedObject":
        path = _path(name)
        try:
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
        except BaseException:
            os.close(descriptor)
            raise

    def close(self) -> None:
        """Close it; the object stays."""
        del self._view
        self._map.close()
        os.close(self._descriptor)

    def read(self) -> bytes:
        """All bytes that it has now, and no more than it had when it was opened."""
        return os.pread(self._descriptor, self.size, 0)

    def write(self, offset: int, data: bytes) -> None:
        """Write some of its bytes. Raises NoObject where they would lie beyond its end."""
        if not 0 <= offset <= offset + len(data) <= os.fstat(self._descriptor).st_size:
            raise NoObject(f"{self.name} has no {len(data)} bytes at {offset}")
        os.pwrite(self._descriptor, data, offset)

    def trylock(self) -> bool:
        """Lock its mutex if it is free. Raises NoObject or mutex.BrokenMutex."""
        if os.fstat(self._descriptor).st_size < self.size:
            raise NoObject(f"{self.name} has been cut short")
        return mutex.trylock(self._mutex)

    def glimpse(self, before: bytes, seconds: float) -> tuple[bytes, bytes] | None:
        """What is in it the moment another process has unlocked its mutex, and a little later.

        It is locked as soon as anything beside the mutex has become other than it was before, and
        both are of when it is held; it is free afterwards. None where that does not come within
        these seconds, in which nothing else is done.
        """
        until = time.monotonic() + seconds
        while self._beside_mutex(self.read()) == self._beside_mutex(before):
            if time.monotonic() > until:
                return None
        # What is wrong with the mutex shows whenever it is locked.
        with contextlib.suppress(mutex.BrokenMutex, NoObject):
            while time.monotonic() < until:
                if self.trylock():
                    try:
                        first = self.read()
                        time.sleep(_MOMENT)
                        return first, self.read()
                    finally:
                        self.unlock()
        return None

    def _beside_mutex(self, data: bytes) -> bytes:
        return data[: self._mutex_at] + data[self._mutex_at + mutex.SIZE :]

    @property
    def private(self) -> bool:
        """Whether its mutex is one of a single process."""
        return mutex.private(self._mutex)

    def unlock(self) -> None:
        """Raises mutex.BrokenMutex, also where it was written over."""
        mutex.unlock(self._mutex)

    @contextlib.asynccontextmanager
    async def locked(self, left: Callable[[], float]) -> AsyncIterator[None]:
        """Hold its mutex. Raises Locked where it is not free before no seconds are left."""
        # No event says that another process has unlocked it.
        while not self.trylock():
            if left() < 0:
                raise Locked(f"the mutex of {self.name} is still held")
            await asyncio.sleep(_POLL)
        try:
            yield
        finally:
            self.unlock()


def inode(name: str) -> int | None:
    """The inode of the object that has this name now; None where there is no such object."""
    try:
        return _path(name).lstat().st_ino
    except (OSError, NoObject):
        return None


def leave(name: str, data: bytes) -> None:
    """Make an object with these bytes, as a process that has died may have left it."""
    _path(name).write_bytes(data)


def remove(name: str) -> None:
    """Unlink an object, if it is still there."""
    with contextlib.suppress(OSError, NoObject):
        _path(name).unlink()


def _path(name: str) -> Path:
    """The file of an object. Raises NoObject where the name, which may be the IUT's, is invalid."""
    plain = name.removeprefix(f"{FOLDER}/").removeprefix("/")
    if not FOLDER.is_dir():
        raise NoObject(f"there is no {FOLDER} on this platform")
    if not plain or "/" in plain or "\0" in plain or plain in (".", "..") or len(plain) > 255:
        raise NoObject(f"{name[:80]!r} is not a name of a shared-memory object")
    return FOLDER / plain
