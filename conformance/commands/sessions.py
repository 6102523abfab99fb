"""Select recorded sessions, and judge them; shared by check and show.

A capture names its own protocol. Before packet files (pcap, pcapng), HTTP archives (HAR) and raw
bytes, the command line must name the protocol.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from conformance.configuration import ConfigurationError
from conformance.definitions import protocols
from conformance.definitions.protocol import Protocol
from conformance.judging import captures, recordings
from conformance.judging.captures import CaptureError
from conformance.judging.recordings import Recording
from conformance.live.sides import Side, sides
from conformance.traffic import har, pcap, raw


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options that select sessions."""
    parser.add_argument("files", metavar="[PROTOCOL[/ROLE]] FILE", nargs="*")
    parser.add_argument("--role", metavar="ROLE", help="judge only this role")
    parser.add_argument(
        "--port",
        metavar="PORT,...",
        default="",
        help="the server's ports in packet files",
    )
    parser.add_argument(
        "--raw",
        metavar="ROLE=FILE",
        action="append",
        default=[],
        help="a file with the bytes that one side has sent; can be repeated",
    )


def judge_selected(args: argparse.Namespace, join: bool = False) -> Iterator[Recording]:
    """Judge the selected sessions one after another.

    With ``join`` they are one conversation, in this order. Raises ConfigurationError, CaptureError
    and Misjudged.
    """
    names = [str(name) for name in args.files]
    protocol, ends = _protocol(names)
    paths = [Path(name) for name in names[1 if protocol else 0 :]]
    if not paths and not args.raw:
        raise ConfigurationError("expected a file")
    conversation: Any = None
    for path in paths:
        if join and conversation is None:
            conversation = (protocol or _of(path)).conversation()
        if not pcap.is_one(path) and path.suffix != har.SUFFIX:
            yield recordings.read(path, args.role, conversation)
            continue
        if protocol is None:
            raise CaptureError(f"{path}: not a capture; name its PROTOCOL before it")
        if path.suffix == har.SUFFIX:
            foreign = har.read(path, protocol, ends[0])
        else:
            foreign = pcap.read(path, protocol, ends, _ports(args.port))
        yield recordings.judge_events(
            path,
            protocol,
            foreign.capture,
            foreign.numbers,
            args.role,
            conversation,
            foreign.left_out,
        )
    for word in args.raw:
        name, _, file = word.partition("=")
        if protocol is None or not file:
            raise ConfigurationError("--raw: expected PROTOCOL --raw ROLE=FILE")
        role = recordings.role_of(protocol, name)
        foreign = raw.read(Path(file), protocol, role)
        yield recordings.judge_events(
            Path(file), protocol, foreign.capture, foreign.numbers, role, left_out=foreign.left_out
        )


def _of(path: Path) -> Protocol:
    return recordings.protocol_of(path, captures.read(path))


def _protocol(names: list[str]) -> tuple[Protocol | None, list[Side]]:
    """Return the protocol of the first word, if it names one, and its pair's ports."""
    name, _, role = (names[0] if names else "").partition("/")
    if name not in protocols.names() or Path(names[0]).is_file():
        return None, []
    protocol = protocols.load(name)
    if role:
        protocol.role(role)
    return protocol, sides(protocol, role)


def _ports(text: str) -> list[int]:
    words = [word for word in text.split(",") if word]
    if not all(word.isdigit() for word in words):
        raise ConfigurationError(f"--port {text}: expected numbers with commas between them")
    return [int(word) for word in words]
