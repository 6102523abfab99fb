"""The platform's pthread mutex in memory that several processes share, through ctypes.

Functions take the address of the mutex. It belongs to the thread that has locked it, and only that
thread may unlock it. Nothing here blocks, whatever bytes another process has put there: to wait is
to try again.
"""

import ctypes
import errno
import os
import platform
import struct
import threading

_ROBUST = 1
_SHARED = 1
_ATTRIBUTES = 64  # bytes: more than any pthread_mutexattr_t

# glibc trusts the bytes of a mutex: if they are not one, it may abort, hang or write anywhere. Its
# mutex has the futex at 0 and its kind at 16, both of 32 bits, and from 24 on its place in a list
# of the thread that holds it. One with a priority ceiling would make us a real-time process, one
# that is elided begins a transaction, which not every processor has.
_HEAD = struct.Struct("=i12xi")
_OWNER_DIED, _OWNER = 1 << 30, (1 << 30) - 1
_KIND_ROBUST, _KIND_SHARED = 16, 128
# Type, robust, inherits priority, shared, not elided:
_KINDS = 3 | _KIND_ROBUST | 32 | _KIND_SHARED | 512
# The futex, which who waits changes as well but never frees, and what only the holder changes.
_FIELDS = struct.Struct("=i16s4x16s")

# sizeof(pthread_mutex_t) of the C libraries of Linux.
SIZE = 48 if os.uname().machine == "aarch64" else 40 if ctypes.sizeof(ctypes.c_void_p) == 8 else 24

_GNU = platform.libc_ver()[0] == "glibc" and _FIELDS.size <= SIZE

_library = ctypes.CDLL(None, use_errno=False)


class _Held(threading.local):
    """The mutexes that this thread holds, by address, as they were when it last looked.

    Robust ones are linked with each other in a list, so that each lock and unlock changes others
    as well, and must find them as it left them.
    """

    def __init__(self) -> None:
        self.bytes: dict[int, bytes] = {}
        self.written_over: set[int] = set()

    def restore(self) -> None:
        """Put right what others have written over."""
        for address, held in self.bytes.items():
            if _GNU and _as_held(held) != _as_held(memory(address)):
                ctypes.memmove(address, held, len(held))
                self.written_over.add(address)

    def look(self) -> None:
        """Remember them as they are now."""
        for address in self.bytes:
            self.bytes[address] = memory(address)


def _as_held(data: bytes) -> tuple[object, ...]:
    """What others must leave as it is while a mutex is held."""
    futex, *rest = _FIELDS.unpack_from(data)
    return bool(futex & _OWNER), *rest


_held = _Held()


class BrokenMutex(Exception):
    """The memory there cannot be used as a mutex; the text is the system's message."""


class WrittenOver(BrokenMutex):
    """A mutex was written over while this thread held it."""


def initialise(address: int, *, robust: bool = False) -> None:
    """Make a mutex that processes share of the bytes there."""
    attributes = ctypes.create_string_buffer(_ATTRIBUTES)
    _call("pthread_mutexattr_init", attributes)
    _call("pthread_mutexattr_setpshared", attributes, _SHARED)
    if robust:
        _call("pthread_mutexattr_setrobust", attributes, _ROBUST)
    _call("pthread_mutex_init", ctypes.c_void_p(address), attributes)
    _call("pthread_mutexattr_destroy", attributes)


def trylock(address: int) -> bool:
    """Lock it if it is free; one whose holder has died is made usable again.

    Raises BrokenMutex.
    """
    if _GNU and not _harmless(address):
        raise BrokenMutex("the bytes there are not a mutex")
    _held.restore()
    code = _library.pthread_mutex_trylock(ctypes.c_void_p(address))
    if code in (errno.EBUSY, errno.EDEADLK):
        return False
    if code == errno.EOWNERDEAD:
        _call("pthread_mutex_consistent", ctypes.c_void_p(address))
    elif code:
        raise BrokenMutex(os.strerror(code))
    _held.bytes[address] = b""
    _held.look()
    return True


def _harmless(address: int) -> bool:
    futex, kind = _HEAD.unpack(ctypes.string_at(address, _HEAD.size))
    # The system lets go of the mutexes of a thread that dies, and reports it of robust ones only.
    orphaned = futex & _OWNER_DIED and (futex & _OWNER or not kind & _KIND_ROBUST)
    return not (orphaned or kind & ~_KINDS)


def unlock(address: int) -> None:
    """Unlock what this thread has locked. Raises BrokenMutex, also where it was written over."""
    _held.restore()
    _held.bytes.pop(address, None)
    written_over = address in _held.written_over
    _held.written_over.discard(address)
    _call("pthread_mutex_unlock", ctypes.c_void_p(address))
    _held.look()
    if written_over:
        raise WrittenOver("it was written over while it was held")


def private(address: int) -> bool:
    """Whether it was made for one process alone: who waits for it in another is never woken."""
    return _GNU and not _HEAD.unpack(ctypes.string_at(address, _HEAD.size))[1] & _KIND_SHARED


def memory(address: int) -> bytes:
    """All of its bytes."""
    return ctypes.string_at(address, SIZE)


def _call(function: str, *arguments: object) -> None:
    code = getattr(_library, function)(*arguments)
    if code:
        raise BrokenMutex(os.strerror(code))
