"""Runs one reference peer: `python -m mocks PROTOCOL/ROLE [options]`."""

import sys

# A test run starts hundreds of mocks. None speaks TLS, which is a sixth of what asyncio imports.
sys.modules.setdefault("ssl", None)  # type: ignore[arg-type]

import argparse
import asyncio
import functools
import os
import signal
from typing import Any, NoReturn

from conformance import locate
from mocks import deviations, streams

USAGE = 2


def main(argv: list[str]) -> int:
    locate.extend_packages()
    if not argv or argv[0].startswith("-"):
        print("usage: python -m mocks PROTOCOL/ROLE [--help | options]")
        print(f"roles: {', '.join(deviations.roles())}")
        return 0 if argv[:1] in (["-h"], ["--help"]) else USAGE
    try:
        return _run(argv[0], argv[1:])
    except (deviations.UnknownName, ValueError) as error:
        print(f"mocks: {error}", file=sys.stderr)
        return USAGE
    except OSError as error:
        print(f"mocks: {error}", file=sys.stderr)
        return 1
    except (KeyboardInterrupt, asyncio.CancelledError):
        return 0


def _run(role: str, arguments: list[str]) -> int:
    module: Any = deviations.role_module(role)
    # To ask how wide the terminal is would import as much as the mock itself.
    width = functools.partial(argparse.HelpFormatter, width=100)
    parser = argparse.ArgumentParser(
        prog=f"python -m mocks {role}", description=module.__doc__, formatter_class=width
    )
    address = parser.add_mutually_exclusive_group()
    address.add_argument("--listen", metavar="ADDR", help="HOST:PORT or unix:PATH")
    address.add_argument("--connect", metavar="ADDR", help="HOST:PORT or unix:PATH")
    parser.add_argument("--fault", metavar="NAME", action="append", default=[])
    parser.add_argument("--variant", metavar="NAME", action="append", default=[])
    parser.add_argument("--mutant", metavar="JSON", help="a change by machine (conformance prove)")
    module.options(parser)
    args = parser.parse_args(arguments)
    for given in filter(None, (args.listen, args.connect)):
        if not given.startswith("http"):
            streams.parse(given)
    if args.mutant:
        from mocks import mutants

        mutants.install(role, mutants.Mutant.parse(args.mutant))
    return asyncio.run(_play(module, args, deviations.deviating(role, args.fault, args.variant)))


async def _play(module: Any, args: argparse.Namespace, peer: type[Any]) -> int:
    """Play the role; an end signal ends it as the end of its input would."""
    playing = asyncio.ensure_future(module.main(args, peer))
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, playing.cancel)
    status: int = await playing
    return status


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
