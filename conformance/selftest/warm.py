"""Fork the command ``conformance`` from a process that has already imported it.

The process is `python -m conformance.selftest.warm FD`. FD is the request socket of
`mocks.forking`. Forked runs share only imported modules.
"""

import atexit
import functools
import importlib
import json
import os
import pkgutil
import signal
import socket
import sys
from collections.abc import Mapping
from typing import NoReturn

from conformance import cli
from conformance.harness import fork_server
from mocks.forking import ForkServer

_IMPORTED = ("conformance.commands.run", "conformance.plugin", "conformance.reporting")


class Forked:
    """A forked command, with the interface of `subprocess.Popen`."""

    def __init__(self, words: list[str], env: Mapping[str, str], cwd: str, out: int, err: int):
        self.args = words
        ours, theirs = socket.socketpair()
        with theirs, open(os.devnull, "rb") as nothing:
            request = json.dumps({"arguments": words, "env": dict(env), "cwd": cwd}).encode()
            socket.send_fds(_asking(), [request], [nothing.fileno(), out, err, theirs.fileno()])
        with ours:
            self._life = ours.makefile("r")
        self.pid = int(self._life.readline())

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def wait(self) -> int:
        with self._life:
            return int(self._life.readline())


@functools.cache
def _asking() -> socket.socket:
    """Return the request socket of the fork server, which is started at the first call."""
    return fork_server.start("conformance.selftest.warm")


def _play(words: list[str]) -> NoReturn:
    sys.argv[1:] = words
    try:
        sys.exit(cli.main())
    finally:
        atexit._run_exitfuncs()  # os._exit in the fork server skips these functions


def _import() -> None:
    for name in _IMPORTED:
        package = importlib.import_module(name)
        for found in pkgutil.iter_modules(getattr(package, "__path__", ()), f"{name}."):
            importlib.import_module(found.name)


if __name__ == "__main__":
    _import()
    ForkServer(socket.socket(fileno=int(sys.argv[1])), _play).serve()
