"""Capture files: written captures are read again, and errors name the place and reason."""

from pathlib import Path

import pytest

from conformance.judging.captures import Capture, CaptureError, Event, read, write

HEADER = '{"capture": 1, "protocol": "vexide", "title": "x", "origin": "golden"}\n'


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b'"Ready"\n',
        "ä€😀\u2028\x85\n".encode(),
        b"\xff\xfe\x00",
        b"\x00\x1b[31m",
        bytes(range(256)) * 20,
        b'{"a": "\\ud800"}\n',
    ],
)
def test_round_trip(tmp_path: Path, data: bytes) -> None:
    capture = Capture(
        protocol="vexide",
        title="every kind of event",
        origin="recorded",
        requirements=("ready.sent",),
        events=(
            Event(0.0, None, event="connected", details={"transport": "tcp"}),
            Event(0.25, "simulator", data),
            Event(0.5, "frontend", data, "Name", {"lone": "\ud800", "none": None}),
            Event(1.5, "simulator", event="exited", details={"how": "exited with code 1"}),
        ),
        extra={"iut": "simulator", "seed": 1},
    )
    path = tmp_path / "new" / "folder" / "capture.jsonl"
    write(path, capture)
    assert read(path) == capture
    path.read_text("ascii")


@pytest.mark.parametrize(
    ("line", "data"),
    [
        ('{"at": 0, "from": "a", "text": "ä\\n"}', "ä\n".encode()),
        ('{"at": 0, "from": "a", "hex": "00 FF"}', b"\x00\xff"),
        ('{"at": 0, "from": "a", "base64": "AP8="}', b"\x00\xff"),
    ],
)
def test_every_form_of_bytes(tmp_path: Path, line: str, data: bytes) -> None:
    path = tmp_path / "capture.jsonl"
    path.write_text(f"{HEADER}\n{line}\n", "utf-8")
    [event] = read(path).events
    assert event.data == data


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"", "empty"),
        (b"\xff", "not UTF-8 at byte 0"),
        (b"hello", ":1: not JSON"),
        (b"[" * 100_000, ":1: not JSON"),
        (b"[]", ":1: a line of a capture is a JSON object"),
        (b"{}", 'must have "capture": 1'),
        (b'{"capture": 2}', 'must have "capture": 1'),
        (b'{"capture": 1, "protocol": 7}', "'protocol', a string"),
        (HEADER.replace("}", ', "requirements": "x"}').encode(), "a list of ids"),
        (HEADER.replace("}", ', "iut": 1}').encode(), "'iut' must be a role"),
        (f"{HEADER}hello".encode(), ":2: not JSON"),
        (f'{HEADER}\n{{"from": "a", "text": ""}}'.encode(), ":3: 'at' must be a number"),
        (f'{HEADER}{{"at": true, "text": ""}}'.encode(), "'at' must be a number"),
        (f'{HEADER}{{"at": 0}}'.encode(), "either bytes (text, hex, base64) or 'event'"),
        (f'{HEADER}{{"at": 0, "text": "", "event": "x"}}'.encode(), "either bytes"),
        (f'{HEADER}{{"at": 0, "text": "", "hex": ""}}'.encode(), "give the bytes once"),
        (f'{HEADER}{{"at": 0, "hex": "0"}}'.encode(), "hex cannot be read"),
        (f'{HEADER}{{"at": 0, "base64": "A"}}'.encode(), "base64 cannot be read"),
        (f'{HEADER}{{"at": 0, "text": 1}}'.encode(), "text cannot be read"),
        (f'{HEADER}{{"at": 0, "text": "\\ud800"}}'.encode(), "text cannot be read"),
        (f'{HEADER}{{"at": 0, "text": "", "from": 1}}'.encode(), "'from' must be a string"),
        (f'{HEADER}{{"at": 0, "event": "left out", "events": "x"}}'.encode(), "are numbers"),
        (f'{HEADER}{{"at": 0, "event": "left out", "bytes": true}}'.encode(), "are numbers"),
        (f'{HEADER}{{"at": 0, "event": "left out", "connections": 7}}'.encode(), "are numbers"),
    ],
)
def test_what_cannot_be_read(tmp_path: Path, text: bytes, expected: str) -> None:
    path = tmp_path / "capture.jsonl"
    path.write_bytes(text)
    with pytest.raises(CaptureError) as error:
        read(path)
    assert str(error.value).startswith(str(path))
    assert expected in str(error.value)
    assert "\n" not in str(error.value)


def test_absent(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match="No such file"):
        read(tmp_path / "absent.jsonl")
