"""The platform's pthread mutex in memory that several processes share, through ctypes.

Functions take the address of the mutex. Only the thread that has locked a mutex can unlock it. No
function blocks, whatever bytes another process has written there; to wait, call `trylock` again.
"""

import ctypes
import errno
import os
import platform
import struct
import sys
import threading
from collections.abc import Callable

_ROBUST = 1
_SHARED = 1
_ATTRIBUTES = 64  # bytes: more than any pthread_mutexattr_t

# glibc trusts the bytes of a mutex. If they are not a mutex, glibc can abort, hang, or write
# anywhere. Its mutex has the futex at offset 0 and the kind at 16, both 32 bits. From offset 24 on,
# it has its place in a list of the thread that has locked it. A mutex with a priority ceiling would
# make us a real-time process. An elided mutex begins a transaction, which not every processor
# supports.
_HEAD = struct.Struct("=i12xi")
_OWNER_DIED, _OWNER = 1 << 30, (1 << 30) - 1
_KIND_ROBUST, _KIND_SHARED = 16, 128
# Allowed kinds: type, robust, inherits priority, shared, not elided.
_KINDS = 3 | _KIND_ROBUST | 32 | _KIND_SHARED | 512
_MUSL_KINDS = 3 | 4 | 8  # type, robust, inherits priority; 128 means shared, as in glibc
# The futex, which waiting processes also change but never clear, and the fields that only the owner
# changes.
_FIELDS = struct.Struct("=i16s4x16s")

# The size in bytes of pthread_mutex_t in the C libraries of Linux.
SIZE = 48 if os.uname().machine == "aarch64" else 40 if ctypes.sizeof(ctypes.c_void_p) == 8 else 24

_GNU = platform.libc_ver()[0] == "glibc" and _FIELDS.size <= SIZE

_SPINS = 1000  # attempts between two checks of the timeout

_library = ctypes.CDLL(None, use_errno=False)


class _Held(threading.local):
    """The mutexes that this thread has locked: their addresses and latest known bytes.

    Robust mutexes are linked in a list. Each lock and unlock also changes the other mutexes of the
    list, and needs them unchanged by others.
    """

    def __init__(self) -> None:
        self.bytes: dict[int, bytes] = {}
        self.written_over: set[int] = set()

    def restore(self) -> None:
        """Restore the mutexes that other processes have overwritten."""
        for address, held in self.bytes.items():
            if _GNU and _as_held(held) != _as_held(memory(address)):
                ctypes.memmove(address, held, len(held))
                self.written_over.add(address)

    def save(self) -> None:
        """Save the current bytes of all locked mutexes."""
        for address in self.bytes:
            self.bytes[address] = memory(address)


def _as_held(data: bytes) -> tuple[object, ...]:
    """Return the fields that other processes must not change while the mutex is locked."""
    futex, *rest = _FIELDS.unpack_from(data)
    return bool(futex & _OWNER), *rest


_held = _Held()


class BrokenMutex(Exception):
    """The memory cannot be used as a mutex; the text is the system's message."""


class ForeignMutex(BrokenMutex):
    """The mutex belongs to another C library, so this process cannot lock it."""


class WrittenOver(BrokenMutex):
    """Another process overwrote a mutex while this thread had locked it."""


def initialise(address: int, *, robust: bool = False) -> None:
    """Initialise a mutex at an address, shared between processes."""
    attributes = ctypes.create_string_buffer(_ATTRIBUTES)
    _call("pthread_mutexattr_init", attributes)
    _call("pthread_mutexattr_setpshared", attributes, _SHARED)
    if robust:
        _call("pthread_mutexattr_setrobust", attributes, _ROBUST)
    _call("pthread_mutex_init", ctypes.c_void_p(address), attributes)
    _call("pthread_mutexattr_destroy", attributes)


def trylock(address: int) -> bool:
    """Lock a mutex if it is free; return whether it is now locked.

    If the owner of a robust mutex has exited, the mutex is made consistent and locked. Raises
    BrokenMutex.
    """
    if _GNU and _is_of_musl(address):
        raise ForeignMutex("the mutex is one of musl, and this machine's C library is glibc")
    if _GNU and not _harmless(address):
        raise BrokenMutex("the bytes at this address are not a mutex")
    _held.restore()
    return _is_locked_by(address, _library.pthread_mutex_trylock(ctypes.c_void_p(address)))


def lock_at_once(
    address: int, left: Callable[[], float], look: Callable[[], bytes]
) -> bytes | None:
    """Lock a mutex as soon as another process releases it, and return the first look.

    The function spins, so that less than a microsecond passes between the release and the look. If
    no other process has the mutex, it is locked after some spins. Returns None if ``left`` is
    negative before the mutex is free. Raises BrokenMutex.
    """
    if _GNU and not _harmless(address):
        raise BrokenMutex("the bytes at this address are not a mutex")
    _held.restore()
    trylock, pointer = _library.pthread_mutex_trylock, ctypes.c_void_p(address)
    futex = ctypes.c_int.from_address(address)
    for _ in range(_SPINS):
        # Only glibc stores the owner here. The mutex of another library is locked after the loop.
        if futex.value:
            break
    while left() >= 0:
        for _ in range(_SPINS):
            code = trylock(pointer)
            if code != errno.EBUSY:
                seen = look()
                return seen if _is_locked_by(address, code) else None
    return None


def _is_locked_by(address: int, code: int) -> bool:
    """Return whether a call of trylock has locked the mutex."""
    if code in (errno.EBUSY, errno.EDEADLK):
        return False
    if code == errno.EOWNERDEAD:
        _call("pthread_mutex_consistent", ctypes.c_void_p(address))
    elif code:
        raise BrokenMutex(os.strerror(code))
    _held.bytes[address] = b""
    _held.save()
    return True


def _is_of_musl(address: int) -> bool:
    """Return whether the memory is a free, shared mutex of musl.

    Its first word is the kind. In a mutex of glibc this word is the thread that has locked it, and
    a shared one has its kind at another offset.
    """
    data = memory(address)
    kind = int.from_bytes(data[:4], sys.byteorder)
    return kind & ~_MUSL_KINDS == _KIND_SHARED and not any(data[4:])


def _harmless(address: int) -> bool:
    futex, kind = _HEAD.unpack(ctypes.string_at(address, _HEAD.size))
    # The kernel unlocks the mutexes of a thread that exits, and reports only robust ones.
    orphaned = futex & _OWNER_DIED and (futex & _OWNER or not kind & _KIND_ROBUST)
    return not (orphaned or kind & ~_KINDS)


def unlock(address: int) -> None:
    """Unlock a mutex that this thread has locked. Raises BrokenMutex or WrittenOver."""
    _held.restore()
    _held.bytes.pop(address, None)
    written_over = address in _held.written_over
    _held.written_over.discard(address)
    _call("pthread_mutex_unlock", ctypes.c_void_p(address))
    _held.save()
    if written_over:
        raise WrittenOver("the mutex was overwritten while it was locked")


def is_private(address: int) -> bool:
    """Return whether a mutex was made for one process only.

    A process that waits for another process's private mutex is never woken.
    """
    return _GNU and not _HEAD.unpack(ctypes.string_at(address, _HEAD.size))[1] & _KIND_SHARED


def memory(address: int) -> bytes:
    """Return all bytes of a mutex."""
    return ctypes.string_at(address, SIZE)


def _call(function: str, *arguments: object) -> None:
    code = getattr(_library, function)(*arguments)
    if code:
        raise BrokenMutex(os.strerror(code))
