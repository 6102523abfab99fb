"""Limits of how much of an IUT's output is read: in one session, and in all open sessions."""

import sys
from collections.abc import Callable, Iterator, Sized
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

T = TypeVar("T")


class Read(NamedTuple):
    """The amount read in a session: bytes, events, and blocks of memory for decoded values.

    A block is the memory of one value, about 60 bytes. Short words need the most blocks: a megabyte
    of them is decoded into ten megabytes.
    """

    bytes: int
    events: int
    blocks: int


MOST = Read(
    80 * 1024 * 1024,  # more than any codec takes for one message
    30_000,
    1_000_000,
)
"""The limits of one session; each of the three takes a hundred megabytes of memory or less."""
TOGETHER = 5  # times as much is followed in all sessions that are under way
LONG_PART = 4  # a session counts as long with the fourth part of what is followed of one
FLOODS = 2  # sessions that are followed that far
FLOODED = 20  # what is followed is divided by that after them
LEAST = 64 * 1024  # bytes that are followed in any session
LEAST_CHUNK = 16 * 1024  # bytes that are read at once at least: hundreds of the smallest messages
FLOODS_IN_A_ROW = 10  # sessions one after the other that are cut off, after which no other is begun


@dataclass
class Floods:
    """The sessions of a run in which an IUT has written more than is followed."""

    count: int = 0
    """How many there were."""
    _shortest: int = MOST.bytes
    _read: dict[object, Read] = field(default_factory=dict)
    _cut: set[object] = field(default_factory=set)
    _in_a_row: int = 0

    def cut_off(self, session: object, read: Read) -> bool:
        """Record the amount read in a session; True if the session is read no further.

        If all sessions together are over the limit, each long session is cut off.
        """
        self._read[session] = read
        together = [sum(column) for column in zip(*self._read.values(), strict=True)]
        crowded = any(some > TOGETHER * most for some, most in zip(together, MOST, strict=True))
        over = any(some > most for some, most in zip(read, self.limit, strict=True))
        if not (over or (_is_long(read) and crowded)):
            return False
        self.count += 1
        self._in_a_row += 1
        self._cut.add(session)
        self._shortest = min(self._shortest, read.bytes)
        return True

    def is_long(self, session: object) -> bool:
        """True if a session is so long that others can be part of the same flood."""
        return session in self._read and _is_long(self._read[session])

    def close(self, session: object) -> None:
        """A session is over."""
        read = self._read.pop(session, None)
        if session in self._cut:
            self._cut.remove(session)
        elif read:
            self._in_a_row = 0

    @property
    def is_known(self) -> bool:
        """True if the IUT is known to flood, so that little of its further sessions is read."""
        return self.count >= FLOODS

    @property
    def is_endless(self) -> bool:
        """True if every recent session was a flood: further sessions would show nothing."""
        return self._in_a_row >= FLOODS_IN_A_ROW

    @property
    def limit(self) -> Read:
        """The limits of a session now."""
        if not self.is_known:
            return MOST
        size = max(LEAST, self._shortest // FLOODED)
        return Read(size, MOST.events // FLOODED, MOST.blocks // FLOODED)


class SessionReading:
    """The reading of one session: how much was read, and why reading stopped."""

    def __init__(self, session: object, floods: Floods) -> None:
        self.size = 0
        """How many bytes were read."""
        self.ended = ""
        """Why no more is read, once that is so."""
        self._session = session
        self._floods = floods
        self._blocks = 0

    def chunks(self, data: bytes, events: Sized) -> Iterator[bytes]:
        """Split data into small bits, so that a flood of small messages ends early."""
        start, size = 0, LEAST_CHUNK
        while start < len(data):
            before = len(events)
            yield data[start : start + size]
            start += size
            # A long message is not to be looked for again with each of many bits.
            size = LEAST_CHUNK if len(events) > before else 2 * size

    def accepts(self, chunk: bytes, events: Sized, messages: int, seconds: float) -> bool:
        """True if this bit is still read; `ended` says why if it is not."""
        self.size += len(chunk)
        known = self._floods.is_known
        if not self._floods.cut_off(self._session, Read(self.size, len(events), self._blocks)):
            return True
        came = f"{self.size} bytes in {messages} messages within {seconds:.1f} s"
        why = "no more is read of one that floods" if known else "more than is read of one session"
        self.ended = f"the IUT wrote {came}: {why}"
        return False

    def decoded(self, chunk: bytes, decode: Callable[[bytes], T]) -> T:
        """Decode a bit, and count the blocks of memory once the session is long."""
        if self.size <= LEAST:
            return decode(chunk)
        before = sys.getallocatedblocks()
        found = decode(chunk)
        self._blocks += max(0, sys.getallocatedblocks() - before)
        return found


def _is_long(read: Read) -> bool:
    return any(some > most // LONG_PART for some, most in zip(read, MOST, strict=True))
