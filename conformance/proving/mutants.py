"""Generate mutants of a role: messages that a schema forbids, and wrong orders of messages.

For each keyword of a message's schema, one golden message is changed so that it breaks the keyword.
Each message is also skipped, repeated, and moved after the next message. The schema has to refuse
a changed value, and the codec has to write it. The oracle has to find a wrong order in a golden
session. Messages in a table of the oracle are always skipped, because sessions cannot continue
without them.
"""

import random
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from conformance import course
from conformance.definitions import locations
from conformance.definitions.protocol import MessageType, Protocol, Role
from conformance.generation.kinds import NearMiss
from conformance.generation.misses import sampled_misses
from conformance.generation.nodes import UnsupportedSchema
from conformance.judging import captures
from conformance.judging.captures import Capture, Event
from conformance.judging.connections import judge_capture
from mocks.mutants import ALWAYS, ANY_KEY, DROP, LATER, PUT, REPEAT, SKIP, SWAP, WHEN, Mutant, place

_CODEC_ERRORS = (AttributeError, LookupError, TypeError, ValueError, struct.error)
"""The errors of a codec that cannot write a value."""


@dataclass(frozen=True)
class MutantCase:
    """A mutant, and the requirement that the suite should report; empty means any."""

    mutant: Mutant
    requirement: str = ""


def make_mutants(protocol: Protocol, role: Role, number: int, seed: int) -> list[MutantCase]:
    """Return up to ``number`` mutants of a role; the same seed gives the same mutants."""
    drawn = random.Random(seed)
    golden = _golden_sessions(protocol)
    kinds = [*_invalid(protocol, role, golden, drawn), *_order_mutants(protocol, role, golden)]
    whens = WHEN if _can_reconnect(role, golden) else (ALWAYS, LATER)
    everything = [
        replace(one, mutant=replace(one.mutant, when=when)) for one in kinds for when in whens
    ]
    return drawn.sample(everything, min(number, len(everything)))


def _can_reconnect(role: Role, golden: Sequence[Capture]) -> bool:
    """Return whether one process of a role has several connections.

    It has several if the role is a server on a stream, or if a golden session shows several.
    """
    several = (capture for capture in golden if len(capture.connections) > 1)
    shown = any(event.sender == role.name for capture in several for event in capture.events)
    return shown or (role.serves and role.transports[0] in ("tcp", "unix"))


def _golden_sessions(protocol: Protocol) -> list[Capture]:
    folder = locations.folder("captures", protocol.name)
    read = [captures.read(path) for path in sorted(folder.glob("*.jsonl"))] if folder else []
    return [capture for capture in read if capture.origin == "golden"]


def _order_mutants(
    protocol: Protocol, role: Role, golden: Sequence[Capture]
) -> Iterator[MutantCase]:
    """Yield the messages that a role must not omit, repeat or send too late."""
    steps = {step for each in course.courses(protocol) for _, step, _ in each.rows()}
    for name in [name for sender, name in protocol.messages if sender == role.name]:
        for act in (SKIP, REPEAT, SWAP):
            violated = _misplacing_violates(protocol, role, golden, Mutant(name, act))
            if violated or (act == SKIP and (role.name, name) in steps):
                yield MutantCase(Mutant(name, act), violated)


def _misplacing_violates(
    protocol: Protocol, role: Role, golden: Sequence[Capture], mutant: Mutant
) -> str:
    """Return the requirement that a changed golden session violates; empty if none."""
    for capture in golden:
        if capture.extra.get("fragment"):
            continue
        for events in _rearrange(capture.events, role.name, mutant):
            changed = replace(capture, events=tuple(events))
            if found := judge_capture(protocol, changed, [role.name]).findings:
                return found[0].requirement
    return ""


def _rearrange(events: Sequence[Event], party: str, mutant: Mutant) -> Iterator[Sequence[Event]]:
    """Yield the session with each message of one type skipped, repeated or moved."""
    for at, event in enumerate(events):
        if event.sender != party or event.message != mutant.message:
            continue
        if mutant.act == SKIP:
            yield [*events[:at], *events[at + 1 :]]
        elif mutant.act == REPEAT:
            yield [*events[:at], event, *events[at:]]
        else:
            later = range(at + 1, len(events))
            after = next((n for n in later if _is_same_way(events[n], event)), None)
            if after is not None:
                yield [*events[:at], *events[at + 1 : after + 1], event, *events[after + 1 :]]


def _is_same_way(event: Event, other: Event) -> bool:
    same = (event.sender, event.connection) == (other.sender, other.connection)
    return same and event.data is not None


def _invalid(
    protocol: Protocol, role: Role, golden: Sequence[Capture], drawn: random.Random
) -> Iterator[MutantCase]:
    """Yield mutants that break each keyword of a schema, at each place, in one way."""
    values: dict[str, list[Any]] = {}
    for event in (event for capture in golden for event in capture.events):
        if event.sender == role.name and event.message:
            values.setdefault(event.message, []).append(event.value)
    for message in protocol.messages.values():
        if message.sender != role.name or message.name not in values:
            continue
        schema = protocol.schemas.schema(message.schema)
        # Values that a schema refuses are left out: they are right only in their session.
        right = [value for value in values[message.name] if not schema.errors(value)]
        seen = set()
        for kind in _kinds(protocol, message):
            for miss in drawn.sample(kind, len(kind)):
                found = [
                    one
                    for one in _fit_to_golden(protocol, message, miss, right)
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


def _fit_to_golden(
    protocol: Protocol, message: MessageType, miss: NearMiss, values: Sequence[Any]
) -> list[MutantCase]:
    """Return mutants that break a keyword in the first golden message with that place."""
    for value in values:
        try:
            path, found = _place(value, miss.path)
        except _CODEC_ERRORS:
            continue
        candidates = [Mutant(message.name, PUT, path=path, value=miss.bad)]
        if isinstance(found, dict) and isinstance(miss.bad, dict):
            # The other members of the object keep their values.
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
    """Return the path to a place in a value, and the part found there.

    A key that an object does not have matches any of its keys. Raises LookupError or TypeError if
    the path does not exist.
    """
    steps: list[str | int] = []
    for step in path:
        fits = not isinstance(value, dict) or step in value
        steps.append(step if fits else ANY_KEY)
        value = value[place(value, steps[-1])]
    return tuple(steps), value


def _unlawful(
    protocol: Protocol, message: MessageType, mutant: Mutant, value: Any
) -> MutantCase | None:
    """Return the mutant if the changed value can be written and is then wrong."""
    try:
        data = protocol.codec.encode(mutant.changed(value))
    except _CODEC_ERRORS:
        return None
    decoder = protocol.decoder(message.sender)
    for frame in [*decoder.feed(data), *decoder.end()]:
        if frame.name is None:
            return MutantCase(mutant, frame.requirement or protocol.schema_requirement)
        if frame.name != message.name:
            other = protocol.messages.get((message.sender, frame.name))
            # If the bytes are another message of the role, only its place in the session could be
            # wrong.
            lawful = other and not protocol.schemas.errors(other.schema, frame.value)
            return None if lawful else MutantCase(mutant)
        if errors := protocol.schemas.errors(message.schema, frame.value):
            return MutantCase(mutant, errors[0].requirement or protocol.schema_requirement)
    return None
