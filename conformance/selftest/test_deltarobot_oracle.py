"""The deltarobot oracle: exercised requirements, and its state in a session."""

from pathlib import Path
from typing import Any

import pytest

from conformance.definitions import locations, protocols
from conformance.deltarobot.oracle import PINGS_OF_PAIRS, Oracle
from conformance.judging import captures
from conformance.judging.connections import judge_capture

FOLDER = locations.folder("captures", "deltarobot") or Path()


def test_what_a_session_exercises() -> None:
    protocol = protocols.load("deltarobot")
    capture = captures.read(FOLDER / "session-exercise.jsonl")
    judge = judge_capture(protocol, capture, protocol.roles)
    assert {"handshake.magic-sent", "pong.number", "ping.sent", "end.closes"} <= judge.exercised
    assert judge.exercised <= protocol.requirements.keys()


def test_pings_that_are_long_answered_take_no_memory() -> None:
    oracle = Oracle()
    for number in range(1000):
        list(oracle.message("server", "Ping", {"number": number * number}))
        list(oracle.message("client", "Pong", {"number": number * number}))
    assert not oracle._unanswered
    assert len(oracle._pings) == PINGS_OF_PAIRS


@pytest.mark.parametrize("reverse", [False, True])
def test_a_server_that_insists_on_the_usual_order_owes_no_word(reverse: bool) -> None:
    handshake = [("ProtocolMagic", {"magic": "DeltaRVr"}), ("ProtocolVersion", {"version": 1})]
    oracle = Oracle()
    for name, value in handshake:
        list(oracle.message("server", name, value))
    for name, value in handshake[:: -1 if reverse else 1]:
        list(oracle.message("client", name, value))
    owed = [finding.requirement for finding in oracle.closed("server")]
    assert owed == ([] if reverse else ["end.announced"])


def test_whoever_closes_upon_an_unknown_message_owes_a_word() -> None:
    oracle = Oracle()
    for sender in ("server", "client"):
        list(oracle.message(sender, "ProtocolMagic", {"magic": "DeltaRVr"}))
        list(oracle.message(sender, "ProtocolVersion", {"version": 1}))
    list(oracle.unknown("server", "Unknown", {"identifier": "0x0123", "data": "7f"}, False))
    assert [finding.requirement for finding in oracle.closed("client")] == ["end.announced"]


MAGIC = ("ProtocolMagic", {"magic": "DeltaRVr"})
VERSION = ("ProtocolVersion", {"version": 1})
END = ("EndOfTransmission", {"reason": ""})
PING = ("Ping", {"number": 1})


@pytest.mark.parametrize(
    ("ours", "theirs", "violated"),
    [
        pytest.param([], [END], "handshake.unasked", id="silence"),
        pytest.param([MAGIC], [END], "handshake.unasked", id="half of ours"),
        pytest.param([END], [END], "handshake.unasked", id="something else"),
        pytest.param([], [MAGIC, END], "handshake.unasked", id="half of its own"),
        pytest.param([MAGIC, VERSION], [END], "handshake.first", id="nothing"),
        pytest.param([MAGIC, VERSION, END], [END], "handshake.first", id="nothing but the end"),
        pytest.param([], [END, MAGIC, VERSION], "handshake.first", id="too late"),
        pytest.param([MAGIC, VERSION], [MAGIC, END], "handshake.version-sent", id="half"),
        pytest.param([], [MAGIC, PING], "handshake.version-sent", id="service instead"),
    ],
)
def test_who_ends_without_a_handshake(ours: list[Any], theirs: list[Any], violated: str) -> None:
    """A side that awaits the peer's magic can close if the peer sends none."""
    oracle = Oracle()
    for message in ours:
        list(oracle.message("client", *message))
    found = [finding for message in theirs for finding in oracle.message("server", *message)]
    found += oracle.closed("server")
    assert {finding.requirement for finding in found} - {"handshake.before-service"} == {violated}
