"""What mocks can forgive: a peer that is not there yet goes on, and is told what was forgiven."""

import socket
import time
from typing import Any

import pytest

from conformance import protocols
from conformance.deltarobot.codec import encode as delta
from conformance.deltarobot.codec import message
from conformance.openroberta.codec import encode as http
from conformance.openroberta.codec import request
from conformance.runtime.codec import encode as packed
from conformance.simspark.codec import encode as framed
from conformance.vexide.codec import encode as line
from mocks import deviations
from mocks.testing import Mock, mock

ROLES = [str(role) for name in protocols.names() for role in protocols.load(name).roles.values()]
HELLO = {"Handshake": {"version": 1, "extensions": []}}
DATA = {"cmd": "register", "token": "ABCDEFGH"}
CASES: dict[tuple[str, str], tuple[bytes, bytes]] = {
    ("vexide/simulator", "forms-of-0-2"): (
        line(HELLO) + line({"Touch": {"pos": [1, 2], "event": "Pressed"}}),
        b"touch Pressed",
    ),
    ("vexide/simulator", "commands-early"): (
        line({"Touch": {"pos": {"x": 1, "y": 2}, "event": "Pressed"}}) + line(HELLO),
        b"touch Pressed",
    ),
    ("openroberta/lab", "fields-left-out"): (
        http(request("POST", "/rest/pushcmd", {"host": "lab"}, DATA)),
        b'"abort"',
    ),
    ("runtime/rpc-server", "no-parameters"): (
        packed([0, 1, "echo", None]),
        packed([1, 1, None, []]),
    ),
    ("simspark/server", "init-first"): (
        framed([["init", ["unum", "1"], ["teamname", "Red"]]]) + framed([["scene", "nao.rsg"]]),
        b"(team left)",
    ),
    ("deltarobot/server", "any-version"): (
        delta(message("ProtocolMagic", magic="DeltaRVr"))
        + delta(message("ProtocolVersion", version=2)),
        delta(message("Ping", number=0))[:2],
    ),
}
"""By role and leniency: what a peer says, and what it is answered only where that is forgiven."""


def heard(server: Mock, said: bytes, wanted: bytes) -> bool:
    """Whether a peer that says this is answered so, before it is left or has waited in vain."""
    vain = time.monotonic() + 1
    with socket.create_connection((server.host, server.port), timeout=1) as connection:
        connection.sendall(said)
        came = b""
        try:
            while wanted not in came and (data := connection.recv(65536)):
                came += data
                if time.monotonic() > vain:  # some talk all the time
                    break
        except TimeoutError:
            pass
        return wanted in came


@pytest.mark.parametrize(("role", "name"), CASES)
def test_it_forgives(role: str, name: str) -> None:
    said, wanted = CASES[role, name]
    options: dict[str, Any] = {"register_hold": 0.1} if role == "openroberta/lab" else {}
    with mock(role, lenient=name, **options) as server:
        assert heard(server, said, wanted)
        assert [entry for entry in server.log if entry.text.startswith("forgiven: ")]
        assert server.findings


@pytest.mark.parametrize(("role", "name"), CASES)
def test_it_is_strict_without(role: str, name: str) -> None:
    said, wanted = CASES[role, name]
    options: dict[str, Any] = {"register_hold": 0.1} if role == "openroberta/lab" else {}
    with mock(role, **options) as server:
        assert not heard(server, said, wanted)


def test_each_names_a_requirement() -> None:
    for role in ROLES:
        known = protocols.load(role.partition("/")[0]).requirements
        for declared in deviations.leniencies(role).values():
            assert declared.requirement in known, (role, declared.name)
            assert declared.summary
