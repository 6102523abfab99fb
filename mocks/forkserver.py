"""Forks mocks from a process that has imported them: `python -m mocks.forkserver FD`.

A test run starts hundreds of mocks. The descriptor is the socket of `mocks.forking`.
"""

import contextlib
import socket
import sys

from conformance.definitions import explaining  # noqa: F401  to refuse what is wrong, with why
from mocks import __main__ as mock
from mocks import deviations
from mocks.forking import ForkServer


def _import(arguments: list[str]) -> None:
    """Import what this mock will, and all that are like it. The mock itself tells what fails."""
    with contextlib.suppress(Exception):
        mock.parser(arguments[0], deviations.role_module(arguments[0]), mock.PROGRAM)
        if {"--fault", "--variant"} & set(arguments):
            deviations.faults(arguments[0])
            deviations.variants(arguments[0])


if __name__ == "__main__":
    ForkServer(socket.socket(fileno=int(sys.argv[1])), mock.play, _import).serve()
