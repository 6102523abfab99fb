"""Mocks that are forked from a process with all imports, instead of `python -m mocks`.

A run against the reference mock starts hundreds of mocks, and a start consists mostly of imports.
"""

import asyncio
import atexit
import json
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence

from conformance.harness import strays

EXIT_TIME = 2.0  # seconds until a fork server is killed after its last client has closed
MOCK = (sys.executable, "-m", "mocks")
"""First words of a mock's command."""

_requests: socket.socket | None = None
"""Socket for requests to the fork server, shared with all forked processes."""


class Forked:
    """A forked mock, with the interface of `harness.children.Child`."""

    def __init__(self, pid: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter):
        self.pid = pid
        self.returncode: int | None = None
        self._writer = writer
        self._ended = asyncio.create_task(self._end(reader))

    async def _end(self, reader: asyncio.StreamReader) -> None:
        code = await _line(reader)
        # A fork server kills its mocks before it exits.
        self.returncode = -signal.SIGKILL if code is None else code
        self._writer.close()

    async def wait(self) -> int | None:
        await asyncio.shield(self._ended)
        return self.returncode


async def fork(
    arguments: Sequence[str], env: Mapping[str, str], cwd: str, streams: Sequence[int]
) -> Forked:
    """Start ``python -m mocks`` with these arguments and standard streams. Raises OSError."""
    ours, theirs = socket.socketpair()
    try:
        request = {"arguments": list(arguments), "env": dict(env), "cwd": cwd or "."}
        with theirs:
            _ask(json.dumps(request).encode(), [*streams, theirs.fileno()])
        reader, writer = await asyncio.open_unix_connection(sock=ours)
    except BaseException:
        ours.close()
        raise
    try:
        pid = await _line(reader)
        if pid is None:
            raise OSError("the fork server forked no mock")
    except BaseException:
        # If this socket is closed, the fork server kills the mock.
        writer.close()
        raise
    return Forked(pid, reader, writer)


def _ask(request: bytes, descriptors: list[int]) -> None:
    global _requests
    try:
        socket.send_fds(serve(), [request], descriptors)
    except ConnectionError:
        _requests = None
        socket.send_fds(serve(), [request], descriptors)


def serve() -> socket.socket:
    """Return the socket of the fork server, and start the server if necessary.

    Processes that are forked from this one later use the same socket.
    """
    global _requests
    _requests = _requests or start("mocks.forkserver")
    return _requests


def start(module: str) -> socket.socket:
    """Start a fork server, which is ``module`` run as a program; return its socket."""
    # SEQPACKET keeps each request whole, so several processes can share the socket.
    asking, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        server = subprocess.Popen(
            [sys.executable, "-m", module, str(theirs.fileno())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
            start_new_session=True,
        )
    strays.own_children.add(server.pid)
    atexit.register(_end, asking, server)
    return asking


def _end(asking: socket.socket, server: subprocess.Popen[bytes]) -> None:
    """Stop the fork server, so that no process remains."""
    asking.close()
    try:
        server.wait(EXIT_TIME)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


async def _line(reader: asyncio.StreamReader) -> int | None:
    """Return the number on the next line, or None at the end of the stream."""
    try:
        return int(await reader.readline())
    except (OSError, ValueError):
        return None
