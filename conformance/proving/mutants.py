"""Generates mutants of a role: what a schema forbids, and what may not follow what.

Each keyword of each message's schema is broken at a place in a golden message, and each message is
skipped, repeated and moved behind the next. Only what is wrong makes a mutant: what the codec can
write and the schema then refuses, and what the oracle finds in a golden session with that change.
What a table of the oracle waits for is skipped in any case: that shows by what does not follow.
"""

import random
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from conformance import course
from conformance.definitions import locate
from conformance.definitions.protocol import MessageType, Protocol, Role
from conformance.generation.kinds import NearMiss
from conformance.generation.misses import sampled_misses
from conformance.generation.nodes import UnsupportedSchema
from conformance.judging import captures
from conformance.judging.captures import Capture, Event
from conformance.judging.connections import judge_capture
from mocks.mutants import ALWAYS, ANY_KEY, DROP, LATER, PUT, REPEAT, SKIP, SWAP, WHEN, Mutant, place

_UNWRITTEN = (AttributeError, LookupError, TypeError, ValueError, struct.error)


@dataclass(frozen=True)
class Made:
    """A mutant and the requirement that it should be found to violate; empty where any will do."""

    mutant: Mutant
    requirement: str = ""


def made(protocol: Protocol, role: Role, number: int, seed: int) -> list[Made]:
    """Up to ``number`` mutants of a role, the same for the same seed."""
    drawn = random.Random(seed)
    golden = _golden(protocol)
    kinds = [*_invalid(protocol, role, golden, drawn), *_misplaced(protocol, role, golden)]
    whens = WHEN if _reconnects(role, golden) else (ALWAYS, LATER)
    everything = [
        replace(one, mutant=replace(one.mutant, when=when)) for one in kinds for when in whens
    ]
    return drawn.sample(everything, min(number, len(everything)))


def _reconnects(role: Role, golden: Sequence[Capture]) -> bool:
    """Whether one process of a role has several connections: it serves, or a session shows it."""
    several = (capture for capture in golden if len(capture.connections) > 1)
    shown = any(event.sender == role.name for capture in several for event in capture.events)
    return shown or (role.serves and role.transports[0] in ("tcp", "unix"))


def _golden(protocol: Protocol) -> list[Capture]:
    folder = locate.folder("captures", protocol.name)
    read = [captures.read(path) for path in sorted(folder.glob("*.jsonl"))] if folder else []
    return [capture for capture in read if capture.origin == "golden"]


def _misplaced(protocol: Protocol, role: Role, golden: Sequence[Capture]) -> Iterator[Made]:
    """What a role must not leave out, say twice or say too late."""
    steps = {step for each in course.courses(protocol) for _, step, _ in each.rows()}
    for name in [name for sender, name in protocol.messages if sender == role.name]:
        for act in (SKIP, REPEAT, SWAP):
            violated = _misplacing_violates(protocol, role, golden, Mutant(name, act))
            if violated or (act == SKIP and (role.name, name) in steps):
                yield Made(Mutant(name, act), violated)


def _misplacing_violates(
    protocol: Protocol, role: Role, golden: Sequence[Capture], mutant: Mutant
) -> str:
    """The requirement that a golden session violates with the change; empty if none does."""
    for capture in golden:
        if capture.extra.get("fragment"):
            continue
        for events in _rearranged(capture.events, role.name, mutant):
            changed = replace(capture, events=tuple(events))
            if found := judge_capture(protocol, changed, [role.name]).findings:
                return found[0].requirement
    return ""


def _rearranged(events: Sequence[Event], party: str, mutant: Mutant) -> Iterator[Sequence[Event]]:
    """The session with each of a party's messages of one kind skipped, repeated or moved."""
    for at, event in enumerate(events):
        if event.sender != party or event.message != mutant.message:
            continue
        if mutant.act == SKIP:
            yield [*events[:at], *events[at + 1 :]]
        elif mutant.act == REPEAT:
            yield [*events[:at], event, *events[at:]]
        else:
            later = range(at + 1, len(events))
            after = next((n for n in later if _same_way(events[n], event)), None)
            if after is not None:
                yield [*events[:at], *events[at + 1 : after + 1], event, *events[after + 1 :]]


def _same_way(event: Event, other: Event) -> bool:
    same = (event.sender, event.connection) == (other.sender, other.connection)
    return same and event.data is not None


def _invalid(
    protocol: Protocol, role: Role, golden: Sequence[Capture], drawn: random.Random
) -> Iterator[Made]:
    """What a schema forbids: each keyword at each place broken in one way, drawn of all."""
    values: dict[str, list[Any]] = {}
    for event in (event for capture in golden for event in capture.events):
        if event.sender == role.name and event.message:
            values.setdefault(event.message, []).append(event.value)
    for message in protocol.messages.values():
        if message.sender != role.name or message.name not in values:
            continue
        schema = protocol.schemas.schema(message.schema)
        # One that is not for this role, or that only its session makes right, is left out.
        right = [value for value in values[message.name] if not schema.errors(value)]
        seen = set()
        for kind in _kinds(protocol, message):
            for miss in drawn.sample(kind, len(kind)):
                found = [
                    one
                    for one in _fitted(protocol, message, miss, right)
                    if (one.mutant.act, one.mutant.path, miss.keyword) not in seen
                ]
                seen |= {(one.mutant.act, one.mutant.path, miss.keyword) for one in found}
                yield from found
                if found:
                    break


def _kinds(protocol: Protocol, message: MessageType) -> list[list[NearMiss]]:
    try:
        return list(sampled_misses(protocol.schemas.schema(message.schema)))
    except UnsupportedSchema:
        return []


def _fitted(
    protocol: Protocol, message: MessageType, miss: NearMiss, values: Sequence[Any]
) -> list[Made]:
    """The mutants that break the same keyword in the first golden message that has the place."""
    for value in values:
        try:
            path, found = _place(value, miss.path)
        except _UNWRITTEN:
            continue
        candidates = [Mutant(message.name, PUT, path=path, value=miss.bad)]
        if isinstance(found, dict) and isinstance(miss.bad, dict):
            # The rest of the object stays as it is.
            gone = [
                Mutant(message.name, DROP, path=(*path, key)) for key in found.keys() - miss.bad
            ]
            more = miss.bad.keys() - found.keys()
            new = [
                Mutant(message.name, PUT, path=(*path, key), value=miss.bad[key]) for key in more
            ]
            candidates = gone + new
        made = [
            one for one in (_unlawful(protocol, message, it, value) for it in candidates) if one
        ]
        if made:
            return sorted(made, key=lambda one: str(one.mutant))
    return []


def _place(value: Any, path: Sequence[str | int]) -> tuple[tuple[str | int, ...], Any]:
    """Where a path leads to in a value; a key that it has not stands for any that it has.

    Raises LookupError or TypeError where it leads nowhere.
    """
    steps: list[str | int] = []
    for step in path:
        fits = not isinstance(value, dict) or step in value
        steps.append(step if fits else ANY_KEY)
        value = value[place(value, steps[-1])]
    return tuple(steps), value


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
            other = protocol.messages.get((message.sender, frame.name))
            # Whether another message of the role may stand there, its form does not tell.
            lawful = other and not protocol.schemas.errors(other.schema, frame.value)
            return None if lawful else Made(mutant)
        if errors := protocol.schemas.errors(message.schema, frame.value):
            return Made(mutant, errors[0].requirement or protocol.schema_requirement)
    return None
