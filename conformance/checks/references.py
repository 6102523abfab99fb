"""Check quickly, at every load, that the files of a protocol agree with each other."""

import json
from collections.abc import Collection, Iterable, Iterator
from graphlib import CycleError, TopologicalSorter
from typing import Any
from urllib.parse import urljoin

from conformance.checks import sources
from conformance.definitions import locations
from conformance.definitions.protocol import Protocol, UnknownName
from conformance.definitions.protocols import BrokenProtocol
from conformance.judging import captures

HEADER = (
    *("capture", "protocol", "title", "origin", "requirements"),  # keys of every capture
    *("fragment", "iut", "violates", "also", "provoked"),  # keys of captures written by hand
    *("program", "test"),  # keys written by a run; the next line has the conclusion of its test
    *("expected", "came", "offending", "concluded"),
)
"""The keys that the header of a capture can have; see captures/README.md."""


def check(protocol: Protocol) -> None:
    """Raise BrokenProtocol with the first error in a protocol's files, if there is one."""
    found = list(problems(protocol))
    if found:
        more = f" (and {len(found) - 1} more: conformance check {protocol.name})"
        raise BrokenProtocol(found[0] + (more if len(found) > 1 else ""))


def problems(protocol: Protocol) -> Iterator[str]:
    """Yield the errors in the files of a protocol; each line begins with the file."""
    yield from _words(protocol)
    try:
        schemas = list(_schemas(protocol))
    except ValueError as error:
        schemas = [str(error)]
    yield from schemas
    yield from _captures(protocol)
    yield from sources.problems(protocol)


def _unknown(kind: str, names: Iterable[str], known: Collection[str]) -> Iterator[str]:
    return (str(UnknownName(kind, name, [*known])) for name in names if name not in known)


# protocol.yaml and requirements.yaml


def _words(protocol: Protocol) -> Iterator[str]:
    file = protocol.folder / "protocol.yaml"
    ids, parties = protocol.requirements, protocol.parties
    for problem in _unknown("requirement", [protocol.schema_requirement], ids):
        yield f"{file}: schema_requirement: {problem}"
    cut = protocol.segmentation_requirement
    for problem in _unknown("requirement", [cut] if cut else [], ids):
        yield f"{file}: segmentation_requirement: {problem}"
    for feature, named in protocol.features.items():
        for problem in _unknown("requirement", named, ids):
            yield f"{file}: features.{feature}: {problem}"
    for setting in (*protocol.timings.values(), *protocol.ixit.values()):
        for problem in _unknown("role", setting.roles, protocol.roles):
            yield f"{file}: {setting.name}: roles: {problem}"
    for message in protocol.messages.values():
        for problem in _unknown("party", [message.sender], parties):
            yield f"{file}: messages: {message.name}: from: {problem}"
        for problem in _unknown("feature", filter(None, [message.feature]), protocol.features):
            yield f"{file}: messages: {message.name}: feature: {problem}"
        for problem in _unknown("requirement", filter(None, [message.handled]), ids):
            yield f"{file}: messages: {message.name}: handled: {problem}"
        for problem in _unknown("party", message.to, parties):
            yield f"{file}: messages: {message.name}: to: {problem}"
        for problem in _unknown("means", message.shown_by, _means(protocol, message.sender)):
            yield f"{file}: messages: {message.name}: shown_by: {problem}"
    for group, members in protocol.groups.items():
        for problem in _unknown("message", members, {name for _, name in protocol.messages}):
            yield f"{file}: groups.{group}: {problem}"
    for role in protocol.roles.values():
        # A peer need not be a role, because it can be a program that only listens. Two roles that
        # are peers must name each other.
        facing = [other.name for other in protocol.roles.values() if other.peer == role.name]
        for problem in _unknown("peer", [role.peer], facing or [role.peer]):
            yield f"{file}: roles.{role.name}.peer: {problem}"
        for problem in _unknown("requirement", filter(None, [role.next_connection]), ids):
            yield f"{file}: roles.{role.name}.next_connection: {problem}"
        for problem in _unknown("role", role.channels, protocol.roles):
            yield f"{file}: roles.{role.name}.channels: {problem}"
        if role.ports and len(role.ports) != len(role.channels):
            yield f"{file}: roles.{role.name}.ports: expected one for each of its channels"
    file = protocol.folder / "requirements.yaml"
    for entry in ids.values():
        for problem in _unknown("role", entry.binds, protocol.roles):
            yield f"{file}: {entry.id}: binds: {problem}"
        for problem in _unknown("requirement", entry.presumes, ids):
            yield f"{file}: {entry.id}: presumes: {problem}"
        for name in entry.presumes:
            if entry.level == "must" and name in ids and ids[name].level != "must":
                yield f"{file}: {entry.id}: a must cannot presume {name!r}, which is not a must"
    try:
        TopologicalSorter({entry.id: entry.presumes for entry in ids.values()}).prepare()
    except CycleError as error:
        # In a cycle, each requirement would be excused by another, and none would fail.
        one, *others, _ = reversed(error.args[1])
        way = f", by way of {', '.join(others)}" if others else ""
        yield f"{file}: {one}: presumes itself{way}"


def _means(protocol: Protocol, party: str) -> list[str]:
    """Return the programs, hooks and procedures of a role; empty for another party."""
    role = protocol.roles.get(party)
    tables = ("programs", "hooks", "procedures") if role else ()
    return [f"{table}.{name}" for table in tables for name in getattr(role, table)]


# Schemas


def _schemas(protocol: Protocol) -> Iterator[str]:
    """Yield the errors in schemas. Raises ValueError if a schema cannot be read."""
    file = protocol.folder / "protocol.yaml"
    known = dict.fromkeys(protocol.schemas.paths)
    for message in protocol.messages.values():
        for problem in _unknown("schema", [message.schema], known):
            yield f"{file}: messages: {message.name}: {problem}"
    for path in known:
        text = (protocol.folder / path).read_text("utf-8")
        for problem in _marks(protocol, path, json.loads(text), known):
            yield f"{protocol.folder / path}: {problem}"


def _marks(protocol: Protocol, path: str, node: Any, known: Collection[str]) -> Iterator[str]:
    """Yield the unknown requirements and files that one schema names, and its bare patterns."""
    if isinstance(node, list):
        for item in node:
            yield from _marks(protocol, path, item, known)
    elif isinstance(node, dict):
        mark, link = node.get("x-requirement"), node.get("$ref")
        if isinstance(mark, str):
            for problem in _unknown("requirement", [mark], protocol.requirements):
                yield f"x-requirement: {problem}"
        if isinstance(link, str):
            target = urljoin(path, link).partition("#")[0]
            for problem in _unknown("schema", [target], known):
                yield f"$ref: {problem}"
        if isinstance(node.get("pattern"), str) and not node.get("x-words"):
            yield f"{node['pattern']}: a pattern needs x-words, which describe it"
        for item in node.values():
            yield from _marks(protocol, path, item, known)


# Headers of captures


def _captures(protocol: Protocol) -> Iterator[str]:
    folder = locations.folder("captures", protocol.name)
    for path in sorted(folder.glob("*.jsonl")) if folder else []:
        try:
            with path.open(encoding="utf-8") as file:
                header = json.loads(file.readline())
        except (OSError, ValueError) as error:
            yield f"{path}:1: {error}"
            continue
        for problem in _header(protocol, header):
            yield f"{path}:1: {problem}"


def _header(protocol: Protocol, header: Any) -> Iterator[str]:
    if not isinstance(header, dict):
        yield "expected the header of a capture, a JSON object"
        return
    yield from _unknown("key", header, HEADER)
    if header.get("protocol") != protocol.name:
        yield f"protocol: expected {protocol.name!r}; received {header.get('protocol')!r}"
    yield from _unknown("origin", [str(header.get("origin"))], captures.ORIGINS)
    yield from _unknown("role", [header["iut"]] if "iut" in header else [], protocol.roles)
    named = [name for key in ("requirements", "also", "provoked") for name in header.get(key, [])]
    named += [header["violates"]] if "violates" in header else []
    yield from _unknown("requirement", named, protocol.requirements)
    if "violates" in header and "iut" not in header:
        yield "'iut' is missing: the role that violates"
