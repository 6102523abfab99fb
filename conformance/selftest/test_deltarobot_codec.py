"""The deltarobot codec, against golden captures and plain ``struct``."""

import base64
import json
import struct
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.definitions import locations, protocols
from conformance.deltarobot import layout, strategies
from conformance.deltarobot.codec import (
    LIMIT,
    Decoder,
    encode,
    frame,
    layouts,
    message,
)
from conformance.generation import valid
from conformance.judging import captures

FOLDER = locations.folder("captures", "deltarobot") or Path()
EVENTS = [
    pytest.param(event, id=f"{path.stem}-{number}")
    for path in sorted(FOLDER.glob("*.jsonl"))
    for number, event in enumerate(captures.read(path).events)
    if event.message is not None
]
OPENING = bytes.fromhex("01 30 44 65 6C 74 61 52 56 72 02 20 01 00 00 00")


def decoded(data: bytes, size: int = 0) -> list[tuple[str | None, Any, bytes]]:
    decoder = Decoder()
    pieces = [data[at : at + size] for at in range(0, len(data), size)] if size else [data]
    return [(f.name, f.value, f.raw) for piece in pieces for f in decoder.feed(piece)]


@pytest.mark.parametrize("event", EVENTS)
def test_captures_both_ways(event: captures.Event) -> None:
    assert event.data is not None
    [(name, value, raw)] = decoded(event.data)
    # Compared as text, because 0.0 equals -0.0, and 1 equals 1.0.
    assert (name, json.dumps(value)) == (event.message, json.dumps(event.value))
    assert raw == event.data == encode(event.value)


def test_every_message_has_a_layout() -> None:
    named = {name for _, name in protocols.load("deltarobot").messages}
    assert {entry.name for entry in layouts().values()} == named


def test_curve_of_ten_thousand_points() -> None:
    [event] = captures.read(FOLDER / "curve-of-120000-bytes.jsonl").events
    assert event.data is not None
    assert len(event.data) == 120_006
    [(name, value, _)] = decoded(event.data)
    assert (name, value["points"]) == ("Curve", [[1.0, 2.0, -3.0]] * 10_000)
    assert encode(value) == event.data


FLOATS = st.one_of(
    st.floats(width=32),
    st.sampled_from([0x7F800001, 0x7FC00000, 0xFFC00000, 0x7F800000, 0xFF800000, 1]).map(
        lambda bits: bits.to_bytes(4, "little")
    ),
).map(lambda given: given if isinstance(given, bytes) else struct.pack("<f", given))


@settings(max_examples=200, database=None)
@given(contents=st.lists(FLOATS, min_size=4, max_size=4).map(b"".join))
def test_vectors_as_struct_reads_them(contents: bytes) -> None:
    data = struct.pack("<H", 0x4003) + contents
    [(name, value, raw)] = decoded(data)
    assert (name, raw) == ("CurrentActuatorPosition", data)
    assert encode(value) == data
    assert json.loads(json.dumps(value, allow_nan=False)) == value
    for axis, number in zip("xyzu", struct.unpack("<4f", contents), strict=True):
        if isinstance(value[axis], str):
            assert str(number) in (
                value[axis][:3].lower(),
                {"I": "inf", "-": "-inf"}.get(value[axis][0]),
            )
        else:
            assert struct.pack("<d", value[axis]) == struct.pack("<d", number)


@settings(max_examples=200, database=None)
@given(number=st.integers(0, 2**64 - 1))
def test_numbers_as_struct_reads_them(number: int) -> None:
    data = struct.pack("<HQ", 0x3004, number)
    assert decoded(data) == [("Ping", message("Ping", number=number), data)]


@settings(max_examples=100, database=None)
@given(contents=st.binary(max_size=60))
def test_any_curve_keeps_every_byte(contents: bytes) -> None:
    data = struct.pack("<HI", 0xF009, len(contents)) + contents
    [(name, value, _)] = decoded(data)
    assert name == "Curve"
    assert len(value["points"]) == len(contents) // 12
    assert ("rest" in value) == bool(len(contents) % 12)
    assert encode(value) == data


@settings(max_examples=100, database=None)
@given(plan=strategies.of_a_server(), cuts=st.lists(st.integers(1, 40), max_size=10))
def test_any_stream_survives(plan: list[Any], cuts: list[int]) -> None:
    data = b"".join(map(encode, plan))
    decoder, at, found = Decoder(), 0, []
    for cut in [*cuts, len(data)]:
        found += decoder.feed(data[at : at + cut])
        at += cut
    assert [encode(f.value) for f in found] == [encode(value) for value in plan]
    assert decoder.end() == []


@settings(max_examples=20, deadline=None, database=None)
@given(data=st.data())
def test_what_the_schemas_allow_can_be_encoded(data: st.DataObject) -> None:
    protocol = protocols.load("deltarobot")
    for (_, name), entry in protocol.messages.items():
        schema = protocol.schemas.schema(entry.schema)
        value = data.draw(valid(schema))
        [(found, again, _)] = decoded(encode(value))
        assert found == name
        assert not schema.errors(again)


@settings(max_examples=300, database=None)
@given(data=st.binary(max_size=200), size=st.integers(1, 20))
def test_any_bytes_are_bounded(data: bytes, size: int) -> None:
    frames = decoded(data, size)
    assert sum(len(raw) for _, _, raw in frames) <= len(data)


@pytest.mark.parametrize("size", range(0x5, 0xF))
def test_undefined_sizes_cannot_be_followed(size: int) -> None:
    decoder = Decoder()
    stray = (size << 12 | 0x123).to_bytes(2, "little")
    first, second = decoder.feed(OPENING[:10] + stray + OPENING)[0:2]
    assert first.name == "ProtocolMagic"
    assert second.requirement == "frame.undefined-sizes"
    assert second.raw == stray + OPENING
    [again] = decoder.feed(OPENING)
    assert again.error == second.error == decoder.lost
    assert decoder.end() == []


def test_four_gigabytes_take_no_memory() -> None:
    decoder = Decoder()
    tracemalloc.start()
    [frame] = decoder.feed(bytes.fromhex("09 F0 FF FF FF FF"))
    for _ in range(100):
        assert decoder.feed(bytes(100_000)) == []
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (frame.name, frame.value["length"]) == ("Oversized", 2**32 - 1)
    assert peak < 1_000_000
    [cut] = decoder.end()
    assert (cut.name, cut.value) == ("Truncated", {"begins": "09f0ffffffff"})


def test_what_follows_an_oversized_message() -> None:
    data = struct.pack("<HI", 0xF321, LIMIT + 1) + bytes(LIMIT + 1) + OPENING
    names = [name for name, _, _ in decoded(data, 100_000)]
    assert names == ["Oversized", "ProtocolMagic", "ProtocolVersion"]


@pytest.mark.parametrize("length", range(1, len(OPENING)))
def test_a_cut_stream(length: int) -> None:
    decoder = Decoder()
    decoder.feed(OPENING[:length])
    rest = [(frame.name, frame.raw) for frame in decoder.end()]
    left = OPENING[10:length] if length > 10 else OPENING[:length]
    assert rest == ([("Truncated", left)] if length != 10 else [])


@pytest.mark.parametrize(
    "value",
    [
        None,
        {},
        {"identifier": 3},
        {"identifier": "0x3004"},
        {"identifier": "0x3004", "number": -1},
        {"identifier": "0x3004", "number": 2**64},
        {"identifier": "0x3001", "magic": "DeltaRV"},
        {"identifier": "0x3001", "magic": "DeltaRV😀"},
        {"identifier": "0x0123", "data": "7f7f"},
        {"identifier": "0x5123", "data": ""},
        {"identifier": "0xf009", "points": [[1.0, 2.0]]},
        {"identifier": "0xf009", "points": [[1e39, 0.0, 0.0]]},
    ],
)
def test_what_is_no_message(value: Any) -> None:
    with pytest.raises(ValueError, match=r"0x|form|bytes|codec"):
        encode(value)


@pytest.mark.parametrize(
    "wire",
    [
        {"identifier": "0x3004", "byte-order": "middle", "fields": [{"name": "x", "type": "u64"}]},
        {"identifier": "0x3004", "byte-order": "little", "fields": [{"name": "x", "type": "u65"}]},
        {"identifier": "0x3004", "byte-order": "little", "fields": []},
        {"byte-order": "little", "fields": [{"name": "x", "type": "u64"}]},
    ],
)
def test_layouts_that_cannot_be_followed(tmp_path: Path, wire: Any) -> None:
    (tmp_path / "ping.json").write_text(json.dumps({"title": "Ping", "x-wire": wire}))
    if not wire.get("fields"):
        assert layout.load(tmp_path)[0x3004].size == 0
        return
    with pytest.raises(ValueError, match=r"ping\.json: its x-wire cannot be read"):
        layout.load(tmp_path)


def test_a_layout_of_another_protocol() -> None:
    fields = [
        {"name": "a", "type": "u16"},
        {"name": "b", "type": "f64"},
        {"name": "c", "type": "i8"},
    ]
    wire = {"identifier": "0x1001", "byte-order": "big", "fields": fields}
    found = layout.of("Other", wire)
    data = struct.pack(">Hdb", 7, float("-inf"), -3)
    value = found.read(data, 0, len(data))
    assert value == {"identifier": "0x1001", "a": 7, "b": "-Infinity", "c": -3}
    assert found.write(value) == data
    nan = struct.pack(">HQb", 0, 0x7FF0000000000001, 0)
    assert found.write(found.read(nan, 0, len(nan))) == nan


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (OPENING + encode(message("Ping", number=1)), None),
        (OPENING + frame(0x0123, b"\0") + OPENING, None),
        (OPENING + frame(0x0123, b"\0") * 2 + frame(0x1FFF, b"\0\0") + OPENING, None),
        (OPENING[:14] + encode(message("Ping", number=2**64 - 1)), "ProtocolVersion has 2 bytes"),
        (OPENING[:14] + encode(message("Ping", number=0)), "ProtocolVersion has 2 bytes"),
        (OPENING[:14] + encode(message("Ping", number=0xF123 << 40)) * 9, "ProtocolVersion has 2"),
        (OPENING + b"\x04\x30\1\2\3\4\x06\xf0", "Ping has 4 bytes"),
        (OPENING + (b"\x05\x30" + b"\xee" * 4) * 4, "Pong has 4 bytes"),
        (OPENING + b"\x05\x30A\x13\r\nBCDEF" * 4, "Pong has 9 bytes"),
        (OPENING[:10] + b"\0" + OPENING[10:] * 3, "ProtocolMagic has 9 bytes"),
        (
            OPENING
            + b"".join(k + b"\0\1\2\3" * 3 for k in (b"\3\x40", b"\7\x40", b"\x08\x40") * 2),
            "CurrentActuatorPosition has 12 bytes",
        ),
    ],
)
def test_misfits(data: bytes, expected: str | None) -> None:
    for size in (1, len(data)):
        decoder = Decoder()
        frames = [f for at in range(0, len(data), size) for f in decoder.feed(data[at : at + size])]
        wrong = [f for f in (*frames, *decoder.end()) if f.requirement == "frame.fixed-lengths"]
        assert len(wrong) <= 1 if expected is None else expected in (wrong[0].error or "")
        assert bool(wrong) == bool(expected)


def test_captures_hold_what_was_sent_in_base64_or_hex() -> None:
    event = captures.Event(0.0, "server", bytes.fromhex("022001000000"))
    assert event.to_json()["hex"] == "022001000000"
    long = captures.Event(0.0, "server", bytes(5000))
    assert base64.b64decode(long.to_json()["base64"]) == bytes(5000)
