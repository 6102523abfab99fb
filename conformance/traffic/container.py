"""Reads files of packets, pcap and pcapng: which bytes were recorded when, on what kind of link.

Such files come from strangers: no more than one block is in memory at a time, and where a file ends
within one or makes no sense any more, that is told, and what stands before is given.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

LARGEST = 16 * 1024 * 1024  # bytes of one block
_PCAPS = {
    0xA1B2C3D4: (10**6, 16),
    0xA1B23C4D: (10**9, 16),  # nanoseconds
    0xA1B2CD34: (10**6, 24),  # modified by Kuznetsov, with eight bytes more before each packet
}
"""By the first number of a pcap: the parts of a second, and the bytes before each packet."""
_SECTION, _INTERFACE, _OLD, _SIMPLE, _ENHANCED = 0x0A0D0D0A, 1, 2, 3, 6
_ORDER = 0x1A2B3C4D  # as the writer of a section has its numbers
_RESOLUTION, _OFFSET = 9, 14  # options of an interface
BEGINNINGS = (
    *(struct.pack(f"{sign}I", number) for number in _PCAPS for sign in "<>"),
    _SECTION.to_bytes(4, "big"),
)
"""The first four bytes of such files."""


class Unreadable(Exception):
    """This is no file of packets, or not from here on; the text says why."""


@dataclass(frozen=True, slots=True)
class Packet:
    """A packet; ``link`` is what LINKTYPE numbers mean, ``at`` is in seconds since 1970."""

    link: int
    at: float
    data: bytes


@dataclass(frozen=True, slots=True)
class _Interface:
    """Where the packets of a pcapng come from: ``fraction`` is a tick's part of a second."""

    link: int
    longest: int
    fraction: int = 10**6
    offset: int = 0


class Container:
    """The packets of a file, in its order. Iterating raises Unreadable where it does not begin."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._place = 0
        self.unread = ""
        """Why the file was not read to its end, once that has been come to; mostly empty."""

    def __iter__(self) -> Iterator[Packet]:
        first = self._read(4)
        for sign in "<>":
            if kind := _PCAPS.get(struct.unpack(f"{sign}I", first)[0]):
                link = struct.unpack(f"{sign}16xI", self._read(20))[0] & 0x3FFFFFF
                yield from self._told(self._records(sign, link, *kind))
                return
        if first != BEGINNINGS[-1]:
            raise Unreadable("neither pcap nor pcapng begins so")
        sign = self._section()
        yield from self._told(self._blocks(sign))

    def _told(self, packets: Iterator[Packet]) -> Iterator[Packet]:
        try:
            yield from packets
        except Unreadable as error:
            self.unread = str(error)

    def _read(self, size: int) -> bytes:
        if size > LARGEST:
            raise Unreadable(f"{size} bytes at once are said to come at byte {self._place}")
        data = self._file.read(size)
        self._place += len(data)
        if len(data) < size:
            raise Unreadable(f"it ends at byte {self._place}, where {size - len(data)} more belong")
        return data

    def _more(self, size: int) -> bytes:
        """The next bytes, or none where the file ends here, as it may."""
        data = self._file.read(1)
        self._place += len(data)
        return data + self._read(size - 1) if data else b""

    def _records(self, sign: str, link: int, fraction: int, before: int) -> Iterator[Packet]:
        """The rest of a pcap."""
        while head := self._more(before):
            seconds, ticks, size = struct.unpack_from(f"{sign}III", head)
            yield Packet(link, seconds + ticks / fraction, self._read(size))

    def _section(self) -> str:
        """The order of bytes in a section of a pcapng, which begins behind its type."""
        length, order = self._read(4), self._read(4)
        sign = next((s for s in "<>" if order == struct.pack(f"{s}I", _ORDER)), "")
        if not sign:
            raise Unreadable(f"a section without an order of bytes begins at byte {self._place}")
        self._read(max(0, struct.unpack(f"{sign}I", length)[0] - 12))
        return sign

    def _blocks(self, sign: str) -> Iterator[Packet]:
        """The rest of a pcapng."""
        interfaces: list[_Interface] = []
        latest = 0.0
        while start := self._more(4):
            if start == BEGINNINGS[-1]:
                sign, interfaces = self._section(), []
                continue
            kind, size = struct.unpack(f"{sign}II", start + self._read(4))
            if size % 4 or size < 12:
                raise Unreadable(f"a block of {size} bytes begins at byte {self._place - 8}")
            body = self._read(size - 8)[:-4]
            try:
                if kind == _INTERFACE:
                    interfaces.append(_interface(sign, body))
                elif kind in (_OLD, _SIMPLE, _ENHANCED):
                    packet = _packet(sign, kind, body, interfaces, latest)
                    latest = packet.at
                    yield packet
            except (struct.error, IndexError) as error:
                raise Unreadable(f"the block that ends at byte {self._place} is wrong") from error


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
    """A packet; one without a time of its own has that of the one before."""
    if kind == _SIMPLE:
        (size,) = struct.unpack_from(f"{sign}I", body)
        interface = interfaces[0]
        kept = min(size, interface.longest or size)
        return Packet(interface.link, latest, body[4 : 4 + kept])
    number, high, low, kept = struct.unpack_from(f"{sign}IIII", body)
    if kind == _OLD:
        (number,) = struct.unpack_from(f"{sign}H", body)
    interface = interfaces[number]
    if kept > len(body) - 20:
        raise IndexError(kept)
    at = (high << 32 | low) / interface.fraction + interface.offset
    return Packet(interface.link, at, body[20 : 20 + kept])
