"""Replay a capture against an implementation.

The suite sends its own side of the capture unchanged, and judges the implementation's answers. If
the capture has several connections, they are replayed in the order in which the implementation
opens them. With --mock the reference mock answers.

Exit codes: 0 if no requirement of level must is violated, 1 if one is, 3 if nothing could be tried.
"""

import argparse
import asyncio
import shutil
from itertools import groupby
from pathlib import Path

from conformance.commands import options as options_of_iut
from conformance.configuration import Configuration, ConfigurationError
from conformance.definitions.protocol import Protocol
from conformance.exits import CONFORMANT, INCONCLUSIVE, NONCONFORMANT
from conformance.harness.instance import Instance
from conformance.iut import Iut
from conformance.judging import recordings
from conformance.judging.captures import Capture, CaptureError
from conformance.judging.recordings import Recording
from conformance.reporting import ladder_text
from conformance.reporting.text import one_line
from conformance.running.replay import corresponding_capture, has_pacing_message, replay
from conformance.running.testbed import Testbed
from conformance.session import Session
from conformance.verdicts import VIOLATIONS, Conclusion, Verdict, Violation, violation_verdict

_MAX_OTHERS = 100  # connections of the IUT that are skipped because they are not in the capture


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("capture", metavar="CAPTURE", type=Path)
    parser.add_argument(
        "--role", metavar="ROLE", help="the role under test, if the capture names none"
    )
    parser.add_argument("--bytes", action="store_true", help="also show every message in hex")
    parser.add_argument("--strict", action="store_true", help="violations of level should fail too")
    options_of_iut.add(parser)


def execute(args: argparse.Namespace) -> int:
    played = recordings.read(args.capture, args.role)
    if played.capture.extra.get("fragment"):
        raise CaptureError(f"{args.capture}: a list of messages, not a session, cannot be replayed")
    for text in played.left_out[:1] if played.capture.gaps else ():
        print(f"replayed up to a gap: {one_line(text.partition(';')[0], 400)}")
    role = _role(played, args)
    chosen = options_of_iut.iut_configuration(args, played.protocol.role(role), args.rest)
    return asyncio.run(_play(played, chosen, args))


def _role(played: Recording, args: argparse.Namespace) -> str:
    stated = played.capture.iut
    given = recordings.role_of(played.protocol, args.role) if args.role else None
    if stated and given and stated != given:
        raise ConfigurationError(f"{played.path}: the role under test is {stated}, not {given}")
    if role := stated or given:
        return role
    either = " or ".join(f"--role {name}" for name in played.protocol.roles)
    raise ConfigurationError(f"{played.path}: the capture names no role under test; give {either}")


async def _play(played: Recording, chosen: Configuration, args: argparse.Namespace) -> int:
    conclusion: Conclusion | None = None
    sessions: list[Session] = []
    try:
        async with Testbed(chosen) as testbed:
            iut = Iut(testbed, "")
            sessions = iut.sessions
            await _connections(played, iut)
    except Conclusion as raised:
        conclusion = raised
    return _print_results(played, sessions, conclusion, args)


async def _connections(played: Recording, iut: Iut) -> None:
    """Replay the connections in order, and reuse instances of the IUT as recorded."""
    capture = played.capture
    program = capture.extra.get("program")
    for _, numbers in groupby(capture.connections, key=capture.instance):
        async with iut.instance(program) as instance:
            parts = [capture.only_connection(number) for number in numbers]
            if iut.role.serves or len(parts) == 1:
                for part in parts:
                    async with iut.connect(instance, channel=_channel(part, iut)) as session:
                        await replay(session, part)
            else:
                await _replay_opened(iut, instance, parts, played.protocol)


async def _replay_opened(
    iut: Iut, instance: Instance, parts: list[Capture], protocol: Protocol
) -> None:
    """Replay the connections that the IUT opens, until no recorded one is left."""
    waited = [part for part in parts if has_pacing_message(protocol, part, iut.role.name)] or [
        *parts
    ]
    others = 0
    while waited:
        async with iut.connect(instance) as session:
            part = (
                await corresponding_capture(session, parts) if others < _MAX_OTHERS else waited[0]
            )
            if part is None:
                others += 1
                continue
            parts.remove(part)
            waited = [each for each in waited if each is not part]
            await replay(session, part)


def _channel(capture: Capture, iut: Iut) -> str:
    """Return the channel of the IUT that the capture uses; empty if there is only one."""
    speakers = {event.sender for event in capture.events}
    return next((channel for channel in iut.role.channels if channel in speakers), "")


def _print_results(
    played: Recording,
    sessions: list[Session],
    conclusion: Conclusion | None,
    args: argparse.Namespace,
) -> int:
    """Print the sessions, findings and conclusion; return the exit code."""
    verdicts: list[Verdict] = []
    for session in sessions:
        marks = ladder_text.marks(session.judge.findings, played.protocol)
        width = shutil.get_terminal_size((120, 24)).columns
        for line in ladder_text.ladder(
            session.events, session.role.name, width=width, dump=args.bytes, marks=marks
        ):
            print(line)
        print()
        for finding in session.judge.findings:
            level = played.protocol.requirement(finding.requirement).level
            verdicts.append(violation_verdict(level))
            text = one_line(finding.message, 400)
            print(f"{violation_verdict(level)}: {finding.requirement}: {text}")
    if conclusion is not None:
        requirement, verdict = _verdict(played, conclusion)
        verdicts.append(verdict)
        print(f"{verdict}: {f'{requirement}: ' if requirement else ''}{one_line(conclusion, 1000)}")
    bad = VIOLATIONS if args.strict else (Verdict.FAIL,)
    if any(verdict in bad for verdict in verdicts):
        return NONCONFORMANT
    if Verdict.WARN in verdicts:
        return CONFORMANT
    if conclusion is not None or not sessions:
        return INCONCLUSIVE
    if not any(session.received or session.ended for session in sessions):
        print(f"{Verdict.INCONCLUSIVE}: the IUT sent nothing that could be judged")
        return INCONCLUSIVE
    print("pass: the IUT violated no requirement")
    return CONFORMANT


def _verdict(played: Recording, conclusion: Conclusion) -> tuple[str, Verdict]:
    """Return the requirement that a conclusion is about (or an empty text), and the verdict."""
    if not isinstance(conclusion, Violation):
        return "", conclusion.verdict
    counterexample = played.capture.origin == "counterexample"
    if counterexample and len(played.capture.requirements) == 1:
        requirement = played.protocol.requirement(played.capture.requirements[0])
        return requirement.id, violation_verdict(requirement.level)
    return "", Verdict.FAIL
