"""The runtime's codec, against golden captures and arbitrary bytes."""

import json
import struct
from pathlib import Path
from typing import Any

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.codec import Datagrams
from conformance.definitions import locations
from conformance.judging import captures
from conformance.runtime.codec import Decoder, encode
from conformance.runtime.encodings import encodings
from conformance.runtime.objects import DEPTH, LIMIT

FOLDER = locations.folder("captures", "runtime") or Path()
GOLDEN = sorted(path for path in FOLDER.glob("*.jsonl") if "violation" not in path.name)
EVENTS = {
    f"{path.stem}-{number}": event
    for path in GOLDEN
    for number, event in enumerate(captures.read(path).events)
    if event.message is not None
}

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=40)
    | st.binary(max_size=300).map(lambda data: {"$bin": data.hex()})
    | st.sampled_from([{"$float": text} for text in ("nan", "inf", "-inf")])
    | st.builds(lambda code, data: {"$ext": [code, data.hex()]}, st.integers(0, 127), st.binary())
)
KEYS = st.text(max_size=8).filter(lambda key: not key.startswith("$"))
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(KEYS, inner, max_size=5)
        | st.lists(st.tuples(st.integers(0, 9), inner), min_size=1, max_size=3).map(
            lambda pairs: {"$map": [list(pair) for pair in pairs]}
        )
    ),
    max_leaves=20,
)


def same(one: Any, other: Any) -> bool:
    """Compare as text: 1, 1.0 and true differ, and so do 0.0 and -0.0."""
    return json.dumps(one) == json.dumps(other)


@pytest.mark.parametrize("event", EVENTS.values(), ids=EVENTS)
def test_captures_both_ways(event: captures.Event) -> None:
    assert event.data is not None
    [frame] = Decoder().feed(event.data)
    assert frame.name == event.message
    assert same(frame.value, event.value)
    assert frame.raw == event.data
    assert (encode(event.value) == event.data) != bool(event.details.get("variant"))


@settings(max_examples=200, database=None, deadline=None)
@given(value=VALUES)
def test_any_value_both_ways(value: Any) -> None:
    [frame] = Decoder().feed(encode(value))
    assert same(frame.value, value)
    assert same(json.loads(json.dumps(frame.value, allow_nan=False)), value)


@settings(max_examples=200, database=None, deadline=None)
@given(value=VALUES)
def test_every_form_means_the_same(value: Any) -> None:
    for name, form in encodings(value).items():
        [frame] = Decoder().feed(form)
        assert same(frame.value, value), name
        assert len(form) >= len(encode(value)) or "single" in name


@settings(max_examples=100, database=None, deadline=None)
@given(values=st.lists(VALUES, max_size=6), cuts=st.lists(st.integers(1, 30), max_size=20))
def test_any_segmentation(values: list[Any], cuts: list[int]) -> None:
    data = b"".join(map(encode, values))
    decoder, at, found = Decoder(), 0, []
    for cut in [*cuts, len(data)]:
        found += decoder.feed(data[at : at + cut])
        at += cut
    assert same([frame.value for frame in found], values)
    assert decoder.end() == []


@settings(max_examples=300, database=None, deadline=None)
@given(data=st.binary(max_size=60))
def test_any_bytes_survive(data: bytes) -> None:
    decoder = Decoder()
    frames = [*decoder.feed(data), *decoder.end()]
    assert b"".join(frame.raw for frame in frames) == data
    assert all((frame.name is None) == bool(frame.error) for frame in frames)


def test_a_str_that_is_no_text() -> None:
    [frame] = Decoder().feed(b"\xa2\xff\x41")
    assert frame.value == {"$raw": "ff41"}
    assert encode(frame.value) == frame.raw


@pytest.mark.parametrize(
    ("data", "name", "value"),
    [
        (msgpack.packb({"a": 1, 2: 3}), "Object", {"$map": [["a", 1], [2, 3]]}),
        (b"\x82\xa1a\x01\xa1a\x02", "Object", {"$map": [["a", 1], ["a", 2]]}),
        (b"\x81\xa4$bin\xa0", "Object", {"$map": [["$bin", ""]]}),
        (b"\x94\xc3\x01\xc0\xc0", "Object", [True, 1, None, None]),
        (b"\x90", "Object", []),
        (b"\x91\x01", "Response", [1]),
        (b"\xca" + struct.pack(">f", 0.5), "Object", 0.5),
    ],
)
def test_shapes(data: bytes, name: str, value: Any) -> None:
    [frame] = Decoder().feed(data)
    assert (frame.name, frame.value) == (name, value)


@pytest.mark.parametrize("data", [b"\xdd\x01\xff\x00\x00\x01", b"\xdf\x00\xff\x00\x00\xa1a"])
def test_what_is_announced_takes_no_memory(data: bytes) -> None:
    decoder = Decoder()
    assert decoder.feed(data) == []
    [frame] = decoder.end()
    assert frame.error == "the stream ended within an object"


@pytest.mark.parametrize(
    "data",
    [
        b"\xc1",
        b"\xc6" + (LIMIT + 1).to_bytes(4, "big"),
        b"\xdd" + (LIMIT + 1).to_bytes(4, "big"),
        b"\xdf\xff\xff\xff\xff\xa1a",
        b"\x91" * (DEPTH + 1),
    ],
)
def test_what_cannot_be_read_ends_the_reading(data: bytes) -> None:
    decoder = Decoder()
    good, broken = decoder.feed(b"\x05" + data)
    assert (good.name, broken.name) == ("Object", None)
    [behind] = decoder.feed(b"\x05")
    assert behind.name is None
    assert decoder.end() == []


@pytest.mark.parametrize(
    ("datagram", "error"),
    [
        (b"\x05", None),
        (b"", "received nothing"),
        (b"\x05\x05", "received 2 messages"),
        (b"\x05\x91", "the last of which is wrong: the stream ended within an object"),
        (b"\x91", "the stream ended within an object"),
    ],
)
def test_datagrams(datagram: bytes, error: str | None) -> None:
    decoder = Datagrams(Decoder)
    assert decoder.feed(b"\x01")[0].name == "Object"
    [frame] = decoder.feed(datagram)
    assert frame.raw == datagram
    assert (error or "") in (frame.error or "")
    assert bool(frame.error) == bool(error)
