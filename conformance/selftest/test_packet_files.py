"""Packet files, byte by byte: both byte orders, all blocks, truncated and hostile."""

import io
import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.definitions import locations, protocols
from conformance.judging import captures
from conformance.traffic import container, pcap, pcapng
from conformance.traffic.container import Container, Packet, Unreadable

ETHERNET, RAW = 1, 101


def old(sign: str, magic: int = 0xA1B2C3D4, ticks: int = 250_000) -> bytes:
    """Return a pcap of two packets, at 10.25 and 11 seconds."""
    head = struct.pack(f"{sign}IHHiIII", magic, 2, 4, 0, 0, 65535, ETHERNET)
    packets = [(10, ticks, b"first"), (11, 0, b"")]
    return head + b"".join(
        struct.pack(f"{sign}IIII", at, part, len(data), 99) + data for at, part, data in packets
    )


def block(sign: str, kind: int, body: bytes) -> bytes:
    body += bytes(-len(body) % 4)
    size = struct.pack(f"{sign}I", 12 + len(body))
    return struct.pack(f"{sign}I", kind) + size + body + size


def section(sign: str) -> bytes:
    return block(sign, 0x0A0D0D0A, struct.pack(f"{sign}IHHq", 0x1A2B3C4D, 1, 0, -1))


def option(sign: str, code: int, value: bytes) -> bytes:
    return struct.pack(f"{sign}HH", code, len(value)) + value + bytes(-len(value) % 4)


def interface(sign: str, link: int = ETHERNET, options: bytes = b"", longest: int = 0) -> bytes:
    return block(sign, 1, struct.pack(f"{sign}HHI", link, 0, longest) + options)


def enhanced(sign: str, at: int, data: bytes, number: int = 0) -> bytes:
    head = struct.pack(f"{sign}IIIII", number, at >> 32, at & 0xFFFFFFFF, len(data), 99)
    return block(sign, 6, head + data + bytes(-len(data) % 4) + option(sign, 1, b"a comment"))


def read(data: bytes) -> tuple[list[Packet], str]:
    packets = Container(io.BytesIO(data))
    return list(packets), packets.unread


@pytest.mark.parametrize("sign", ["<", ">"])
def test_a_pcap_is_read_in_either_order_and_resolution(sign: str) -> None:
    expected = [Packet(ETHERNET, 10.25, b"first"), Packet(ETHERNET, 11.0, b"")]
    assert read(old(sign)) == (expected, "")
    assert read(old(sign, 0xA1B23C4D, 250_000_000)) == (expected, "")


@pytest.mark.parametrize("sign", ["<", ">"])
def test_every_kind_of_packet_block_is_read(sign: str) -> None:
    data = section(sign) + interface(sign, longest=4)
    data += interface(sign, RAW, option(sign, 9, b"\x09") + option(sign, 0, b""))
    data += block(sign, 0x0BAD, b"skipped") + enhanced(sign, 10_250_000, b"first")
    data += enhanced(sign, 1_500_000_000, b"second", 1)
    data += block(sign, 3, struct.pack(f"{sign}I", 99) + b"thir")
    data += block(sign, 2, struct.pack(f"{sign}HHIIII", 1, 0, 0, 2 * 10**9, 6, 99) + b"fourth\0\0")
    assert read(data) == (
        [
            Packet(ETHERNET, 10.25, b"first"),
            Packet(RAW, 1.5, b"second"),
            Packet(ETHERNET, 1.5, b"thir"),
            Packet(RAW, 2.0, b"fourth"),
        ],
        "",
    )


def test_times_are_in_the_resolution_of_their_interface_and_from_its_offset() -> None:
    options = option("<", 9, b"\x8a") + option("<", 14, struct.pack("<q", 100))
    data = section("<") + interface("<", options=options) + enhanced("<", 1536, b"x")
    assert [packet.at for packet in read(data)[0]] == [101.5]


def test_each_section_has_interfaces_and_an_order_of_its_own() -> None:
    sections = [
        section(sign) + interface(sign, link) + enhanced(sign, 0, b"x")
        for sign, link in (("<", ETHERNET), (">", RAW))
    ]
    assert [packet.link for packet in read(b"".join(sections))[0]] == [ETHERNET, RAW]


NEXT = section("<") + interface("<") + enhanced("<", 1, b"abc") + enhanced("<", 2, b"def")


@pytest.mark.parametrize("data", [old("<"), old(">"), NEXT], ids=["<", ">", "pcapng"])
def test_a_file_that_is_cut_off_gives_what_was_whole_and_tells(data: bytes) -> None:
    whole, _ = read(data)
    begun = 28 if data is NEXT else 24
    for size in range(begun, len(data)):
        packets, unread = read(data[:size])
        assert packets == whole[: len(packets)]
        assert unread.startswith(f"it ends at byte {size}; ") or size in _between(data)
    for size in range(begun):
        with pytest.raises(Unreadable):
            read(data[:size])


def _between(data: bytes) -> set[int]:
    """Return the offsets between packets or blocks, where truncation is invisible."""
    if data is not NEXT:
        return {24, 24 + 16 + 5}
    ends = [section("<"), interface("<"), enhanced("<", 1, b"abc")]
    return {sum(map(len, ends[:number])) for number in (1, 2, 3)}


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (struct.pack("<IIII", 1, 1, 0xFFFFFFFF, 1), "a block of 4294967295 bytes is announced"),
        (struct.pack("<IIII", 1, 1, 100, 1), "it ends at byte 40; 100 bytes are missing"),
    ],
)
def test_a_pcap_that_lies_of_its_sizes_is_read_up_to_there(data: bytes, expected: str) -> None:
    packets, unread = read(old("<")[:24] + data)
    assert packets == []
    assert expected in unread


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (struct.pack("<III", 6, 0xFFFFFFFC, 0), "a block of 4294967284 bytes is announced"),
        (struct.pack("<III", 6, 8, 0), "a block of invalid size 8 begins at byte"),
        (struct.pack("<III", 6, 33, 0), "a block of invalid size 33 begins at byte"),
        (block("<", 6, bytes(8)), "is invalid"),
        (enhanced("<", 0, b"x", number=1), "is invalid"),
        (block("<", 6, struct.pack("<IIIII", 0, 0, 0, 50, 50)), "is invalid"),
        (b"\x0a\x0d\x0d\x0a" + bytes(40), "has no byte-order mark"),
    ],
)
def test_a_pcapng_that_makes_no_sense_is_read_up_to_there(data: bytes, expected: str) -> None:
    packets, unread = read(NEXT + data + enhanced("<", 3, b"behind"))
    assert [packet.data for packet in packets] == [b"abc", b"def"]
    assert expected in unread


@given(st.binary(max_size=60), st.integers(0, len(NEXT)))
def test_whatever_a_file_holds_it_is_read_or_refused(data: bytes, place: int) -> None:
    for begun in (NEXT, old(">")):
        packets, unread = read(begun[: max(28, place)] + data)
        assert all(packet.link >= 0 for packet in packets)
        assert isinstance(unread, str)


def test_what_a_cut_off_file_lacks_is_told(tmp_path: Path) -> None:
    folder = locations.folder("captures", "deltarobot") or Path()
    capture = captures.read(folder / "session-minimal.jsonl")
    protocol = protocols.load("deltarobot")
    path = tmp_path / "x.pcapng"
    ports = pcapng.write(path, capture, protocol)
    whole = pcap.read(path, protocol, pcapng.peers(capture, protocol), ports)
    path.write_bytes(path.read_bytes()[:-5])
    part = pcap.read(path, protocol, pcapng.peers(capture, protocol), ports)
    assert whole.left_out == ()
    assert part.left_out[0].startswith("everything after packet ")
    assert part.capture.events == whole.capture.events[: len(part.capture.events)] != ()


@pytest.mark.skipif(not shutil.which("editcap"), reason="it needs Wireshark's editcap")
@pytest.mark.parametrize("form", ["pcap", "nsecpcap", "modpcap", "pcapng"])
def test_what_wireshark_writes_is_read_alike(form: str, tmp_path: Path) -> None:
    folder = locations.folder("captures", "deltarobot") or Path()
    capture = captures.read(folder / "session-minimal.jsonl")
    ours, theirs = tmp_path / "ours.pcapng", tmp_path / "theirs"
    pcapng.write(ours, capture, protocols.load("deltarobot"))
    command = ["editcap", "-F", form, str(ours), str(theirs)]
    subprocess.run(command, check=True, capture_output=True)
    with ours.open("rb") as one, theirs.open("rb") as other:
        written, again = list(Container(one)), list(Container(other))
    assert [(packet.link, packet.data) for packet in again] == [
        (packet.link, packet.data) for packet in written
    ]
    assert [packet.at for packet in again] == pytest.approx([packet.at for packet in written])


def test_the_beginnings_are_those_of_the_formats() -> None:
    assert {begun.hex() for begun in container.BEGINNINGS} == {
        *("a1b2c3d4", "d4c3b2a1", "a1b23c4d", "4d3cb2a1", "a1b2cd34", "34cdb2a1"),
        "0a0d0d0a",
    }
