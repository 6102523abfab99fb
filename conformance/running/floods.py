"""How much of what an IUT writes is followed: in one session, and in all that are under way."""

from dataclasses import dataclass, field
from typing import NamedTuple


class Read(NamedTuple):
    """What was read in a session: bytes, events, and the blocks of memory that decoding them took.

    A block is what one value takes, some 60 bytes. Short words make most of them: a megabyte of
    them is decoded into ten.
    """

    bytes: int
    events: int
    blocks: int


MOST = Read(
    80 * 1024 * 1024,  # more than any codec takes for one message
    30_000,
    1_000_000,
)
"""What is followed of one session; each of the three then takes a hundred megabytes or less."""
TOGETHER = 5  # times as much is followed in all sessions that are under way
LONG = 4  # a session counts as long with the fourth part of what is followed of one
FLOODS = 2  # sessions that are followed that far
FLOODED = 20  # what is followed is divided by that after them
LEAST = 64 * 1024  # bytes that are followed in any session
ENOUGH = 10  # sessions one after the other that are cut off, after which no other is begun


@dataclass
class Floods:
    """The sessions of a run in which an IUT has written more than is followed."""

    met: int = 0
    """How many there were."""
    _shortest: int = MOST.bytes
    _read: dict[object, Read] = field(default_factory=dict)
    _cut: set[object] = field(default_factory=set)
    _in_a_row: int = 0

    def cut_off(self, session: object, read: Read) -> bool:
        """Whether a session, in which that was read, is followed no further.

        One that floods several at a time is cut off in each of them that is long.
        """
        self._read[session] = read
        together = [sum(column) for column in zip(*self._read.values(), strict=True)]
        crowded = any(some > TOGETHER * most for some, most in zip(together, MOST, strict=True))
        over = any(some > most for some, most in zip(read, self.most, strict=True))
        if not (over or (_is_long(read) and crowded)):
            return False
        self.met += 1
        self._in_a_row += 1
        self._cut.add(session)
        self._shortest = min(self._shortest, read.bytes)
        return True

    def long(self, session: object) -> bool:
        """Whether so much has been read in a session that others may flood beside it."""
        return session in self._read and _is_long(self._read[session])

    def left(self, session: object) -> None:
        """A session is over."""
        read = self._read.pop(session, None)
        if session in self._cut:
            self._cut.remove(session)
        elif read:
            self._in_a_row = 0

    @property
    def known(self) -> bool:
        """Whether it is known to flood, so that little is followed of its further sessions."""
        return self.met >= FLOODS

    @property
    def endless(self) -> bool:
        """Whether it floods whatever it is asked: then further sessions would show nothing."""
        return self._in_a_row >= ENOUGH

    @property
    def most(self) -> Read:
        """What is followed of a session."""
        if not self.known:
            return MOST
        size = max(LEAST, self._shortest // FLOODED)
        return Read(size, MOST.events // FLOODED, MOST.blocks // FLOODED)


def _is_long(read: Read) -> bool:
    return any(some > most // LONG for some, most in zip(read, MOST, strict=True))
