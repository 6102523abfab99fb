"""Leniencies of mocks: an unfinished peer can continue, and each forgiven fault is logged."""

import base64
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from conformance.benchmarks.soak_cast import CATALOG
from conformance.definitions import protocols
from conformance.deltarobot.codec import encode as delta
from conformance.deltarobot.codec import message
from conformance.openroberta.codec import encode as http
from conformance.openroberta.codec import request, response
from conformance.runtime.codec import encode as packed
from conformance.simspark.codec import encode as framed
from conformance.vexide.codec import encode as line
from mocks import deviations
from mocks.deltarobot.server import Server as DeltaServer
from mocks.testing import Mock, mock
from mocks.vexide.simulator import SIGNATURE

ROLES = protocols.roles()
DEADLINE = 10.0  # seconds that anything in these tests can take
HELLO = {"Handshake": {"version": 1, "extensions": []}}
DATA = {"cmd": "register", "token": "ABCDEFGH"}
MAGIC = delta(message("ProtocolMagic", magic="DeltaRVr"))
PAD = {"0": {"lx": 0.0, "ly": 0.5, "rx": 0.0, "ry": 0.0, "btn": 1}}
STICK = {
    **dict.fromkeys(("axis1", "axis2", "axis3", "axis4"), 77),
    **dict.fromkeys(("button_l1", "button_l2", "button_r1", "button_r2"), False),
    **dict.fromkeys(("button_up", "button_down", "button_left", "button_right"), False),
    **dict.fromkeys(
        ("button_x", "button_b", "button_y", "button_a", "button_sel", "button_all"), False
    ),
    "battery_level": 1,
    "battery_capacity": 1,
    "flags": 0,
}


@dataclass(frozen=True)
class Case:
    """A peer with a fault: its messages, and the answer of a lenient mock.

    Each pair in `says` contains what the mock sends, and what the peer then sends. The mock sends
    `wanted` only if it accepts the fault.
    """

    role: str
    name: str
    says: Sequence[tuple[bytes, bytes]]
    wanted: bytes
    options: Mapping[str, Any] = field(default_factory=dict)
    leaves: bool = False
    """True if the peer closes the connection after its last message."""

    def __str__(self) -> str:
        return f"{self.role} {self.name}"


CASES = [
    Case(
        "vexide/simulator",
        "forms-of-0-2",
        [(b"", line(HELLO) + line({"Touch": {"pos": [1, 2], "event": "Pressed"}}))],
        b"touch Pressed",
    ),
    Case(
        "vexide/simulator",
        "forms-of-0-2",
        [
            (b"", line(HELLO) + line({"ControllerUpdate": [{"Raw": STICK}, None]})),
            (b'"Ready"', line("StartExecution")),
        ],
        base64.b64encode(b"controller axis1=77\n"),
        {"program": "probe"},
    ),
    Case(
        "vexide/simulator",
        "commands-early",
        [(b"", line({"Touch": {"pos": {"x": 1, "y": 2}, "event": "Pressed"}}) + line(HELLO))],
        b"touch Pressed",
    ),
    Case(
        "vexide/frontend",
        "commands-early",
        # Ready is required, and is sent only once.
        [
            (b"Handshake", line("Ready") + line(HELLO) + line({"VCodeSig": SIGNATURE})),
        ],
        b'"StartExecution"',
    ),
    Case(
        "openroberta/lab",
        "fields-left-out",
        [(b"", http(request("POST", "/rest/pushcmd", {"host": "lab"}, DATA)))],
        b'"abort"',
        {"register_hold": 0.1},
    ),
    Case(
        "openroberta/robot",
        "unknown-commands",
        [(b'"register"', http(response(200, {}, {"cmd": "stopprogram"})))],
        b'"push"',
    ),
    Case(
        "runtime/rpc-server",
        "no-parameters",
        [(b"", packed([0, 1, "echo", None]))],
        packed([1, 1, None, []]),
    ),
    Case(
        "simspark/server",
        "init-first",
        [
            (
                b"",
                framed([["init", ["unum", "1"], ["teamname", "Red"]]])
                + framed([["scene", "nao.rsg"]]),
            )
        ],
        b"(team left)",
    ),
    Case(
        "deltarobot/server",
        "any-version",
        [(b"", MAGIC + delta(message("ProtocolVersion", version=2)))],
        delta(message("Ping", number=0))[:2],
    ),
    Case(
        "deltarobot/client",
        "any-version",
        [
            (
                b"",
                MAGIC
                + delta(message("ProtocolVersion", version=2))
                + delta(message("Ping", number=7)),
            )
        ],
        delta(message("Pong", number=7)),
    ),
]
ENDS = [
    # A side that has served nothing can leave without a word, so that each serves its peer once.
    Case(
        "deltarobot/server",
        "no-end",
        [
            (b"DeltaRVr", MAGIC + delta(message("ProtocolVersion", version=1))),
            (delta(message("Ping", number=7)), delta(message("Pong", number=7))),
        ],
        b"",
        leaves=True,
    ),
    Case(
        "deltarobot/client",
        "no-end",
        [
            (
                b"DeltaRVr",
                MAGIC
                + delta(message("ProtocolVersion", version=1))
                + delta(message("Ping", number=7)),
            ),
            (delta(message("Pong", number=7)), b""),
        ],
        b"",
        leaves=True,
    ),
]
each_case = pytest.mark.parametrize("case", CASES, ids=str)


def has_answered(connection: socket.socket, case: Case, patience: float) -> bool:
    """Return whether the mock sends the wanted bytes before it closes, or in time."""
    vain = time.monotonic() + patience
    connection.settimeout(patience)
    came, rest = b"", list(case.says)
    try:
        while time.monotonic() < vain:  # some mocks send all the time
            while rest and rest[0][0] in came:
                connection.sendall(rest.pop(0)[1])
            if case.leaves and not rest:
                return True
            if (case.wanted in came and not rest) or not (data := connection.recv(65536)):
                break
            came += data
    except OSError:
        pass
    return case.wanted in came and not rest


@contextmanager
def playing(case: Case, **options: Any) -> Iterator[tuple[Mock, socket.socket]]:
    """Start the mock of a case, connected to a socket that plays its peer.

    The peer also violates what it leaves undone, so that the tests themselves read the findings.
    """
    options = {"judge": False, **options, **case.options}
    if protocols.role(case.role).serves:
        with mock(case.role, **options) as server:
            place = (server.host, server.port)
            with socket.create_connection(place, timeout=DEADLINE) as connection:
                yield server, connection
        return
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(DEADLINE)
        host, port = listening.getsockname()
        with mock(case.role, connect=f"{host}:{port}", **options) as client:
            connection, _ = listening.accept()
            with connection:
                yield client, connection


def forgiven(peer: Mock) -> list[str]:
    return [entry.text for entry in peer.log if entry.text.startswith("forgiven: ")]


@each_case
def test_it_forgives(case: Case) -> None:
    with playing(case, lenient=case.name) as (peer, connection):
        assert has_answered(connection, case, DEADLINE)
        assert len(forgiven(peer)) == 1
        assert peer.findings, "the judge is as strict as ever"


@each_case
def test_it_is_strict_without(case: Case) -> None:
    with playing(case) as (peer, connection):
        assert not has_answered(connection, case, 0.5)
        assert not forgiven(peer)
        assert peer.findings


@pytest.mark.parametrize(
    "case", [case for case in CASES if protocols.role(case.role).serves], ids=str
)
def test_it_says_so_each_time(case: Case) -> None:
    """Two faults, one after the other, are forgiven and logged twice."""
    with mock(case.role, lenient=case.name, judge=False, **case.options) as server:
        for _ in range(2):
            with socket.create_connection((server.host, server.port)) as connection:
                assert has_answered(connection, case, DEADLINE)
        assert len(forgiven(server)) == 2
        assert server.findings


def test_notifications_without_parameters() -> None:
    """Both notifications are executed before the call that asks for their number."""
    calls = 2 * packed([2, "count", None]) + packed([0, 1, "count", []])
    case = Case("runtime/rpc-server", "no-parameters", [(b"", calls)], packed([1, 1, None, 3]))
    with playing(case, lenient=case.name) as (server, connection):
        assert has_answered(connection, case, DEADLINE)
        assert len(forgiven(server)) == 2
        found = [finding.requirement for finding in server.findings]
        assert found == ["rpc.notification-form"]  # a violation that recurs is reported once


@pytest.mark.parametrize("case", ENDS, ids=str)
@pytest.mark.parametrize("lenient", [False, True], ids=["strict", "lenient"])
def test_an_end_that_is_not_announced(
    case: Case, lenient: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection ends in both cases; a lenient mock logs an orderly end."""
    monkeypatch.setattr(DeltaServer, "number_of_ping", lambda self: 7)
    options = {"lenient": case.name} if lenient else {}
    with playing(case, **options) as (peer, connection):
        assert has_answered(connection, case, DEADLINE)
        connection.close()
        until = time.monotonic() + DEADLINE
        while not (reasons := [e.facts["reason"] for e in peer.log if e.event == "closed"]):
            assert time.monotonic() < until, "it is not closed"
            time.sleep(0.02)
        (reason,) = reasons
        assert ("without its end of transmission" in reason) == (not lenient)
        assert len(forgiven(peer)) == lenient
        assert [finding.requirement for finding in peer.findings] == ["end.announced"]


@pytest.mark.parametrize(
    "datagram",
    [packed([2, "gamepad", [{"gamepads": PAD}]]), packed([2, "gamepad", [PAD]]), packed(PAD)],
    ids=["in an envelope", "in an envelope without the member", "without the member"],
)
@pytest.mark.parametrize("lenient", [False, True], ids=["strict", "lenient"])
def test_gamepads_in_an_envelope(datagram: bytes, lenient: bool) -> None:
    """The input reaches a buffer only with the leniency, and each fault is logged."""
    options: dict[str, Any] = {"lenient": "in-an-envelope"} if lenient else {}
    with (
        mock("runtime/gamepad-receiver", catalog=CATALOG, upper_tester=True, **options) as receiver,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender,
    ):
        for _ in range(2):
            sender.sendto(datagram, (receiver.host, receiver.port))
        # A later datagram shows that the earlier ones have been read.
        sender.sendto(packed({"gamepads": {"9": PAD["0"]}}), (receiver.host, receiver.port))
        until = time.monotonic() + DEADLINE
        while "9" not in (buffers := receiver.ask("buffers")) and time.monotonic() < until:
            time.sleep(0.02)
        assert buffers.keys() == ({"0", "9"} if lenient else {"9"})
        assert len(forgiven(receiver)) == (2 if lenient else 0)
        assert receiver.findings


def test_each_has_a_test_of_its_behaviour() -> None:
    tried = {(case.role, case.name) for case in [*CASES, *ENDS]}
    tried.add(("runtime/gamepad-receiver", "in-an-envelope"))
    declared = {(role, name) for role in ROLES for name in deviations.leniencies(role)}
    assert {pair for pair in declared if not pair[0].startswith("toy/")} == tried


def test_each_names_a_requirement() -> None:
    for role in ROLES:
        known = protocols.load(role.partition("/")[0]).requirements
        for declared in deviations.leniencies(role).values():
            assert declared.requirement in known, (role, declared.name)
            assert declared.summary
