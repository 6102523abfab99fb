"""Forks mocks from a process that has imported them: `python -m mocks.forkserver FD`.

A test run starts hundreds of mocks. The descriptor is the socket of `mocks.forking`.
"""

import asyncio
import contextlib
import socket
import sys

from mocks import __main__ as mock
from mocks import deviations
from mocks.forking import ForkServer

PRACTICE = 8  # times that a function is called before the interpreter has made it a quick one
_PRACTISED: set[str] = set()
"""The roles for which they were."""


def _import(arguments: list[str]) -> None:
    """Import what this mock will, and all that are like it. The mock itself tells what fails."""
    with contextlib.suppress(Exception, SystemExit):
        if arguments[0] not in _PRACTISED:
            _practise(*arguments)
        if {"--fault", "--variant"} & set(arguments):
            deviations.faults(arguments[0])
            deviations.variants(arguments[0])


def _practise(role: str, *options: str) -> None:
    """Do what each mock of a role begins and ends with, which is quicker in all of them then."""
    _PRACTISED.add(role)
    parser = mock.parser(role, deviations.role_module(role), mock.PROGRAM)
    for _ in range(PRACTICE):
        parser.parse_args(options)
        asyncio.run(asyncio.sleep(0))


if __name__ == "__main__":
    ForkServer(socket.socket(fileno=int(sys.argv[1])), mock.play, _import).serve()
