"""The vexide mocks as processes, and their worlds."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from conformance.definitions import protocols
from conformance.vexide.codec import encode
from mocks import deviations
from mocks.testing import mock
from mocks.vexide.display import HEIGHT, WIDTH, Display
from mocks.vexide.robot import Motor

DEADLINE = 20.0  # seconds that anything in these tests can take
MOCK = [sys.executable, "-m", "mocks"]
HELLO = {"Handshake": {"version": 1, "extensions": []}}
SIGNATURE = {"VCodeSig": "WFZYNQIAAAAAAAAAAAAAAAAAAAAAAAAA"}
ROLES = ["vexide/simulator", "vexide/frontend"]


@contextmanager
def listening(*options: str) -> Iterator[str]:
    """Start a simulator that listens; yield its address."""
    command = [*MOCK, "vexide/simulator", "--listen", "127.0.0.1:0", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            yield process.stdout.readline().split()[-1]
        finally:
            process.terminate()


@pytest.mark.parametrize("role", ROLES)
def test_each_message_of_the_peer_is_read(role: str) -> None:
    """Shapes and handlers of a mock name exactly the messages that its peer can send."""
    protocol, party = protocols.load("vexide"), protocols.role(role).peer
    names = {name for sender, name in protocol.messages if sender == party}
    peer = deviations.role_module(role).PEER
    assert set(peer.INCOMING.variants) == names
    assert set(peer.HANDLERS) == names - {"Handshake"}


@pytest.mark.parametrize("source", ["file", os.devnull])
def test_files_for_standard_streams(source: str, tmp_path: Path) -> None:
    """Regular files are accepted as standard streams, as in a shell or in CI."""
    given, output = tmp_path / "in", tmp_path / "out"
    given.write_bytes(encode(HELLO))
    words = [*MOCK, "vexide/simulator"]
    with open(given if source == "file" else source) as stdin, open(output, "w") as stdout:
        done = subprocess.run(words, stdin=stdin, stdout=stdout, timeout=DEADLINE, check=False)
    assert done.returncode == 0
    assert ("VCodeSig" in output.read_text()) == (source == "file")


def test_frontend_against_simulator(tmp_path: Path) -> None:
    start = [
        "vexide/frontend",
        "--simulator",
        sys.executable,
        "--motor",
        "3=Red",
        "--motor",
        "20=blue:2",
    ]
    options = ["--sd", str(tmp_path), "--controller", "raw", "--battery", "12"]
    done = subprocess.run(
        [*MOCK, *start, *options, "--", "-m", "mocks", "vexide/simulator"],
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "serial 1: Hello World!" in done.stdout
    assert "Smart port 20: " in done.stdout
    assert "@@@" in done.stdout
    assert (tmp_path / "demo.txt").is_file()


def test_two_sessions_over_tcp() -> None:
    with listening("--program", "return") as address:
        for _ in range(2):
            done = subprocess.run(
                [*MOCK, "vexide/frontend", "--connect", address],
                capture_output=True,
                text=True,
                timeout=DEADLINE,
                check=False,
            )
            assert (done.returncode, done.stdout.splitlines()[-1:]) == (
                0,
                ["the robot program has ended"],
            )


def test_simulator_ends_with_its_input() -> None:
    command = [*MOCK, "vexide/simulator"]
    lines = encode(HELLO)
    done = subprocess.run(command, input=lines, capture_output=True, timeout=DEADLINE, check=False)
    assert done.returncode == 0
    assert done.stdout.splitlines() == [encode(HELLO).strip(), encode(SIGNATURE).strip()]


def test_upper_tester_on_standard_streams() -> None:
    with listening("--program", "idle") as address:
        command = [*MOCK, "vexide/frontend", "--upper-tester", "--hold", "--connect", address]
        requests = [{"id": 1, "op": "start"}, {"id": 2, "op": "outcome"}, {"id": 3, "op": "fly"}]
        done = subprocess.run(
            command,
            input="".join(json.dumps(request) + "\n" for request in requests),
            capture_output=True,
            text=True,
            timeout=DEADLINE,
            check=False,
        )
    answers = {answer["id"]: answer for answer in map(json.loads, done.stdout.splitlines())}
    assert done.returncode == 0
    assert answers[1]["ok"]
    assert answers[2]["result"]["outcome"] == "running"
    assert not answers[3]["ok"]


@pytest.mark.parametrize(
    "words",
    [
        ["vexide/simulater"],
        ["vexide/simulator", "--fault", "ready-twize"],
        ["vexide/simulator", "--listen", "nowhere"],
        ["vexide/frontend"],
    ],
)
def test_wrong_words_get_one_line(words: list[str]) -> None:
    done = subprocess.run(
        [*MOCK, *words], capture_output=True, text=True, timeout=DEADLINE, check=False
    )
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1


# Their worlds


def test_a_tour_shows_every_event() -> None:
    """The tour contains all events but the last, and all shapes, levels and brakes."""
    mode = {"enabled": True, "connected": False, "mode": "Driver", "is_competition": False}
    motor = {"port": 3, "device": {"Motor": {"physical_gearset": "Red", "moment_of_inertia": 0.1}}}
    wanted = {name for sender, name in protocols.load("vexide").messages if sender == "simulator"}
    seen: set[str] = set()

    def see(value: Any) -> None:
        """Collect all words of a message."""
        if isinstance(value, dict):
            seen.update(value)
            for each in value.values():
                see(each)
        elif isinstance(value, str):
            seen.add(value)

    wanted |= {"Fill", "Stroke", "CopyBuffer", "Rectangle", "Circle", "Pixel", "Motor"}
    wanted |= {"Trace", "Info", "Warn", "Error", "Coast", "Brake", "Hold", "Manager", "Worker"}
    wanted -= {"Exited"}
    options: dict[str, Any] = {"program": "tour", "tick": 0.001}
    with (
        mock("vexide/simulator", **options) as simulator,
        socket.create_connection((simulator.host, simulator.port), timeout=DEADLINE) as wire,
    ):
        wire.sendall(encode(HELLO))
        for line in wire.makefile("rb"):
            see(json.loads(line))
            if b"Handshake" in line:
                wire.sendall(encode({"ConfigureDevice": motor}) + encode({"CompetitionMode": mode}))
            if line == b'"Ready"\n':
                wire.sendall(encode("StartExecution"))
            if wanted <= seen:
                break
        assert simulator.findings == []
    assert wanted <= seen


def test_motor_settles_at_its_free_speed() -> None:
    motor = Motor("Blue", 0.001, voltage=12.0)
    for _ in range(1000):
        motor.step(0.01, 12.0)
    assert motor.velocity == pytest.approx(62.832)
    motor.target, motor.voltage = motor.position + 1.0, 0.0
    for _ in range(1000):
        motor.step(0.01, 12.0)
    assert motor.position == pytest.approx(motor.target, abs=1e-3)


def test_display_shows_only_what_is_rendered() -> None:
    display, white = Display(), {"r": 255, "g": 255, "b": 255}
    corner = {"pos": {"x": WIDTH - 1, "y": HEIGHT - 1}}
    display.double_buffer(True)
    display.draw(("Fill", {"shape": ("Pixel", corner)}), white)
    assert display.text().strip() == ""
    display.render()
    assert display.text().endswith("@")
    everywhere = {"center": {"x": -(2**31), "y": 5}, "radius": 65535}
    display.draw(("Stroke", {"shape": ("Circle", everywhere)}), white)
    copy = {"top_left": {"x": -1, "y": -1}, "bottom_right": {"x": 9999, "y": 9}, "stride": 1}
    display.draw(("CopyBuffer", {**copy, "buffer": bytes(5)}), white)
