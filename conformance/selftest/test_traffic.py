"""Sessions recorded by other programs: packets, HTTP archives and raw bytes."""

import dataclasses
import json
import shutil
import struct
import subprocess
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest

from conformance.cli import main
from conformance.definitions import locations, protocols
from conformance.judging import captures, recordings
from conformance.judging.captures import Capture, CaptureError, Event
from conformance.live.sides import sides
from conformance.traffic import pcap, pcapng
from conformance.traffic.foreign_recordings import Foreign
from conformance.traffic.packets import ACK, FIN, RST, SYN, TCP, Segment


def golden(protocol: str) -> Path:
    return locations.folder("captures", protocol) or Path()


DELTAROBOT = protocols.load("deltarobot")
PORT = 9000
SERVER, CLIENT = ("10.0.0.1", PORT), ("10.0.0.2", 50000)


# Files of packets


def session(*events: Event, protocol: str = "deltarobot") -> Capture:
    return Capture(protocol, "a session", "recorded", (), events, {"running": True})


def again(capture: Capture, path: Path, *, without: tuple[int, ...] = ()) -> Foreign:
    """Write a capture as packets, without some packets (from 1), and read it again."""
    protocol = protocols.load(capture.protocol)
    ports = pcapng.write(path, capture, protocol)
    data, kept, number = path.read_bytes(), b"", 0
    while data:
        kind, size = struct.unpack_from("<II", data)
        number += kind == 6
        kept += b"" if kind == 6 and number in without else data[:size]
        data = data[size:]
    path.write_bytes(kept)
    return pcap.read(path, protocol, pcapng.peers(capture, protocol), ports)


def texts_of(findings: Any) -> list[tuple[str, str]]:
    return [(finding.requirement, finding.message) for finding in findings]


SAMPLE = sorted(
    path
    for protocol in protocols.names()
    for path in [
        *sorted(golden(protocol).glob("session*.jsonl"))[:2],
        *sorted(golden(protocol).glob("violation-*.jsonl"))[::8],
    ]
)


@pytest.mark.parametrize("path", SAMPLE, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_packets_are_judged_as_the_capture(path: Path, tmp_path: Path) -> None:
    capture = captures.read(path)
    foreign = again(capture, tmp_path / "session.pcapng")
    assert foreign.left_out == ()
    read = dataclasses.replace(foreign.capture, extra=capture.extra)
    protocol = protocols.load(capture.protocol)
    known = recordings.read(path)
    judged = recordings.judge_events(path, protocol, read, foreign.numbers)
    assert texts_of(judged.findings) == texts_of(known.findings)
    assert judged.messages == known.messages


HELLO = captures.read(golden("deltarobot") / "session-minimal.jsonl")


def test_lost_packets_are_told_and_nothing_after_them_is_judged(tmp_path: Path) -> None:
    whole = again(HELLO, tmp_path / "whole.pcapng")
    data = [n for n, e in zip(whole.numbers, whole.capture.events, strict=True) if e.data]
    gone = data[len(data) // 2]
    holed = again(HELLO, tmp_path / "holed.pcapng", without=(gone,))
    [text] = holed.left_out
    assert f"from packet {gone} on" in text and "are missing" in text
    assert holed.capture.events[-1].event == pcap.LOST
    assert all(number <= gone for number in holed.numbers)
    before = [e.data for e in whole.capture.events if e.data][: data.index(gone)]
    assert [e.data for e in holed.capture.events if e.data] == before


def test_a_connection_whose_beginning_is_missing_is_left_out(tmp_path: Path) -> None:
    foreign = again(HELLO, tmp_path / "session.pcapng", without=(1, 2, 3))
    assert foreign.capture.events == ()
    assert "its beginning was not recorded" in foreign.left_out[0]


def test_a_reset_ends_a_direction_as_a_close_does() -> None:
    parts = [
        Segment(CLIENT, SERVER, TCP, b"", 0, 0, None, SYN),
        Segment(SERVER, CLIENT, TCP, b"", 0, 0, 1, SYN | ACK),
        Segment(CLIENT, SERVER, TCP, b"x", 0, 1, 1, ACK),
        Segment(SERVER, CLIENT, TCP, b"", 0, 1, 2, RST | ACK),
        Segment(CLIENT, SERVER, TCP, b"", 0, 2, 1, FIN | ACK),
    ]
    packets = [(number, float(number), part) for number, part in enumerate(parts, 1)]
    found = pcap.join_segments(DELTAROBOT, packets, {PORT: sides(DELTAROBOT)[0]})
    shown = [(e.sender, e.event) for e in found.capture.events if e.event]
    assert shown == [(None, "connected"), ("server", "closed"), ("client", "closed")]


def test_ports_that_are_used_again_are_another_connection() -> None:
    parts = []
    for first in (100, 5000):
        parts += [
            Segment(CLIENT, SERVER, TCP, b"", 0, first, None, SYN),
            Segment(CLIENT, SERVER, TCP, b"", 0, first, None, SYN),
            Segment(SERVER, CLIENT, TCP, b"", 0, 7, first + 1, SYN | ACK),
            Segment(CLIENT, SERVER, TCP, b"x", 0, first + 1, 8, ACK),
            Segment(CLIENT, SERVER, TCP, b"", 0, first + 2, 8, FIN | ACK),
        ]
    packets = [(number, float(number), part) for number, part in enumerate(parts, 1)]
    found = pcap.join_segments(DELTAROBOT, packets, {PORT: sides(DELTAROBOT)[0]})
    assert found.left_out == ()
    assert [(e.connection, e.data) for e in found.capture.events if e.data] == [
        (1, b"x"),
        (2, b"x"),
    ]


def test_the_only_port_of_a_file_is_meant(tmp_path: Path) -> None:
    path = tmp_path / "session.pcapng"
    pcapng.write(path, HELLO, DELTAROBOT)
    assert main(["check", "deltarobot", str(path)]) == 0
    assert main(["check", "deltarobot", str(path), "--port", "1"]) == 3


def test_two_servers_are_two_instances() -> None:
    other = ("10.0.0.9", PORT)
    parts = [Segment(CLIENT, end, TCP, b"", 0, 0, None, SYN) for end in (SERVER, other)]
    packets = [(number, float(number), part) for number, part in enumerate(parts, 1)]
    found = pcap.join_segments(DELTAROBOT, packets, {PORT: sides(DELTAROBOT)[0]})
    assert [event.details["instance"] for event in found.capture.events] == [1, 2]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\x0a\x0d\x0d\x0a" + bytes(60), "cannot be read as packets"),
        (b"\xd4\xc3\xb2\xa1" + bytes(4), "cannot be read as packets"),
    ],
)
def test_a_broken_file_of_packets_is_one_line(
    content: bytes, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "broken.pcap"
    path.write_bytes(content)
    assert main(["check", "deltarobot", str(path), "--port", "1"]) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1


def test_a_capture_that_is_no_session_is_not_written(tmp_path: Path) -> None:
    alone = session(Event(0, "owner", b"x"), protocol="runtime")
    with pytest.raises(CaptureError, match="no two peers"):
        pcapng.write(tmp_path / "x.pcapng", alone, protocols.load("runtime"))


@pytest.mark.skipif(not shutil.which("tshark"), reason="it needs tshark")
def test_wireshark_reads_what_is_written(tmp_path: Path) -> None:
    path = tmp_path / "session.pcapng"
    pcapng.write(path, HELLO, DELTAROBOT)
    fields = ("tcp.payload", "tcp.analysis.flags", "tcp.checksum.status", "ip.checksum.status")
    words = [word for name in fields for word in ("-e", name)]
    checked = ("-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE")
    command = ["tshark", "-r", str(path), "-T", "fields", *checked, *words]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = [line.split("\t") for line in out.splitlines()]
    payload = b"".join(bytes.fromhex(row[0]) for row in rows)
    assert payload == b"".join(event.data or b"" for event in HELLO.events)
    assert {row[1] for row in rows} == {""}
    assert {tuple(row[2:]) for row in rows} == {("1", "1")}


# Archives of HTTP


def entries(capture: Capture) -> list[dict[str, Any]]:
    """Return the exchanges of a capture as in an archive: requests with their answers."""
    said = [event.value for event in capture.events if event.value]
    pairs = zip_longest(said[::2], said[1::2])
    return [_entry(second, asked, answer) for second, (asked, answer) in enumerate(pairs)]


def _entry(second: int, asked: Any, answer: Any) -> dict[str, Any]:
    def headers(value: Any) -> list[dict[str, str]]:
        return [{"name": name, "value": text} for name, text in value["headers"].items()]

    return {
        "startedDateTime": f"2026-01-01T00:00:{second:02}.000Z",
        "time": 0.5,
        "connection": "1",
        "request": {
            "method": asked["method"],
            "url": f"http://lab.example:1999{asked['path']}",
            "httpVersion": "h2",
            "headers": [{"name": ":method", "value": asked["method"]}, *headers(asked)],
            "postData": {"mimeType": "application/json", "text": json.dumps(asked["json"])},
        },
        "response": {
            "status": answer["status"] if answer else 0,
            "statusText": "",
            "httpVersion": "h2",
            "headers": headers(answer) if answer else [],
            "content": {"text": json.dumps(answer["json"])} if answer and "json" in answer else {},
        },
    }


def archive(path: Path, *exchanges: Any) -> Path:
    path.write_text(json.dumps({"log": {"version": "1.2", "entries": exchanges}}), "utf-8")
    return path


@pytest.mark.parametrize(
    "name", ["session-wrong-path", "violation-other-firmware", "violation-register-download"]
)
def test_an_archive_is_judged_as_the_capture(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capture = captures.read(golden("openroberta") / f"{name}.jsonl")
    path = archive(tmp_path / "session.har", *entries(capture))
    code = main(["check", "openroberta", str(path)])
    *output, robot, lab, summary = capsys.readouterr().out.splitlines()
    assert robot.startswith("shown: robot ") and lab.startswith("shown: lab ")
    assert summary.startswith("1 capture, ")
    lines = [line.split(": ")[1] for line in output]
    assert "not judged" in lines
    found = {line.split(" ")[0] for line in lines if line != "not judged"}
    known = recordings.judge_events(
        path,
        protocols.load("openroberta"),
        dataclasses.replace(capture, extra={"running": True}),
        range(len(capture.events)),
    )
    assert found == {finding.requirement for finding in known.findings}
    assert code == (1 if found else 0)


@pytest.mark.parametrize("content", [{"size": 17}, {"size": 0, "text": ""}, {"text": '{"cmd": "'}])
def test_a_response_that_was_not_kept_is_told_and_not_judged(
    content: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Browsers omit bodies by default, and proxies keep only part of an interrupted body."""
    first, second, *_ = entries(captures.read(golden("openroberta") / "session-wrong-path.jsonl"))
    length = {"name": "Content-Length", "value": "17"}
    second["response"] |= {"content": content, "headers": [length]}
    assert main(["check", "openroberta", str(archive(tmp_path / "a.har", first, second))]) == 0
    assert "entry 2: its response is incomplete" in capsys.readouterr().out


def test_the_time_to_connect_does_not_make_a_response_late(tmp_path: Path) -> None:
    """Archives of mitmproxy include the connection time, and name no connections."""
    exchanges = entries(captures.read(golden("openroberta") / "session-wrong-path.jsonl"))
    for number, exchange in enumerate(exchanges):
        del exchange["connection"]
        exchange["startedDateTime"] = f"2026-01-01T00:00:00.{number:03}000+00:00"
        exchange["timings"] = {"connect": 20.0, "ssl": -1.0, "send": 0.2, "wait": 0.2, "receive": 0}
        exchange["time"] = 20.4
    path = archive(tmp_path / "mitm.har", *exchanges)
    assert main(["check", "openroberta", str(path)]) == 0


@pytest.mark.parametrize("content", ["", "[]", '{"log": {}}', '{"log": {"entries": [{}]}}'])
def test_a_broken_archive_is_one_line(
    content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "broken.har"
    path.write_text(content)
    assert main(["check", "openroberta", str(path)]) == 2
    error = capsys.readouterr().err
    assert "HAR" in error and error.count("\n") == 1


# Raw bytes


@pytest.mark.parametrize(
    ("role", "data", "requirement"),
    [
        ("vexide/simulator", b'{"Telemetry":{"x":1}}\n', "roles.own-messages"),
        ("vexide/simulator", b'"StartExecution"\n', "roles.own-messages"),
        # The Pong of a client, from a server.
        ("deltarobot/server", bytes.fromhex("0530 0200000000000000"), "messages.own-direction"),
    ],
)
def test_names_and_directions_need_no_order(
    role: str, data: bytes, requirement: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    protocol, _, party = role.partition("/")
    (tmp_path / party).write_bytes(data)
    assert main(["check", protocol, "--raw", f"{party}={tmp_path / party}"]) == 1
    assert requirement in capsys.readouterr().out


def test_an_agreed_extension_allows_other_names(tmp_path: Path) -> None:
    lines = b'{"Handshake":{"version":1,"extensions":["x-more"]}}\n{"Telemetry":{"x":1}}\n'
    (tmp_path / "simulator").write_bytes(lines)
    assert main(["check", "vexide", "--raw", f"simulator={tmp_path / 'simulator'}"]) == 0


def test_the_bytes_of_a_side_are_messages_without_an_order(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capture = captures.read(golden("vexide") / "session-minimal.jsonl")
    for role in ("simulator", "frontend"):
        said = b"".join(event.data or b"" for event in capture.events if event.sender == role)
        (tmp_path / role).write_bytes(said)
    words = [
        word
        for role in ("simulator", "frontend")
        for word in ("--raw", f"{role}={tmp_path / role}")
    ]
    assert main(["check", "vexide", *words]) == 0
    out = capsys.readouterr().out
    assert "not judged: the order of messages" in out
    messages = recordings.read(Path(golden("vexide") / "session-minimal.jsonl")).messages
    assert f"{messages} messages judged, 0 findings" in out
    with (tmp_path / "simulator").open("ab") as file:
        file.write(b"nonsense\n")
    assert main(["check", "vexide", "--raw", f"simulator={tmp_path / 'simulator'}"]) == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["check"], "expected a file"),
        (["check", "--raw", "server=x"], "--raw: expected PROTOCOL --raw ROLE=FILE"),
        (["check", "deltarobot", "--raw", "server"], "--raw: expected PROTOCOL"),
        (["check", "deltarobot", "--raw", "server=/nowhere"], "/nowhere: No such file"),
        (["check", "{pcap}"], "name its PROTOCOL"),
        (["check", "deltarobot", "{pcap}", "--port", "http"], "expected numbers"),
        (["check", "simspark", "{pcap}", "--port", "1"], "say --port agent,monitor"),
        (["check", "runtime", "{pcap}"], "expected a pair of peers"),
    ],
)
def test_wrong_words(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "session.pcapng"
    pcapng.write(path, HELLO, DELTAROBOT)
    assert main([word.replace("{pcap}", str(path)) for word in words]) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1


def test_what_had_not_come_when_a_session_ended_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(golden("runtime") / "session-rpc-client-leaves.jsonl")]) == 0
    output = capsys.readouterr().out
    reason = "1 had no response when the client closed the stream"
    assert f"rpc.each-answered (inconclusive): {reason}" in output
    assert "0 findings, 1 inconclusive" in output
