"""Mocks that are forked from one that has imported everything, in the place of `python -m mocks`.

A run against the reference mock starts hundreds of it, and a start is mostly imports.
"""

import asyncio
import atexit
import json
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence

ENDING = 2.0  # seconds that a fork server has to end when nobody can ask any more
MOCK = (sys.executable, "-m", "mocks")
"""How the command of a mock begins."""

_asking: socket.socket | None = None
"""Where the fork server of this process, and of those that it was forked from, takes requests."""


class Forked:
    """A mock that was forked, with what `harness.children` has of a program."""

    def __init__(self, pid: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter):
        self.pid = pid
        self.returncode: int | None = None
        self._writer = writer
        self._ended = asyncio.create_task(self._end(reader))

    async def _end(self, reader: asyncio.StreamReader) -> None:
        told = await _line(reader)
        # A fork server that is gone has ended its mocks before.
        self.returncode = -signal.SIGKILL if told is None else told
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
            raise OSError("no mock was forked")
    except BaseException:
        # The mock is ended when nobody is left to hear of it.
        writer.close()
        raise
    return Forked(pid, reader, writer)


def _ask(request: bytes, descriptors: list[int]) -> None:
    global _asking
    try:
        socket.send_fds(serve(), [request], descriptors)
    except ConnectionError:
        _asking = None
        socket.send_fds(serve(), [request], descriptors)


def serve() -> socket.socket:
    """Where the fork server takes requests; it is started if there is none.

    Processes that are forked off this one afterwards ask the same.
    """
    global _asking
    _asking = _asking or start("mocks.forkserver")
    return _asking


def start(module: str) -> socket.socket:
    """Start a fork server, which a module is when it is run; where it takes requests."""
    # Requests are taken whole, so that several processes can ask on one socket.
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
    atexit.register(_end, asking, server)
    return asking


def _end(asking: socket.socket, server: subprocess.Popen[bytes]) -> None:
    """Nothing that we have started is to be there after us."""
    asking.close()
    try:
        server.wait(ENDING)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


async def _line(reader: asyncio.StreamReader) -> int | None:
    """A number on a line; None at the end of the stream."""
    try:
        return int(await reader.readline())
    except (OSError, ValueError):
        return None
