"""Reads the connections to a server from a packet file (pcap, pcapng).

Missing bytes are reported and never guessed: a connection is judged up to the first gap.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from conformance.configuration import ConfigurationError
from conformance.definitions.protocol import Protocol
from conformance.judging.captures import CaptureError, Event, end_details
from conformance.live.sides import Side
from conformance.traffic.container import BEGINNINGS, Container, Unreadable
from conformance.traffic.foreign_recordings import Foreign, capture
from conformance.traffic.packets import (
    ACK,
    FIN,
    RST,
    SYN,
    TCP,
    UDP,
    Endpoint,
    Packets,
    Segment,
)
from conformance.traffic.streams import Stream

LOST = "lost"  # the event after which the rest of a connection is unknown
_MAX_PORTS = 10  # ports that an error message lists


def is_one(path: Path) -> bool:
    """Return True if a file begins like a packet file.

    Raises CaptureError if the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            return file.read(4) in BEGINNINGS
    except OSError as error:
        raise CaptureError(f"{path}: {error.strerror or error}") from error


@dataclass
class _Connection:
    """A connection, and its events with the numbers of their packets."""

    client: Endpoint
    server: Endpoint
    protocol: int
    side: Side
    streams: dict[Endpoint, Stream] = field(default_factory=dict)
    shown: list[tuple[int, Event]] = field(default_factory=list)
    begun: bool = True
    """True if the beginning of the connection was recorded."""

    def party(self, end: Endpoint) -> str:
        return self.side.client if end == self.client else self.side.server

    @property
    def name(self) -> str:
        ends = [
            f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
            for host, port in (self.client, self.server)
        ]
        return f"{ends[0]} to {ends[1]}"

    def first_gap(self) -> tuple[int, str] | None:
        """Return the first packet after a gap, and the party whose bytes are missing; else None."""
        gaps = [
            (stream.lost_at, self.party(end))
            for end, stream in self.streams.items()
            if stream.lost_at is not None
        ]
        return min(gaps, default=None)


def read(path: Path, protocol: Protocol, sides: Sequence[Side], ports: Sequence[int]) -> Foreign:
    """Read the connections to these server ports, one port for each side.

    Without ports, the ports of the protocol are used, or the only port in the file. Raises
    CaptureError if the file cannot be read, and ConfigurationError if the ports are unclear.
    """
    packets, unread = _segments(path)
    found = join_segments(
        protocol, packets, _sides_by_port(path, sides, ports, [part for *_, part in packets])
    )
    return replace(found, left_out=(*unread, *found.left_out))


def join_segments(
    protocol: Protocol,
    packets: Iterable[tuple[int, float, Segment]],
    served_ports: Mapping[int, Side],
) -> Foreign:
    """Return the connections to these ports; each packet has its number and time in seconds."""
    connections: list[_Connection] = []
    latest: dict[frozenset[Endpoint], _Connection] = {}
    for number, at, part in packets:
        key = frozenset((part.source, part.target))
        connection = latest.get(key)
        if connection is None or _is_new_connection(part, connection):
            if not (opened := _open_connection(part, served_ports)):
                continue
            connection = latest[key] = opened
            connections.append(connection)
            _show(connection, number, at, event="connected")
        if part.protocol == TCP:
            _follow(connection, number, at, part)
        elif part.missing:
            _show(connection, number, at, event=LOST)
        else:
            _show(connection, number, at, part.source, part.data)
    return _capture(protocol, connections)


def _segments(path: Path) -> tuple[list[tuple[int, float, Segment]], list[str]]:
    """Return the segments and datagrams of a file, and descriptions of unread parts.

    Each segment has the number of its packet, from 1 on, and its time in seconds.
    """
    packets = Packets()
    found = []
    number = 0
    try:
        with path.open("rb") as file:
            container = Container(file)
            for number, packet in enumerate(container, 1):
                if part := packets.read(packet.link, packet.data):
                    found.append((number, packet.at, part))
    except (OSError, Unreadable) as error:
        raise CaptureError(f"{path}: cannot be read as packets: {error}") from error
    unread = [f"everything after packet {number}: {container.unread}"] if container.unread else []
    return found, unread


def _sides_by_port(
    path: Path, sides: Sequence[Side], ports: Sequence[int], parts: Sequence[Segment]
) -> Mapping[int, Side]:
    """Return the side that is served at each port.

    Raises ConfigurationError if the number of ports does not match the number of sides.
    """
    chosen = list(ports) or [side.port for side in sides if side.port]
    served = {part.target[1]: None for part in parts if part.flags & (SYN | ACK) == SYN}
    if not served:
        served = {part.target[1]: None for part in parts if part.protocol == UDP}
    if not chosen and len(sides) == len(served) == 1:
        chosen = list(served)
    if len(chosen) != len(sides):
        names = ",".join(side.channel or side.server for side in sides)
        known = ", ".join(map(str, list(served)[:_MAX_PORTS])) or "none with a connection"
        raise ConfigurationError(f"{path}: say --port {names}; the file has the ports {known}")
    return dict(zip(chosen, sides, strict=True))


def _is_new_connection(part: Segment, connection: _Connection) -> bool:
    """Return True if a segment opens a new connection between known endpoints."""
    if part.flags & (SYN | ACK) != SYN:
        return False
    known = connection.streams.get(part.source)
    # The same sequence number means that the segment was sent again.
    return known is None or (part.sequence + 1) % 2**32 != known.first


def _open_connection(part: Segment, served_ports: Mapping[int, Side]) -> _Connection | None:
    """Return the new connection of a first segment; None if its port is not served."""
    ends = [part.source, part.target]
    if part.protocol == TCP and part.flags & SYN:
        # A SYN comes from the client, and a SYN with ACK from the server.
        ends = ends[::-1] if part.flags & ACK else ends
    elif part.target[1] not in served_ports:
        ends = ends[::-1]
    side = served_ports.get(ends[1][1])
    if side is None:
        return None
    begun = part.protocol == UDP or part.flags & (SYN | ACK) == SYN
    return _Connection(ends[0], ends[1], part.protocol, side, begun=begun)


def _follow(connection: _Connection, number: int, at: float, part: Segment) -> None:
    """Process one TCP segment."""
    sequence = part.sequence
    if part.flags & SYN:
        sequence = (sequence + 1) % 2**32
        connection.streams.setdefault(part.source, Stream(sequence))
    stream = connection.streams.get(part.source)
    if stream is None:
        connection.begun = False
        return
    peer = connection.streams.get(part.target)
    if peer and part.acknowledged is not None and not part.flags & RST:
        peer.acknowledge(part.acknowledged, number)
    ended = stream.ended
    fin = bool(part.flags & FIN)
    if part.data or fin:
        taken = stream.take(sequence, part.data, part.missing, fin, number)
        if taken and not ended:
            _show(connection, number, at, part.source, taken)
    reset = bool(part.flags & RST)
    stream.ended = stream.ended or reset
    if stream.ended and not ended:
        _show(connection, number, at, part.source, event="closed", reset=reset)


def _show(
    connection: _Connection,
    number: int,
    at: float,
    sender: Endpoint | None = None,
    data: bytes | None = None,
    event: str | None = None,
    reset: bool = False,
) -> None:
    kind = "tcp" if connection.protocol == TCP else "udp"
    details = {"transport": kind} if event == "connected" else end_details(reset)
    party = connection.party(sender) if sender else None
    connection.shown.append((number, Event(at, party, data, event=event, details=details)))


def _capture(protocol: Protocol, connections: Sequence[_Connection]) -> Foreign:
    """Return one capture of all connections, each up to its first gap."""
    left_out = []
    events: list[tuple[int, Event]] = []
    servers = list(dict.fromkeys(connection.server[0] for connection in connections))
    judged = 0
    for connection in connections:
        lost = connection.first_gap()
        shown = connection.shown
        if not connection.begun:
            left_out.append(f"{connection.name}: its beginning was not recorded")
            continue
        judged += 1
        if lost:
            since, party = lost
            at = next((e.at for n, e in shown if n >= since), shown[-1][1].at)
            shown = [(n, event) for n, event in shown if n < since]
            shown.append((since, Event(at, None, event=LOST)))
            left_out.append(
                f"{connection.name}: from packet {since} on: bytes of the {party} are missing"
            )
        for number, event in shown:
            details = dict(event.details)
            if event.event == "connected" and len(servers) > 1:
                details["instance"] = servers.index(connection.server[0]) + 1
            moved = Event(
                event.at, event.sender, event.data, None, None, event.event, details, judged
            )
            events.append((number, moved))
    events.sort(key=lambda entry: entry[0])
    began = events[0][1].at if events else 0.0
    shifted = [
        Event(e.at - began, e.sender, e.data, None, None, e.event, e.details, e.connection)
        for _, e in events
    ]
    found = capture(protocol, shifted, "read from packets")
    return Foreign(found, tuple(number for number, _ in events), tuple(left_out))
