"""Reads packet files (pcap and pcapng): the bytes, time and link type of each packet.

The files can come from untrusted sources. At most one block is in memory at a time. If a file ends
inside a block or becomes invalid, the packets before this place are returned, and the error is
reported.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

LARGEST = 16 * 1024 * 1024  # bytes of one block; a larger block is refused as invalid
_PCAPS = {
    0xA1B2C3D4: (10**6, 16),
    0xA1B23C4D: (10**9, 16),  # nanoseconds
    0xA1B2CD34: (10**6, 24),  # modified by Kuznetsov, with eight more bytes before each packet
}
"""By the first number of a pcap file: ticks per second, and bytes before each packet."""
_SECTION, _INTERFACE, _OBSOLETE, _SIMPLE, _ENHANCED = 0x0A0D0D0A, 1, 2, 3, 6
_ORDER = 0x1A2B3C4D  # the byte-order mark of a section
_RESOLUTION, _OFFSET = 9, 14  # option codes of an interface
BEGINNINGS = (
    *(struct.pack(f"{sign}I", number) for number in _PCAPS for sign in "<>"),
    _SECTION.to_bytes(4, "big"),
)
"""The first four bytes of all supported files."""


class Unreadable(Exception):
    """The file has no packets or is invalid; the text says why."""


@dataclass(frozen=True, slots=True)
class Packet:
    """A packet; ``link`` is its LINKTYPE number, ``at`` its time in seconds since 1970."""

    link: int
    at: float
    data: bytes


@dataclass(frozen=True, slots=True)
class _Interface:
    """A source of packets in a pcapng file.

    ``fraction`` is the number of ticks per second, ``longest`` the largest recorded size in bytes,
    and ``offset`` is added to all times in seconds.
    """

    link: int
    longest: int
    fraction: int = 10**6
    offset: int = 0


class Container:
    """The packets of a file in their order.

    Iterating raises Unreadable if the file does not begin like a packet file.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._place = 0
        self.unread = ""
        """The reason why the file was not read to its end; empty until then, and without an error.
        """

    def __iter__(self) -> Iterator[Packet]:
        first = self._read(4)
        for sign in "<>":
            if kind := _PCAPS.get(struct.unpack(f"{sign}I", first)[0]):
                link = struct.unpack(f"{sign}16xI", self._read(20))[0] & 0x3FFFFFF
                yield from self._check_packets(self._records(sign, link, *kind))
                return
        if first != BEGINNINGS[-1]:
            raise Unreadable("it begins neither like pcap nor like pcapng")
        sign = self._section()
        yield from self._check_packets(self._blocks(sign))

    def _check_packets(self, packets: Iterator[Packet]) -> Iterator[Packet]:
        try:
            yield from packets
        except Unreadable as error:
            self.unread = str(error)

    def _read(self, size: int) -> bytes:
        if size > LARGEST:
            raise Unreadable(f"a block of {size} bytes is announced at byte {self._place}")
        data = self._file.read(size)
        self._place += len(data)
        if len(data) < size:
            raise Unreadable(f"it ends at byte {self._place}; {size - len(data)} bytes are missing")
        return data

    def _more(self, size: int) -> bytes:
        """Return the next bytes, or none if the file ends here, which is allowed."""
        data = self._file.read(1)
        self._place += len(data)
        return data + self._read(size - 1) if data else b""

    def _records(self, sign: str, link: int, fraction: int, before: int) -> Iterator[Packet]:
        """Yield the packets of a pcap file after its header."""
        while head := self._more(before):
            seconds, ticks, size = struct.unpack_from(f"{sign}III", head)
            yield Packet(link, seconds + ticks / fraction, self._read(size))

    def _section(self) -> str:
        """Return the byte order of a pcapng section, whose type has been read already."""
        length, order = self._read(4), self._read(4)
        sign = next((s for s in "<>" if order == struct.pack(f"{s}I", _ORDER)), "")
        if not sign:
            raise Unreadable(f"the section at byte {self._place} has no byte-order mark")
        self._read(max(0, struct.unpack(f"{sign}I", length)[0] - 12))
        return sign

    def _blocks(self, sign: str) -> Iterator[Packet]:
        """Yield the packets of a pcapng file after its first section header."""
        interfaces: list[_Interface] = []
        latest = 0.0
        while start := self._more(4):
            if start == BEGINNINGS[-1]:
                sign, interfaces = self._section(), []
                continue
            kind, size = struct.unpack(f"{sign}II", start + self._read(4))
            if size % 4 or size < 12:
                raise Unreadable(f"a block of invalid size {size} begins at byte {self._place - 8}")
            body = self._read(size - 8)[:-4]
            try:
                if kind == _INTERFACE:
                    interfaces.append(_interface(sign, body))
                elif kind in (_OBSOLETE, _SIMPLE, _ENHANCED):
                    packet = _packet(sign, kind, body, interfaces, latest)
                    latest = packet.at
                    yield packet
            except (struct.error, IndexError) as error:
                raise Unreadable(f"the block that ends at byte {self._place} is invalid") from error


def _interface(sign: str, body: bytes) -> _Interface:
    link, longest = struct.unpack_from(f"{sign}H2xI", body)
    fraction, offset, place = 10**6, 0, 8
    while place + 4 <= len(body):
        code, size = struct.unpack_from(f"{sign}HH", body, place)
        value = body[place + 4 : place + 4 + size]
        if code == _RESOLUTION and size == 1:
            fraction = (2 if value[0] & 128 else 10) ** (value[0] & 127)
        elif code == _OFFSET and size == 8:
            (offset,) = struct.unpack(f"{sign}q", value)
        place += 4 + size + -size % 4
    return _Interface(link, longest, fraction, offset)


def _packet(
    sign: str, kind: int, body: bytes, interfaces: list[_Interface], latest: float
) -> Packet:
    """Return a packet; a packet without a time has the time of the packet before."""
    if kind == _SIMPLE:
        (size,) = struct.unpack_from(f"{sign}I", body)
        interface = interfaces[0]
        kept = min(size, interface.longest or size)
        return Packet(interface.link, latest, body[4 : 4 + kept])
    number, high, low, kept = struct.unpack_from(f"{sign}IIII", body)
    if kind == _OBSOLETE:
        (number,) = struct.unpack_from(f"{sign}H", body)
    interface = interfaces[number]
    if kept > len(body) - 20:
        raise IndexError(kept)
    at = (high << 32 | low) / interface.fraction + interface.offset
    return Packet(interface.link, at, body[20 : 20 + kept])
