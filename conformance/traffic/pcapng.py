"""Writes a capture as a packet file (pcapng), as if the peers had used loopback.

Streams (standard streams, unix sockets) become TCP, and transports with message boundaries become
UDP. Only the fields that TCP needs are invented; times and bytes come from the capture.
"""

import struct
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from conformance.configuration import ConfigurationError
from conformance.definitions.protocol import DATAGRAMS, Protocol
from conformance.judging.captures import Capture, CaptureError, Event
from conformance.live.sides import Side, sides
from conformance.traffic.packets import ACK, FIN, SYN, TCP, UDP

SERVED = 40001  # port of the first server if its protocol has no port of its own
_CLIENTS = 50000  # the client of connection N has the port 50000 + N
_LOOPBACK = bytes((127, 0, 0, 1))
_RAW = 101  # link type of packets that begin with the IP header
_PUSH = 8
_WINDOW = 65535
_LARGEST = 65000  # bytes of data in one packet, below the IP limit of 65535


def write(path: Path, capture: Capture, protocol: Protocol) -> tuple[int, ...]:
    """Write the file; return the ports of the server, one for each side.

    Raises CaptureError if the capture has no wire or the file cannot be written.
    """
    ends = peers(capture, protocol)
    ports = tuple(side.port or SERVED + number for number, side in enumerate(ends))
    connections = {
        number: _Connection(number or 1, capture.only_connection(number), ends, ports)
        for number in capture.connections
    }
    try:
        with path.open("wb") as file:
            file.write(_block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)))
            file.write(_block(1, struct.pack("<HHI", _RAW, 0, 0)))
            for event in capture.events:
                for packet in connections[event.connection].packets(event):
                    file.write(_packet(event.at, packet))
    except OSError as error:
        raise CaptureError(f"{path}: {error.strerror or error}") from error
    return ports


def peers(capture: Capture, protocol: Protocol) -> list[Side]:
    """Return the protocol's pairs of peers to which a capture belongs.

    Raises CaptureError if there are none.
    """
    senders = {event.sender for event in capture.events if event.sender}
    for role in protocol.roles:
        try:
            found = sides(protocol, role)
        except ConfigurationError:
            continue
        if senders <= {name for side in found for name in (side.server, side.client)}:
            return found
    raise CaptureError(f"no two peers of {protocol.name} use a wire in this capture")


class _Connection:
    """A connection: its two endpoints and their sequence numbers."""

    def __init__(
        self, number: int, capture: Capture, ends: Sequence[Side], ports: Sequence[int]
    ) -> None:
        senders = {event.sender for event in capture.events if event.sender}
        side, port = next(
            (side, port)
            for side, port in zip(ends, ports, strict=True)
            if senders <= {side.server, side.client}
        )
        self._side = side
        self._ports = {side.client: _CLIENTS + number, side.server: port}
        self._next = {side.client: 0, side.server: 0}
        self._begun = self._datagrams = (capture.transport or side.transports[0]) in DATAGRAMS
        self._ended: set[str] = set()

    def packets(self, event: Event) -> Iterator[bytes]:
        """Yield the packets of one event, in order."""
        client, server = self._side.client, self._side.server
        if not self._begun and (event.data is not None or event.event in ("connected", "closed")):
            self._begun = True
            yield self._segment(client, b"", SYN)
            yield self._segment(server, b"", SYN | ACK)
            yield self._segment(client, b"", ACK)
        if event.sender is None or event.sender in self._ended:
            return
        if event.data is not None and self._datagrams:
            yield self._datagram(event.sender, event.data)
        elif event.data is not None:
            for at in range(0, len(event.data), _LARGEST):
                part = event.data[at : at + _LARGEST]
                yield self._segment(event.sender, part, _PUSH | ACK)
        elif event.event == "closed" and not self._datagrams:
            self._ended.add(event.sender)
            yield self._segment(event.sender, b"", FIN | ACK)
            if len(self._ended) == 2:
                yield self._segment(self._peer(event.sender), b"", ACK)

    def _peer(self, sender: str) -> str:
        return next(name for name in self._ports if name != sender)

    def _segment(self, sender: str, data: bytes, flags: int) -> bytes:
        peer = self._peer(sender)
        sequence = self._next[sender]
        self._next[sender] = (sequence + len(data) + bool(flags & (SYN | FIN))) % 2**32
        acknowledged = self._next[peer] if flags & ACK else 0

        def head(checksum: int) -> bytes:
            return struct.pack(
                "!HHIIBBHHH",
                *(self._ports[sender], self._ports[peer], sequence, acknowledged),
                *(5 << 4, flags, _WINDOW, checksum, 0),
            )

        return _ip(TCP, head, data)

    def _datagram(self, sender: str, data: bytes) -> bytes:
        ports = self._ports[sender], self._ports[self._peer(sender)]

        def head(checksum: int) -> bytes:
            return struct.pack("!HHHH", *ports, 8 + len(data), checksum)

        return _ip(UDP, head, data)


def _ip(protocol: int, head: Callable[[int], bytes], data: bytes) -> bytes:
    size = len(head(0)) + len(data)
    about = _LOOPBACK + _LOOPBACK + struct.pack("!BBH", 0, protocol, size)
    body = head(_checksum(about + head(0) + data) or 0xFFFF) + data
    fields = (0x45, 0, 20 + size, 0, 0x4000, 64, protocol)
    plain = struct.pack("!BBHHHBBH", *fields, 0) + _LOOPBACK + _LOOPBACK
    return plain[:10] + struct.pack("!H", _checksum(plain)) + plain[12:] + body


def _checksum(data: bytes) -> int:
    """Return the TCP/IP checksum: the ones' complement sum of all 16-bit words."""
    padded = data + b"\0" * (len(data) % 2)
    total: int = sum(struct.unpack(f"!{len(padded) // 2}H", padded))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def _packet(at: float, packet: bytes) -> bytes:
    """Return the block of one packet, with its time in microseconds."""
    micro = round(at * 1e6)
    size = len(packet)
    head = struct.pack("<IIIII", 0, micro >> 32, micro & 0xFFFFFFFF, size, size)
    return _block(6, head + packet + b"\0" * (-size % 4))


def _block(kind: int, body: bytes) -> bytes:
    size = struct.pack("<I", 12 + len(body))
    return struct.pack("<I", kind) + size + body + size
