"""Packets and the streams in them: fragments, order, and missing packets."""

import struct

import pytest

from conformance.traffic.packets import ACK, SYN, TCP, UDP, Packets, Segment
from conformance.traffic.streams import Stream

PORT = 9000
SERVER, CLIENT = ("10.0.0.1", PORT), ("10.0.0.2", 50000)


def ipv4(protocol: int, body: bytes, fragment: int = 0, length: int | None = None) -> bytes:
    size = 20 + len(body) if length is None else length
    head = struct.pack("!BBHHHBBH", 0x45, 0, size, 7, fragment, 64, protocol, 0)
    return head + bytes((10, 0, 0, 2)) + bytes((10, 0, 0, 1)) + body


def ipv6(following: int, body: bytes) -> bytes:
    addresses = b"\0" * 15 + b"\2" + b"\0" * 15 + b"\1"
    return struct.pack("!IHBB", 6 << 28, len(body), following, 64) + addresses + body


def udp(data: bytes) -> bytes:
    return struct.pack("!HHHH", 50000, PORT, 8 + len(data), 0) + data


def tcp(data: bytes, flags: int = ACK, options: bytes = b"") -> bytes:
    offset = (20 + len(options)) // 4 << 4
    return struct.pack("!HHIIBBHHH", 50000, PORT, 5, 9, offset, flags, 99, 0, 0) + options + data


ETHERNET = bytes(12)


@pytest.mark.parametrize(
    ("link", "packet"),
    [
        (1, ETHERNET + b"\x08\x00" + ipv4(UDP, udp(b"hello")) + b"padding of a short frame"),
        (1, ETHERNET + b"\x81\x00\0\1\x08\x00" + ipv4(UDP, udp(b"hello"))),
        (1, ETHERNET + b"\x86\xdd" + ipv6(UDP, udp(b"hello"))),
        (0, b"\2\0\0\0" + ipv4(UDP, udp(b"hello"))),
        (108, b"\0\0\0\2" + ipv4(UDP, udp(b"hello"))),
        (101, ipv4(UDP, udp(b"hello"))),
        (101, ipv4(UDP, udp(b"hello"), length=0)),
        (101, ipv6(UDP, udp(b"hello"))),
        (101, ipv6(0, bytes((UDP, 0)) + bytes(6) + udp(b"hello"))),
        (113, bytes(14) + b"\x08\x00" + ipv4(UDP, udp(b"hello"))),
        (276, b"\x08\x00" + bytes(18) + ipv4(UDP, udp(b"hello"))),
    ],
)
def test_a_datagram_is_found_on_each_link(link: int, packet: bytes) -> None:
    part = Packets().read(link, packet)
    assert part is not None
    assert (part.protocol, part.data, part.missing) == (UDP, b"hello", 0)
    assert (part.source[1], part.target[1]) == (50000, PORT)


def test_a_segment_has_its_numbers() -> None:
    part = Packets().read(101, ipv4(TCP, tcp(b"data", SYN | ACK, options=bytes(8))))
    assert part == Segment(CLIENT, SERVER, TCP, b"data", 0, 5, 9, SYN | ACK)


def test_what_was_not_recorded_is_known() -> None:
    part = Packets().read(101, ipv4(TCP, tcp(b"the whole data"))[:-5])
    assert part is not None
    assert (part.data, part.missing) == (b"the whole", 5)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
def test_fragments_become_one_datagram(order: tuple[int, ...]) -> None:
    whole = udp(bytes(range(40)))
    pieces = [(0, whole[:16], True), (16, whole[16:32], True), (32, whole[32:], False)]
    four, six = Packets(), Packets()
    last: list[Segment | None] = []
    for number in order:
        at, piece, more = pieces[number]
        head = struct.pack("!BBHI", UDP, 0, at | more, 7)
        last = [
            four.read(101, ipv4(UDP, piece, fragment=at // 8 | (0x2000 if more else 0))),
            six.read(101, ipv6(44, head + piece)),
        ]
    assert [part and part.data for part in last] == [bytes(range(40))] * 2


@pytest.mark.parametrize(
    "packet",
    [b"", ETHERNET, ETHERNET + b"\x08\x06" + bytes(28), ETHERNET + b"\x08\x00\x45", bytes(60)],
)
def test_other_packets_are_left_alone(packet: bytes) -> None:
    assert Packets().read(1, packet) is None


# Streams


def test_a_stream_is_put_in_order() -> None:
    stream = Stream(first=2**32 - 2)
    assert stream.take(2**32 - 2, b"ab", 0, False, 1) == b"ab"
    assert stream.take(2, b"ef", 0, True, 2) == b""
    assert stream.lost_at == 2
    assert not stream.ended
    assert stream.take(2**32 - 1, b"bc", 0, False, 3) == b"c"
    assert stream.lost_at == 2
    assert stream.take(0, b"cd", 0, False, 4) == b"def"
    assert stream.lost_at is None
    assert stream.ended
    assert stream.take(2, b"ef", 0, True, 5) == b""


def test_what_a_stream_lacks_is_known_by_what_its_peer_has() -> None:
    stream = Stream(first=10)
    stream.take(10, b"ab", 0, False, 1)
    stream.acknowledge(12, 2)
    assert stream.lost_at is None
    stream.acknowledge(20, 3)
    assert stream.lost_at == 3
