"""Generates mutants of a role: what a schema forbids, and what a table does not expect.

Each keyword of each message's schema is broken at a place in a golden message, and each message
that a table of its oracle knows is skipped, repeated and moved behind the next. A change that the
codec cannot write, or that is lawful once it is written, is not a mutant.
"""

import random
import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import hypothesis

from conformance import captures, course, locate
from conformance.generation.misses import NearMiss, near_misses
from conformance.generation.nodes import UnsupportedSchema
from conformance.protocols import MessageType, Protocol, Role
from mocks.mutants import DROP, PUT, REPEAT, SKIP, SWAP, WHEN, Mutant

DRAWN = 300  # near misses of each message from which one of each kind is kept
_UNWRITTEN = (AttributeError, LookupError, TypeError, ValueError, struct.error)


@dataclass(frozen=True)
class Made:
    """A mutant and the requirement that it should be found to violate; empty where any will do."""

    mutant: Mutant
    requirement: str = ""


def made(protocol: Protocol, role: Role, number: int, seed: int) -> list[Made]:
    """Up to ``number`` mutants of a role, the same for the same seed."""
    kinds = [*_invalid(protocol, role, seed), *_misplaced(protocol, role)]
    everything = [
        replace(one, mutant=replace(one.mutant, when=when)) for one in kinds for when in WHEN
    ]
    drawn = random.Random(seed)
    return drawn.sample(everything, min(number, len(everything)))


def _misplaced(protocol: Protocol, role: Role) -> Iterator[Made]:
    """The messages of a role that its tables know, or all of them where it has no table."""
    sent = [name for sender, name in protocol.messages if sender == role.name]
    steps = {step for each in course.courses(protocol) for _, step, _ in each.rows()}
    known = [name for name in sent if (role.name, name) in steps] or sent
    for name in known:
        for act in (SKIP, REPEAT, SWAP):
            yield Made(Mutant(name, act))


def _invalid(protocol: Protocol, role: Role, seed: int) -> Iterator[Made]:
    golden = _golden(protocol, role)
    for message in protocol.messages.values():
        if message.sender != role.name or message.name not in golden:
            continue
        seen = set()
        for miss in _misses(protocol, message, seed):
            for found in _fitted(protocol, message, miss, golden[message.name]):
                what = (found.mutant.act, found.mutant.path, miss.keyword)
                if what not in seen:
                    seen.add(what)
                    yield found


def _golden(protocol: Protocol, role: Role) -> dict[str, list[Any]]:
    """The values of golden messages, by name."""
    folder = locate.folder("captures", protocol.name)
    found: dict[str, list[Any]] = {}
    for path in sorted(folder.glob("*.jsonl")) if folder else []:
        capture = captures.read(path)
        for event in capture.events if capture.origin == "golden" else ():
            if event.sender == role.name and event.message:
                found.setdefault(event.message, []).append(event.value)
    return found


def _misses(protocol: Protocol, message: MessageType, seed: int) -> list[NearMiss]:
    """One near miss for each keyword at each place."""
    try:
        strategy = near_misses(protocol.schemas.schema(message.schema))
    except UnsupportedSchema:
        return []
    found: dict[tuple[Any, ...], NearMiss] = {}

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=DRAWN,
        database=None,
        deadline=None,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(strategy)
    def collect(miss: NearMiss) -> None:
        found.setdefault((miss.keyword, miss.path), miss)

    collect()
    return list(found.values())


def _fitted(
    protocol: Protocol, message: MessageType, miss: NearMiss, values: list[Any]
) -> Iterator[Made]:
    """The mutants that break the same keyword in the first golden message that has the place."""
    bad = miss.value
    for step in miss.path:
        bad = bad[step]
    schema = protocol.schemas.schema(message.schema)
    for value in values:
        if schema.errors(value):
            continue  # one that is not for this role, or that only its session makes right
        try:
            found = value
            for step in miss.path:
                found = found[step]
        except _UNWRITTEN:
            continue
        candidates = [Mutant(message.name, PUT, path=miss.path, value=bad)]
        if isinstance(found, dict) and isinstance(bad, dict):
            # The rest of the object stays as it is.
            gone = [
                Mutant(message.name, DROP, path=(*miss.path, key)) for key in found.keys() - bad
            ]
            more = bad.keys() - found.keys()
            new = [
                Mutant(message.name, PUT, path=(*miss.path, key), value=bad[key]) for key in more
            ]
            candidates = gone + new
        made = [
            one for one in (_unlawful(protocol, message, it, value) for it in candidates) if one
        ]
        if made:
            yield from sorted(made, key=lambda one: str(one.mutant))
            return


def _unlawful(protocol: Protocol, message: MessageType, mutant: Mutant, value: Any) -> Made | None:
    """A mutant, if the changed golden value can be written and is then found wrong."""
    try:
        data = protocol.codec.encode(mutant.changed(value))
    except _UNWRITTEN:
        return None
    decoder = protocol.decoder(message.sender)
    for frame in [*decoder.feed(data), *decoder.end()]:
        if frame.name is None:
            return Made(mutant, frame.requirement or protocol.schema_requirement)
        if frame.name != message.name:
            return Made(mutant)
        if errors := protocol.schemas.errors(message.schema, frame.value):
            return Made(mutant, errors[0].requirement or protocol.schema_requirement)
    return None
