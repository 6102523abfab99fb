"""Read and judge recorded sessions, and compare their decoded values with their bytes."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from conformance.codec import Frame
from conformance.definitions import protocols
from conformance.definitions.protocol import Protocol, UnknownName
from conformance.exits import SuiteFault
from conformance.judging import captures
from conformance.judging.captures import Capture, CaptureError
from conformance.judging.connections import judge_capture
from conformance.judging.coverage import Coverage
from conformance.judging.judge import Finding


class Misjudged(SuiteFault):
    """A finding whose requirement does not bind the role: a bug of the suite."""


@dataclass(frozen=True)
class Contradiction:
    """An event whose ``message`` or ``value`` does not match its bytes."""

    event: int
    text: str


@dataclass(frozen=True)
class Recording:
    """A recorded session with its findings.

    ``messages`` counts the messages of the judged roles. Events of ``capture`` whose bytes are
    exactly one message have its name and value, even if the file omits them. ``lines`` has the line
    of each event in the file, or its place in a file of another format. ``left_out`` lists the
    parts that were not judged.
    """

    path: Path
    protocol: Protocol
    capture: Capture
    judged: tuple[str, ...]
    findings: tuple[Finding, ...]
    inconclusive: tuple[Finding, ...]
    contradictions: tuple[Contradiction, ...]
    messages: int
    lines: tuple[int, ...]
    coverage: Coverage
    left_out: tuple[str, ...] = ()

    def where(self, event: int | None) -> str:
        """Format the place of an event as ``FILE:LINE``."""
        return f"{self.path}:{self.lines[event] if event is not None else 1}"

    @property
    def conclusion_finding(self) -> tuple[Finding, ...]:
        """The finding of the test that recorded this session.

        The file has this finding if the events alone do not show it, for example a timeout.
        """
        extra = self.capture.extra
        if "concluded" not in extra:
            return ()
        event = extra.get("offending")
        inside = isinstance(event, int) and 0 <= event < len(self.capture.events)
        came = str(extra.get("came"))
        text = f"expected {extra['expected']}; {came}" if "expected" in extra else came
        return (Finding(str(extra["concluded"]), text, event if inside else None),)

    def level(self, finding: Finding) -> str:
        return self.protocol.requirement(finding.requirement).level


def read(path: Path, role: str | None = None, conversation: Any = None) -> Recording:
    """Read and judge a capture: the given role, the role under test, or all roles.

    ``conversation`` is the state shared with the oracles of captures read before. Raises
    CaptureError if the file is no capture, or if its protocol or role does not exist. Raises
    Misjudged if a finding itself is wrong.
    """
    capture = captures.read(path)
    protocol = protocol_of(path, capture)
    # A capture that is still being written can have more lines by now.
    lines = _lines(path)[: len(capture.events)]
    for event, line in zip(capture.events, lines, strict=True):
        if event.sender is not None and event.sender not in protocol.parties:
            raise CaptureError(f"{path}:{line}: 'from' is {event.sender!r}; {_either(protocol)}")
    if capture.iut is not None and capture.iut not in protocol.roles:
        raise CaptureError(f"{path}:1: 'iut' is {capture.iut!r}; {_either(protocol)}")
    return judge_events(path, protocol, capture, lines, role, conversation)


def judge_events(
    path: Path,
    protocol: Protocol,
    capture: Capture,
    lines: Sequence[int],
    role: str | None = None,
    conversation: Any = None,
    left_out: Sequence[str] = (),
) -> Recording:
    """Judge a session that was read from a file, as `read` does.

    Raises Misjudged. Raises CaptureError if a role that sends nothing has sent bytes.
    """
    judged = _judged_roles(protocol, capture, role)
    mute = set(protocol.parties) - {sender for sender, _ in protocol.messages}
    for event, line in zip(capture.events, lines, strict=True):
        if event.sender in mute and event.data:
            raise CaptureError(f"{path}:{line}: a {event.sender} of {protocol.name} sends nothing")
    # Without an IUT, both peers are real and are judged together, like in a live session.
    roles = judged if capture.iut else tuple(protocol.roles)
    named = _NamedMessages(capture, judged)
    judge = judge_capture(protocol, capture, roles, conversation, named.took)
    findings = []
    for finding in judge.found:
        sender = capture.events[finding.event or 0].sender
        known = protocol.requirements.get(finding.requirement)
        if known is None or sender not in known.binds:
            wrong = "does not bind it" if known else "does not exist"
            raise Misjudged(
                f"{path}: a finding about {sender} is of {finding.requirement!r}, which {wrong}: "
                f"{finding.message}"
            )
        if sender in judged:
            findings.append(finding)
    return Recording(
        path,
        protocol,
        replace(capture, events=tuple(named.events)),
        judged,
        tuple(finding for finding in findings if not finding.inconclusive),
        tuple(finding for finding in findings if finding.inconclusive),
        tuple(named.contradictions),
        named.messages,
        tuple(lines),
        judge.coverage,
        (*_left_out(capture), *left_out),
    )


def _left_out(capture: Capture) -> Iterator[str]:
    """Yield a text about the events that this capture omits."""
    if not capture.gaps:
        return
    gaps = [capture.events[gap].details for gap in capture.gaps]
    events, size = (sum(gap.get(key, 0) for gap in gaps) for key in ("events", "bytes"))
    text = f"{events:,} events with {size:,} bytes, omitted from this file"
    yield f"{text}; later messages are judged one by one, without their order"


def protocol_of(path: Path, capture: Capture) -> Protocol:
    """The protocol that a capture names. Raises CaptureError."""
    try:
        return protocols.load(capture.protocol)
    except UnknownName as error:
        raise CaptureError(f"{path}:1: {error}") from error


def role_of(protocol: Protocol, name: str) -> str:
    """Return the role that is named as ``ROLE`` or ``PROTOCOL/ROLE``. Raises UnknownName."""
    return protocol.role(name.removeprefix(f"{protocol.name}/")).name


def _either(protocol: Protocol) -> str:
    return f"{' or '.join(protocol.roles)} was expected"


def _judged_roles(protocol: Protocol, capture: Capture, role: str | None) -> tuple[str, ...]:
    if role:
        return (role_of(protocol, role),)
    return (capture.iut,) if capture.iut else tuple(protocol.roles)


def _lines(path: Path) -> tuple[int, ...]:
    """The line numbers of the events."""
    with path.open(encoding="utf-8", newline="\n") as file:
        return tuple(number for number, line in enumerate(file, 1) if number > 1 and line.strip())


class _NamedMessages:
    """The messages that events name, compared with the messages in their bytes."""

    def __init__(self, capture: Capture, judged: tuple[str, ...]) -> None:
        self._capture = capture
        self._judged = judged
        self.events = list(capture.events)
        self.messages = 0
        self.contradictions: list[Contradiction] = []

    def took(self, index: int, frames: Sequence[Frame]) -> None:
        """Compare an event with the frames that its bytes complete."""
        event = self._capture.events[index]
        self.events[index] = captures.with_messages(event, frames)
        named = [(frame.name, frame.value) for frame in frames if frame.name is not None]
        if event.sender in self._judged:
            self.messages += len(named)
        # After a gap, bytes can belong to another protocol, because of an upgrade.
        if event.message is not None and (named or not self._capture.cut(index)):
            declared = (event.message, event.value)
            self.contradictions += [
                Contradiction(index, text) for text in _differences(declared, named)
            ]


def _differences(declared: tuple[str, Any], named: list[tuple[str, Any]]) -> Iterator[str]:
    if len(named) != 1:
        what = f"{len(named)} messages" if named else "no message"
        yield f"the event says {declared[0]}, and its bytes are {what}"
    elif declared[0] != named[0][0]:
        yield f"the event says {declared[0]}, and its bytes are {named[0][0]}"
    elif _canonical_text(declared[1]) != _canonical_text(named[0][1]):
        yield f"the value of {declared[0]} differs from its bytes"


def _canonical_text(value: Any) -> str:
    """Format a value so that 1, 1.0 and true differ, and the order of members does not matter."""
    return json.dumps(value, sort_keys=True)
