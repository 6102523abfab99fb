"""Real peers that are judged while they talk: by ``pair``, and by ``proxy`` between them."""

import asyncio
import datetime
import json
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.definitions import protocols
from conformance.harness import links
from conformance.judging import captures, recordings
from conformance.live import relay as relays
from conformance.live.relay import Disturbance, Relay
from conformance.live.session import Session
from conformance.live.sides import Side, sides
from conformance.live.tls import security
from conformance.live.watch import Watch, watch_session
from conformance.selftest.driving import Place
from conformance.selftest.pairing import ANY, PEERS, mock, pair, report, violated


@pytest.mark.parametrize(
    ("protocol", "roles", "silent"),
    [
        ("openroberta", ("lab", "robot"), ()),
        ("runtime/rpc-server", ("rpc-server", "rpc-client"), ()),
        ("runtime/log-publisher", ("log-publisher",), ()),
        ("runtime/update-publisher", ("update-publisher",), ()),
        ("runtime/gamepad-receiver", ("gamepad-sender",), ("gamepad-receiver",)),
        ("deltarobot", ("server", "client"), ()),
        ("simspark", ("server", "agent"), ("monitor",)),
        # A monitor that only watches sends nothing.
        ("simspark/monitor", ("server",), ("agent", "monitor")),
        ("vexide", ("simulator", "frontend"), ()),
    ],
)
def test_sound_peers_are_found_sound(
    place: Place, protocol: str, roles: tuple[str, ...], silent: tuple[str, ...]
) -> None:
    done = pair(place, protocol, "--max-time", "5")
    assert done.code == 0, done.out + done.err
    for role in (*roles, *silent):
        assert violated(done, role) == set()
        verdicts = {entry["verdict"] for entry in report(done, role)["requirements"]}
        assert "not-exercised" in verdicts
        assert "reference mock" not in (done.folder / role / "index.html").read_text("utf-8")
        # A role that has sent nothing gets no verdict.
        assert ("pass" in verdicts) == (role in roles)
    assert done.left == []
    capture = captures.read(done.folder / "session.jsonl")
    assert {event.sender for event in capture.events if event.data} == set(roles)
    # The capture names the message of all bytes, for its readers.
    assert {event.sender for event in capture.events if event.message} == set(roles)


def test_what_had_not_come_when_a_session_ended_is_inconclusive(place: Place) -> None:
    words = ("--patience", "0.2", "--call", "nothing", "--call", "echo", "1")
    done = pair(place, "runtime/rpc-server", server=("--fault", "nil-unanswered"), client=words)
    assert done.code == 0, done.out + done.err
    assert violated(done, "rpc-server") == violated(done, "rpc-client") == set()
    verdicts = {
        entry["id"]: (entry["verdict"], entry["reason"])
        for entry in report(done, "rpc-server")["requirements"]
    }
    verdict, reason = verdicts["rpc.each-answered"]
    assert verdict == "inconclusive"
    assert "had no response when the client closed the stream" in reason
    [left] = recordings.read(done.folder / "session.jsonl").inconclusive
    assert left.message in reason
    assert f"rpc-server, connection 1: rpc.each-answered (inconclusive): {left.message}" in done.err


def test_what_stalls_on_the_way_is_marked_and_blamed_on_nobody(place: Place) -> None:
    done = pair(place, "deltarobot", "--stall", "30:0.5", "--chop", "7")
    assert done.code == 0, done.out + done.err
    assert violated(done, "server") == violated(done, "client") == set()
    capture = captures.read(done.folder / "session.jsonl")
    entries = {event.event: event.details for event in capture.events if event.sender is None}
    assert entries["disturbed"] == {"chop": 7}
    assert entries["stalled"]["seconds"] == 0.5


def session(protocol: str, side: Side, record: Path) -> Session:
    """Return a session of two peers, recorded in a file, with reports next to it."""
    peers = (side.server, side.client)
    begun = datetime.datetime.now(datetime.UTC)
    return Session(protocol, peers, peers, record, record.parent, begun, "", {})


def certified(folder: Path) -> Path:
    """Make a certificate with its key, and shown.pem, the certificate alone."""
    path, shown = folder / "own.pem", folder / "shown.pem"
    name = ("-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1")
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", *name]
    command += ["-keyout", str(path), "-out", str(shown)]
    subprocess.run(command, check=True, capture_output=True)
    path.write_bytes(path.read_bytes() + shown.read_bytes())
    return path


@pytest.mark.asyncio
@pytest.mark.skipif(not shutil.which("openssl"), reason="it needs openssl")
async def test_what_comes_by_tls_is_passed_on_by_tls(tmp_path: Path) -> None:
    certificate = certified(tmp_path)
    secured = security(certificate, tmp_path / "shown.pem")
    [side] = sides(protocols.load("openroberta"))
    server = await links.Listener().start(ANY, secured.shown)
    watch = Watch(session("openroberta", side, tmp_path / "x"), print, "tcp")
    relay = Relay(side, f"https://{server.address}", watch, Disturbance(), secured)
    with watch_session(watch):
        async with relay.listen(ANY, "tcp"), asyncio.timeout(20):
            client = await links.connect(relay.address, secured.trusted)
            lab = await server.accept()
            await client.write(b"GET / HTTP/1.1\r\n\r\n")
            assert await lab.read() == b"GET / HTTP/1.1\r\n\r\n"
            await lab.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            assert (await client.read()).startswith(b"HTTP/1.1 404")
            client.finish()
            assert await lab.read() == b""
            await relay.wait_until_idle()
    await server.close()
    capture = captures.read(tmp_path / "x")
    assert [event.sender for event in capture.events if event.data] == ["robot", "lab"]


@pytest.mark.asyncio
@pytest.mark.parametrize("role", ["rpc-client", "log-publisher"])
async def test_messages_of_zeromq_pass_with_all_their_frames(role: str, tmp_path: Path) -> None:
    zmq = pytest.importorskip("zmq")
    answers = role == "rpc-client"
    [side] = sides(protocols.load("runtime"), role)
    context = pytest.importorskip("zmq.asyncio").Context.instance()
    kinds = (zmq.ROUTER, zmq.DEALER) if answers else (zmq.SUB, zmq.PUB)
    server, client = map(context.socket, kinds)
    if not answers:
        server.subscribe(b"")
    port = server.bind_to_random_port("tcp://127.0.0.1")
    watch = Watch(session("runtime", side, tmp_path / "x"), print, "zmq")
    relay = Relay(side, f"zmq:127.0.0.1:{port}", watch, Disturbance())
    request, answer = [b"service", b"\x94\0\1\xa1f\x90"], [b"service", b"\x94\1\1\xc0\xc0"]
    with watch_session(watch):
        async with relay.listen("zmq:127.0.0.1:0", "zmq"), asyncio.timeout(20):
            client.connect(relay.address.replace("zmq:", "tcp://"))
            if answers:
                await client.send_multipart(request)
                who, *frames = await server.recv_multipart()
                assert frames == request
                await server.send_multipart([who, *answer])
                assert await client.recv_multipart() == answer
            else:
                # A subscription takes some time, and messages published before are lost.
                coming = asyncio.ensure_future(server.recv_multipart())
                while not coming.done():
                    await client.send_multipart(request)
                    await asyncio.wait([coming], timeout=0.05)
                assert coming.result() == request
    for each in (server, client):
        each.close(linger=0)
    capture = captures.read(tmp_path / "x")
    assert capture.transport == "zmq"
    assert capture.events[1].sender == side.client
    assert capture.events[1].data == request[-1]


@pytest.mark.asyncio
async def test_senders_of_datagrams_without_end_take_no_memory_without_end(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(relays, "MAX_CLIENTS", 2)
    [side] = sides(protocols.load("runtime"), "gamepad-sender")
    watch = Watch(session("runtime", side, tmp_path / "x"), print, "udp")
    with watch_session(watch), socket.socket(type=socket.SOCK_DGRAM) as receiver:
        receiver.bind(("127.0.0.1", 0))
        receiver.setblocking(False)
        host, port = receiver.getsockname()
        relay = Relay(side, f"{host}:{port}", watch, Disturbance())
        loop = asyncio.get_running_loop()
        async with relay.listen(ANY, "udp"), asyncio.timeout(20):
            own, _, at = relay.address.rpartition(":")
            for number in range(5):
                with socket.socket(type=socket.SOCK_DGRAM) as sender:
                    sender.sendto(bytes([number]), (own, int(at)))
                    assert await loop.sock_recv(receiver, 10) == bytes([number])
    events = captures.read(tmp_path / "x").events
    assert [event.connection for event in events if event.data] == [1, 2, 3, 4, 5]
    assert [event.connection for event in events if event.event == "cut"] == [1, 2, 3, 4, 5]


def test_a_matrix_says_who_violates_what_with_whom(place: Place) -> None:
    server, client = PEERS["deltarobot"]
    (place.folder / "pairs.toml").write_text(
        f"""
        [servers]
        sound = {json.dumps(server)}
        absent = "/nowhere/server {{port}}"
        [clients]
        faulty = {json.dumps([*client, "--fault", "big-endian-version"])}
        """
    )
    done = place.conformance("pair", "deltarobot", "--max-time", "20", "--matrix", "pairs.toml")
    assert done.code == 1, done.out + done.err
    lines = dict(line.split(": ", 1) for line in done.out.splitlines() if " with " in line)
    assert lines["sound with faulty"].startswith(
        "server violates nothing; client violates frame.byte-order"
    )
    assert "cannot be started" in lines["absent with faulty"]
    page = done.text("index.html")
    assert "client" in page and "sound-with-faulty/client/index.html" in page
    assert report(done, "sound-with-faulty/server")["verdict"] == "conformant"


def test_what_is_cut_on_the_way_is_blamed_on_nobody(place: Place) -> None:
    done = pair(place, "deltarobot", "--cut", "30")
    assert done.code == 0, done.out + done.err
    assert violated(done, "server") == violated(done, "client") == set()
    capture = captures.read(done.folder / "session.jsonl")
    assert any(event.event == "cut" for event in capture.events)


ENDLESS = """
import subprocess, sys

with subprocess.Popen(sys.argv[2:], stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as mock:
    for line in mock.stdout:
        if line.startswith((b"1: Ready", b"1: ProtocolVersion")):
            open(sys.argv[1], "w").close()
"""
"""A mock that creates a file when it receives data, and continues."""


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("protocol", ["deltarobot", "vexide"])
def test_a_pair_that_is_interrupted_is_reported_and_leaves_nothing(
    place: Place, protocol: str, by: int
) -> None:
    server, client = PEERS[protocol]
    if protocol == "vexide":
        server = mock("vexide/simulator", "--program", "idle")
    begun = place.folder / "begun"
    playing = [*place.program(ENDLESS), str(begun), *client, "--verbose"]
    words = ["pair", protocol, "--", *server, "----", *playing]
    command = [sys.executable, "-m", "conformance", *words]
    done = place.execute(command, until=begun, ended_by=by)
    assert done.code == 0, done.out + done.err
    assert done.left == done.litter == []
    for folder in (path for path in done.folder.iterdir() if path.is_dir()):
        assert report(done, folder.name)["verdict"] == "conformant"
        assert violated(done, folder.name) == set()


KILLER = """
import subprocess, sys

pipe = subprocess.PIPE
with subprocess.Popen([sys.argv[1]], stdin=pipe, stdout=pipe, stderr=pipe) as simulator:
    simulator.stdin.write(b'{"Handshake": {"version": 1, "extensions": []}}\\n')
    simulator.stdin.flush()
    while b"ready.once" not in simulator.stderr.readline():
        pass
    simulator.kill()
"""


def test_a_frontend_that_kills_its_simulator_is_reported_all_the_same(place: Place) -> None:
    server, _ = PEERS["vexide"]
    commands = [*server, "--fault", "ready-twice", "----"]
    commands += [*place.program(KILLER), "{simulator}"]
    done = place.conformance("pair", "vexide", "--", *commands)
    assert report(done, "frontend")["verdict"] == "conformant", done.err
    assert "ready.once" in violated(done, "simulator")
    assert done.left == done.litter == []


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_a_proxy_that_is_interrupted_is_reported(tmp_path: Path, by: int) -> None:
    words = ["proxy", "deltarobot", "--listen", ANY, "--connect", "127.0.0.1:1"]
    with subprocess.Popen(
        [sys.executable, "-m", "conformance", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
    ) as process:
        assert process.stdout
        assert process.stdout.readline().startswith(b"listening at 127.0.0.1:")
        process.send_signal(by)
        _, output = process.communicate(timeout=120)
    assert process.returncode == 3
    assert b"Together: server shows nothing; client shows nothing" in output
    assert (tmp_path / "conformance-report" / "server" / "index.html").is_file()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("pair", "vexide", "--", "a", "----", "/nowhere/b", "{simulator}"), "cannot be started"),
        (("pair", "vexide", "--", "a", "----", "true", "{simulator}"), "true did not start {sim"),
        (("pair", "vexide", "--", "a", "b"), "two commands"),
        (("pair", "vexide", "--matrix", "absent.toml"), "absent.toml: No such file"),
        (("proxy", "vexide"), "give --listen ADDR and --connect ADDR, or -- COMMAND"),
        (
            ("proxy", "runtime", "--listen", "127.0.0.1:0", "--connect", "127.0.0.1:1"),
            "expected a pair of peers",
        ),
        (("proxy", "simspark", "--listen", "127.0.0.1:0", "--connect", "127.0.0.1:1"), "2 address"),
    ],
)
def test_wrong_words(place: Place, words: tuple[str, ...], expected: str) -> None:
    done = place.conformance(*words)
    assert done.code == 2, done.err
    assert expected in done.err
    assert "Traceback" not in done.err
