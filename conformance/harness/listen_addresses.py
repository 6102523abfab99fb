"""Find the addresses where a process listens, for a server that ignored {port}."""

import contextlib
import os
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

_LISTEN = "0A"  # state of a listening socket in /proc/net/tcp


def listening_addresses(session: int) -> list[str]:
    """Return the TCP addresses, ``HOST:PORT``, where the processes of a session listen."""
    inodes = set(_sockets(session))
    found = []
    for name, family in (("tcp", socket.AF_INET), ("tcp6", socket.AF_INET6)):
        with contextlib.suppress(OSError):
            for row in Path(f"/proc/net/{name}").read_text("ascii").splitlines()[1:]:
                fields = row.split()
                if fields[3] == _LISTEN and fields[9] in inodes:
                    found.append(_address(fields[1], family))
    return found


def _sockets(session: int) -> Iterator[str]:
    """Yield the inodes of the open sockets of all processes in a session."""
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            status = (process / "stat").read_text("ascii", "replace").rpartition(")")[2]
            if int(status.split()[3]) != session:
                continue
            for descriptor in (process / "fd").iterdir():
                target = os.readlink(descriptor)
                if target.startswith("socket:["):
                    yield target[8:-1]


def _address(text: str, family: socket.AddressFamily) -> str:
    """Convert an address of /proc/net: words in the machine's byte order, then the port."""
    host, port = text.split(":")
    words = [int(host[start : start + 8], 16) for start in range(0, len(host), 8)]
    name = socket.inet_ntop(family, struct.pack(f"={len(words)}I", *words))
    return f"{f'[{name}]' if ':' in name else name}:{int(port, 16)}"
