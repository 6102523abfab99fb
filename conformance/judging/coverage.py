"""Count the points of the protocol that the sessions of a run show."""

from collections import Counter
from collections.abc import Sequence
from contextvars import ContextVar, Token
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from conformance.codec import Frame
from conformance.definitions.protocol import Protocol
from conformance.judging.space import CUT, FIRST, JOINED, WHOLE, Row, space

# In each session, the first messages of a kind are observed, and then every n-th, to save time.
_FIRST_MESSAGES = 30
_EVERY = 20
_MAX_KNOWN = 20_000  # different messages that are remembered, so that each is observed only once

TAKEN: ContextVar[set[Row] | None] = ContextVar("TAKEN", default=None)
"""The set to which walks through courses add their rows; None if no judge counts them."""


@dataclass(frozen=True)
class Coverage:
    """The points that sessions have shown, as indices into a protocol's `Space`."""

    protocol: str
    shown: frozenset[int] = frozenset()

    def __or__(self, other: "Coverage") -> "Coverage":
        return Coverage(self.protocol, self.shown | other.shown)


class Tally:
    """Counts the points that all sessions of a run show together."""

    def __init__(self, protocol: Protocol) -> None:
        self.protocol = protocol
        self.shown: set[int] = set()
        self.rows: set[Row] = set()
        self._first: dict[int, Any] = {}
        """The hash of the first value at each place, to recognise a second value."""
        self._known: set[int] = set()
        """Hashes of messages that were observed."""

    @property
    def coverage(self) -> Coverage:
        """The points that were shown so far."""
        known = space(self.protocol).rows
        rows = {known[row] for row in self.rows if row in known}
        return Coverage(self.protocol.name, frozenset(self.shown | rows))

    def session(self, way: str = FIRST) -> "SessionCoverage":
        """Count another session; ``way`` is FIRST, LATER or PARALLEL."""
        return SessionCoverage(self, way)

    def observe(self, sender: str, name: str, frame: Frame) -> None:
        """Count the points that one message shows; a repeated message shows nothing."""
        known = hash((sender, name, frame.raw))
        if known in self._known:
            return
        if len(self._known) < _MAX_KNOWN:
            self._known.add(known)
        places = space(self.protocol)
        observe = places.observers.get((sender, name))
        marks: set[Any] = set()
        try:
            if observe and not observe(frame.value, marks):
                return
        except RecursionError:
            return
        for mark in marks:
            if type(mark) is int:
                self.shown.add(mark)
            elif self._first.setdefault(mark[0], mark[1]) != mark[1]:
                self.shown.add(mark[0])
        self.shown.add(places.kinds[sender, name])


class SessionCoverage:
    """Counts the points that one session shows, up to bytes that are not a message."""

    def __init__(self, tally: Tally, way: str) -> None:
        self._tally = tally
        self._way = way
        self._spoiled = False
        self._before: Token[set[Row] | None]
        self._came: Counter[tuple[str, str]] = Counter()
        self._pending: dict[str, int] = {}
        """The number of bytes of each sender's unfinished message."""

    def spoil(self) -> None:
        """Count nothing more, because bytes came that are not a message."""
        self._spoiled = True

    def count_rows(self) -> "SessionCoverage":
        """Count the rows of courses that are taken within a `with` block."""
        return self

    # A context manager made from a generator would take longer than most steps.

    def __enter__(self) -> None:
        self._before = TAKEN.set(None if self._spoiled else self._tally.rows)

    def __exit__(self, *_: object) -> None:
        TAKEN.reset(self._before)

    def message(self, sender: str, frame: Frame) -> None:
        """Count a message of the protocol, which can violate its schema."""
        if self._spoiled or frame.name is None or frame.error:
            return
        key = (sender, frame.name)
        self._came[key] += 1
        number = self._came[key]
        if number > _FIRST_MESSAGES and number % _EVERY:
            return
        self._tally.observe(sender, frame.name, frame)
        if number == 1:
            self._add(sender, self._way)

    def count_arrival(self, sender: str, pieces: Sequence[int], frames: Sequence[Frame]) -> None:
        """Count how messages came, from the sizes of the pieces and the messages in them."""
        pending = self._pending.pop(sender, 0)
        if len(pieces) == len(frames) == 1 and not pending and len(frames[0].raw) == pieces[0]:
            self._add(sender, WHOLE)
            return
        left = pending + sum(pieces) - sum(len(frame.raw) for frame in frames)
        if left > 0:
            self._pending[sender] = left
        if not frames:
            return
        edges = {*accumulate(pieces, initial=pending)}
        start = 0
        for frame in frames:
            end = start + len(frame.raw)
            if any(start < edge < end for edge in edges):
                self._add(sender, CUT)
            else:
                self._add(sender, WHOLE if {start, end} <= edges else JOINED)
            start = end

    def _add(self, sender: str, way: str) -> None:
        if not self._spoiled:
            point = space(self._tally.protocol).framing.get((sender, way))
            if point is not None:
                self._tally.shown.add(point)
