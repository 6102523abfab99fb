"""Mocks in a project's own tests: messages are decoded and judged, and nothing is left."""

import json
import signal
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conformance.definitions import locations
from conformance.selftest.driving import Place
from conformance.vexide.codec import encode
from mocks.testing import Mock, MockFailed, mock

HELLO = {"Handshake": {"version": 1, "extensions": []}}
DRIVER = {
    "CompetitionMode": {
        "enabled": True,
        "connected": False,
        "mode": "Driver",
        "is_competition": False,
    }
}
BOTH = pytest.mark.parametrize("process", [False, True], ids=["thread", "process"])


def say(server: Mock, *messages: Any) -> socket.socket:
    connection = socket.create_connection((server.host, server.port), timeout=10)
    connection.sendall(b"".join(map(encode, messages)))
    return connection


@BOTH
def test_what_came_and_what_it_violates(process: bool) -> None:
    with mock("vexide/simulator", process=process, program="idle") as simulator:
        with say(simulator, HELLO, "StartExecution"):
            assert simulator.wait("StartExecution").connection == 1
        assert [message.value for message in simulator.received] == [HELLO, "StartExecution"]
        found = simulator.findings
    assert simulator.findings == found
    assert {each.requirement for each in found} >= {
        *("handshake.nothing-before", "start.waits-for-ready")
    }
    assert simulator.status == 1


@BOTH
def test_a_sound_peer(process: bool) -> None:
    with mock("vexide/simulator", process=process, program="return", load_time=0) as simulator:
        with say(simulator, HELLO) as connection:
            lines = connection.makefile("rb")
            while json.loads(lines.readline()) != "Ready":
                pass
            connection.sendall(encode(DRIVER) + encode("StartExecution"))
            assert b"Exited" in lines.read()
        assert simulator.findings == []
    assert simulator.status == 0
    assert [entry.event for entry in simulator.log if entry.connection] == [
        *("connected", "agreed", "ready", "started", "closed")
    ]


@BOTH
def test_its_user(process: bool) -> None:
    """Operations of the mock's user are called by name; errors have a message."""
    with mock("deltarobot/server", process=process, upper_tester=True) as server:
        assert server.ask("exercise", curve=[[0, 0, 0]]) is None
        with pytest.raises(MockFailed, match="X, Y and Z"):
            server.ask("exercise", curve=[[0, 0]])
        with pytest.raises(MockFailed, match="exorcise"):
            server.ask("exorcise")


def test_a_fault_that_comes_and_goes() -> None:
    with mock("vexide/simulator", load_time=0, program="return") as simulator:
        for faults, times in (((), 1), (["ready-twice"], 2), ((), 1)):
            simulator.deviate(faults=faults)
            with say(simulator, HELLO) as connection:
                lines = connection.makefile("rb")
                said = [json.loads(lines.readline()) for _ in range(2 + times)]
                connection.sendall(encode(DRIVER) + encode("StartExecution"))
                said += map(json.loads, lines)
            assert said.count("Ready") == times


@pytest.mark.asyncio
async def test_in_a_coroutine() -> None:
    async with mock("simspark/server") as server:
        assert set(server.addresses) == {"agent", "monitor"}
        assert server.findings == []


CLIENTS = """
import asyncio
import pytest
from mocks.testing import mock
MARK
async def test_in_a_context():
    async with mock("deltarobot/server") as server:
        reader, writer = await asyncio.open_connection(server.host, server.port)
        assert await reader.readexactly(2)
        writer.close()
        await writer.wait_closed()
        assert server.findings == []
MARK
async def test_with_the_fixture(reference_mock):
    server = reference_mock("runtime/rpc-server")
    _, writer = await asyncio.open_connection(server.host, server.port)
    writer.write(bytes.fromhex("940007a46563686f9101"))
    assert (await asyncio.to_thread(server.wait, "Request")).value[1] == 7
    writer.close()
"""


@pytest.mark.parametrize(("mode", "mark"), [("strict", "@pytest.mark.asyncio"), ("auto", "")])
def test_under_pytest_asyncio(mode: str, mark: str, place: Place) -> None:
    """Coroutines of a user's project run in both modes of pytest-asyncio."""
    place.file("pytest.ini", f"[pytest]\nasyncio_mode = {mode}\n")
    file = place.file("test_clients.py", CLIENTS.replace("MARK", mark))
    done = place.execute([sys.executable, "-m", "pytest", "-q", file], place.folder)
    assert (done.code, "2 passed" in done.out) == (0, True), done.out


def test_the_fixture(reference_mock: Callable[..., Mock]) -> None:
    server = reference_mock("runtime/rpc-server")
    client = reference_mock("runtime/rpc-client", connect=server.address, call=["echo"])
    assert server.wait("Request").name == "Request"
    assert client.findings == []


def test_a_mock_that_ends_answers_no_more_operations() -> None:
    with mock("deltarobot/server", upper_tester=True) as server:
        pass
    with pytest.raises(MockFailed, match="has ended"):
        server.ask("stop")


@pytest.mark.parametrize("process", [False, True])
@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"nonsense": 1}, "nonsense"),
        ({"fault": "x"}, "no fault"),
        ({"listen": "x"}, "not an address"),
    ],
)
def test_what_cannot_be_started(process: bool, options: dict[str, Any], why: str) -> None:
    with pytest.raises(MockFailed, match=why), mock("vexide/simulator", process=process, **options):
        pass
    assert not [thread for thread in threading.enumerate() if "vexide" in thread.name]


SCRIPT = """
- fault: ready-twice
- when: Handshake
  send: {Log: {level: Info, message: by the script}}
- expect: StartExecution
  within: 0.2
- no-fault: ready-twice
  disconnect: true
"""


def test_a_script(tmp_path: Path) -> None:
    """A script is played on each connection; a missing expected message is a failure."""
    script = tmp_path / "script.yaml"
    script.write_text(SCRIPT, "utf-8")
    with mock("vexide/simulator", script=script, load_time=0.05) as simulator:
        for _ in range(2):
            with say(simulator, HELLO) as connection:
                said = [json.loads(line) for line in connection.makefile("rb")]
            assert {"Log": {"level": "Info", "message": "by the script"}} in said
            assert said.count("Ready") == 2
    logged = [entry.text for entry in simulator.log if entry.event == "unplayed"]
    assert (
        logged
        == ["step 3 of the script: expected StartExecution within 0.2 s; no such message came"] * 2
    )
    assert simulator.status == 1


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("- sand: 1", "step 1: sand: expected one of"),
        ("{agent: 1}", "a list of steps"),
        ("- []", "step 1: expected an object"),
        ("- at: soon", "a number of seconds"),
        ("- [", "expected"),
    ],
)
def test_a_script_that_cannot_be_played(text: str, why: str, tmp_path: Path) -> None:
    script = tmp_path / "script.yaml"
    script.write_text(text, "utf-8")
    with pytest.raises(MockFailed, match=why), mock("vexide/simulator", script=script):
        pass


def test_one_side_of_a_recording() -> None:
    """A simulator's side of a capture is replayed to a frontend mock."""
    recorded = locations.folder("captures", "vexide")
    assert recorded
    options: dict[str, Any] = {"from": recorded / "example-session.jsonl"}
    with mock("vexide/simulator", **options) as simulator:
        with mock("vexide/frontend", connect=simulator.address) as frontend:
            frontend.wait("Exited")
            # The recorded frontend had configured a motor, and the mock has not.
            assert {each.requirement for each in frontend.findings} == {"devices.only-configured"}
        assert [message.name for message in frontend.received][:3] == [
            *("Handshake", "VCodeSig", "Ready")
        ]
    assert simulator.status == 0


PROCEDURES = """
next: {results: [1, 2]}
broken: {error: [1, {a: b}], delay: 0.01}
set_alias: {keep: alias}
get_alias: {kept: alias, result: none}
"""


def test_procedures_of_its_user(tmp_path: Path) -> None:
    file = tmp_path / "procedures.yaml"
    file.write_text(PROCEDURES, "utf-8")
    with (
        mock("runtime/rpc-server", procedures=file, procedure=["two=[2]"]) as server,
        mock("runtime/rpc-client", connect=server.address, upper_tester=True) as client,
    ):
        calls = ["next", "next", "next", "get_alias", "two", "list_uids"]
        results = [client.ask("call", method=name, params=[]) for name in calls]
        assert results[:5] == [1, 2, 2, "none", [2]]
        assert client.ask("call", method="ping", params=[results[5]]) is None
        client.ask("call", method="set_alias", params=["arm"])
        assert client.ask("call", method="get_alias", params=[]) == "arm"
        for method, params, why in (("broken", [], "'a': 'b'"), ("ping", ["1"], "no such device")):
            with pytest.raises(MockFailed, match=why):
                client.ask("call", method=method, params=params)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[]", "an object from names to procedures"),
        ("x: 1", "x: expected an object with keys of"),
        ("x: {delay: soon}", "delay: expected a number"),
        ("x: {results: []}", "results: expected a list"),
        ("x: {error: null}", "error: expected a value that is not nil"),
    ],
)
def test_procedures_that_cannot_be_read(text: str, why: str, tmp_path: Path) -> None:
    file = tmp_path / "procedures.yaml"
    file.write_text(text, "utf-8")
    with pytest.raises(MockFailed, match=why), mock("runtime/rpc-server", procedures=file):
        pass


SERVERS = ["vexide/simulator", "simspark/server", "deltarobot/server", "openroberta/lab"]


@pytest.mark.parametrize("role", [*SERVERS, "runtime/rpc-server"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_quietly(role: str, number: signal.Signals) -> None:
    """The mock logs that it was ended, also with a connected peer, without a traceback."""
    words = [sys.executable, "-m", "mocks", role, "--listen", "127.0.0.1:0"]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdout=pipe, stderr=pipe, text=True) as server:
        assert server.stdout and server.stderr
        place = server.stdout.readline().split()[2].rstrip(",")
        host, _, port = place.rpartition(":")
        with socket.create_connection((host, int(port))):
            assert "connected" in server.stderr.readline()
            server.send_signal(number)
            logged = server.stderr.read()
        assert server.wait() == 0
    assert "closed: the mock is ended" in logged
    assert "Traceback" not in logged and "Error" not in logged


def test_a_clock_that_is_stepped() -> None:
    """Nothing happens between two steps, and each cycle is 20 ms of the simulation."""
    with mock("simspark/server", stepped=True, upper_tester=True) as server:
        assert server.ask("step", cycles=5) == pytest.approx(0.1)
        server.ask("command", command=["playMode", "PlayOn"])
        server.ask("command", command=["ball", ["pos", "1", "2", "0"], ["vel", "1", "0", "0"]])
        assert server.ask("step", cycles=50) == pytest.approx(1.1)
        state = server.ask("state")
        assert (state["mode"], state["time"]) == ("PlayOn", pytest.approx(1.0))
        assert 1 < state["ball"][0] < 2


def test_an_exercise_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "curve.json"
    file.write_text("[[0, 0, 0], [0.1, 0, 0], [0.1, 0.1, 0.05]]", "utf-8")
    with (
        mock("deltarobot/server", exercise=file) as server,
        mock("deltarobot/client", connect=server.address, show="none") as client,
    ):
        assert len(client.wait("Curve").value["points"]) == 3
    file.write_text("[[0, 0]]", "utf-8")
    with pytest.raises(MockFailed, match="point 1"), mock("deltarobot/server", exercise=file):
        pass


def test_programs_of_a_lab() -> None:
    """A robot is linked and runs a program; a script uses the lab's page."""

    def post(lab: Mock, what: str, **said: str) -> Any:
        asked = urllib.request.Request(
            f"{lab.url}/user/{what}",
            json.dumps(said).encode(),
            {"content-type": "application/json"},
        )
        with urllib.request.urlopen(asked, timeout=10) as answer:
            return json.load(answer)["result"]

    with (
        mock("openroberta/lab") as lab,
        mock("openroberta/robot", connect=lab.url, token="ABCDEFGH", upper_tester=True) as robot,
    ):
        lab.wait("Register")
        post(lab, "pair", token="ABCDEFGH")
        lab.wait("Push")
        assert post(lab, "run", token="ABCDEFGH", program="hello.py")["name"] == "hello.py"
        robot.wait("File")
        assert lab.findings == robot.findings == []
