"""Apply a mutant to a mock's messages: omit, repeat, move or invalidate them.

Mutants are generated from schemas and tables (`conformance.proving.mutants`), and know nothing of
the mock. A mutant therefore acts where every mock writes. The protocol's own decoder reads the
outgoing bytes, and the mutant's messages are changed before they are sent.
"""

import json
import os
import struct
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from conformance.codec import Frame
from conformance.definitions import protocols
from conformance.definitions.protocol import Protocol
from mocks.datagrams import Datagrams
from mocks.streams import Stream

APPLIED = "CONFORMANCE_MUTANT_APPLIED"
"""The variable with the path of a file, which is created when a mutant has changed a message."""

ALWAYS, LATER, RECONNECTED = "always", "later", "reconnected"
WHEN = (ALWAYS, LATER, RECONNECTED)
"""When a mutant changes messages of its type.

ALWAYS means every message, LATER all but the first of a connection, and RECONNECTED those that are
not on the first connection.
"""

PUT, DROP, SKIP, REPEAT, SWAP = "put", "drop", "skip", "repeat", "swap"
ACTS = (PUT, DROP, SKIP, REPEAT, SWAP)
"""`put` sets the value at a path; `drop` deletes it; `swap` sends the message after the next one.
"""

ANY_KEY = -1


@dataclass(frozen=True)
class Mutant:
    """A change (`act`) of messages of one type, and `when` it applies.

    `path` leads to a place in the message's value. Each step is a key or an index; ANY_KEY is the
    last key of an object.
    """

    message: str
    act: str
    when: str = ALWAYS
    path: tuple[str | int, ...] = ()
    value: Any = None

    def __str__(self) -> str:
        usual = {field.name: field.default for field in fields(self)}
        said = {key: value for key, value in asdict(self).items() if value != usual[key]}
        # For `put`, the value is always shown, even if it is None.
        return json.dumps({**said, "value": self.value} if self.act == PUT else said)

    @classmethod
    def parse(cls, text: str) -> "Mutant":
        """Parse the text of a mutant. Raises ValueError."""
        try:
            raw = json.loads(text)
            mutant = cls(**{**raw, "path": tuple(raw.get("path", ()))})
        except (TypeError, AttributeError, ValueError) as error:
            raise ValueError(f"--mutant {text}: {error}") from error
        if mutant.act not in ACTS or mutant.when not in WHEN:
            raise ValueError(
                f"--mutant {text}: expected act {', '.join(ACTS)} and when {', '.join(WHEN)}"
            )
        return mutant

    def changed(self, value: Any) -> Any:
        """Return a changed copy of a value.

        Raises LookupError or TypeError if the path does not fit.
        """
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
    """Return the key or index that a step of a path means. Raises LookupError if there is none."""
    return list(value)[-1] if step == ANY_KEY and isinstance(value, dict) else step


def install(role: str, text: str) -> None:
    """Make all messages that this process sends in a role pass through a mutant.

    `text` is a mutant, or `@FILE` with several mutants, which are only tested and not applied (see
    `Told`). Raises ValueError and OSError.
    """
    mutant = Told(Path(text[1:])) if text.startswith("@") else Mutant.parse(text)
    protocol = protocols.load(role.partition("/")[0])
    wires = protocol.role(role.partition("/")[2]).transports
    senders: dict[Any, _Sender] = {}

    def sender(stream: Any) -> _Sender | None:
        kind = getattr(stream, "kind", "udp")
        # Other streams belong to the upper tester.
        if stream not in senders and kind in wires:
            made = (protocol, role.partition("/")[2], kind)
            if isinstance(mutant, Told):
                senders[stream] = _Teller(*made, mutant, len(senders))
            else:
                senders[stream] = _Changer(*made, mutant, len(senders))
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
    """The sending side of one connection; `number` counts connections from 0."""

    def __init__(self, protocol: Protocol, party: str, kind: str, number: int) -> None:
        self._encode = protocol.codec.encode
        self._decoder = protocol.decoder(party, kind)
        self._number = number
        self._seen: Counter[str | None] = Counter()
        self._unread = b""  # the beginning of an incomplete message

    def send(self, data: bytes) -> list[bytes]:
        """Return the pieces to write in place of these bytes."""
        self._unread += data
        pieces: list[bytes] = []
        for frame in self._decoder.feed(data):
            # Bytes that belong to no frame stay in front of the next frame.
            self._unread = self._unread[len(frame.raw) :]
            self._seen[frame.name] += 1
            pieces += self._pass(frame)
        return pieces

    def rest(self) -> list[bytes]:
        """Return the bytes that must still be written when the connection is closed."""
        left, self._unread = self._unread, b""
        return [left] if left else []

    def _pass(self, frame: Frame) -> Iterator[bytes]:
        raise NotImplementedError

    def _due(self, mutant: Mutant, frame: Frame) -> bool:
        """Return whether a mutant applies to this message."""
        if frame.name != mutant.message:
            return False
        if mutant.when == RECONNECTED:
            return self._number > 0
        return mutant.when == ALWAYS or self._seen[frame.name] > 1

    def _changed(self, mutant: Mutant, frame: Frame) -> bytes:
        try:
            data: bytes = self._encode(mutant.changed(frame.value))
        except (AttributeError, LookupError, TypeError, ValueError, struct.error):
            return frame.raw  # the value has no such place, or cannot be encoded
        return data


class _Changer(_Sender):
    """Changes outgoing messages as a mutant says."""

    def __init__(
        self, protocol: Protocol, party: str, kind: str, mutant: Mutant, number: int
    ) -> None:
        super().__init__(protocol, party, kind, number)
        self._mutant = mutant
        self._swapped: list[bytes] = []

    def rest(self) -> list[bytes]:
        waiting, self._swapped = self._swapped, []
        return [*waiting, *super().rest()]

    def _pass(self, frame: Frame) -> Iterator[bytes]:
        waiting, self._swapped = self._swapped, []
        act = self._mutant.act if self._due(self._mutant, frame) else None
        if act == SWAP:
            self._swapped = [frame.raw]
        elif act == REPEAT:
            yield from (frame.raw, frame.raw)
        elif act in (PUT, DROP):
            yield (changed := self._changed(self._mutant, frame))
            if changed != frame.raw:
                _tell()
        elif act != SKIP:
            yield frame.raw
        if act in (SKIP, REPEAT) or waiting:
            _tell()
        yield from waiting


class Told:
    """Finds out which mutants of a file, one a line, would change a message.

    These mutants are written to FILE.changing. A mutant is written once by this process, and not if
    an earlier process has written it. Raises ValueError and OSError.
    """

    def __init__(self, file: Path) -> None:
        self._told = file.with_name(f"{file.name}.changing")
        known = self._told.read_text().splitlines() if self._told.exists() else []
        lines = set(file.read_text().splitlines()) - set(known)
        self.left = [Mutant.parse(line) for line in sorted(lines)]

    def tell(self, mutants: Sequence[Mutant]) -> None:
        self.left = [mutant for mutant in self.left if mutant not in mutants]
        with self._told.open("a") as file:
            file.write("".join(f"{mutant}\n" for mutant in mutants))


class _Teller(_Sender):
    """Sends all messages unchanged, and reports the mutants that would have changed them."""

    def __init__(self, protocol: Protocol, party: str, kind: str, told: Told, number: int) -> None:
        super().__init__(protocol, party, kind, number)
        self._told = told
        self._swapped: list[Mutant] = []

    def _pass(self, frame: Frame) -> Iterator[bytes]:
        due = [mutant for mutant in self._told.left if self._due(mutant, frame)]
        changing = [mutant for mutant in due if self._changes(mutant, frame)] + self._swapped
        self._swapped = [mutant for mutant in due if mutant.act == SWAP]
        if changing:
            self._told.tell(changing)
        yield frame.raw

    def _changes(self, mutant: Mutant, frame: Frame) -> bool:
        if mutant.act in (PUT, DROP):
            return self._changed(mutant, frame) != frame.raw
        return mutant.act != SWAP  # a swap has an effect only if another message follows


def _tell() -> None:
    if file := os.environ.get(APPLIED):
        Path(file).touch()
