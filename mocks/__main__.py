"""Run one reference mock: `python -m mocks PROTOCOL/ROLE [options]`."""

import sys

# A test run starts hundreds of mocks. No mock uses TLS, which takes a sixth of asyncio's import
# time.
sys.modules.setdefault("ssl", None)  # type: ignore[arg-type]

import argparse
import asyncio
import functools
import os
import signal
from collections.abc import Callable
from typing import Any, NoReturn

from conformance.definitions import locations
from mocks import deviations, playing
from mocks.run import Lines, Run

PROGRAM = "python -m mocks"
USAGE, UNREACHED = 2, 3

parser = functools.cache(playing.parser)
"""Cached: forked processes find the parsers that the fork server has made."""


def main(argv: list[str]) -> int:
    locations.extend_packages()
    # `conformance mock` passes --shown for a user who reads the output.
    shown = argv[:1] == ["--shown"]
    words = argv[1:] if shown else argv
    program = "conformance mock" if shown else PROGRAM
    if not words or words[0].startswith("-"):
        # A mock that plays needs no schemas, which are slow to load.
        from conformance.definitions import protocols

        print(f"usage: {program} PROTOCOL/ROLE [--help | options]")
        print(f"roles: {', '.join(protocols.roles())}")
        return 0 if words[:1] in (["-h"], ["--help"]) else USAGE
    try:
        return _run(program, words[0], ["--judge", *words[1:]] if shown else words[1:])
    except (deviations.UnknownName, ValueError) as error:
        print(f"{program.split()[0]}: {error}", file=sys.stderr)
        return USAGE
    except OSError as error:
        print(f"{program.split()[0]}: {error}", file=sys.stderr)
        return UNREACHED


def _run(program: str, role: str, arguments: list[str]) -> int:
    module = deviations.role_module(role)
    args = parser(role, module, program).parse_args(arguments)
    lines = Lines(args.log, lambda: sys.stderr, quiet=args.quiet)
    # The address is the first line of standard output, unless that is the wire or the upper
    # tester's.
    listens = args.listen or getattr(module, "LISTENS", False)
    free = listens and not getattr(args, "upper_tester", False)
    announce = Lines(args.log, lambda: sys.stdout if free else sys.stderr)
    return asyncio.run(_play(Run(lines, announce), module, role, args))


async def _play(run: Run, module: Any, role: str, args: argparse.Namespace) -> int:
    """Play the role until SIGTERM, SIGINT or SIGHUP.

    On SIGUSR1, the mock reports when everything it has received is judged.
    """
    loop = asyncio.get_running_loop()
    played = asyncio.ensure_future(playing.play(run, module, role, args))

    def end() -> None:
        run.ending = True
        played.cancel()

    def handle(number: int, call: Callable[[], object]) -> None:
        # The loop's own method scans all existing signals, which takes a millisecond.
        signal.signal(number, lambda *_: loop.is_closed() or loop.call_soon_threadsafe(call))

    handle(signal.SIGTERM, end)
    handle(signal.SIGINT, end)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # nohup ignores it
        handle(signal.SIGHUP, end)
    handle(signal.SIGUSR1, lambda: asyncio.ensure_future(playing.settle(run)))
    return await played


def play(argv: list[str]) -> NoReturn:
    """Run a process that is a mock from start to exit."""
    code = main(argv)
    flush()
    # Exit directly: the interpreter's cleanup would only free what the system frees anyway.
    os._exit(code)


def flush() -> None:
    if not sys.stdout.closed:
        sys.stdout.flush()


if __name__ == "__main__":
    play(sys.argv[1:])
