"""A protocol outside the suite works like one inside, without changes to the suite."""

import contextlib
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance.selftest.driving import Done, Place

TOY = Path(__file__).with_name("toy")
SET = ("--protocols", str(TOY))
ROLES = ("toy/server", "toy/client")


def verdicts(done: Done) -> dict[str, str]:
    return {entry["id"]: entry["verdict"] for entry in done.report["requirements"]}


def test_list(place: Place) -> None:
    done = place.conformance("list", *SET)
    assert done.code == 0
    for name in ("vexide/simulator", *ROLES):
        assert name in done.out


def test_list_role(place: Place) -> None:
    done = place.conformance("list", "toy/server", *SET)
    assert done.code == 0
    for name in ("pong.answers", "pong::every_number", "bytes-swapped"):
        assert name in done.out


def test_unknown_without_the_set(place: Place) -> None:
    done = place.run("toy/server")
    assert done.code == 2
    assert "unknown protocol 'toy'" in done.err


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("transport", ["tcp", "unix"])
def test_sound_mock_conforms(place: Place, role: str, transport: str) -> None:
    done = place.run(role, "--examples", "3", "--transport", transport, *SET)
    assert done.code == 0
    assert set(verdicts(done).values()) == {"pass"}
    assert not done.left


@pytest.mark.parametrize("role", ROLES)
def test_sockets_where_temporary_files_are_deep(place: Place, role: str) -> None:
    """The path of a unix socket is limited to about a hundred bytes."""
    deep = place.folder / ("d" * 100)
    deep.mkdir()
    done = place.run(
        role, "--examples", "1", "--transport", "unix", *SET, env={"TMPDIR": str(deep)}
    )
    assert done.code == 0
    assert set(verdicts(done).values()) == {"pass"}


@pytest.mark.parametrize(
    ("role", "fault", "requirement", "verdict"),
    [
        ("toy/server", "bytes-swapped", "pong.answers", "fail"),
        ("toy/client", "impatient", "ping.waits", "warn"),
    ],
)
def test_fault_is_noticed(
    place: Place, role: str, fault: str, requirement: str, verdict: str
) -> None:
    done = place.run(role, "--fault", fault, "--examples", "5", *SET)
    assert done.code == (1 if verdict == "fail" else 0)
    assert {name for name, came in verdicts(done).items() if came != "pass"} == {requirement}
    assert verdicts(done)[requirement] == verdict


def test_proof_is_two_sided(place: Place) -> None:
    """A lawful variant passes, and an unlawful one is reported as a false alarm."""
    copy = place.folder / "set"
    shutil.copytree(TOY, copy)
    (copy / "mocks/toy/variants/wrong.py").write_text(
        "from mocks.deviations import variant\n"
        "from mocks.toy.peer import Peer\n\n\n"
        '@variant("stray", of="framing.layout")\n'
        "class Stray(Peer):\n"
        '    """No variant at all."""\n\n'
        "    def write(self, data):\n"
        '        super().write(data + b"\\0")\n',
        "utf-8",
    )
    chosen = ["--variant", "in-pieces", "--variant", "stray", "--fault", "stray-byte"]
    done = place.conformance("prove", "toy/client", *chosen, "--protocols", str(copy))
    assert done.code == 1
    assert "1 of 1 faults killed (~ marks 0 subtle); 1 of 2 variants spared" in done.out
    assert re.search(r"= in-pieces +framing.layout +spared", done.out)
    assert re.search(r"= stray +framing.layout +FALSE ALARM", done.out)


def test_mutants_are_killed(place: Place) -> None:
    mutant = '{"message": "Pong", "act": "put", "path": ["kind"], "value": 1}'
    words = ("--timing", "startup=2", "--timing", "response=1", *SET)
    done = place.run("toy/server", "--mutant", mutant, *words)
    assert done.verdict("framing.layout") == "fail"
    mutant = '{"message": "Pong", "act": "repeat", "when": "later"}'
    assert place.run("toy/server", "--mutant", mutant, *SET).verdict("pong.answers") == "fail"


def test_iut_of_ones_own(place: Place) -> None:
    """A server on standard streams that answers only the first Ping of a read."""
    server = place.program(
        "import os\n"
        "while ping := os.read(0, 4096):\n"
        "    if len(ping) == 4: os.write(1, b'\\x03\\x02' + ping[2:])\n"
    )
    done = place.run("toy/server", "--timing", "response=0.3", "--examples", "3", *SET, iut=server)
    assert done.code == 1
    assert verdicts(done) == {"framing.layout": "fail", "pong.answers": "pass"}


def test_a_fault_of_the_suite_is_told_as_such(place: Place) -> None:
    """A bug in the oracle is reported as the suite's fault, not as the IUT's."""
    copy = place.folder / "set"
    shutil.copytree(TOY, copy, ignore=shutil.ignore_patterns("__pycache__"))
    oracle = copy / "conformance" / "toy" / "oracle.py"
    text = oracle.read_text("utf-8")
    line = '        number = value["number"]\n'
    assert line in text
    oracle.write_text(text.replace(line, "        raise RuntimeError('our bug')\n"), "utf-8")
    done = place.run("toy/server", "--mock", "--protocols", str(copy))
    assert done.code == done.report["exit_code"] == 4
    assert done.out.startswith("THE SUITE FAILED  toy/server")
    assert "RuntimeError: our bug" in done.report["problems"][0]
    assert "our bug" in done.out and "Traceback" not in done.err
    assert not any(test["verdict"] == "fail" for test in done.report["tests"])


def test_captures(place: Place) -> None:
    golden = [str(path) for path in sorted((TOY / "captures/toy").glob("*.jsonl"))]
    sound = [path for path in golden if "violation" not in path]
    assert place.conformance("check", *sound, *SET).code == 0
    done = place.conformance("check", *golden, *SET)
    assert done.code == 1
    assert done.out.count("pong.answers (must)") == 1


@contextlib.contextmanager
def mock(*words: str) -> Iterator[Any]:
    command = [sys.executable, "-m", "conformance", "mock", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)


@pytest.mark.parametrize(("fault", "pong"), [((), "03020102"), (("bytes-swapped",), "03020201")])
def test_mock(fault: tuple[str, ...], pong: str) -> None:
    options = [word for name in fault for word in ("--fault", name)]
    with mock("toy/server", "--listen", "127.0.0.1:0", *options, *SET) as server:
        host, _, port = server.stdout.readline().split()[-1].rpartition(":")
        with socket.create_connection((host, int(port)), timeout=5) as connection:
            connection.sendall(bytes.fromhex("03010102"))
            assert connection.recv(4) == bytes.fromhex(pong)


def test_mock_as_an_iut_that_listens(place: Place) -> None:
    with mock("toy/server", "--listen", "127.0.0.1:0", *SET) as server:
        address = server.stdout.readline().split()[-1]
        done = place.run("toy/server", "--connect", address, "--examples", "3", *SET)
    assert done.code == 0
    assert set(verdicts(done).values()) == {"pass"}


def test_its_course_is_drawn(place: Place) -> None:
    done = place.conformance("show", "--course", "toy", *SET)
    assert done.code == 0
    assert "violates ping.waits" in done.out
