"""Pairs of mocks of each protocol, and the command `pair` with them."""

import json
import sys
from typing import Any

from conformance.selftest.driving import Done, Place

ANY = "127.0.0.1:0"
LISTEN = ("--listen", "127.0.0.1:{port}")
CONNECT = ("--connect", "{host}:{port}")
_SINK = """
import socket, sys

kind = {"tcp": socket.SOCK_STREAM, "udp": socket.SOCK_DGRAM}[sys.argv[1]]
with socket.socket(type=kind) as listener:
    listener.bind(("127.0.0.1", int(sys.argv[2])))
    if kind == socket.SOCK_STREAM:
        listener.listen()
        listener, _ = listener.accept()
    while listener.recv(65536):
        pass
"""
"""A program that receives from a publisher and sends nothing."""

Pair = tuple[tuple[str, ...], tuple[str, ...]]


def mock(*words: str) -> tuple[str, ...]:
    """Return the command of a mock."""
    return (sys.executable, "-m", "mocks", *words)


def _sink(kind: str) -> tuple[str, ...]:
    return (sys.executable, "-c", _SINK, kind, "{port}")


_SPARK = mock(
    *("simspark/server", "--listen", ANY),
    *("--agent-port", "{agent_port}", "--monitor-port", "{monitor_port}"),
)
_CALLS = [("echo", "[1, null]"), ("nothing",), ("fail",), ("subtract", "5", "3")]

PEERS: dict[str, Pair] = {
    "deltarobot": (
        mock("deltarobot/server", *LISTEN, "--duration", "1"),
        mock("deltarobot/client", *CONNECT),
    ),
    "simspark": (_SPARK, mock("simspark/agent", "--connect", "{host}:{agent_port}")),
    "simspark/monitor": (_SPARK, mock("simspark/monitor", "--connect", "{host}:{monitor_port}")),
    "openroberta": (
        mock("openroberta/lab", *LISTEN, "--unattended", "--push-hold", "0.2"),
        mock("openroberta/robot", "--connect", "{url}"),
    ),
    "runtime/rpc-server": (
        mock("runtime/rpc-server", *LISTEN),
        mock("runtime/rpc-client", *CONNECT, *(w for call in _CALLS for w in ("--call", *call))),
    ),
    "runtime/log-publisher": (_sink("tcp"), mock("runtime/log-publisher", *CONNECT)),
    "runtime/update-publisher": (_sink("udp"), mock("runtime/update-publisher", *CONNECT)),
    "runtime/gamepad-receiver": (
        mock("runtime/gamepad-receiver", *LISTEN),
        mock("runtime/gamepad-sender", *CONNECT),
    ),
    "vexide": (
        mock("vexide/simulator", "--program", "print"),
        mock("vexide/frontend", "--simulator", "{simulator}"),
    ),
}
"""By argument of `pair`: the commands of a server and of a client."""


def pair(
    place: Place,
    protocol: str,
    *words: str,
    server: tuple[str, ...] = (),
    client: tuple[str, ...] = (),
) -> Done:
    """Run `pair` with two mocks, and with further options for each of them."""
    serving, playing = PEERS[protocol]
    commands = [*serving, *server, "----", *playing, *client]
    return place.conformance("pair", protocol, "--max-time", "8", *words, "--", *commands)


def report(done: Done, role: str) -> dict[str, Any]:
    """Return the report about one side."""
    loaded: dict[str, Any] = json.loads(done.text(f"{role}/report.json"))
    return loaded


def violated(done: Done, role: str) -> set[str]:
    """Return the requirements that one side was found to violate."""
    return {finding["requirement"] for finding in report(done, role)["findings"]}
