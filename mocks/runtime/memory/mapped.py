"""Shared memory objects that a mock maps, without Python's resource tracker."""

import ctypes
import mmap
import os
from pathlib import Path

from conformance import mutex

FOLDER = Path("/dev/shm")


class Mapped:
    """A mapped object; ``data`` are its bytes, all zero if it is new."""

    def __init__(self, name: str, descriptor: int) -> None:
        self.name = name
        self.inode = os.fstat(descriptor).st_ino
        try:
            self.data = mmap.mmap(descriptor, os.fstat(descriptor).st_size)
        finally:
            os.close(descriptor)
        self._view = (ctypes.c_char * len(self.data)).from_buffer(self.data)

    @classmethod
    def create(cls, name: str, size: int) -> "Mapped":
        """Create an object; replace an object that an earlier run has left. Raises OSError."""
        (FOLDER / name).unlink(missing_ok=True)
        descriptor = os.open(FOLDER / name, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        os.ftruncate(descriptor, size)
        return cls(name, descriptor)

    @classmethod
    def open(cls, name: str) -> "Mapped":
        """Map an existing object. Raises OSError or ValueError if that is impossible."""
        if "/" in name or name in ("", ".", ".."):
            raise ValueError(f"{name!r} is not a name of an object")
        flags = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK
        return cls(name, os.open(FOLDER / name, flags))

    @property
    def current(self) -> bool:
        """True if the name still refers to this object."""
        try:
            return os.stat(FOLDER / self.name).st_ino == self.inode
        except OSError:
            return False

    def initialise(self, at: int, *, robust: bool = False) -> None:
        mutex.initialise(ctypes.addressof(self._view) + at, robust=robust)

    def trylock(self, at: int) -> bool:
        """Lock the mutex at an offset if it is free. Raises mutex.BrokenMutex."""
        return mutex.trylock(ctypes.addressof(self._view) + at)

    def unlock(self, at: int) -> None:
        mutex.unlock(ctypes.addressof(self._view) + at)

    def close(self) -> None:
        del self._view
        self.data.close()

    def unlink(self) -> None:
        (FOLDER / self.name).unlink(missing_ok=True)
