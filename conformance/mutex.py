"""The platform's pthread mutex in memory that several processes share, through ctypes.

Functions take the address of the mutex. It belongs to the thread that has locked it, and only that
thread may unlock it. Nothing here blocks: whoever waits tries again.
"""

import ctypes
import errno
import os

_ROBUST = 1
_SHARED = 1
_ATTRIBUTES = 64  # bytes: more than any pthread_mutexattr_t

# sizeof(pthread_mutex_t) of the C libraries of Linux.
SIZE = 48 if os.uname().machine == "aarch64" else 40 if ctypes.sizeof(ctypes.c_void_p) == 8 else 24

_library = ctypes.CDLL(None, use_errno=False)


class BrokenMutex(Exception):
    """The memory there cannot be used as a mutex; the text is the system's word for it."""


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
    """Lock it unless somebody has; one whose holder has died is made usable again.

    Raises BrokenMutex.
    """
    code = _library.pthread_mutex_trylock(ctypes.c_void_p(address))
    if code in (errno.EBUSY, errno.EDEADLK):
        return False
    if code == errno.EOWNERDEAD:
        _call("pthread_mutex_consistent", ctypes.c_void_p(address))
    elif code:
        raise BrokenMutex(os.strerror(code))
    return True


def unlock(address: int) -> None:
    """Unlock what this thread has locked. Raises BrokenMutex."""
    _call("pthread_mutex_unlock", ctypes.c_void_p(address))


def _call(function: str, *arguments: object) -> None:
    code = getattr(_library, function)(*arguments)
    if code:
        raise BrokenMutex(os.strerror(code))
