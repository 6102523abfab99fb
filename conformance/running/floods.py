"""Limits the output of an IUT that is read, in each session and in total."""

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


SESSION_LIMIT = Read(
    80 * 1024 * 1024,  # more than any codec accepts in one message
    30_000,
    1_000_000,
)
"""The limits of one session; each of the three takes at most a hundred megabytes of memory."""
ALL_SESSIONS = 5  # times the limit of a session that all open sessions can have: 500 megabytes
LONG_DIVISOR = 4  # a session of a quarter of the limit is long, and can be part of a flood
KNOWN_AFTER = 2  # floods that are read up to the full limit; later sessions have lower limits
FLOOD_DIVISOR = 20  # the limits of later sessions are divided by this number
MIN_BYTES = 64 * 1024  # bytes that are read in any session
MIN_CHUNK = 16 * 1024  # bytes that are decoded at once: hundreds of the smallest messages
FLOODS_IN_A_ROW = 10  # floods one after the other, after which no further session begins


@dataclass
class Floods:
    """The sessions of a run in which an IUT has written more than the limits."""

    count: int = 0
    """The number of floods."""
    _shortest: int = SESSION_LIMIT.bytes
    _read: dict[object, Read] = field(default_factory=dict)
    _cut: set[object] = field(default_factory=set)
    _in_a_row: int = 0

    def cut_off(self, session: object, read: Read) -> bool:
        """Record the amount read in a session; return True if reading has to stop.

        If all sessions together are over the limit, each long session is cut off.
        """
        self._read[session] = read
        totals = [sum(column) for column in zip(*self._read.values(), strict=True)]
        crowded = any(
            some > ALL_SESSIONS * most for some, most in zip(totals, SESSION_LIMIT, strict=True)
        )
        over = any(some > most for some, most in zip(read, self.limit, strict=True))
        if not (over or (_is_long(read) and crowded)):
            return False
        self.count += 1
        self._in_a_row += 1
        self._cut.add(session)
        self._shortest = min(self._shortest, read.bytes)
        return True

    def is_long(self, session: object) -> bool:
        """True if a session is so long that it can be part of a flood."""
        return session in self._read and _is_long(self._read[session])

    def close(self, session: object) -> None:
        """Forget a session that is over."""
        read = self._read.pop(session, None)
        if session in self._cut:
            self._cut.remove(session)
        elif read:
            self._in_a_row = 0

    @property
    def is_known(self) -> bool:
        """True if the IUT is known to flood, so further sessions have lower limits."""
        return self.count >= KNOWN_AFTER

    @property
    def is_endless(self) -> bool:
        """True if every recent session was a flood, so further sessions show nothing."""
        return self._in_a_row >= FLOODS_IN_A_ROW

    @property
    def limit(self) -> Read:
        """The limits of a session that is read now."""
        if not self.is_known:
            return SESSION_LIMIT
        size = max(MIN_BYTES, self._shortest // FLOOD_DIVISOR)
        return Read(
            size, SESSION_LIMIT.events // FLOOD_DIVISOR, SESSION_LIMIT.blocks // FLOOD_DIVISOR
        )


class SessionReading:
    """The reading of one session: the amount read, and why reading stopped."""

    def __init__(self, session: object, floods: Floods) -> None:
        self.size = 0
        """The number of bytes read."""
        self.why_ended = ""
        """Why reading stopped; empty while the session is read."""
        self._session = session
        self._floods = floods
        self._blocks = 0

    def chunks(self, data: bytes, events: Sized) -> Iterator[bytes]:
        """Split data into small chunks, so that a flood of small messages ends early."""
        start, size = 0, MIN_CHUNK
        while start < len(data):
            before = len(events)
            yield data[start : start + size]
            start += size
            # Growing chunks, because a decoder can search a long message again with each chunk.
            size = MIN_CHUNK if len(events) > before else 2 * size

    def accepts(self, chunk: bytes, events: Sized, messages: int, seconds: float) -> bool:
        """True if this chunk is still read; otherwise `why_ended` has the reason."""
        self.size += len(chunk)
        known = self._floods.is_known
        if not self._floods.cut_off(self._session, Read(self.size, len(events), self._blocks)):
            return True
        came = f"{self.size} bytes in {messages} messages within {seconds:.1f} s"
        why = "an IUT that floods is read no further" if known else "more than a session can have"
        self.why_ended = f"the IUT wrote {came}: {why}"
        return False

    def decode_chunk(self, chunk: bytes, decode: Callable[[bytes], T]) -> T:
        """Decode a chunk; count the blocks of memory if more than `MIN_BYTES` were read."""
        if self.size <= MIN_BYTES:
            return decode(chunk)
        before = sys.getallocatedblocks()
        found = decode(chunk)
        self._blocks += max(0, sys.getallocatedblocks() - before)
        return found


def _is_long(read: Read) -> bool:
    return any(some > most // LONG_DIVISOR for some, most in zip(read, SESSION_LIMIT, strict=True))
