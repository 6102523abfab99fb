"""Runs one reference peer: `python -m mocks PROTOCOL/ROLE [options]`."""

import sys

# A test run starts hundreds of mocks. None speaks TLS, which is a sixth of what asyncio imports.
sys.modules.setdefault("ssl", None)  # type: ignore[arg-type]

import argparse
import asyncio
import functools
import os
import signal
from collections.abc import Callable
from typing import Any, NoReturn

from conformance.definitions import locate
from mocks import deviations, playing
from mocks.run import Lines, Run

PROGRAM = "python -m mocks"
USAGE, UNREACHED = 2, 3

parser = functools.cache(playing.parser)
"""Those that are forked find it here already."""


def main(argv: list[str]) -> int:
    locate.extend_packages()
    # As `conformance mock` starts it, for somebody who looks at it.
    shown = argv[:1] == ["--shown"]
    words = argv[1:] if shown else argv
    program = "conformance mock" if shown else PROGRAM
    if not words or words[0].startswith("-"):
        # A mock that plays needs no schemas, which take their time.
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
    # The first line of its output, unless that is the wire or belongs to the upper tester.
    free = args.listen and not getattr(args, "upper_tester", False)
    announce = Lines(args.log, lambda: sys.stdout if free else sys.stderr)
    return asyncio.run(_play(Run(lines, announce), module, role, args))


async def _play(run: Run, module: Any, role: str, args: argparse.Namespace) -> int:
    """Play the role until SIGTERM or SIGINT; on SIGUSR1 it tells when all that came is judged."""
    loop = asyncio.get_running_loop()
    played = asyncio.ensure_future(playing.play(run, module, role, args))

    def end() -> None:
        run.ending = True
        played.cancel()

    def handle(number: int, call: Callable[[], object]) -> None:
        # The loop's own way is to look through all signals there are, which takes a millisecond.
        signal.signal(number, lambda *_: loop.is_closed() or loop.call_soon_threadsafe(call))

    handle(signal.SIGTERM, end)
    handle(signal.SIGINT, end)
    handle(signal.SIGUSR1, lambda: asyncio.ensure_future(playing.settle(run)))
    return await played


def play(argv: list[str]) -> NoReturn:
    """The whole life of a process that is a mock."""
    code = main(argv)
    flush()
    # The interpreter would take a moment to tidy up what the system takes back anyway.
    os._exit(code)


def flush() -> None:
    if not sys.stdout.closed:
        sys.stdout.flush()


if __name__ == "__main__":
    play(sys.argv[1:])
