"""An IUT that plays another role gets one message about this, and no test runs."""

import asyncio
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from conformance.definitions import locations, protocols
from conformance.judging import captures
from conformance.running import other_role
from conformance.selftest.driving import Place

CONNECTS = ("--connect", "{host}:{port}")
LISTENS = ("--listen", "127.0.0.1:{port}")
TIMINGS = ("--timing", "startup=3", "--timing", "response=0.3")


@pytest.mark.parametrize(
    ("role", "plays", "words", "expected"),
    [
        ("deltarobot/server", "client", CONNECTS, "connects to the address that it should listen"),
        ("deltarobot/client", "server", LISTENS, "listens at the address that it should connect"),
        ("openroberta/lab", "robot", CONNECTS, "connects to the address that it should listen"),
        ("runtime/rpc-client", "rpc-server", LISTENS, "listens at the address that it should"),
        ("runtime/gamepad-sender", "gamepad-receiver", LISTENS, "takes datagrams at the address"),
        ("vexide/simulator", "frontend", CONNECTS, "connects to the address that it should listen"),
        ("simspark/monitor", "agent", CONNECTS, "Scene came, which only an agent sends"),
        ("simspark/agent", "monitor", CONNECTS, "if the IUT waits for its peer"),
        ("runtime/gamepad-receiver", "gamepad-sender", CONNECTS, "sends datagrams to the address"),
        ("runtime/log-publisher", "update-publisher", CONNECTS, "sends datagrams to the address"),
        ("runtime/update-publisher", "log-publisher", CONNECTS, "connects to the address that"),
        ("vexide/frontend", "simulator", ("--program", "print"), "if the IUT waits for its peer"),
        ("runtime/buffer-owner", "buffer-consumer", (), "the IUT has the operation 'list', not"),
        ("runtime/buffer-consumer", "buffer-owner", (), "the IUT has the operation 'connect', not"),
    ],
)
def test_is_told(
    place: Place, role: str, plays: str, words: tuple[str, ...], expected: str
) -> None:
    """Connections, transports, messages, operations or silence reveal the other role."""
    other = f"{role.partition('/')[0]}/{plays}"
    mock = [sys.executable, "-m", "mocks", other, *words]
    done = place.run(role, *TIMINGS, iut=mock)
    assert expected in done.smoke["detail"]
    _, _, named = done.smoke["detail"].partition("test it as ")
    assert other in named
    assert other in " ".join(done.out.split())
    assert [test["id"] for test in done.report["tests"]] == ["smoke"]
    assert done.code in (1, 3)
    assert not done.left


@pytest.mark.parametrize("sender", ["deltarobot/server", "vexide/frontend", "simspark/agent"])
def test_another_protocol_is_told(place: Place, sender: str) -> None:
    """The first bytes are no message of this protocol, and a message of another one."""
    serves = sender == "deltarobot/server"
    role, words = ("vexide/simulator", LISTENS) if serves else ("deltarobot/client", CONNECTS)
    done = place.run(role, *TIMINGS, iut=[sys.executable, "-m", "mocks", sender, *words])
    assert f"of {sender.partition('/')[0]} came: if the IUT speaks" in done.smoke["detail"]
    assert f"test it as {sender}" in done.smoke["detail"]
    assert done.code in (1, 3)
    assert not done.left


def test_nothing_of_another_protocol_is_seen_in_sound_sessions() -> None:
    """No golden bytes of one protocol are recognised as those of another."""
    read = 0
    for name in protocols.names():
        for path in sorted((locations.folder("captures", name) or Path()).glob("session-*.jsonl")):
            capture = captures.read(path)
            for role in protocols.load(name).roles:
                sent = [each.data or b"" for each in capture.events if each.sender == role]
                assert other_role.first_message_of(b"".join(sent), name) is None, path
                own = other_role.first_message_of(b"".join(sent))
                assert own is None or own[1][0].startswith(f"{name}/"), path
                read += own is not None
    assert read > 100


def test_one_that_sends_what_another_role_sends_and_has_its_operations(place: Place) -> None:
    """The messages are violations, and the report also names the likely role."""
    mock = [sys.executable, "-m", "mocks", "runtime/update-publisher", *CONNECTS, "--upper-tester"]
    done = place.run("runtime/gamepad-sender", *TIMINGS, iut=mock)
    assert done.verdict("gamepad.form") == "fail"
    assert "test it as runtime/update-publisher" in done.report["headline"]


def test_one_that_lacks_every_operation_is_told_so_once_nothing_could_be_tried(
    place: Place,
) -> None:
    """The IUT connects like its role, and shows nothing more on the wire."""
    mock = [sys.executable, "-m", "mocks", "runtime/log-publisher", *CONNECTS, "--upper-tester"]
    done = place.run("runtime/rpc-client", *TIMINGS, iut=mock)
    assert "test it as runtime/log-publisher" in done.report["headline"]
    assert done.code == 3
    assert not done.left


def test_of_a_flood_the_beginning_is_read_as_another_protocol(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without this limit, every decoder would store all bytes."""
    role, read = protocols.role("runtime/rpc-server"), []

    def spoken_as(data: bytes, but: str) -> Any:
        read.append(data)
        return "Ready", ["vexide/simulator"]

    monkeypatch.setattr(other_role, "first_message_of", spoken_as)
    monkeypatch.setattr(other_role, "_BEGINNING", 10)
    theirs = [SimpleNamespace(data=data) for data in (None, b"1234", b"56789012", b"more")]
    session = SimpleNamespace(iut_events=theirs, received=[])
    configuration = SimpleNamespace(protocol=protocols.load("runtime"))
    iut: Any = SimpleNamespace(role=role, sessions=[session], configuration=configuration)
    assert "Ready of vexide came" in asyncio.run(other_role.other_protocol_hint(iut))
    assert read == [b"1234567890"]


@pytest.mark.parametrize(
    ("role", "data", "expected"),
    [
        ("runtime/rpc-server", b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", "HTTP came"),
        ("runtime/rpc-server", b"SSH-2.0-OpenSSH_9.6\r\n", "SSH came"),
        ("openroberta/lab", b"SSH-2.0-OpenSSH_9.6\r\n", "SSH came"),
        ("openroberta/lab", b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", ""),
        ("openroberta/robot", b"GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n", ""),
        ("simspark/server", b"\x16\x03\x01\x00\xc8\x01\x00", "TLS came"),
        ("deltarobot/server", b"\x16\x03\x01\x00\xc8\x01\x00", "TLS came"),
        ("vexide/simulator", b"sh: 1: simulator: not found\n", "the error message of a shell"),
        ("vexide/simulator", b'{"Log":{"level":"Warn","message":": not found"}}\n', ""),
        ("vexide/simulator", b"", ""),
    ],
)
def test_a_stream_of_something_else(role: str, data: bytes, expected: str) -> None:
    configuration = SimpleNamespace(protocol=protocols.load(role.partition("/")[0]))
    sessions = [SimpleNamespace(beginning=b""), SimpleNamespace(beginning=data)]
    iut: Any = SimpleNamespace(
        role=protocols.role(role), sessions=sessions, configuration=configuration
    )
    hint = other_role.foreign_stream_hint(iut)
    assert hint.startswith(expected) and bool(hint) == bool(expected)
