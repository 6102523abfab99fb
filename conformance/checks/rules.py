"""Check the rules of a well-made protocol that are too slow for every load.

The rules test captures, codec and oracle against each other. They collect the test cases of each
role, and import its mock with faults and variants. Each rule yields lines that begin with their
subject: a file below the set of protocols, a requirement, or a role.
"""

import importlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from conformance import configuration
from conformance.codec import Datagrams, Frame
from conformance.configuration import ConfigurationError
from conformance.course import Violates, Walk, courses
from conformance.definitions import locations
from conformance.definitions.protocol import Protocol, Role, UnknownName
from conformance.judging import captures, recordings
from conformance.judging.captures import Capture, CaptureError
from conformance.judging.connections import judge_capture
from conformance.judging.judge import Finding
from conformance.running.collection import CollectionError, cases
from mocks import deviations

SUBTLE = 3  # one fault in three, or more, must be visible only in rare circumstances


def breaches(protocol: Protocol) -> Iterator[str]:
    """Yield every breach of the rules by a protocol."""
    yield from _requirements(protocol)
    yield from _schemas(protocol)
    yield from _captures(protocol)
    yield from _courses(protocol)
    for role in protocol.roles.values():
        yield from _cases(protocol, role)
        yield from _mock(protocol, role)


def _requirements(protocol: Protocol) -> Iterator[str]:
    for entry in protocol.requirements.values():
        if not entry.text.endswith("."):
            yield f"{entry.id}: its text does not end with a full stop"
        if not entry.section:
            yield f"{entry.id}: its section is empty"


# Schemas


def _schemas(protocol: Protocol) -> Iterator[str]:
    contents = {path: protocol.schemas.schema(path).contents for path in protocol.schemas.paths}
    texts = [json.dumps(schema) for schema in contents.values()]
    texts += [file.read_text("utf-8") for file in _modules(protocol)]
    sent = {message.schema for message in protocol.messages.values()}
    for path, schema in contents.items():
        file = f"schemas/{protocol.name}/{path}"
        if not (isinstance(schema, dict) and schema.get("title")):
            yield f"{file}: it has no title"
        for where in _undescribed_properties(schema):
            yield f"{file}: {where} has no description"
        if path not in sent and not any(Path(path).name in text for text in texts):
            yield f"{file}: it is not used by any message, schema or module"
    for message in protocol.messages.values():
        if message.sender not in protocol.roles:
            continue  # the peer, which no requirement binds
        for mark in _marks(protocol, message.schema):
            if message.sender not in protocol.requirements[mark].binds:
                yield f"{message.name}: {mark} of its schema does not bind the {message.sender}"


def _modules(protocol: Protocol) -> Iterator[Path]:
    for package in (f"conformance.{protocol.name}", f"mocks.{protocol.name}"):
        for folder in importlib.import_module(package).__path__:
            yield from Path(folder).rglob("*.py")


def _undescribed_properties(node: Any, where: str = "") -> Iterator[str]:
    """The properties of a schema without a description, except those that are a reference."""
    if isinstance(node, list):
        for item in node:
            yield from _undescribed_properties(item, where)
    elif isinstance(node, dict):
        for name, part in node.get("properties", {}).items():
            # The tag of a message is described by the message's own description.
            if isinstance(part, dict) and where and not {"description", "$ref"} & part.keys():
                yield f"{where}/{name}"
        for key, item in node.items():
            yield from _undescribed_properties(item, f"{where}/{key}")


def _marks(protocol: Protocol, path: str) -> set[str]:
    """Return every ``x-requirement`` of a schema and of the schemas that it refers to."""
    root = protocol.schemas.schema(path)
    found = {protocol.schema_requirement}
    seen: set[str] = set()
    waiting: list[Any] = [root.contents]
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting += node
        elif isinstance(node, dict):
            waiting += node.values()
            if isinstance(node.get("x-requirement"), str):
                found.add(node["x-requirement"])
            link = node.get("$ref")
            if isinstance(link, str) and link not in seen:
                seen.add(link)
                waiting.append(root.lookup(link).contents)
    return found


# Captures


def _captures(protocol: Protocol) -> Iterator[str]:
    kinds: set[tuple[str, str]] = set()
    for path in _files(protocol, "*.jsonl"):
        file = f"captures/{protocol.name}/{path.name}"
        try:
            recording = recordings.read(path)
        except (CaptureError, recordings.Misjudged) as error:
            yield str(error).replace(str(path), file)
            continue
        capture = recording.capture
        times = [event.at for event in capture.events]
        if times != sorted(times):
            yield f"{file}: its events are not in chronological order"
        for contradiction in recording.contradictions:
            yield f"{file}:{recording.lines[contradiction.event]}: {contradiction.text}"
        if path.name.startswith("violation-"):
            problems = _violation(protocol, capture)
        else:
            kinds |= {(sender, str(frame.name)) for sender, frame in _frames(protocol, capture)}
            problems = _check_golden(protocol, capture, recording)
        yield from (f"{file}: {problem}" for problem in problems)
    for sender, name in protocol.messages:
        if (sender, name) not in kinds:
            yield f"{name}: no golden capture contains this message of the {sender}"


def _check_golden(
    protocol: Protocol, capture: Capture, recording: recordings.Recording
) -> Iterator[str]:
    if capture.origin != "golden":
        yield f"expected the origin golden; received {capture.origin}"
    if not capture.requirements:
        yield "it names no requirement that it shows"
    for finding in recording.findings:
        yield f"it violates {finding.requirement}: {finding.message}"
    judge = judge_capture(protocol, capture, recording.judged)
    for name in sorted(judge.exercised - protocol.requirements.keys()):
        yield f"it exercises {name}, which does not exist"
    for party, data in _writes(capture).items():
        yield from _check_round_trip(protocol, capture, party, data)


def _violation(protocol: Protocol, capture: Capture) -> Iterator[str]:
    if capture.origin != "counterexample":
        yield f"expected the origin counterexample; received {capture.origin}"
    if capture.iut is None or "violates" not in capture.extra:
        yield "its header needs iut (the role) and violates (the requirement)"
        return
    declared = {capture.extra["violates"], *capture.extra.get("also", ())}
    found = {
        finding.requirement for finding in judge_capture(protocol, capture, [capture.iut]).findings
    }
    if missed := sorted(declared - found):
        yield f"{', '.join(missed)} was not found"
    if more := sorted(found - declared):
        yield f"{', '.join(more)} was found, and is not declared in also"
    others = [role for role in protocol.roles if role != capture.iut]
    for finding in judge_capture(protocol, capture, others).findings:
        if finding.requirement not in capture.extra.get("provoked", ()):
            yield f"its peer violates {finding.requirement}, which is not declared in provoked"


def _courses(protocol: Protocol) -> Iterator[str]:
    """Check an oracle's tables: senders, states, and a capture of each violation."""
    file = f"conformance/{protocol.name}/oracle.py"
    walked = _walked_rows(protocol)
    for course in courses(protocol):
        reached = {course.first}
        for _ in course.table:
            reached |= {
                (result.then or state) if isinstance(result, Violates) else result
                for state, _, result in course.rows()
                if state in reached
            }
        for state in sorted(course.table.keys() - reached):
            yield f"{file}: {course.of}: no row leads to the state '{state}'"
        for state, (sender, name), result in course.rows():
            row = f"{file}: {course.of}: '{state}': {sender} {name}"
            if sender not in protocol.parties:
                yield f"{row}: {UnknownName('party', sender, [*protocol.parties])}"
            elif isinstance(result, Violates) and (course.of, state, sender, name) not in walked:
                yield f"{row}: no capture violates {result.requirement} by this step"


def _walked_rows(protocol: Protocol) -> set[tuple[str, str, str, str]]:
    """Return the table rows that violation captures reach with a declared violation."""
    found: set[tuple[str, str, str, str]] = set()
    step = Walk.step

    def noted(walk: Walk, sender: str, name: str, **words: str) -> list[Finding]:
        state, row = walk.state, walk.course.row(walk.state, sender, name)
        findings = step(walk, sender, name, **words)
        if row and findings and findings[0].requirement in declared:
            found.add((walk.course.of, state, *row))
        return findings

    # An oracle keeps its walks private, so the method itself is replaced.
    with mock.patch.object(Walk, "step", noted):
        for path in _files(protocol, "violation-*.jsonl"):
            try:
                capture = captures.read(path)
            except CaptureError:
                continue  # the error is reported with the file
            declared = {capture.extra.get("violates"), *capture.extra.get("also", ())}
            judge_capture(protocol, capture, protocol.roles)
    return found


def _files(protocol: Protocol, pattern: str) -> list[Path]:
    folder = locations.folder("captures", protocol.name)
    return sorted(folder.glob(pattern)) if folder else []


def _frames(protocol: Protocol, capture: Capture) -> list[tuple[str, Frame]]:
    """Return all frames of a capture, each with its sender; each sender's frames are in order."""
    return [
        (party, frame)
        for party, data in _writes(capture).items()
        for frame in _decode(protocol, capture, party, data)
    ]


def _writes(capture: Capture) -> dict[str, list[bytes]]:
    """Return the writes of each party."""
    written: dict[str, list[bytes]] = {}
    for event in capture.events:
        if event.sender is not None and event.data is not None:
            written.setdefault(event.sender, []).append(event.data)
    return written


def _decode(protocol: Protocol, capture: Capture, party: str, data: list[bytes]) -> list[Frame]:
    decoder = protocol.decoder(party, capture.transport)
    return [frame for piece in data for frame in decoder.feed(piece)] + decoder.end()


def _check_round_trip(
    protocol: Protocol, capture: Capture, party: str, data: list[bytes]
) -> Iterator[str]:
    """Encode the decoded messages of a party again, and decode its bytes in other pieces."""
    frames = _decode(protocol, capture, party, data)
    written = []
    for frame in frames:
        try:
            known = (party, frame.name) in protocol.messages
            written.append(protocol.codec.encode(frame.value) if known else frame.raw)
        except ValueError as error:
            yield f"{frame.name} of the {party}: its value cannot be encoded: {error}"
            return
    again = _decode(protocol, capture, party, written)
    if _messages(protocol, party, again) != _messages(protocol, party, frames):
        yield f"the {party}'s messages change when they are encoded and decoded again"
    if isinstance(protocol.decoder(party, capture.transport), Datagrams):
        return
    whole = b"".join(data)
    for size in (1, 7):
        cut = [whole[at : at + size] for at in range(0, len(whole), size)]
        pieces = _decode(protocol, capture, party, cut)
        if _messages(protocol, party, pieces) != _messages(protocol, party, frames):
            yield f"the {party}'s messages change when they are read in pieces of {size} bytes"


def _messages(protocol: Protocol, party: str, frames: list[Frame]) -> list[tuple[str | None, str]]:
    """Return the messages among frames, in a form in which 1, 1.0 and true differ."""
    incidental = getattr(protocol.codec, "INCIDENTAL", ())

    def plain(node: Any) -> Any:
        if isinstance(node, dict):
            return {key: plain(item) for key, item in node.items() if key not in incidental}
        return [plain(item) for item in node] if isinstance(node, list) else node

    return [
        (frame.name, json.dumps(plain(frame.value), sort_keys=True))
        for frame in frames
        if (party, frame.name) in protocol.messages
    ]


# Test cases and mocks


def _cases(protocol: Protocol, role: Role) -> Iterator[str]:
    try:
        found = cases(role)
    except CollectionError as error:
        yield f"{role}: its test cases cannot be collected: {error}"
        return
    bound = protocol.requirements_for(role)
    for case in found:
        if not case.purpose:
            yield f"{role}: {case.id} has no docstring that states its purpose"
        if case.requirement not in {entry.id for entry in bound}:
            yield f"{role}: {case.id} decides {case.requirement!r}, which does not bind this role"
    ids = [case.id for case in found]
    for name in sorted({name for name in ids if ids.count(name) > 1}):
        yield f"{role}: two test cases have the id {name}"
    decided = {case.requirement for case in found}
    for entry in bound:
        needs_test = entry.tested != "no" and entry.decided_by == "test"
        if needs_test and entry.id not in decided:
            yield f"{role}: no test case decides {entry.id}"


def _mock(protocol: Protocol, role: Role) -> Iterator[str]:
    try:
        configuration.check_configuration(configuration.mock_configuration(role))
        faults, variants = deviations.faults(str(role)), deviations.variants(str(role))
    except (ConfigurationError, ValueError) as error:
        yield f"{role}: {error}"
        return
    bound = {entry.id: entry for entry in protocol.requirements_for(role)}
    for declared in [*faults.values(), *variants.values()]:
        if declared.requirement not in bound:
            yield f"{role}: {declared.name}: {declared.requirement!r} does not bind this role"
        if "\n" in declared.summary or not declared.summary.endswith("."):
            yield f"{role}: {declared.name} has no docstring of one line that ends with a full stop"
    violated = {fault.requirement for fault in faults.values()}
    for entry in bound.values():
        # Level may is a permission, which cannot be violated.
        if entry.tested != "no" and entry.level != "may" and entry.id not in violated:
            yield f"{role}: no fault violates {entry.id}"
        if entry.tested == "no" and entry.id in violated:
            yield f"{role}: a fault violates {entry.id}, which is not tested"
    subtle = sum(fault.subtle for fault in faults.values())
    if subtle * SUBTLE < len(faults):
        yield f"{role}: {subtle} of {len(faults)} faults are subtle; expected a third"
