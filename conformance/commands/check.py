"""Judge recorded sessions with schemas and oracle, or check a protocol's own files.

    conformance check CAPTURE...
    conformance check PROTOCOL[/ROLE] FILE... [--port PORT,...] [--raw ROLE=FILE]...
    conformance check PROTOCOL...

FILE is a capture, a packet file (pcap or pcapng) or an HTTP archive (HAR). The FILE of --raw has
the bytes that one side has sent. PORT is where the server listens. If a protocol has several pairs
of peers, ROLE selects the pair. If a capture names the role under test, only this role is judged;
otherwise every role is judged.

The command prints a line for each finding. The line begins with the file and the number of the
line, packet, entry or byte. A failure that only the recording test could see is printed, but does
not count.

Exit codes: 0 without findings of level must, 1 with such findings, 3 without any message.
With protocol names alone, each line describes an error in the protocol's files or a fault of its
oracle. The oracle must forgive messages that were in flight, so each golden session is also judged
in other orders. The exit code is then 0 without an error, else 2.
"""

import argparse

from conformance.checks import references
from conformance.commands import sessions
from conformance.conclusions import coverage_report
from conformance.definitions import protocols
from conformance.definitions.protocol import Protocol
from conformance.exits import CONFORMANT, INCONCLUSIVE, NONCONFORMANT, USAGE
from conformance.judging.coverage import Coverage
from conformance.reporting.coverage_text import line
from conformance.reporting.text import one_line


def options(parser: argparse.ArgumentParser) -> None:
    sessions.add(parser)
    parser.add_argument(
        "--join", action="store_true", help="the files are one conversation, in this order"
    )
    parser.add_argument("--strict", action="store_true", help="findings of level should count too")


def execute(args: argparse.Namespace) -> int:
    names = list(args.files)
    if args.raw or not names or not set(names) <= set(protocols.names()):
        return _judge(args)
    # Print every problem; the check at loading reports only the first.
    protocols.checks.discard(references.check)
    problems = [problem for name in names for problem in _problems(protocols.load(name))]
    for problem in problems:
        print(one_line(problem, 400))
    if not problems:
        print(f"{', '.join(names)}: no errors")
    return USAGE if problems else CONFORMANT


def _problems(protocol: Protocol) -> list[str]:
    """List the errors in a protocol's files; an inconsistent protocol cannot be imported."""
    if found := list(references.problems(protocol)):
        return found
    # The rules need pytest and every module of the protocol; judging a session needs neither.
    from conformance.checks import in_flight, rules

    return [*rules.breaches(protocol), *in_flight.problems(protocol)]


def _judge(args: argparse.Namespace) -> int:
    counted = {"must": 0, "should": 0, "may": 0}
    read = messages = wrong = left = concluded = 0
    coverage: dict[str, Coverage] = {}
    for session in sessions.judge_selected(args, args.join):
        read += 1
        messages += session.messages
        name, shown = session.protocol.name, session.coverage
        coverage[name] = coverage[name] | shown if name in coverage else shown
        wrong += len(session.contradictions)
        for contradiction in session.contradictions:
            print(f"{session.where(contradiction.event)}: capture: {one_line(contradiction.text)}")
        left += len(session.inconclusive)
        for finding in (*session.findings, *session.inconclusive):
            level = "inconclusive" if finding.inconclusive else session.level(finding)
            if not finding.inconclusive:
                counted[level] += 1
            text = one_line(finding.message, 400)
            print(f"{session.where(finding.event)}: {finding.requirement} ({level}): {text}")
        for finding in session.conclusion_finding:
            concluded += 1
            text = one_line(finding.message, 400)
            print(f"{session.where(finding.event)}: {finding.requirement} (by its test): {text}")
        for text in session.left_out:
            print(f"{session.path}: not judged: {one_line(text, 400)}")
    for name, shown in coverage.items():
        for side in coverage_report.live_coverage(name, shown)["sides"]:
            print(f"shown: {line(side)}")
    print(_summary(read, messages, counted, wrong, left))
    if concluded:
        print(
            "by its test: the recorded bytes alone do not show this; run the test to reproduce it"
        )
    if wrong or counted["must"] or (args.strict and counted["should"]):
        return NONCONFORMANT
    return CONFORMANT if messages else INCONCLUSIVE


def _summary(captures: int, messages: int, counted: dict[str, int], wrong: int, left: int) -> str:
    found = ", ".join(f"{number} {level}" for level, number in counted.items() if number)
    parts = [
        _plural(captures, "capture"),
        _plural(messages, "message") + " judged",
        _plural(sum(counted.values()), "finding") + (f" ({found})" if found else ""),
    ]
    if left:
        parts.append(f"{left} inconclusive")
    if wrong:
        parts.append(_plural(wrong, "event") + " not matching the bytes")
    if not (messages or sum(counted.values())):
        parts.append("nothing was judged: no message of a judged role")
    return ", ".join(parts)


def _plural(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
