"""Options that all mocks share: addresses, scripts, recordings, and the end of a run."""

import asyncio
import json
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from conformance.benchmarks.soak_cast import CATALOG
from conformance.definitions import locations, protocols
from conformance.definitions.protocol import Protocol
from conformance.deltarobot.codec import encode as delta
from conformance.deltarobot.codec import message
from conformance.harness.links import free_port
from conformance.judging import captures
from mocks import capture_playback, deviations, playing
from mocks.deltarobot.session import END, HANDSHAKE
from mocks.testing import Mock, mock

DEADLINE = 20.0  # seconds that anything in these tests can take
ROLES = [
    str(role)
    for name in protocols.names()
    if name != "toy"
    for role in protocols.load(name).roles.values()
]
KINDS = {role: protocols.role(role).transports[0] for role in ROLES}
MEMORY = [role for role in ROLES if KINDS[role] == "none"]
SERVERS = [role for role in ROLES if protocols.role(role).serves and role not in MEMORY]
CLIENTS = [role for role in ROLES if not protocols.role(role).serves]
WITH_CATALOG = {*MEMORY, "runtime/gamepad-receiver"}


QUIET = {
    "vexide/simulator": b'{"Handshake":{"version":1,"extensions":[]}}\n',
    "simspark/server": b"",
    "deltarobot/server": b"".join(map(delta, [*HANDSHAKE.values(), message(END, reason="bye")])),
    "openroberta/lab": b"",
    "runtime/rpc-server": b"",
}
"""For each role, bytes of a peer that violates nothing and then leaves."""


def command(role: str, *options: str) -> list[str]:
    return [sys.executable, "-m", "conformance", "mock", role, *options]


def ended(words: list[str]) -> subprocess.CompletedProcess[str]:
    """Run a command that exits by itself, with an empty standard input."""
    nothing = subprocess.DEVNULL
    return subprocess.run(
        words, stdin=nothing, capture_output=True, text=True, timeout=DEADLINE, check=False
    )


@contextmanager
def peer_of(role: str) -> Iterator[str]:
    """Listen at an address, receive everything, and answer nothing."""
    kind = socket.SOCK_DGRAM if KINDS[role] == "udp" else socket.SOCK_STREAM
    with socket.socket(socket.AF_INET, kind) as listening:
        listening.bind(("127.0.0.1", 0))
        if kind == socket.SOCK_STREAM:
            listening.listen()
        host, port = listening.getsockname()
        yield f"{host}:{port}"


@contextmanager
def any_mock(role: str, process: bool = False, **options: Any) -> Iterator[Mock]:
    """Start a mock of any role, with the options that it needs."""
    if role in WITH_CATALOG:
        options.setdefault("catalog", CATALOG)
    if role in CLIENTS:
        with (
            peer_of(role) as address,
            mock(role, process=process, connect=address, **options) as it,
        ):
            yield it
    else:
        with mock(role, process=process, **options) as played:
            yield played


@pytest.mark.parametrize("role", ROLES)
def test_help_names_it_and_its_limits(role: str) -> None:
    module = deviations.role_module(role)
    help_text = playing.parser(role, module, "conformance mock").format_help()
    assert help_text.startswith(f"usage: conformance mock {role} ")
    first, _, limits = str(module.__doc__).strip().partition("\n\n")
    assert first in help_text and limits.strip(), "its docstring says what it does not do"
    assert limits.strip().splitlines()[0] in help_text


@pytest.mark.parametrize("process", [False, True], ids=["thread", "process"])
@pytest.mark.parametrize("role", ROLES)
def test_it_can_be_used_in_a_test(role: str, process: bool) -> None:
    with any_mock(role, process) as played:
        assert played.findings == [] and played.received == []
        assert bool(played.address) == (role in SERVERS)
    assert played.status is not None


@pytest.mark.parametrize("role", ROLES)
def test_and_in_a_coroutine(role: str) -> None:
    async def play() -> Mock:
        options: dict[str, Any] = {"catalog": CATALOG} if role in WITH_CATALOG else {}
        with peer_of(role) as address:
            if role in CLIENTS:
                options["connect"] = address
            async with mock(role, **options) as played:
                return played

    assert asyncio.run(play()).status is not None


@pytest.mark.parametrize("role", SERVERS)
def test_its_first_line_is_its_address(role: str) -> None:
    """The address is on standard output; a signal ends the mock with status 0."""
    options = ["--catalog", str(CATALOG)] if role in WITH_CATALOG else []
    for form in ([], ["--log", "json"]):
        words = command(role, "--listen", "127.0.0.1:0", *options, *form)
        pipe = subprocess.PIPE
        with subprocess.Popen(words, stdout=pipe, stderr=pipe, text=True) as server:
            assert server.stdout and server.stderr
            line = server.stdout.readline()
            server.terminate()
            said = server.stderr.read()
            assert server.wait(DEADLINE) == 0
        assert "Traceback" not in said
        if form:
            entry = json.loads(line)
            assert entry["event"] == "listening" and entry["address"].endswith(str(entry["port"]))
        else:
            assert line.startswith("listening on 127.0.0.1:")


@pytest.mark.parametrize(
    "words",
    [["--no-such-option"], ["--fault", "no-such-fault"], ["--script", "no-such-file"]],
)
def test_wrong_words_have_their_status(words: list[str]) -> None:
    assert ended(command("deltarobot/server", *words)).returncode == 2


@pytest.mark.parametrize("role", [role for role in ROLES if role not in MEMORY])
def test_places_that_cannot_be_reached_have_their_status(role: str) -> None:
    kind = socket.SOCK_DGRAM if KINDS[role] == "udp" else socket.SOCK_STREAM
    catalog = ["--catalog", str(CATALOG)] if role in WITH_CATALOG else []
    with socket.socket(socket.AF_INET, kind) as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        if role in SERVERS:
            done = ended(command(role, "--listen", f"127.0.0.1:{port}", *catalog))
            assert done.returncode == 3
            assert re.match(f"conformance: .*{port}.* already in use", done.stderr)
    if role in CLIENTS and KINDS[role] != "udp" and role != "openroberta/robot":
        # A robot connects again for ever, and a datagram has no acknowledgement.
        done = ended(command(role, "--connect", f"127.0.0.1:{free_port()}"))
        assert done.returncode == 3


@pytest.mark.parametrize("role", [role for role in ROLES if role not in MEMORY])
def test_a_script_is_played_by_each(role: str, tmp_path: Path) -> None:
    """A script sends bytes, adds and removes a fault, and closes the connection."""
    fault = next(iter(deviations.faults(role)))
    steps = [
        {"at": 0.05, "text": "by the script\n"},
        {"fault": fault},
        {"no-fault": fault},
        {"disconnect": True},
    ]
    file = tmp_path / "script.json"
    file.write_text(json.dumps(steps))
    kind = socket.SOCK_DGRAM if KINDS[role] == "udp" else socket.SOCK_STREAM
    options: dict[str, Any] = {"script": file}
    if role in WITH_CATALOG:
        options["catalog"] = CATALOG
    if role == "runtime/gamepad-receiver":
        # This role has no peer to which it could send.
        with mock(role, **options) as played:
            assert has_logged(played, "played")
        return
    with socket.socket(socket.AF_INET, kind) as peer:
        peer.settimeout(DEADLINE)
        if role in SERVERS:
            with mock(role, **options) as played:
                peer.connect((played.host, played.port))
                assert b"by the script" in read_all(peer)
                assert has_logged(played, "played")
            return
        peer.bind(("127.0.0.1", 0))
        if kind == socket.SOCK_STREAM:
            peer.listen()
        host, port = peer.getsockname()
        with mock(role, connect=f"{host}:{port}", **options) as played:
            if kind == socket.SOCK_STREAM:
                connection, _ = peer.accept()
                with connection:
                    connection.settimeout(DEADLINE)
                    assert b"by the script" in read_all(connection)
            else:
                while peer.recv(65536) != b"by the script\n":
                    pass
            assert has_logged(played, "played")


def test_the_script_of_readme(tmp_path: Path) -> None:
    readme = (Path(__file__).parents[2] / "mocks" / "README.md").read_text("utf-8")
    file = tmp_path / "script.yaml"
    file.write_text(readme.partition("### Scripts")[2].split("```yaml")[1].split("```")[0])
    with (
        mock("vexide/simulator", program="print", script=file) as simulator,
        mock("vexide/frontend", connect=simulator.address, upper_tester=True) as frontend,
    ):
        assert has_logged(simulator, "played")
        assert "by the script" in frontend.ask("outcome")["log"]
        # The script disconnects while the program runs.
        assert has_logged(frontend, "closed")
        assert [each.requirement for each in frontend.findings] == ["exit.exited-sent"]
    assert simulator.status == 0


def read_all(connection: socket.socket) -> bytes:
    """Return all bytes until the mock closes the connection."""
    came = b""
    try:
        while data := connection.recv(65536):
            came += data
    except ConnectionResetError:
        pass
    return came


def has_logged(played: Mock, event: str) -> bool:
    """Return whether the mock logs an event before the deadline."""
    with played._changed:
        return played._changed.wait_for(
            lambda: any(entry.event == event for entry in played.log), DEADLINE
        )


def test_a_script_of_shared_memory(tmp_path: Path) -> None:
    """An owner plays operations and a fault from its start; a consumer sees the result."""
    fault = next(iter(deviations.faults("runtime/buffer-owner")))
    steps = [
        {"do": {"connect": {"type": "arm", "uid": "77002"}}},
        {"at": 0.05, "fault": fault},
        {"no-fault": fault, "do": {"connect": {"type": "nonsense", "uid": "1"}}},
    ]
    file = tmp_path / "script.json"
    file.write_text(json.dumps(steps))
    with mock("runtime/buffer-owner", catalog=CATALOG, script=file) as owner:
        assert has_logged(owner, "played")
        with mock("runtime/buffer-consumer", catalog=CATALOG) as consumer:
            assert [name for name in consumer.ask("list") if name.startswith("rt-arm-77002-")]
        failed = [entry.text for entry in owner.log if entry.event == "unplayed"]
        assert failed == ["step 3 of the script: connect: the catalog has no 'nonsense'"]
    assert owner.status == 1


@pytest.mark.parametrize(
    ("role", "step", "why"),
    [
        ("runtime/buffer-owner", {"send": [1]}, "has no connections; the script cannot have send"),
        ("runtime/buffer-owner", {"do": {}}, "do: expected {OPERATION"),
        ("vexide/simulator", {"do": "touch"}, "do: expected {OPERATION"),
    ],
)
def test_steps_that_a_role_cannot_play(
    role: str, step: dict[str, Any], why: str, tmp_path: Path
) -> None:
    file = tmp_path / "script.json"
    file.write_text(json.dumps([step]))
    with pytest.raises(Exception, match=why), any_mock(role, script=file):
        pass


@pytest.mark.parametrize("role", [role for role in ROLES if role not in MEMORY])
def test_its_side_of_recordings_can_be_read(role: str) -> None:
    """A mock replays exactly the messages that its role has sent in a capture."""
    protocol, _, name = role.partition("/")
    played = 0
    for path in sorted(Path(locations.folder("captures", protocol) or "").glob("*.jsonl")):
        sent = [
            event.data
            for event in captures.read(path).events
            if event.sender == name and event.data
        ]
        if sent:
            steps = [
                step
                for found in capture_playback.scripts(path, role)
                for part in found.values()
                for step in part
            ]
            script_sends = [bytes.fromhex(step["hex"]) for step in steps if "hex" in step]
            assert b"".join(script_sends) == b"".join(sent)
            played += 1
    assert played or role == "runtime/gamepad-receiver", "which never sends"


@pytest.mark.parametrize("role", ["runtime/gamepad-sender", "runtime/update-publisher"])
def test_a_recording_of_datagrams(role: str) -> None:
    """Each datagram is sent separately, and the mock exits after the last."""
    name = {
        "runtime/gamepad-sender": "session-gamepad",
        "runtime/update-publisher": "session-updates",
    }
    path = Path(locations.folder("captures", "runtime") or "") / f"{name[role]}.jsonl"
    sent = [e.data for e in captures.read(path).events if f"runtime/{e.sender}" == role and e.data]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind(("127.0.0.1", 0))
        receiver.settimeout(DEADLINE)
        host, port = receiver.getsockname()
        options: dict[str, Any] = {"from": path, "connect": f"{host}:{port}"}
        with mock(role, **options) as played:
            assert [receiver.recv(65536) for _ in sent] == sent
            with played._changed:
                assert played._changed.wait_for(lambda: played.status == 0, DEADLINE)


@pytest.mark.parametrize("role", [role for role in SERVERS if KINDS[role] != "udp"])
def test_once_ends_it_with_its_last_peer(role: str) -> None:
    """The exit status is 1 if a peer violated a must, otherwise 0."""
    for said, status in ((b"", 0), (b"\x00\x00\x00\x05(init", 1)):
        words = command(role, "--listen", "127.0.0.1:0", "--once", "--log", "json")
        pipe = subprocess.PIPE
        with subprocess.Popen(words, stdout=pipe, stderr=pipe, text=True) as server:
            assert server.stdout and server.stderr
            port = json.loads(server.stdout.readline())["port"]
            with socket.create_connection(("127.0.0.1", port), timeout=DEADLINE) as peer:
                peer.sendall(said or QUIET[role])
                peer.shutdown(socket.SHUT_WR)
                read_all(peer)
            story = [json.loads(line) for line in server.stderr]
            assert server.wait(DEADLINE) == status, story
        assert [each["event"] for each in story if each["event"] in ("connected", "closed")] == [
            "connected",
            "closed",
        ]
        assert all(each["text"] and each["time"] for each in story)
        assert any(each["event"] == "finding" for each in story) == (status == 1)


RECORDINGS = [
    ("vexide/simulator", "vexide/frontend", "session-full"),
    ("simspark/server", "simspark/agent", "session-agent"),
    ("simspark/server", "simspark/monitor", "session-trainer"),
    ("deltarobot/server", "deltarobot/client", "session-exercise"),
    ("openroberta/lab", "openroberta/robot", "session-full"),
    ("runtime/rpc-server", "runtime/rpc-client", "session-rpc"),
]


@pytest.mark.parametrize(("server", "client", "name"), RECORDINGS)
def test_both_sides_of_a_recording(server: str, client: str, name: str) -> None:
    """Each side receives exactly the messages that the other side has sent in the recording."""
    protocol = protocols.load(server.partition("/")[0])
    path = Path(locations.folder("captures", protocol.name) or "") / f"{name}.jsonl"
    options: dict[str, Any] = {"from": path}
    with mock(server, **options) as one:
        address = one.addresses.get(client.partition("/")[2]) or one.address
        if server == "openroberta/lab":
            address = one.url
        with mock(client, connect=address, **options) as other:
            for sender, hearer in ((server, other), (client, one)):
                wanted = messages(protocol, captures.read(path), sender.partition("/")[2])
                assert received(hearer, len(wanted)) == wanted


def received(hearer: Mock, count: int) -> list[tuple[str | None, Any]]:
    """Wait for a number of messages, and return all received messages."""
    with hearer._changed:
        hearer._changed.wait_for(lambda: len(hearer._received) >= count, DEADLINE)
    return [(message.name, message.value) for message in hearer.received]


def messages(
    protocol: Protocol, capture: captures.Capture, sender: str
) -> list[tuple[str | None, Any]]:
    """Return the messages of a role in a capture."""
    found = []
    for connection in capture.connections:
        decoder = protocol.decoder(sender, capture.transport)
        for event in capture.only_connection(connection).events:
            if event.sender == sender and event.data:
                found += [(frame.name, frame.value) for frame in decoder.feed(event.data)]
    return found
