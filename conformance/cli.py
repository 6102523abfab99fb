"""The command ``conformance``: runs a subcommand, and reports wrong usage in one line.

Modules that are slow to import are imported by the subcommands that need them.
"""

import argparse
import errno
import gc
import importlib
import io
import os
import shlex
import signal
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from conformance import __version__
from conformance.definitions import locations
from conformance.exits import (
    CONFORMANT,
    INTERRUPTED,
    SUITE_FAILED,
    USAGE,
    SuiteFault,
    WrongUsage,
    check_working_folder,
)

COMMANDS = {
    "list": "show protocols, roles, requirements, tests and faults",
    "run": "test an implementation, and write a report",
    "mock": "run a reference mock on its own",
    "replay": "replay a capture against an implementation",
    "check": "judge recorded sessions, or check a protocol's files",
    "proxy": "relay between two real peers, and judge both",
    "pair": "start two implementations against each other, and judge both",
    "compare": "show regressions and fixes between two reports",
    "report": "show several reports on one page, or merge the parts of one run",
    "campaign": "run many programs with many seeds, here or on a cluster",
    "prove": "show that the suite finds every fault of every mock",
    "show": "print a capture as a message ladder",
    "completion": "print a script that lets a shell complete these commands",
    "init": "write a commented conformance.toml",
}


class _Parser(argparse.ArgumentParser):
    """A parser that reports an error in one line; --help shows the whole usage."""

    def error(self, message: str) -> NoReturn:
        self.exit(USAGE, f"{self.prog}: {message} (see {self.prog} --help)\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    if argv is None:
        _withstand_closed_streams()
    # Messages and transcripts are many objects without cycles. The default thresholds make the
    # garbage collector scan them repeatedly, which costs a sixth of a run's time. The first two
    # bound a scan to 40,000 new objects, because the event loop stands still during it.
    gc.set_threshold(10_000, 4, 2500)
    _handle_signals()
    status = _execute(words)
    return USAGE if _flush() and status == CONFORMANT else status


def _execute(words: list[str]) -> int:
    """Run one command; return the exit code, and report errors in one line."""
    try:
        return _command(words)
    except WrongUsage as error:
        print(f"conformance: {error}", file=sys.stderr)
        return USAGE
    except SuiteFault as error:
        print(f"conformance: the suite itself failed: {error}", file=sys.stderr)
        return SUITE_FAILED
    except KeyboardInterrupt:
        # If `exec` was interrupted, as in the module dataclasses, Python would end by SIGINT. A
        # further call of `exec` resets this.
        exec("")
        print("conformance: interrupted", file=sys.stderr)
        return INTERRUPTED
    except Exception:
        try:
            check_working_folder()
        except WrongUsage as error:
            print(f"conformance: {error}", file=sys.stderr)
            return USAGE
        traceback.print_exc()
        return SUITE_FAILED


def _command(words: list[str]) -> int:
    check_working_folder()
    words = _add_sets(words)
    parser = _parser(words)
    args, rest = split_words(words)
    parsed, unknown = parser.parse_known_args(args)
    if unknown:
        _report_unknown(parser, words[0], unknown, has_command=len(args) < len(words))
    parsed.rest = rest
    status: int = parsed.execute(parsed)
    return status


def _handle_signals() -> None:
    """Let SIGTERM and SIGHUP end a command like Ctrl-C, so that it leaves no process behind.

    A shell starts background jobs with SIGINT ignored, and nohup ignores SIGHUP.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.default_int_handler)


class _Output(io.FileIO):
    """A standard stream that drops all output after its reader has closed or its disk is full."""

    failure = ""
    """Why output could not be written; empty if all was written or the reader has closed."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data) or 0
        except OSError as error:
            if error.errno not in (errno.EPIPE, errno.EBADF):
                self.failure = error.strerror or str(error)
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())
            return memoryview(data).nbytes


def _flush() -> str:
    """Flush standard output; return, and report, why some of the output could not be written."""
    sys.stdout.flush()
    raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    failure = raw.failure if isinstance(raw, _Output) else ""
    if failure:
        print(f"conformance: standard output cannot be written: {failure}", file=sys.stderr)
    return failure


def _withstand_closed_streams() -> None:
    """Keep the verdict independent of readers that close our output."""
    # If a stream is closed at start, its number would be reused for some file or socket.
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(number)
    for name, number in (("stdout", 1), ("stderr", 2)):
        before = getattr(sys, name)
        if before is not None:
            before.flush()
        terminal = os.isatty(number)
        raw = io.BufferedWriter(_Output(number, "wb", closefd=False))
        encoding = before.encoding if before is not None else "utf-8"
        stream = io.TextIOWrapper(
            raw, encoding, "backslashreplace", line_buffering=terminal or number == 2
        )
        setattr(sys, name, stream)


def _parser(words: list[str]) -> argparse.ArgumentParser:
    """Return the parser of all commands; only the requested one is imported."""
    parser = _Parser(
        prog="conformance",
        description="Test an implementation of a robot protocol in any language.",
    )
    parser.add_argument("--version", action="version", version=f"conformance {__version__}")
    subparsers = parser.add_subparsers(metavar="COMMAND", required=True)
    for name, summary in COMMANDS.items():
        subparser = subparsers.add_parser(
            name,
            help=summary,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        if name in words[:1]:
            module = importlib.import_module(f"conformance.commands.{name}")
            if locations.sets()[1:]:  # self-tests check the suite's own protocols
                protocols = importlib.import_module("conformance.definitions.protocols")
                protocols.checks.add(importlib.import_module("conformance.checks.references").check)
            subparser.description = module.__doc__
            subparser.add_argument(
                "--protocols",
                metavar="DIR",
                action="append",
                help="a folder with protocols of your own (schemas, captures, mocks, conformance)",
            )
            module.options(subparser)
            subparser.set_defaults(execute=module.execute)
    return parser


def _report_unknown(
    parser: argparse.ArgumentParser, command: str, unknown: list[str], *, has_command: bool
) -> NoReturn:
    """Report unknown words, which are often an IUT's command without the -- before it."""
    if command in ("run", "replay") and not unknown[0].startswith("-") and not has_command:
        parser.error(f"put the command of the IUT after --, as in: -- {shlex.join(unknown)}")
    parser.error(f"unrecognized arguments: {' '.join(unknown)}")


def split_words(words: list[str]) -> tuple[list[str], list[str]]:
    """Split words at the first ``--``, before the command of an IUT."""
    if "--" not in words:
        return words, []
    place = words.index("--")
    return words[:place], words[place + 1 :]


def _add_sets(words: list[str]) -> list[str]:
    """Move ``--protocols`` to the front, and register its folders.

    The folders must be known before names of protocols are parsed.
    """
    parser = _Parser(prog="conformance", add_help=False, allow_abbrev=False)
    parser.add_argument("--protocols", metavar="DIR", action="append", default=[])
    ours, _ = split_words(words)
    found, others = parser.parse_known_args(ours)
    for directory in found.protocols:
        if not (Path(directory) / "schemas").is_dir():
            raise WrongUsage(f"--protocols {directory}: expected a folder that contains schemas")
        locations.add(Path(directory))
    locations.extend_packages()
    sets = [word for directory in found.protocols for word in ("--protocols", directory)]
    return [*others[:1], *sets, *others[1:], *words[len(ours) :]]
