"""Survive access to mapped memory that another process has taken away.

If a process shortens a file, access to the lost part of a mapping raises SIGBUS, which ends the
accessing process. The handler of this module replaces a lost page by a page of zeros, and remembers
the mapping. The access then continues. This is done only for announced mappings; any other SIGBUS
ends the process as usual.
"""

import ctypes
import mmap
import signal
from collections.abc import Callable

_ADDRESS_AT = 16 if ctypes.sizeof(ctypes.c_void_p) == 8 else 12  # offset of si_addr in siginfo_t
_MASK_BYTES = 128  # size of sigset_t in glibc and musl
_SIGINFO = 4  # SA_SIGINFO: the handler gets the address
_FIXED, _PRIVATE, _ANONYMOUS = 0x10, mmap.MAP_PRIVATE, mmap.MAP_ANONYMOUS
_HANDLER = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


class _Action(ctypes.Structure):
    """The structure sigaction of glibc and musl."""

    _fields_ = (
        ("handler", ctypes.c_void_p),
        ("mask", ctypes.c_byte * _MASK_BYTES),
        ("flags", ctypes.c_int),
        ("restorer", ctypes.c_void_p),
    )


_library = ctypes.CDLL(None, use_errno=True)
_mmap: Callable[..., int] = _library.mmap
_library.mmap.restype = ctypes.c_void_p
_library.mmap.argtypes = [
    *(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long)
]

_sizes: dict[int, int] = {}
_lost: set[int] = set()


def announce(start: int, size: int) -> None:
    """From now on, survive SIGBUS in these bytes."""
    _sizes[start] = size
    _lost.discard(start)
    _install()


def forget(start: int) -> None:
    """Let SIGBUS in the mapping that begins here end the process again."""
    _sizes.pop(start, None)
    _lost.discard(start)


def is_lost(start: int) -> bool:
    """Return True if a part of the mapping that begins here was taken away."""
    return start in _lost


def _replace(_: int, info: int, __: int) -> None:
    """Handle SIGBUS: replace the lost page, or let the signal end the process."""
    address = ctypes.c_void_p.from_address(info + _ADDRESS_AT).value or 0
    for start, size in _sizes.items():
        if start <= address < start + size:
            page = address - address % mmap.PAGESIZE
            access = mmap.PROT_READ | mmap.PROT_WRITE
            flags = _FIXED | _PRIVATE | _ANONYMOUS
            if _mmap(page, mmap.PAGESIZE, access, flags, -1, 0) == page:
                _lost.add(start)
                return
    # The access runs again after this handler, and then ends the process.
    _library.signal(signal.SIGBUS, ctypes.c_void_p(0))


_handler = _HANDLER(_replace)


def _install() -> None:
    """Install the handler, unless it is installed already."""
    current = _Action()
    _library.sigaction(signal.SIGBUS, None, ctypes.byref(current))
    own = ctypes.cast(_handler, ctypes.c_void_p).value
    if current.handler != own:
        action = _Action(handler=own, flags=_SIGINFO)
        _library.sigaction(signal.SIGBUS, ctypes.byref(action), None)
