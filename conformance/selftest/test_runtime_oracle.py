"""The runtime's oracle and schemas on golden captures, which are sound, and on violations."""

from pathlib import Path

import pytest

from conformance import captures, locate, protocols
from conformance.judge import judge_capture
from conformance.runtime.oracle import _KEPT, Oracle

FOLDER = locate.folder("captures", "runtime") or Path()
ALL = sorted(FOLDER.glob("*.jsonl"))
GOLDEN = [path for path in ALL if not path.name.startswith("violation-")]
VIOLATIONS = [path for path in ALL if path.name.startswith("violation-")]


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_golden_captures_are_sound(path: Path) -> None:
    capture = captures.read(path)
    protocol = protocols.load("runtime")
    assert set(capture.requirements) <= protocol.requirements.keys()
    judged = [capture.iut] if capture.iut else list(protocol.roles)
    assert judge_capture(protocol, capture, judged).findings == []


@pytest.mark.parametrize("path", VIOLATIONS, ids=lambda path: path.stem)
def test_violations_are_named(path: Path) -> None:
    capture = captures.read(path)
    protocol = protocols.load("runtime")
    found = judge_capture(protocol, capture, [str(capture.iut)]).findings
    violated = [finding.requirement for finding in found]
    assert capture.extra["violates"] in violated
    for name in violated:
        assert capture.iut in protocol.requirement(name).binds
    peer = protocol.role(str(capture.iut)).peer
    assert judge_capture(protocol, capture, [peer]).findings == []


def test_what_a_session_exercises() -> None:
    protocol = protocols.load("runtime")
    capture = captures.read(FOLDER / "session-rpc-pipelined.jsonl")
    judge = judge_capture(protocol, capture, protocol.roles)
    assert {"rpc.ids-differ", "rpc.response-id", "encoding.messagepack"} <= judge.exercised
    assert judge.exercised <= protocol.requirements.keys()


def test_a_long_session_takes_no_memory() -> None:
    oracle = Oracle()
    for number in range(2 * _KEPT):
        assert not list(oracle.message("rpc-client", "Request", [0, number, "echo", []]))
        assert not list(oracle.message("rpc-server", "Response", [1, number, None, []]))
    assert not oracle._open
    assert len(oracle._answered) == _KEPT
