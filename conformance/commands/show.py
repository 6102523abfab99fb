"""Show a recorded session as a readable message ladder, with its violations.

    conformance show CAPTURE
    conformance show PROTOCOL[/ROLE] FILE       packets (pcap, pcapng) or an HTTP archive (HAR)

With --follow, the command shows a capture while it is being written, until SIGINT. With --pcapng,
the session is written as packets for Wireshark. With --course PROTOCOL, the command reads no file.
It prints the protocol's tables of messages that can follow each other.
"""

import argparse
import os
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from conformance.commands import sessions
from conformance.configuration import ConfigurationError
from conformance.course import courses
from conformance.definitions import protocols
from conformance.definitions.protocol import Protocol
from conformance.judging import captures, recordings
from conformance.judging.connections import Connections
from conformance.judging.recordings import Recording
from conformance.reporting import course_text, ladder_text
from conformance.reporting.text import one_line
from conformance.traffic import pcapng

_POLL = 0.1  # seconds between checks for new lines: fast enough for a reader, and cheap


def options(parser: argparse.ArgumentParser) -> None:
    sessions.add(parser)
    parser.add_argument(
        "--course", metavar="PROTOCOL", help="print which message can follow which, as tables"
    )
    parser.add_argument("--bytes", action="store_true", help="also show every message in hex")
    parser.add_argument("--follow", action="store_true", help="continue while the capture grows")
    parser.add_argument(
        "--pcapng", metavar="FILE", type=Path, help="write the session as packets instead"
    )


def execute(args: argparse.Namespace) -> int:
    if bool(args.files or args.raw) == bool(args.course):
        raise ConfigurationError("show: expected a CAPTURE or --course PROTOCOL")
    if args.course:
        protocol = protocols.load(args.course)
        print(
            "\n\n".join(course_text.course_table(course, protocol) for course in courses(protocol))
        )
        return 0
    if args.follow:
        return _follow(args)
    for number, session in enumerate(sessions.judge_selected(args)):
        if args.pcapng and number:
            raise ConfigurationError("--pcapng: expected one session")
        if args.pcapng:
            _write(args.pcapng, session)
            continue
        print("\n" if number else "", end="")
        _show(session, args)
    return 0


def _write(path: Path, session: Recording) -> None:
    ports = ",".join(map(str, pcapng.write(path, session.capture, session.protocol)))
    print(f"{path}: written; the server's port is {ports}")


def _show(session: Recording, args: argparse.Namespace) -> None:
    capture = session.capture
    print(one_line(capture.title, 400))
    judged = "all roles" if len(session.judged) > 1 else session.judged[0]
    print(f"{capture.protocol}, {one_line(capture.origin, 40)}, judged: {judged}")
    if capture.requirements:
        print(one_line(f"requirements: {', '.join(capture.requirements)}", 400))
    for text in session.left_out:
        print(f"not judged: {one_line(text, 400)}")
    for finding in (*session.findings, *session.inconclusive, *session.conclusion_finding):
        if finding.event is None:
            print(one_line(f"found: {ladder_text.finding_text(finding, session.protocol)}", 400))
    print()
    found = [*session.findings, *session.inconclusive, *session.conclusion_finding]
    marks = ladder_text.marks(found, session.protocol)
    for contradiction in session.contradictions:
        marks.setdefault(contradiction.event, []).append(contradiction.text)
    right = session.judged[0] if len(session.judged) == 1 else _serving_role(session.protocol)
    for line in ladder_text.ladder(
        capture.events,
        right,
        width=_width(),
        dump=args.bytes,
        marks=marks,
        colour=_colour(),
    ):
        print(line)


def _width() -> int:
    return shutil.get_terminal_size((120, 24)).columns


def _colour() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def _serving_role(protocol: Protocol) -> str:
    """Return the role drawn at the right if no role was under test: the one that listens."""
    roles = protocol.roles.values()
    return next((role.name for role in roles if role.serves), next(iter(protocol.roles)))


def _follow(args: argparse.Namespace) -> int:
    """Show a growing capture, and judge each event when it is written."""
    if len(args.files) != 1 or args.raw or args.pcapng:
        raise ConfigurationError("--follow: expected one CAPTURE")
    path = Path(args.files[0])
    lines = _follow_lines(path)
    header = captures.header(path, next(lines))
    protocol = recordings.protocol_of(path, header)
    role = recordings.role_of(protocol, args.role) if args.role else header.iut
    right = role or _serving_role(protocol)
    judge = Connections(
        protocol,
        [header.iut] if header.iut else protocol.roles,
        fragment=bool(header.extra.get("fragment")),
        running=bool(header.extra.get("running")),
    )
    parties = [name for name in protocol.parties if name != right]
    drawn = ladder_text.Ladder(parties, right, _width(), args.bytes, _colour())
    print(f"{one_line(header.title, 400)}\n\n{drawn.head()}", flush=True)
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        event = captures.event(path, number + 1, line)
        frames, found = judge.take(number, event)
        if role and event.sender != role:
            found = []
        marks = ladder_text.marks(found, protocol).values()
        rungs = drawn.event(
            captures.with_messages(event, frames), [one for each in marks for one in each]
        )
        print("\n".join(rungs), flush=True)
    return 0


def _follow_lines(path: Path) -> Iterator[str]:
    """Yield each complete line of a file, and wait for more until the file is deleted."""
    with path.open(encoding="utf-8", newline="\n") as file:
        part = ""
        while True:
            part += file.readline()
            if part.endswith("\n"):
                yield part
                part = ""
            else:
                # Polling works on every file system; notifications of growing files do not.
                time.sleep(_POLL)
