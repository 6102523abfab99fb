"""Puts the segments of one direction of a TCP connection in order, and detects gaps."""

from dataclasses import dataclass, field

_ROUND = 1 << 32


def _distance(sequence: int, origin: int) -> int:
    """Return the distance between two sequence numbers, which wrap around at 2**32."""
    away = (sequence - origin) % _ROUND
    return away - _ROUND if away >= _ROUND // 2 else away


@dataclass
class Stream:
    """A direction of a connection.

    ``first`` is the sequence number of its first byte, ``following`` of its next byte. ``lost_at``
    is the packet that first showed a gap which is still open, else None.
    """

    first: int
    ended: bool = False
    lost_at: int | None = None
    following: int = field(init=False)
    _reached: int = field(init=False)
    _early: dict[int, tuple[bytes, bool]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.following = self._reached = self.first

    def take(self, sequence: int, data: bytes, missing: int, fin: bool, number: int) -> bytes:
        """Add the data of packet ``number``; return all bytes that now follow in order.

        Bytes that were received before are left out. Afterwards ``ended`` is True if the stream is
        complete.
        """
        self._reach(sequence + len(data) + missing + fin, number)
        before = self._early.get(sequence, (b"", False))
        if len(data) >= len(before[0]):
            self._early[sequence] = (data, fin and not missing)
        taken = b""
        while ready := [at for at in self._early if _distance(at, self.following) <= 0]:
            for at in ready:
                part, last = self._early.pop(at)
                known = -_distance(at, self.following)
                new = part[known:] if known >= 0 else b""
                taken += new
                self.following = (self.following + len(new)) % _ROUND
                if last and known <= len(part) and not self.ended:
                    self.ended = True
                    self.following = (self.following + 1) % _ROUND
        if _distance(self._reached, self.following) <= 0:
            self.lost_at = None
        return taken

    def acknowledge(self, sequence: int, number: int) -> None:
        """Process an acknowledgement: the peer has all bytes before this sequence number.

        ``number`` is the packet that carries the acknowledgement.
        """
        self._reach(sequence, number)

    def _reach(self, sequence: int, number: int) -> None:
        if _distance(sequence, self._reached) > 0:
            self._reached = sequence % _ROUND
        if self.lost_at is None and _distance(self._reached, self.following) > 0:
            self.lost_at = number
