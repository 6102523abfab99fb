"""Vexide's golden captures, schemas, requirements, codec and oracle against one another."""

import inspect
from pathlib import Path
from typing import Any

import pytest

from conformance import captures, locate, protocols, recordings
from conformance.codec import Frame
from conformance.collection import cases
from conformance.judge import judge_capture
from conformance.schemas import Schemas
from conformance.vexide import codec

PROTOCOL = protocols.load("vexide")
FOLDER = locate.folder("captures", "vexide")
assert FOLDER
ALL = sorted(FOLDER.glob("*.jsonl"))
GOLDEN = [path for path in ALL if not path.name.startswith("violation-")]
VIOLATIONS = [path for path in ALL if path.name.startswith("violation-")]
ROLES = list(PROTOCOL.roles)

each_golden = pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
each_violation = pytest.mark.parametrize("path", VIOLATIONS, ids=lambda path: path.stem)
each_message = pytest.mark.parametrize(
    "message", PROTOCOL.messages.values(), ids=lambda message: f"{message.sender}-{message.name}"
)


def frames(path: Path) -> list[tuple[str, Frame]]:
    """All frames of a capture, each with its sender."""
    decoders = {role: codec.Decoder() for role in ROLES}
    found = []
    for event in captures.read(path).events:
        if event.sender is not None and event.data is not None:
            found += [(event.sender, frame) for frame in decoders[event.sender].feed(event.data)]
    return found + [(role, frame) for role in ROLES for frame in decoders[role].end()]


# Captures and codec


@each_golden
def test_origin(path: Path) -> None:
    assert captures.read(path).origin == "golden"


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.stem)
def test_header(path: Path) -> None:
    capture = captures.read(path)
    assert capture.protocol == "vexide"
    assert capture.iut in (None, *ROLES)
    named = [*capture.requirements, *capture.extra.get("also", ())]
    assert named
    for requirement in named:
        assert requirement in PROTOCOL.requirements


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.stem)
def test_events_are_in_order(path: Path) -> None:
    times = [event.at for event in captures.read(path).events]
    assert times == sorted(times)


@each_golden
def test_bytes_decode_to_what_stands_beside_them(path: Path) -> None:
    session = recordings.read(path)
    assert not session.contradictions
    assert all(frame.name is not None for _, frame in frames(path))


@each_golden
def test_value_encodes_to_bytes_of_the_same_value(path: Path) -> None:
    for _, frame in frames(path):
        encoded = codec.encode(frame.value)
        [again] = codec.Decoder().feed(encoded)
        assert (again.name, again.raw) == (frame.name, encoded)
        assert repr(again.value) == repr(frame.value)  # 14 and 14.0 are not the same


@each_golden
@pytest.mark.parametrize("size", [1, 7])
def test_segmentation_changes_nothing(path: Path, size: int) -> None:
    for role in ROLES:
        data = b"".join(frame.raw for sender, frame in frames(path) if sender == role)
        decoder = codec.Decoder()
        cut = [
            frame
            for start in range(0, len(data), size)
            for frame in decoder.feed(data[start : start + size])
        ]
        assert cut + decoder.end() == [frame for sender, frame in frames(path) if sender == role]


# Captures, schemas and oracle


@each_golden
def test_golden_capture_has_no_finding(path: Path) -> None:
    capture = captures.read(path)
    judge = judge_capture(PROTOCOL, capture, [capture.iut] if capture.iut else ROLES)
    assert not judge.findings


@each_golden
def test_golden_messages_fit_their_schemas(path: Path) -> None:
    judged = captures.read(path).iut
    for sender, frame in frames(path):
        known = PROTOCOL.messages.get((sender, frame.name or ""))
        if known and judged in (None, sender):
            assert not PROTOCOL.schemas.errors(known.schema, frame.value)


@each_message
def test_message_has_a_golden_capture(message: protocols.MessageType) -> None:
    sent = {(sender, frame.name) for path in GOLDEN for sender, frame in frames(path)}
    assert (message.sender, message.name) in sent


@each_violation
def test_violation_is_found_and_nothing_else(path: Path) -> None:
    capture = captures.read(path)
    assert capture.iut
    assert capture.origin == "counterexample"
    judge = judge_capture(PROTOCOL, capture, [capture.iut])
    expected = {capture.extra["violates"], *capture.extra.get("also", ())}
    assert {finding.requirement for finding in judge.findings} == expected
    for finding in judge.findings:
        assert finding.event is not None
        assert capture.events[finding.event].sender == capture.iut


@each_violation
def test_violation_is_nothing_that_the_peer_did(path: Path) -> None:
    capture = captures.read(path)
    assert capture.iut
    peer = PROTOCOL.roles[capture.iut].peer
    assert not judge_capture(PROTOCOL, capture, [peer]).findings


def test_every_finding_of_the_oracle_names_a_requirement() -> None:
    """The oracle's requirements stand in it as plain strings; all of them exist."""
    source = inspect.getsource(PROTOCOL.oracle)
    areas = {requirement.area for requirement in PROTOCOL.requirements.values()}
    named = {
        word
        for line in source.splitlines()
        for word in line.split('"')[1::2]
        if word.partition(".")[0] in areas and "." in word and " " not in word
    }
    assert named
    assert named <= set(PROTOCOL.requirements)


# Schemas and requirements


@each_message
def test_message_has_a_schema_that_describes_itself(message: protocols.MessageType) -> None:
    schema = PROTOCOL.schemas.schema(message.schema)
    assert isinstance(schema.contents, dict)
    assert schema.contents.get("title")


def test_every_schema_is_used() -> None:
    used = {message.schema for message in PROTOCOL.messages.values()}
    assert {path for path in PROTOCOL.schemas.paths if not path.startswith("types/")} == used
    text = "".join((PROTOCOL.folder / path).read_text("utf-8") for path in PROTOCOL.schemas.paths)
    for path in PROTOCOL.schemas.paths:
        if path.startswith("types/"):
            assert Path(path).name in text


@each_message
def test_schema_requirements_bind_the_sender(message: protocols.MessageType) -> None:
    marks = _marks(PROTOCOL.schemas, message.schema)
    for mark in {*marks, PROTOCOL.schema_requirement}:
        assert message.sender in PROTOCOL.requirement(mark).binds


def _marks(schemas: Schemas, path: str) -> set[str]:
    """Every ``x-requirement`` of a schema file and of those that it refers to."""
    found: set[str] = set()
    seen: set[str] = set()

    def walk(node: Any) -> None:
        if isinstance(node, list):
            for item in node:
                walk(item)
        elif isinstance(node, dict):
            if isinstance(node.get("x-requirement"), str):
                found.add(node["x-requirement"])
            uri = node.get("$ref")
            if isinstance(uri, str) and uri not in seen:
                seen.add(uri)
                walk(schemas.schema(path).lookup(uri).contents)
            for item in node.values():
                walk(item)

    walk(schemas.schema(path).contents)
    return found


@pytest.mark.parametrize("path", PROTOCOL.schemas.paths)
def test_every_property_is_described(path: str) -> None:
    def walk(node: Any, where: str) -> None:
        if isinstance(node, list):
            for item in node:
                walk(item, where)
        elif isinstance(node, dict):
            for name, part in node.get("properties", {}).items():
                # The property that is the tag says what the message's own description says.
                if isinstance(part, dict) and "/" in where:
                    assert part.get("description") or "$ref" in part, f"{where}/{name}"
            for key, item in node.items():
                walk(item, f"{where}/{key}")

    walk(PROTOCOL.schemas.schema(path).contents, "")


@pytest.mark.parametrize("requirement", PROTOCOL.requirements.values(), ids=lambda entry: entry.id)
def test_requirement_is_well_formed(requirement: protocols.Requirement) -> None:
    area, _, slug = requirement.id.partition(".")
    assert area.islower()
    assert slug == slug.lower()
    assert slug.replace("-", "").isalnum()
    assert requirement.binds
    assert set(requirement.binds) <= set(ROLES)
    assert requirement.section
    assert requirement.text.endswith(".")
    assert requirement.origin in ("spec", "suite")


@pytest.mark.parametrize("name", ROLES)
def test_every_requirement_has_a_test_case(name: str) -> None:
    role = PROTOCOL.roles[name]
    testable = {entry.id for entry in PROTOCOL.binding(role) if entry.tested != "no"}
    assert testable - {case.requirement for case in cases(str(role))} == set()


@pytest.mark.parametrize("name", ROLES)
def test_every_test_case_decides_a_requirement_of_its_role(name: str) -> None:
    found = cases(f"vexide/{name}")
    assert len({case.id for case in found}) == len(found)
    for case in found:
        assert case.purpose, case.id
        assert name in PROTOCOL.requirement(case.requirement).binds, case.id
