"""Show a capture as a readable message ladder, with what it violates.

Or, with --course PROTOCOL, the tables of what may follow what in the sessions of a protocol.
"""

import argparse
import shutil
from pathlib import Path

from conformance import protocols, recordings
from conformance.configuration import ConfigurationError
from conformance.course import courses
from conformance.recordings import Recording
from conformance.reporting import course_text, ladder_text
from conformance.reporting.text import one_line


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("capture", metavar="CAPTURE", type=Path, nargs="?")
    parser.add_argument("--course", metavar="PROTOCOL", help="what may follow what, as a table")
    parser.add_argument("--bytes", action="store_true", help="every message in hex as well")
    parser.add_argument("--role", metavar="ROLE", help="judge this role, whoever was under test")


def execute(args: argparse.Namespace) -> int:
    if (args.capture is None) == (args.course is None):
        raise ConfigurationError("show: either a CAPTURE or --course PROTOCOL was expected")
    if args.course:
        protocol = protocols.load(args.course)
        print("\n\n".join(course_text.drawn(course, protocol) for course in courses(protocol)))
        return 0
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
