"""Run a reference mock; for its options type: conformance mock PROTOCOL/ROLE --help."""

import argparse
import os
import sys

from conformance.definitions import protocols


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("role", metavar="PROTOCOL/ROLE")
    parser.add_argument("options", nargs=argparse.REMAINDER, help="options of the mock")


def execute(args: argparse.Namespace) -> int:
    protocols.load(args.role.partition("/")[0])
    command = ["--", *args.rest] if args.rest else []
    words = [sys.executable, "-m", "mocks", "--shown", args.role, *args.options, *command]
    sys.stdout.flush()
    os.execv(sys.executable, words)
