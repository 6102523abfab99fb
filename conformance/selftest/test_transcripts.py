"""Several connections of one conversation: in captures, in reports and in replays."""

import asyncio
import dataclasses
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from conformance import cli
from conformance.definitions import locations, protocols
from conformance.judging import captures, recordings
from conformance.judging.captures import Capture
from conformance.judging.connections import judge_capture
from conformance.judging.judge import Finding
from conformance.reporting import ladder
from conformance.running.replay import corresponding_capture
from conformance.running.transcripts import (
    FLOOD_SIZE,
    MAX_SIZE,
    RUN_SIZE,
    USUAL_SIZE,
    Transcripts,
    Written,
)
from conformance.selftest.driving import Place

LAB = protocols.load("openroberta")
FOLDER = locations.folder("captures", "openroberta") or Path()


def by_request(name: str) -> Capture:
    """Return a golden session in which each request has its own connection."""
    whole = captures.read(FOLDER / f"{name}.jsonl")
    number, events = 0, []
    for event in whole.events:
        if event.data is None:
            continue
        number += event.sender == "robot"
        events.append(dataclasses.replace(event, connection=number))
    return dataclasses.replace(whole, events=tuple(events))


def test_the_connections_of_one_conversation_are_judged_together() -> None:
    capture = by_request("session-pushes")
    assert len(capture.connections) > 1
    assert judge_capture(LAB, capture, ["robot"]).findings == []
    alone = judge_capture(LAB, capture.only_connection(capture.connections[-1]), ["robot"]).findings
    assert alone, "alone, a later connection lacks what was before it"


def test_each_instance_has_a_conversation_of_its_own() -> None:
    capture = by_request("session-pushes")
    first = capture.connections[0]
    connected = [
        captures.Event(
            0.0, None, event="connected", details={"instance": 1 + (n != first)}, connection=n
        )
        for n in capture.connections
    ]
    moved = dataclasses.replace(capture, events=(*connected, *capture.events))
    assert judge_capture(LAB, moved, ["robot"]).findings
    assert [moved.instance(n) for n in moved.connections][:2] == [1, 2]


def test_a_capture_keeps_the_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capture = by_request("session-pushes")
    path = tmp_path / "several.jsonl"
    captures.write(path, capture)
    assert captures.read(path) == capture
    assert cli.main(["check", str(path)]) == 0
    assert cli.main(["show", str(path)]) == 0
    assert "#2 " in capsys.readouterr().out


def test_captures_of_one_conversation_can_be_joined(tmp_path: Path) -> None:
    capture = by_request("session-pushes")
    paths = []
    for number in capture.connections:
        paths.append(str(tmp_path / f"{number}.jsonl"))
        captures.write(Path(paths[-1]), capture.only_connection(number))
    assert cli.main(["check", "--role", "robot", *paths]) == 1
    assert cli.main(["check", "--role", "robot", "--join", *paths]) == 0


def test_a_robot_with_a_connection_for_each_request(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    """All connections are in one transcript, which is judged, shown and replayed as a whole."""
    robot = ("--variant", "a-connection-for-each")
    done = place.run("openroberta/robot", *robot, "-k", "test_commands")
    [test] = [test for test in done.report["tests"] if test["requirement"] == "commands.robot"]
    path = done.folder / test["transcript"]
    capture = captures.read(path)
    polling = ("Register", "Push", "DownloadRequest")
    asked = [event for event in capture.events if event.message in polling]
    assert len({event.connection for event in asked}) == len(asked)
    assert [event.message for event in asked].count("Push") >= 3
    assert cli.main(["check", str(path)]) == 0
    capsys.readouterr()
    assert cli.main(["show", str(path)]) == 0
    shown = capsys.readouterr().out
    assert all(f"#{event.connection} " in shown for event in asked)
    steps = ladder.read(path, "robot", {}).steps
    assert any(step.preview.startswith(f"#{asked[-1].connection} ") for step in steps)
    assert place.conformance("replay", str(path), *robot).code == 0


@pytest.mark.parametrize("first", ["Register", "Push"])
def test_which_connection_is_opened_first_may_be_chance(first: str) -> None:
    """A robot that sends sensor data while it polls can open either connection first."""
    capture = by_request("session-pushes")
    parts = [capture.only_connection(number) for number in capture.connections]

    given_up = asyncio.Event()

    async def wait_for(within: float) -> SimpleNamespace:
        return SimpleNamespace(name=first)

    async def until_closed(within: float) -> bool:
        return given_up.is_set()

    session: Any = SimpleNamespace(
        role=LAB.roles["robot"],
        seconds=lambda name: 1.0,
        wait_for=wait_for,
        until_closed=until_closed,
    )
    one = next(part for part in parts if part.events[0].message == first)
    assert asyncio.run(corresponding_capture(session, parts)) is one
    others = [part for part in parts if part.events[0].message != first]
    assert asyncio.run(corresponding_capture(session, others)) is None
    given_up.set()
    assert asyncio.run(corresponding_capture(session, parts)) is None


def test_what_was_wrong_is_found_in_its_own_connection() -> None:
    capture = dataclasses.replace(
        by_request("session-pushes"), extra={"offending": 2, "expected": "x"}
    )
    second = capture.only_connection(2)
    assert second.extra["offending"] == 0
    assert "expected" not in capture.only_connection(1).extra


@pytest.mark.parametrize("number", ["0", "-1", "1.5", "true", '"1"'])
def test_a_connection_is_a_number(tmp_path: Path, number: str) -> None:
    path = tmp_path / "wrong.jsonl"
    header = '{"capture": 1, "protocol": "vexide", "title": "x", "origin": "golden"}'
    path.write_text(f'{header}\n{{"at": 0, "connection": {number}, "event": "x"}}\n')
    with pytest.raises(captures.CaptureError, match="'connection' must be a number"):
        captures.read(path)


class Played(SimpleNamespace):
    """A session that has been played; sessions are equal only if identical."""

    def __hash__(self) -> int:  # type: ignore[override]
        return id(self)


def _talkative() -> Any:
    """Return a session with two megabytes of messages."""
    simulator = protocols.load("vexide")
    event = captures.Event(0.0, "simulator", b"x" * 1000)
    return Played(
        events=[event] * 2000,
        judge=SimpleNamespace(findings=[]),
        is_flooded=False,
        protocol=simulator,
        role=simulator.roles["simulator"],
        instance=SimpleNamespace(program=None, configuration=SimpleNamespace(command=("x",))),
    )


def test_a_run_keeps_less_once_its_transcripts_are_large(tmp_path: Path) -> None:
    """Without this limit, each test of a program that writes without end leaves megabytes."""
    session = _talkative()
    run, sizes = Written(), []
    for number in range(40):
        kept = Transcripts(tmp_path, f"test{number}", "purpose", "framing.json-lines", run)
        path = tmp_path / kept.of((session,)).path
        sizes.append(path.stat().st_size)
    assert run.bytes == sum(sizes) < RUN_SIZE + 2 * USUAL_SIZE + 40 * FLOOD_SIZE
    assert sizes[0] > 20 * sizes[-1]


def test_less_is_kept_of_what_has_passed(tmp_path: Path) -> None:
    """Failed tests keep more, because hundreds of long passed tests would fill the disk."""
    session, sizes = _talkative(), []
    for passed in (False, True):
        kept = Transcripts(tmp_path, str(passed), "purpose", "framing", Written(), passed)
        transcript = kept.of((session,))
        assert transcript.gaps
        sizes.append((tmp_path / transcript.path).stat().st_size)
    assert sizes[0] > 5 * sizes[1]


@pytest.mark.parametrize("flooded", [False, True])
def test_a_transcript_has_a_bound_whatever_is_wrong_in_it(tmp_path: Path, flooded: bool) -> None:
    """Decoded values and arguments of operations count like bytes."""
    session, last = _talkative(), Finding("framing.json-lines", "x", 1999)
    decoded = captures.Event(0.0, "simulator", b"(a)" * 2000, "Expressions", [["a"]] * 2000)
    asked = captures.Event(0.0, None, event="start", details={"arguments": {"name": "x" * 200_000}})
    session.events, session.is_flooded = [asked, decoded] * 1000, flooded
    session.judge = SimpleNamespace(findings=[last])
    kept = Transcripts(tmp_path, "test", "purpose", "framing.json-lines", Written())
    size = (tmp_path / kept.of((session,)).path).stat().st_size
    assert size < (2 * USUAL_SIZE if flooded else 2 * MAX_SIZE)
    assert kept.of((session,)).place((session,), session, 1999) is not None


@pytest.mark.parametrize("far", [False, True])
def test_what_is_wrong_late_in_a_long_session_is_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], far: bool
) -> None:
    """A shortened transcript keeps its beginning, the surroundings of the finding, and its end."""
    protocol = protocols.load("vexide")
    text = b'{"Log": {"level": "Info", "message": "%s"}}\n' % (b"x" * 9000)
    value = protocol.decoder("simulator", "stdio").feed(text)[0].value
    events = [captures.Event(0.0, None, event="connected", details={"transport": "stdio"})]
    events += [captures.Event(0.1, "simulator", text, "Log", value)] * 400
    wrong, at = b'{"Log": {"level": "Loud", "message": ""}}\n', 350 if far else 20
    events[at] = captures.Event(0.2, "simulator", wrong)
    events.append(captures.Event(0.3, "simulator", event="exited", details={"how": "1"}))
    session = _talkative()
    session.events = events
    session.judge = SimpleNamespace(findings=[Finding("framing.json-lines", "x", at)])
    kept = Transcripts(tmp_path, "test", "purpose", "framing.json-lines", Written())
    written = kept.of((session,))
    place = written.place((session,), session, at)
    path = tmp_path / written.path
    again = captures.read(path)
    assert place is not None and again.events[place].data == wrong
    assert again.events[-1].event == "exited"
    gaps = [again.events[gap].details for gap in again.gaps]
    assert len(gaps) == 1 + far
    whole = len(again.events) - len(gaps) + sum(gap["events"] for gap in gaps)
    assert whole == len(events)
    assert cli.main(["check", str(path)]) == 1
    output = capsys.readouterr().out
    assert f"{path}:{place + 2}: " in output and "omitted from this file" in output
    assert cli.main(["show", str(path)]) == 0
    assert "left out" in capsys.readouterr().out
    steps = ladder.read(path, "simulator", {place: [ladder.Mark("wrong")]}).steps
    assert any(step.kind == "gap" and "left out of the file" in step.label for step in steps)
    assert any(step.marks for step in steps)


def test_a_connection_that_begins_within_a_gap_can_have_another_protocol() -> None:
    """The bytes of an upgraded connection are no HTTP."""
    text = bytes.fromhex("81850000000068656c6c6f")
    gap = captures.Event(0.1, None, event="left out", details={"connections": [1]})
    frame = captures.Event(0.2, "robot", text, connection=1)
    capture = Capture("openroberta", "cut", "recorded", (), (gap, frame), {})
    assert judge_capture(LAB, capture, ["robot"]).findings == []
    alone = dataclasses.replace(capture, events=(frame,))
    assert [found.requirement for found in judge_capture(LAB, alone, ["robot"]).findings]


def test_a_connection_that_begins_after_a_gap_is_judged() -> None:
    """A gap that names no connections is one of all earlier connections only."""
    gap = captures.Event(0.1, None, event="left out")
    begun = captures.Event(0.2, None, event="connected", connection=1, details={"transport": "tcp"})
    wrong = captures.Event(0.3, "robot", bytes.fromhex("8185"), connection=1)
    capture = Capture("openroberta", "cut", "recorded", (), (gap, begun, wrong), {})
    assert [found.requirement for found in judge_capture(LAB, capture, ["robot"]).findings]


def test_a_gap_in_one_connection_leaves_the_others_whole(tmp_path: Path) -> None:
    """Other connections are decoded, and a partial message after a gap is no finding."""
    header = {"capture": 1, "protocol": "vexide", "title": "cut", "origin": "recorded"}
    begun = {"at": 0, "event": "connected", "transport": "stdio"}
    gap = {"at": 1, "event": "left out", "events": 1, "bytes": 9, "connections": [2]}
    pieces = ['{"Log": {"level": "Info", "mes', 'sage": "a"}}\n']
    lines: list[dict[str, Any]] = [header, *({**begun, "connection": each} for each in (1, 2))]
    lines.append({"at": 0.5, "connection": 1, "from": "simulator", "text": pieces[0]})
    lines.append(gap)
    lines += [
        {"at": 2, "connection": each, "from": "simulator", "text": pieces[1]} for each in (1, 2)
    ]
    path = tmp_path / "cut.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    read = recordings.read(path)
    assert (read.findings, read.messages, read.contradictions) == ((), 1, ())
    assert [len(read.capture.only_connection(each).gaps) for each in (1, 2)] == [0, 1]


def test_several_messages_of_one_write_are_shown_as_such(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Several messages are named in the capture, on a terminal and on the page."""
    protocol = protocols.load("vexide")
    data = b'"StartExecution"\n{"USD": {"root": "/media/card"}}\n'
    frames = protocol.decoder("frontend", "stdio").feed(data)
    event = captures.with_messages(captures.Event(0.0, "frontend", data), frames)
    assert [name for name, _ in event.messages] == ["StartExecution", "USD"]
    part = captures.Event(0.0, "frontend", data[:-1])
    assert captures.with_messages(part, frames[:1]) == part
    path = tmp_path / "together.jsonl"
    captures.write(path, Capture("vexide", "two in one write", "recorded", (), (event,)))
    assert cli.main(["show", str(path)]) == 0
    assert 'StartExecution, USD {"root": "/media/card"}' in capsys.readouterr().out
    (step,) = ladder.read(path, "simulator", {}).steps
    assert step.label == "2 messages: StartExecution, USD"
    assert "/media/card" in step.decoded


def test_what_shows_a_finding_is_kept_though_it_came_later(tmp_path: Path) -> None:
    """Without the later message, the finding could not be made again."""
    session = _talkative()
    event = session.events[0]
    session.events = (
        [event] * 1000 + [dataclasses.replace(event, data=b"x" * USUAL_SIZE)] + [event] * 1000
    )
    session.judge = SimpleNamespace(
        findings=[Finding("framing.json-lines", "x", 1000, earlier=True)]
    )
    kept = Transcripts(tmp_path, "test", "purpose", "framing.json-lines", Written())
    assert kept.of((session,)).place((session,), session, 1001) == 1001
    assert kept.of((session,)).gaps
