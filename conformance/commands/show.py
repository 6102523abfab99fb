"""Show a capture as a readable message ladder, with what it violates."""

import argparse
import shutil
from pathlib import Path

from conformance import recordings
from conformance.recordings import Recording
from conformance.reporting import ladder_text
from conformance.reporting.text import one_line


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("capture", metavar="CAPTURE", type=Path)
    parser.add_argument("--bytes", action="store_true", help="every message in hex as well")
    parser.add_argument("--role", metavar="ROLE", help="judge this role, whoever was under test")


def execute(args: argparse.Namespace) -> int:
    session = recordings.read(args.capture, args.role)
    capture = session.capture
    print(one_line(capture.title, 400))
    judged = "all roles" if len(session.judged) > 1 else session.judged[0]
    print(f"{capture.protocol}, {one_line(capture.origin, 40)}, judged: {judged}")
    if capture.requirements:
        print(one_line(f"requirements: {', '.join(capture.requirements)}", 400))
    print()
    marks = ladder_text.marks(session.findings, session.protocol)
    for contradiction in session.contradictions:
        marks.setdefault(contradiction.event, []).append(contradiction.text)
    width = shutil.get_terminal_size((120, 24)).columns
    right = session.judged[0] if len(session.judged) == 1 else _serving(session)
    for line in ladder_text.ladder(
        capture.events, right, width=width, dump=args.bytes, marks=marks
    ):
        print(line)
    return 0


def _serving(session: Recording) -> str:
    """The role that stands at the right where none was under test: the one that is waited for."""
    roles = session.protocol.roles.values()
    return next((role.name for role in roles if role.serves), next(iter(session.protocol.roles)))
