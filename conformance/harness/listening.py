"""Finds where a process listens, for a server that does not where it was asked to."""

import contextlib
import os
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

_LISTEN = "0A"  # the state of a socket that listens, in /proc/net/tcp


def listening(session: int) -> list[str]:
    """The TCP addresses, ``HOST:PORT``, at which the processes of a system's session listen."""
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
    """The inodes of the sockets that the processes of a session have open."""
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
    """An address as the kernel writes it: words in the order of the machine, then the port."""
    host, port = text.split(":")
    words = [int(host[start : start + 8], 16) for start in range(0, len(host), 8)]
    name = socket.inet_ntop(family, struct.pack(f"={len(words)}I", *words))
    return f"{f'[{name}]' if ':' in name else name}:{int(port, 16)}"
