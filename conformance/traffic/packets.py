"""Extracts the TCP segment or UDP datagram from a recorded packet.

Supported are Ethernet with VLAN tags, BSD loopback, Linux cooked captures and plain IP. The network
layer is IPv4, or IPv6 with extension headers. Fragments of both are joined.
"""

import ipaddress
import struct
from dataclasses import dataclass, field

TCP, UDP = 6, 17
FIN, SYN, RST, ACK = 1, 2, 4, 16
_VLANS = (0x8100, 0x88A8, 0x9100)
_NETWORKS = (0x0800, 0x86DD)  # EtherType numbers of IPv4 and IPv6
_EXTENSIONS = (0, 43, 60, 135)  # IPv6 extension headers; their second byte is their length
_FRAGMENT = 44
_WAITING = 256  # incomplete packets for which fragments are kept; the oldest is dropped beyond this

Endpoint = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Segment:
    """The contents of one packet, from one endpoint to another.

    The last ``missing`` bytes of the data were not recorded. ``sequence``, ``acknowledged`` and
    ``flags`` belong to TCP.
    """

    source: Endpoint
    target: Endpoint
    protocol: int
    data: bytes
    missing: int = 0
    sequence: int = 0
    acknowledged: int | None = None
    flags: int = 0


@dataclass
class _Parts:
    """A packet whose fragments are incomplete; ``size`` is known after its last fragment."""

    pieces: dict[int, bytes] = field(default_factory=dict)
    size: int | None = None


class Packets:
    """Reads packets in the order in which they were recorded."""

    def __init__(self) -> None:
        self._parts: dict[tuple[bytes, bytes, int], _Parts] = {}

    def read(self, link: int, packet: bytes) -> Segment | None:
        """Return the segment or datagram that a packet completes; None for any other packet.

        ``link`` is the LINKTYPE number of the capture file: the format around the network packet.
        """
        try:
            start = _network(link, packet)
            if start is None:
                return None
            version = packet[start] >> 4
            return self._ipv4(packet[start:]) if version == 4 else self._ipv6(packet[start:])
        except (struct.error, IndexError):
            return None

    def _ipv4(self, packet: bytes) -> Segment | None:
        length, identity, fragment, _, protocol = struct.unpack_from("!2xHHHBB", packet)
        source, target = packet[12:16], packet[16:20]
        head = (packet[0] & 15) * 4
        # The recorded length is 0 if the network card splits large packets itself.
        body, missing = _without_padding(packet[head:], length - head if length else None)
        if fragment & 0x3FFF:
            if missing:
                return None
            key = (source, target, identity)
            whole = self._reassemble(key, (fragment & 0x1FFF) * 8, bool(fragment & 0x2000), body)
            if whole is None:
                return None
            body = whole
        return _segment(protocol, source, target, body, missing)

    def _ipv6(self, packet: bytes) -> Segment | None:
        length, protocol = struct.unpack_from("!4xHB", packet)
        source, target = packet[8:24], packet[24:40]
        body, missing = _without_padding(packet[40:], length or None)
        while protocol in (*_EXTENSIONS, _FRAGMENT):
            following, extent = body[0], (body[1] + 1) * 8
            if protocol == _FRAGMENT:
                place, identity = struct.unpack_from("!2xHI", body)
                extent = 8
                if place & 0xFFF9:
                    if missing:
                        return None
                    key = (source, target, identity)
                    whole = self._reassemble(key, place & 0xFFF8, bool(place & 1), body[8:])
                    if whole is None:
                        return None
                    body, extent = whole, 0
            protocol, body = following, body[extent:]
        return _segment(protocol, source, target, body, missing)

    def _reassemble(
        self, key: tuple[bytes, bytes, int], place: int, more: bool, body: bytes
    ) -> bytes | None:
        """Return the whole packet if this is its last missing fragment, else None."""
        parts = self._parts.setdefault(key, _Parts())
        parts.pieces[place] = body
        if not more:
            parts.size = place + len(body)
        whole = b""
        for at in sorted(parts.pieces):
            if at > len(whole):
                break
            whole += parts.pieces[at][len(whole) - at :]
        if parts.size is not None and len(whole) >= parts.size:
            del self._parts[key]
            return whole
        if len(self._parts) > _WAITING:
            del self._parts[next(iter(self._parts))]
        return None


def _network(link: int, packet: bytes) -> int | None:
    """Return the place at which the network packet begins; None if the link type is unknown."""
    match link:
        case 0 | 108:  # loopback: four bytes with the protocol family
            return 4
        case 1:
            place = 12
            while struct.unpack_from("!H", packet, place)[0] in _VLANS:
                place += 4
            return place + 2 if struct.unpack_from("!H", packet, place)[0] in _NETWORKS else None
        case 12 | 14 | 101 | 228 | 229:
            return 0
        case 113:
            return 16 if struct.unpack_from("!H", packet, 14)[0] in _NETWORKS else None
        case 276:
            return 20 if struct.unpack_from("!H", packet)[0] in _NETWORKS else None
    return None


def _without_padding(body: bytes, length: int | None) -> tuple[bytes, int]:
    """Return the body without padding, and the number of its bytes that were not recorded."""
    if length is None:
        return body, 0
    return body[:length], max(0, length - len(body))


def _segment(
    protocol: int, source: bytes, target: bytes, body: bytes, missing: int
) -> Segment | None:
    if protocol not in (TCP, UDP):
        return None
    ports = struct.unpack_from("!HH", body)
    ends = [
        (str(ipaddress.ip_address(address)), port)
        for address, port in zip((source, target), ports, strict=True)
    ]
    if protocol == UDP:
        return Segment(ends[0], ends[1], UDP, body[8:], missing)
    sequence, acknowledged, offset, flags = struct.unpack_from("!4xIIBB", body)
    return Segment(
        ends[0],
        ends[1],
        TCP,
        body[(offset >> 4) * 4 :],
        missing,
        sequence,
        acknowledged if flags & ACK else None,
        flags,
    )
