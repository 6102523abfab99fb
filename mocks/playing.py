"""Play a role from start to end, with the options that all mocks have."""

import argparse
import asyncio
import functools
from pathlib import Path
from typing import Any

from mocks import deviations, streams
from mocks import run as runs
from mocks.run import Run

VIOLATED = 1
"""The exit status if a peer violated a must, or did not follow a script."""
STATUSES = """\
The exit status is 0 after a normal end, which includes SIGINT, SIGTERM and SIGHUP; 1 if a peer
violated a must (with --judge) or did not follow a script; 2 for wrong usage; 3 if the mock could
not listen or connect. A role can have further statuses.
"""
_PASSES = 10  # passes of the event loop, enough to read what the system has already received


def parser(role: str, module: Any, program: str) -> argparse.ArgumentParser:
    """Return the parser of the options of all mocks, and of one role's module."""
    # A fixed width, because asking for the terminal's width imports as much as a mock itself.
    width = functools.partial(argparse.RawDescriptionHelpFormatter, width=100)
    parser = argparse.ArgumentParser(
        prog=f"{program} {role}",
        description=module.__doc__,
        epilog=STATUSES,
        formatter_class=width,
        allow_abbrev=False,
    )
    address = parser.add_mutually_exclusive_group()
    address.add_argument("--listen", metavar="ADDR", help="HOST:PORT, port 0 for any, or unix:PATH")
    address.add_argument("--connect", metavar="ADDR", help="HOST:PORT or unix:PATH")
    parser.add_argument("--fault", metavar="NAME", action="append", default=[])
    parser.add_argument("--variant", metavar="NAME", action="append", default=[])
    parser.add_argument(
        "--lenient",
        metavar="NAME,…",
        default="",
        type=lambda names: [name for name in names.split(",") if name],
        help="forgive these violations, and report each one",
    )
    parser.add_argument(
        "--once", action="store_true", help="exit when the first connections have ended"
    )
    parser.add_argument(
        "--judge",
        action=argparse.BooleanOptionalAction,
        default=False,
        help="report violations by peers",
    )
    parser.add_argument(
        "--log", choices=["text", "json"], default="text", help="format of the log on stderr"
    )
    parser.add_argument(
        "-q", "--quiet", action="store_true", help="print only the address where the mock listens"
    )
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="also report each received message"
    )
    parser.add_argument(
        "--script",
        metavar="FILE",
        type=Path,
        help="send and expect messages as in FILE (see mocks/script.py)",
    )
    parser.add_argument(
        "--from",
        dest="capture",
        metavar="CAPTURE",
        type=Path,
        help="replay this role's side of a capture",
    )
    parser.add_argument(
        "--mutant", metavar="JSON", help="change messages by this mutant (conformance prove)"
    )
    module.options(parser)
    return parser


async def play(run: Run, module: Any, role: str, args: argparse.Namespace) -> int:
    """Play a role to its end; return the exit status. Cancelling this ends the mock normally."""
    for given in filter(None, (args.listen, args.connect)):
        for place in given.split(",") if not given.startswith("http") else ():
            streams.parse(place)
    if args.mutant:
        from mocks import mutants

        mutants.install(role, args.mutant)
    runs.current.set(run)
    peer = run.peer = deviations.deviating(role, args.fault, args.variant, args.lenient)
    if args.judge or args.verbose:
        from mocks.judging import Judging

        run.judging = Judging(role, run, args.verbose)
        run.observers.append(run.judging)
    player = None
    if args.script or args.capture:
        from mocks import capture_playback, script

        scripts = capture_playback.scripts(args.capture, role) if args.capture else []
        scripts += [script.read(args.script)] if args.script else []
        player = script.Player(role, run, scripts, args)
        run.observers.append(player)
        player.begin()
    main = (
        capture_playback.main(args, role, len(scripts)) if args.capture else module.main(args, peer)
    )
    status = 0
    try:
        status = await _until_over(run, main, args.once)
    finally:
        if run.judging:
            run.judging.end()
    violated = run.judging.musts if run.judging else 0
    return status or (VIOLATED if violated or (player and player.failures) else 0)


async def settle(run: Run) -> None:
    """Wait until all bytes that peers have sent are judged; then report this."""
    for _ in range(_PASSES):
        await asyncio.sleep(0)
    if run.judging:
        await asyncio.to_thread(run.judging.settle)
    run.tell("settled", "everything received so far is judged")


async def _until_over(run: Run, role: Any, once: bool) -> int:
    """Return the exit status of a role; 0 if the mock was ended from outside."""
    played: asyncio.Future[int] = asyncio.ensure_future(role)
    waiting: list[asyncio.Future[Any]] = [played]
    if once:
        waiting.append(asyncio.ensure_future(run.once()))
    try:
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    except asyncio.CancelledError:
        run.ending = True
    for future in waiting:
        future.cancel()
    results = await asyncio.gather(*waiting, return_exceptions=True)
    if isinstance(results[0], asyncio.CancelledError):
        return 0
    return played.result()
