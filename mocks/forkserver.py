"""Fork mocks from a process that has imported their modules: `python -m mocks.forkserver FD`.

A test run starts hundreds of mocks. FD is the request socket of `mocks.forking`.
"""

import asyncio
import contextlib
import socket
import sys

from mocks import __main__ as mock
from mocks import deviations
from mocks.forking import ForkServer

PRACTICE = 8  # calls after which Python 3.11 and later have specialised a function's bytecode
_PRACTISED: set[str] = set()
"""The roles whose functions are already specialised."""


def _import(arguments: list[str]) -> None:
    """Import the modules of this mock, so that all forked mocks of its role have them.

    Errors are ignored here: the mock itself reports them.
    """
    with contextlib.suppress(Exception, SystemExit):
        if arguments[0] not in _PRACTISED:
            _practise(*arguments)
        if {"--fault", "--variant"} & set(arguments):
            deviations.faults(arguments[0])
            deviations.variants(arguments[0])


def _practise(role: str, *options: str) -> None:
    """Run the code that every mock of a role runs at start and end, so that it runs faster."""
    _PRACTISED.add(role)
    parser = mock.parser(role, deviations.role_module(role), mock.PROGRAM)
    for _ in range(PRACTICE):
        parser.parse_args(options)
        asyncio.run(asyncio.sleep(0))


if __name__ == "__main__":
    ForkServer(socket.socket(fileno=int(sys.argv[1])), mock.play, _import).serve()
