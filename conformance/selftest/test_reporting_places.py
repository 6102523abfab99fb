"""The place of a message's wrong member, in its decoded form and in its bytes."""

import struct
from pathlib import Path
from typing import Any

import pytest

from conformance.deltarobot import codec as deltarobot
from conformance.reporting import ladder, places
from conformance.reporting.ladder import Mark
from conformance.reporting.text import hexdump, hexdump_ranges
from conformance.runtime import codec as runtime
from conformance.selftest.report_fixtures import write_transcript
from conformance.simspark.codec import encode


@pytest.mark.parametrize(
    ("text", "path", "expected"),
    [
        ('{"a": {"b": [1, {"c": "é☃"}]}}', ["a", "b", 1, "c"], '"é☃"'),
        (" [ 1 , [2, 3] ]", [1, 0], "2"),
        ('{"a\\"b": 1, "a": {}}', ["a"], "{}"),
        ('{"a": "x\\ny\\u0041"}', ["a", 1], "\\n"),
        ('{"a": "x\\ny\\u0041"}', ["a", 3], "\\u0041"),
        ('{"a": "x"}', ["a", 1], None),
        ("7", [], "7"),
        ('{"a": 1}', ["b"], None),
        ('{"a": 1}', [0], None),
        ("[1", [1], None),
        ('{"a"', ["a"], None),
        ("", ["a"], None),
    ],
)
def test_a_member_is_found_in_text_and_bytes(
    text: str, path: list[str | int], expected: str | None
) -> None:
    found = places.range_in_text(text, path)
    assert (text[slice(*found)] if found else None) == expected
    data = b"POST / HTTP/1.1\r\n\r\n" + text.encode()
    within = places.range_in_bytes(data, path)
    if text.strip()[:1] in ("{", "["):
        assert (data[slice(*within)].decode() if within else None) == expected


def test_an_expression_is_marked_in_its_bytes(tmp_path: Path) -> None:
    """If the wire is not JSON, the codec finds the place of a member."""
    data = encode([["GS", ["t", "0.1"], ["pm", "Wrong"]], ["x"]])
    event = {"at": 0, "from": "server", "hex": data.hex(), "message": "Perceptors"}
    path = write_transcript(tmp_path, event, protocol="simspark")
    for members, expected in (
        ((0, 2, 1), "Wrong"),
        ((0, 2, 1, 4), "g"),
        ((0, 1), "(t 0.1)"),
        ((0, 3), ""),
    ):
        [step] = ladder.read(path, "server", {0: [Mark("x", members)]}).steps
        marked = [step.dump[start:end] for start, end in step.dump_marks]
        assert "".join(text for text in marked[1::2]) == expected


def test_what_is_wrong_far_inside_a_long_message_is_shown(tmp_path: Path) -> None:
    """The report shows the wrong part of a message of 100 kB."""
    nodes: list[Any] = [["nd", "TRF", ["SLT", *"1000010000100001"]] for _ in range(2500)]
    nodes[2400][2][13] = "wrong"
    value = [[["time", "0"]], ["RSG", "0", "1"], nodes]
    event = {"at": 0, "from": "server", "hex": encode(value).hex(), "message": "FullState"}
    path = write_transcript(tmp_path, {**event, "value": value}, protocol="simspark")
    members = (2, 2400, 2, 13)
    [step] = ladder.read(path, "server", {0: [Mark("x", members)]}).steps
    assert "wrong" in step.preview and step.preview.startswith("… ")
    assert "".join(step.dump[a:b] for a, b in step.dump_marks[1::2]) == "wrong"
    assert [step.decoded[a:b] for a, b in step.decoded_marks] == ['"wrong"']
    first = int(step.dump.split(" ")[0], 16)
    assert bytes.fromhex("".join(step.dump.split("  ")[1:3])) == encode(value)[first : first + 16]
    assert step.cut == f"{first:,} to {first + ladder.MAX_BYTES:,} of {len(encode(value)):,} bytes"
    assert len(step.decoded) < 2 * ladder.MAX_DECODED
    [unmarked] = ladder.read(path, "server", {}).steps
    assert "wrong" not in unmarked.dump + unmarked.decoded and not unmarked.preview.startswith("…")


def test_a_field_is_found_in_a_binary_frame() -> None:
    vector = deltarobot.message("DesiredDirectionVector", x=1.0, y=2.0, z=3.0, u=4.0)
    data = deltarobot.encode(vector)
    found = deltarobot.place(data, ("y",))
    assert found is not None and data[slice(*found)] == struct.pack("<f", 2.0)
    curve = deltarobot.message("Curve", points=[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    data = deltarobot.encode(curve)
    for path, numbers in (
        (("points",), (1, 2, 3, 4, 5, 6)),
        (("points", 1), (4, 5, 6)),
        (("points", 1, 2), (6,)),
    ):
        found = deltarobot.place(data, path)
        assert found is not None
        assert data[slice(*found)] == struct.pack(f"<{len(numbers)}f", *numbers)
    assert deltarobot.place(data, ("identifier",)) == (0, 2)
    assert deltarobot.place(data, ("points", 2)) is None
    assert deltarobot.place(data, ("length",)) is None


@pytest.mark.parametrize(
    ("value", "path", "expected"),
    [
        ([1, 0, "no", {"a": 7}], [2], "no"),
        ([1, 0, "no", {"a": 7}], [3, "a"], 7),
        ({"first": [1, 2.5], "second": "x" * 40}, ["second"], "x" * 40),
        ({"first": [1, 2.5], "y" * 300: {"z": [1]}}, ["y" * 300, "z", 0], 1),
        ({str(number): number for number in range(70)}, ["69"], 69),
        ({"$map": [[1, "one"], [2, "two"]]}, ["$map", 1, 1], "two"),
        ({"$map": [[1, "one"], [2, "two"]]}, ["$map", 1, 0], 2),
        ([{"$bin": "00ff"}], [0, "$bin"], {"$bin": "00ff"}),
        ([{"$float": "nan"}, 1], [0, "$float"], {"$float": "nan"}),
        ([1, 2], [], [1, 2]),
    ],
)
def test_a_member_is_found_in_messagepack(value: Any, path: list[Any], expected: Any) -> None:
    data = runtime.encode(value)
    found = runtime.place(data, path)
    assert found is not None and data[slice(*found)] == runtime.encode(expected)


def test_what_is_not_in_messagepack_is_not_found() -> None:
    data = runtime.encode({"a": [1, 2], "b": "text"})
    paths: list[list[str | int]]
    paths = [["c"], ["a", 2], [0], ["b", "x"], ["a", "b"], ["$map", 7, 0], ["$map", 7]]
    for path in paths:
        assert runtime.place(data, path) is None
    assert runtime.place(data[:-2], ["b"]) is None
    assert runtime.place(b"", ["b"]) is None
    assert runtime.place(b"\xc1", [0]) is None
    assert runtime.place(b"\xdf\xff\xff\xff\xff", ["b"]) is None


def test_bytes_are_found_in_a_dump() -> None:
    dump = hexdump(bytes(range(0x41, 0x41 + 40)))
    assert [dump[start:end] for start, end in hexdump_ranges(dump, 6, 33)] == [
        "47 48  49 4a 4b 4c 4d 4e 4f 50",
        "GHIJKLMNOP",
        "51 52 53 54 55 56 57 58  59 5a 5b 5c 5d 5e 5f 60",
        "QRSTUVWXYZ[\\]^_`",
        "61",
        "a",
    ]
