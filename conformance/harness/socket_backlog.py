"""Count the sent bytes that a peer on this machine has not read."""

import fcntl
import os
import socket
import stat
import struct
import termios
from collections.abc import Callable

# Constants and structures of <linux/netlink.h> and <linux/inet_diag.h>
_SOCK_DIAG, _BY_FAMILY, _REQUEST, _ANY = 4, 20, 1, 0xFFFFFFFF
_HEADER = struct.Struct("=IHHII")
_QUERY = struct.Struct("=BBxxI2s2s16s16sIII")  # family and protocol, states, the socket
# the count of unread bytes, after the state, the socket and a timer
_REPLY = struct.Struct("=4x48x4xI")

Count = Callable[[], int]


def of_pipe(fd: int) -> Count:
    """Return a counter of unread bytes in a pipe or its replacement, a socket."""
    paired = stat.S_ISSOCK(os.fstat(fd).st_mode)
    return _ioctl(fd, termios.TIOCOUTQ if paired else termios.FIONREAD)


def of_socket(sock: socket.socket) -> Count | None:
    """Return a counter of bytes that the peer of a socket has not read.

    None if the system does not know, for example for a peer on another machine.
    """
    if sock.family == socket.AF_UNIX:
        return _ioctl(sock.fileno(), termios.TIOCOUTQ)
    try:
        request = _request(sock)
        return (lambda: _unread_size(request) or 0) if _unread_size(request) is not None else None
    except OSError:
        return None


def _ioctl(fd: int, request: int) -> Count:
    def count() -> int:
        try:
            return int(struct.unpack("i", fcntl.ioctl(fd, request, b"\0\0\0\0"))[0])
        except OSError:
            return 0

    return count


def _request(sock: socket.socket) -> bytes:
    """Return the netlink request about the peer's socket. Raises OSError if it is not connected."""
    family = sock.family
    ours, theirs = sock.getsockname(), sock.getpeername()
    ports = (address[1].to_bytes(2, "big") for address in (theirs, ours))
    hosts = (socket.inet_pton(family, address[0]) for address in (theirs, ours))
    query = _QUERY.pack(family, socket.IPPROTO_TCP, _ANY, *ports, *hosts, 0, _ANY, _ANY)
    return _HEADER.pack(_HEADER.size + len(query), _BY_FAMILY, _REQUEST, 0, 0) + query


def _unread_size(request: bytes) -> int | None:
    """Return the number of unread bytes; None if this machine has no such socket."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _SOCK_DIAG) as system:
        system.send(request)
        reply = system.recv(4096)
    if _HEADER.unpack_from(reply)[1] != _BY_FAMILY:
        return None
    return int(_REPLY.unpack_from(reply, _HEADER.size)[0])
