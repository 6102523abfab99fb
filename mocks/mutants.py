"""Applies a mutant to what a mock sends: one message skipped, repeated, moved or made invalid.

A mutant is made by machine, from schemas and tables (`conformance.mutants`), and knows nothing of
the mock. So it acts where every mock writes: what goes out is read by the protocol's own decoder,
and the messages that the mutant means are changed on their way.
"""

import json
import os
import struct
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from conformance import protocols
from conformance.codec import Frame
from conformance.protocol import Protocol
from mocks.datagrams import Datagrams
from mocks.streams import Stream

APPLIED = "CONFORMANCE_MUTANT_APPLIED"
"""The variable that names a file to be made once a mutant has changed something."""

ALWAYS, LATER, RECONNECTED = "always", "later", "reconnected"
WHEN = (ALWAYS, LATER, RECONNECTED)
"""Every message of its kind; all but the first of a connection; all but on the first connection."""

PUT, DROP, SKIP, REPEAT, SWAP = "put", "drop", "skip", "repeat", "swap"
ACTS = (PUT, DROP, SKIP, REPEAT, SWAP)
"""`put` a value at a path, or `drop` what is there; `swap` with the message that follows."""

ANY_KEY = -1


@dataclass(frozen=True)
class Mutant:
    """What is done (`act`) to which messages of one kind, and `when`; `path` leads into a value.

    A step of a path is a key or an index; ANY_KEY is the last key of an object of any keys.
    """

    message: str
    act: str
    when: str = ALWAYS
    path: tuple[str | int, ...] = ()
    value: Any = None

    def __str__(self) -> str:
        usual = {field.name: field.default for field in fields(self)}
        said = {key: value for key, value in asdict(self).items() if value != usual[key]}
        # Of what is put even nothing is said.
        return json.dumps({**said, "value": self.value} if self.act == PUT else said)

    @classmethod
    def parse(cls, text: str) -> "Mutant":
        """The mutant of a text. Raises ValueError."""
        try:
            raw = json.loads(text)
            mutant = cls(**{**raw, "path": tuple(raw.get("path", ()))})
        except (TypeError, AttributeError, ValueError) as error:
            raise ValueError(f"--mutant {text}: {error}") from error
        if mutant.act not in ACTS or mutant.when not in WHEN:
            raise ValueError(f"--mutant {text}: {', '.join(ACTS)} and {', '.join(WHEN)} are known")
        return mutant

    def changed(self, value: Any) -> Any:
        """A message's value with the change. Raises LookupError or TypeError where none fits."""
        if not self.path:
            return self.value
        first, *rest = self.path
        step = place(value, first)
        changed = value.copy()
        if rest:
            inner = Mutant(self.message, self.act, self.when, tuple(rest), self.value)
            changed[step] = inner.changed(value[step])
        elif self.act == DROP:
            del changed[step]
        else:
            changed[step] = self.value
        return changed


def place(value: Any, step: str | int) -> Any:
    """The key or index that a step of a path means. Raises LookupError where there is none."""
    return list(value)[-1] if step == ANY_KEY and isinstance(value, dict) else step


def install(role: str, mutant: Mutant) -> None:
    """Let everything that this process sends in a role pass through a mutant."""
    protocol = protocols.load(role.partition("/")[0])
    wires = protocol.role(role.partition("/")[2]).transports
    senders: dict[Any, _Sender] = {}

    def sender(stream: Any) -> _Sender | None:
        kind = getattr(stream, "kind", "udp")
        # What talks on other streams is an upper tester.
        if stream not in senders and kind in wires:
            senders[stream] = _Sender(protocol, role.partition("/")[2], kind, mutant, len(senders))
        return senders.get(stream)

    for cls in (Stream, Datagrams):
        _wrap(cls, sender)


def _wrap(cls: Any, sender: Callable[[Any], "_Sender | None"]) -> None:
    write, close = cls.write, cls.close

    def mutated(self: Any, data: bytes) -> None:
        found = sender(self)
        for piece in found.send(data) if found else [data]:
            write(self, piece)

    def flushed(self: Any) -> None:
        found = sender(self)
        for piece in found.rest() if found else ():
            write(self, piece)
        close(self)

    cls.write, cls.close = mutated, flushed


class _Sender:
    """What one connection sends; `number` counts connections from 0."""

    def __init__(
        self, protocol: Protocol, party: str, kind: str, mutant: Mutant, number: int
    ) -> None:
        self._encode = protocol.codec.encode
        self._decoder = protocol.decoder(party, kind)
        self._mutant = mutant
        self._number = number
        self._seen = 0
        self._unread = b""  # no whole message yet
        self._swapped: list[bytes] = []

    def send(self, data: bytes) -> list[bytes]:
        """What is to be written instead."""
        self._unread += data
        pieces: list[bytes] = []
        for frame in self._decoder.feed(data):
            # Bytes that no frame has are kept in front of the next.
            self._unread = self._unread[len(frame.raw) :]
            pieces += self._pass(frame)
        return pieces

    def rest(self) -> list[bytes]:
        """What is still to be written when the connection is closed."""
        left = [*self._swapped, *([self._unread] if self._unread else [])]
        self._swapped, self._unread = [], b""
        return left

    def _pass(self, frame: Frame) -> Iterator[bytes]:
        waiting, self._swapped = self._swapped, []
        act = self._mutant.act if frame.name == self._mutant.message and self._due() else None
        if act == SWAP:
            self._swapped = [frame.raw]
        elif act == REPEAT:
            yield from (frame.raw, frame.raw)
        elif act in (PUT, DROP):
            yield self._changed(frame)
        elif act != SKIP:
            yield frame.raw
        if act in (SKIP, REPEAT) or waiting:
            _tell()
        yield from waiting

    def _due(self) -> bool:
        self._seen += 1
        if self._mutant.when == RECONNECTED:
            return self._number > 0
        return self._mutant.when == ALWAYS or self._seen > 1

    def _changed(self, frame: Frame) -> bytes:
        try:
            data: bytes = self._encode(self._mutant.changed(frame.value))
        except (AttributeError, LookupError, TypeError, ValueError, struct.error):
            return frame.raw  # it has no such place
        if data != frame.raw:
            _tell()
        return data


def _tell() -> None:
    if file := os.environ.get(APPLIED):
        Path(file).touch()
