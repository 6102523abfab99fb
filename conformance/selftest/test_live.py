"""Two real peers that are judged while they talk: by ``pair``, and by ``proxy`` between them."""

import json
import sys
from typing import Any

import pytest

from conformance import captures
from conformance.selftest.driving import Done, Place

ANY = "127.0.0.1:0"
MOCK = (sys.executable, "-m", "mocks")
PEERS = {
    "deltarobot": (
        ("deltarobot/server", "--listen", "127.0.0.1:{port}"),
        ("deltarobot/client", "--connect", "{host}:{port}"),
    ),
    "simspark": (
        (
            *("simspark/server", "--listen", "127.0.0.1:0"),
            *("--agent-port", "{agent_port}", "--monitor-port", "{monitor_port}"),
        ),
        ("simspark/agent", "--connect", "{host}:{agent_port}"),
    ),
    "vexide": (
        ("vexide/simulator", "--program", "print"),
        ("vexide/frontend", "--simulator", "{simulator}"),
    ),
}


def pair(
    place: Place,
    protocol: str,
    *words: str,
    server: tuple[str, ...] = (),
    client: tuple[str, ...] = (),
) -> Done:
    serving, playing = PEERS[protocol]
    commands = [*MOCK, *serving, *server, "----", *MOCK, *playing, *client]
    return place.conformance("pair", protocol, "--max-time", "20", *words, "--", *commands)


def report(done: Done, role: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(done.text(f"{role}/report.json"))
    return loaded


def violated(done: Done, role: str) -> set[str]:
    return {finding["requirement"] for finding in report(done, role)["findings"]}


@pytest.mark.parametrize(
    ("protocol", "roles"),
    [
        ("deltarobot", ("server", "client")),
        ("simspark", ("server", "agent")),
        ("vexide", ("simulator", "frontend")),
    ],
)
def test_sound_peers_are_found_sound(place: Place, protocol: str, roles: tuple[str, str]) -> None:
    done = pair(place, protocol)
    assert done.code == 0, done.out + done.err
    for role in roles:
        assert violated(done, role) == set()
        verdicts = [entry["verdict"] for entry in report(done, role)["requirements"]]
        assert "pass" in verdicts
        assert "not-exercised" in verdicts
    assert done.left == []
    capture = captures.read(done.folder / "session.jsonl")
    assert {event.sender for event in capture.events if event.data} == set(roles)


@pytest.mark.parametrize(
    ("protocol", "side", "fault", "role", "requirement"),
    [
        ("vexide", "server", "ready-twice", "simulator", "ready.once"),
        ("deltarobot", "client", "big-endian-version", "client", "handshake.version-value"),
    ],
)
def test_a_fault_is_blamed_on_the_side_that_has_it(
    place: Place, protocol: str, side: str, fault: str, role: str, requirement: str
) -> None:
    done = pair(place, protocol, **{side: ("--fault", fault)})
    [other] = {path.name for path in done.folder.iterdir() if path.is_dir()} - {role}
    assert requirement in violated(done, role), done.out + done.err
    assert violated(done, other) == set()
    assert done.code in (0, 1)


def test_the_recording_says_the_same_again(place: Place) -> None:
    done = pair(place, "vexide", "--record", "kept.jsonl", server=("--fault", "ready-twice"))
    live = violated(done, "simulator")
    again = place.conformance("check", "kept.jsonl", "--role", "simulator")
    assert live
    assert all(requirement in again.out for requirement in live)


def test_what_is_cut_on_the_way_is_blamed_on_nobody(place: Place) -> None:
    done = pair(place, "deltarobot", "--cut", "30")
    assert done.code == 0, done.out + done.err
    assert violated(done, "server") == violated(done, "client") == set()
    capture = captures.read(done.folder / "session.jsonl")
    assert any(event.event == "cut" for event in capture.events)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("pair", "vexide", "--", "a", "b"), "two commands"),
        (("proxy", "vexide"), "give --listen ADDR and --connect ADDR, or -- COMMAND"),
        (
            ("proxy", "runtime", "--listen", "127.0.0.1:0", "--connect", "127.0.0.1:1"),
            "say between",
        ),
        (("proxy", "simspark", "--listen", "127.0.0.1:0", "--connect", "127.0.0.1:1"), "2 address"),
    ],
)
def test_wrong_words(place: Place, words: tuple[str, ...], said: str) -> None:
    done = place.conformance(*words)
    assert done.code == 2, done.err
    assert said in done.err
    assert "Traceback" not in done.err
